//! The closed loop: one task a call in flight, a window, and draining.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, Sleep, sleep, timeout},
};

use super::{
    CallError, End, Live, LoadSample, Window,
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
    window: &Window,
    request_timeout: Duration,
    live: &Live,
    enough: impl Future<Output = ()>,
) -> LoadSample {
    let ledger = Ledger::new(live.clone());
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for (i, transport) in transports.into_iter().enumerate() {
        tasks.spawn(send_calls(transport, Tally::new(ledger.clone(), i), request_timeout));
    }

    let End::After(length) = window.end else { unreachable!("counts come with the pacing") };
    tokio::select! {
        () = sleep(length) => {}
        () = enough => {}
        () = finished(&mut tasks) => {}
    }
    ledger.close();
    let window = begun.elapsed();

    if timeout(DRAIN_TIMEOUT, finished(&mut tasks)).await.is_err() {
        tasks.shutdown().await;
    }
    ledger.sample(window)
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// What becomes of each call in turn; the last goes for all further ones.
    #[derive(Clone)]
    struct Fake(Vec<Reply>);

    #[derive(Clone, Copy)]
    enum Reply {
        Ok(u64),
        Wrong(u64),
        Lost,
        Never,
    }

    impl Transport for Fake {
        async fn call(&mut self, _verify: bool) -> Result<(), CallError> {
            let reply = if self.0.len() > 1 { self.0.remove(0) } else { self.0[0] };
            match reply {
                Reply::Ok(ms) => sleep(Duration::from_millis(ms)).await,
                Reply::Wrong(ms) => {
                    sleep(Duration::from_millis(ms)).await;
                    return Err(CallError::NoStatus);
                }
                Reply::Lost => return Err(CallError::ConnectionLost("told so".into())),
                Reply::Never => std::future::pending().await,
            }
            Ok(())
        }
    }

    /// Runs in virtual time; the sample and how long it all took.
    async fn run_fakes(fakes: Vec<Fake>, window_ms: u64, request_timeout: Duration) -> (LoadSample, Duration) {
        let begun = Instant::now();
        let window = Window::lasting(Duration::from_millis(window_ms));
        let sample = run(fakes, &window, request_timeout, &Live::default(), std::future::pending()).await;
        assert_eq!(sample.started, sample.ok + sample.error + sample.unfinished);
        (sample, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn calls_in_flight_at_the_end_are_waited_for_but_not_within_the_window() {
        let (sample, took) = run_fakes(vec![Fake(vec![Reply::Ok(10)]); 5], 95, HOUR).await;
        assert_eq!((sample.started, sample.ok, sample.ok_in_window), (50, 50, 45));
        assert_eq!((sample.window.as_millis(), took.as_millis()), (95, 100));
        assert_eq!(sample.latency.min(), sample.latency.max(), "virtual time is exact");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_never_end_are_unfinished_after_the_drain_timeout() {
        let fakes = vec![Fake(vec![Reply::Never]), Fake(vec![Reply::Ok(10), Reply::Never]), Fake(vec![Reply::Ok(500)])];
        let (sample, took) = run_fakes(fakes, 1000, HOUR).await;
        assert_eq!((sample.started, sample.ok, sample.unfinished), (5, 3, 2));
        assert_eq!(took, Duration::from_secs(1) + DRAIN_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn each_call_has_its_whole_request_timeout() {
        let fakes = vec![Fake(vec![Reply::Ok(20), Reply::Never])];
        let (sample, took) = run_fakes(fakes, 100, Duration::from_millis(30)).await;
        // From 0 to 20; given up at 50, 80 and 110.
        assert_eq!((sample.ok, sample.error, took.as_millis()), (1, 3, 110));
        assert_eq!(sample.errors[0].message, "no reply within 30ms");
    }

    #[tokio::test(start_paused = true)]
    async fn the_window_ends_when_every_connection_is_lost() {
        let fakes = vec![Fake(vec![Reply::Ok(10), Reply::Lost]), Fake(vec![Reply::Wrong(20), Reply::Lost])];
        let (sample, _) = run_fakes(fakes, 5000, HOUR).await;
        assert_eq!((sample.ok, sample.error, sample.lost, sample.window.as_millis()), (1, 3, 2, 20));
    }

    #[tokio::test(start_paused = true)]
    async fn the_window_is_over_when_it_is_enough() {
        let (live, hour) = (Live::default(), Window::lasting(HOUR));
        let enough = sleep(Duration::from_millis(42));
        let sample = run([Fake(vec![Reply::Ok(10)])], &hour, HOUR, &live, enough).await;
        assert_eq!(sample.window.as_millis(), 42);
        assert_eq!((sample.started, sample.ok, sample.ok_in_window), (5, 5, 4));
    }
}
