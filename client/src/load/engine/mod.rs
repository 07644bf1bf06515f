//! The loop: one task a call in flight, a window, and draining.
//!
//! - `pace`, `schedule`: when each call starts; `alarm`: the timer that wakes them;
//! - `patience`: how long a call may take.

mod alarm;
mod pace;
mod patience;
mod schedule;
#[cfg(test)]
mod tests;

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

pub(super) use self::alarm::{Alarm, KernelAlarm};
use self::{pace::Pace, patience::Patience};
use super::{
    CallError, LoadSample, Window,
    tally::{Ledger, Tally},
};

/// How long calls started in the window may take beyond its end, at the least, before they are given up as unfinished: a call
/// that may take longer by its own timeout has that long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The slow edge: what one task sends its calls over.
pub(super) trait Transport: Send + 'static {
    /// Sends one call and reads its whole reply, compared byte for byte where `verify` says so. Dropping the future gives
    /// the call up and leaves the transport usable, or its connection lost.
    fn call(&mut self, verify: bool) -> impl Future<Output = Result<(), CallError>> + Send;

    /// What is left of the comparison of a reply that came: what takes so long that it must not be part of the call's time.
    fn check(&mut self) -> Result<(), CallError> {
        Ok(())
    }

    /// Lets go of what is held between calls, at the end of the window.
    fn close(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Runs one window with a task for each transport, recorded in a ledger of its own. Returns once every call was answered, failed, or given up after
/// [`DRAIN_TIMEOUT`], or the request timeout where that is more.
pub(super) async fn run<T: Transport>(
    transports: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    window: &Window,
    request_timeout: Duration,
    alarm: &Arc<impl Alarm>,
    ledger: Arc<Ledger>,
    enough: impl Future<Output = ()>,
) -> LoadSample {
    let transports = transports.into_iter();
    let begun = Instant::now();
    let pace = Arc::new(Pace::new(window, transports.len(), begun));
    let mut pacer = JoinSet::new();
    if window.rate.is_some() {
        let (pace, alarm) = (pace.clone(), alarm.clone());
        pacer.spawn(async move { pace.release(&*alarm).await });
    }
    let mut tasks = JoinSet::new();
    for (i, transport) in transports.enumerate() {
        tasks.spawn(send_calls(transport, Tally::new(ledger.clone(), i), pace.clone(), request_timeout));
    }

    tokio::select! {
        () = pace.end() => {}
        () = enough => {}
        () = finished(&mut tasks) => {}
    }
    ledger.close();
    let window = begun.elapsed();
    pace.close(window);

    if timeout(DRAIN_TIMEOUT.max(request_timeout), finished(&mut tasks)).await.is_err() {
        tasks.shutdown().await;
    }
    ledger.sample(begun, window, pace.scheduled())
}

/// One task: call after call until the window closes or the connection is gone, so that a dead peer costs each task one
/// failure and not a loop of them.
async fn send_calls<T: Transport>(mut transport: T, mut tally: Tally, pace: Arc<Pace>, request_timeout: Duration) {
    let mut patience = Patience::new(request_timeout);
    while !tally.window_is_closed()
        && let Some(turn) = pace.next().await
    {
        let begun = Instant::now();
        let verify = tally.start(begun);
        let result = patience.limit(begun, transport.call(verify)).await;
        let ended = Instant::now();
        let result = result.and_then(|()| transport.check());
        match &result {
            Ok(()) => tally.ok(ended - begun, ended - turn.intended.unwrap_or(begun)),
            Err(error) => tally.error(error),
        }
        pace.ended();
        if result.is_err_and(|error| error.is_fatal()) {
            break;
        }
        pace.think().await;
    }
    // A server that never ends a stream holds up no longer than this, whatever a call may take.
    let _ = timeout(DRAIN_TIMEOUT, transport.close()).await;
}

/// Waits for every task. A task only panics by a defect of ours, which must not pass as a figure.
async fn finished(tasks: &mut JoinSet<()>) {
    while let Some(joined) = tasks.join_next().await {
        if let Err(error) = joined
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}
