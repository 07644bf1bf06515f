//! The closed loop: one task a call in flight, a window, and draining.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, Sleep, sleep, timeout},
};

use super::{
    CallError, Live, LoadSample,
    tally::{Ledger, Tally},
};

/// How long calls started in the window may take beyond its end before they are given up as unfinished.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The slow edge: what one task sends its calls over.
pub(super) trait Transport: Send + 'static {
    /// Sends one call and reads its whole reply, compared byte for byte where `verify` says so. Dropping the future gives
    /// the call up and leaves the transport usable.
    fn call(&mut self, verify: bool) -> impl Future<Output = Result<(), CallError>> + Send;
}

/// Runs one window with a task for each transport. Returns once every call was answered, failed, or given up after
/// [`DRAIN_TIMEOUT`].
pub(super) async fn run<T: Transport>(
    transports: impl IntoIterator<Item = T>,
    window: Duration,
    request_timeout: Duration,
    live: &Live,
    mut stop: watch::Receiver<bool>,
) -> LoadSample {
    let ledger = Ledger::new(live.clone());
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for (i, transport) in transports.into_iter().enumerate() {
        tasks.spawn(send_calls(transport, Tally::new(ledger.clone(), i), request_timeout));
    }

    let interrupted = tokio::select! {
        () = sleep(window) => false,
        () = stopped(&mut stop) => true,
        () = finished(&mut tasks) => false,
    };
    ledger.close();
    let window = begun.elapsed();

    if timeout(DRAIN_TIMEOUT, finished(&mut tasks)).await.is_err() {
        tasks.shutdown().await;
    }
    ledger.sample(window, interrupted)
}

/// One task: call after call until the window closes or the connection is gone, so that a dead peer costs each task one
/// failure and not a loop of them.
async fn send_calls<T: Transport>(mut transport: T, mut tally: Tally, request_timeout: Duration) {
    let mut patience = Patience::new(request_timeout);
    while !tally.window_is_closed() {
        let verify = tally.start();
        let begun = Instant::now();
        match patience.limit(begun, transport.call(verify)).await {
            Ok(()) => tally.ok(begun.elapsed()),
            Err(error) => {
                tally.error(&error);
                if error.is_fatal() {
                    break;
                }
            }
        }
    }
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

/// Waits for the stop signal; for ever once nobody can give it any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|&stop| stop).await.is_err() {
        std::future::pending().await
    }
}

/// A timeout for calls in sequence with one timer, armed anew only when it fires: setting a timer for each call would take
/// the runtime's timer lock twice a call.
struct Patience {
    timer: Pin<Box<Sleep>>,
    timeout: Duration,
}

impl Patience {
    fn new(timeout: Duration) -> Self {
        Self { timer: Box::pin(sleep(timeout)), timeout }
    }

    /// Gives `call` up with [`CallError::TimedOut`] at `begun` plus the timeout.
    async fn limit(
        &mut self,
        begun: Instant,
        call: impl Future<Output = Result<(), CallError>>,
    ) -> Result<(), CallError> {
        let Self { timer, timeout } = self;
        let mut call = pin!(call);
        poll_fn(|cx| {
            if let Poll::Ready(result) = call.as_mut().poll(cx) {
                return Poll::Ready(result);
            }
            // The timer was armed for an earlier call when it fires too soon for this one.
            while timer.as_mut().poll(cx).is_ready() {
                if begun.elapsed() >= *timeout {
                    return Poll::Ready(Err(CallError::TimedOut(*timeout)));
                }
                timer.as_mut().reset(begun + *timeout);
            }
            Poll::Pending
        })
        .await
    }
}
