//! The engine in virtual time, over transports that answer as told.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    future::pending,
};

use tokio::time::sleep;

use super::*;
use crate::load::{End, Live};

const HOUR: Duration = Duration::from_secs(3600);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

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
            Reply::Ok(time) => sleep(ms(time)).await,
            Reply::Wrong(time) => {
                sleep(ms(time)).await;
                return Err(CallError::NoStatus);
            }
            Reply::Lost => return Err(CallError::ConnectionLost("told so".into())),
            Reply::Never => pending().await,
        }
        Ok(())
    }
}

/// The runtime's clock, which is virtual here, and late by a fixed time.
struct VirtualAlarm {
    late: Duration,
}

impl Alarm for VirtualAlarm {
    async fn wait_until(&self, deadline: Instant) {
        tokio::time::sleep_until(deadline + self.late).await;
    }
}

/// Runs in virtual time; the sample and how long it all took.
async fn run_window(fakes: Vec<Fake>, window: Window, request_timeout: Duration) -> (LoadSample, Duration) {
    run_late(fakes, window, request_timeout, Duration::ZERO, pending()).await
}

async fn run_late(
    fakes: Vec<Fake>,
    window: Window,
    request_timeout: Duration,
    late: Duration,
    enough: impl Future<Output = ()>,
) -> (LoadSample, Duration) {
    let (begun, live) = (Instant::now(), Live::default());
    let ledger = Ledger::new(live.clone(), window.rate.is_some());
    let sample = run(fakes, &window, request_timeout, &Arc::new(VirtualAlarm { late }), ledger, enough).await;
    assert_eq!(sample.started, sample.ok + sample.error + sample.unfinished);
    assert_eq!((sample.latency.count(), live.ok()), (sample.ok, sample.ok));
    assert_eq!(sample.response.is_some(), window.rate.is_some());
    assert_eq!(sample.scheduled.is_some(), window.rate.is_some());
    assert!(sample.response.as_ref().is_none_or(|response| response.count() == sample.ok));
    assert!(sample.scheduled.is_none_or(|scheduled| scheduled >= sample.started), "{sample:?}");
    (sample, begun.elapsed())
}

/// A closed loop for so many milliseconds.
async fn run_fakes(fakes: Vec<Fake>, window_ms: u64, request_timeout: Duration) -> (LoadSample, Duration) {
    run_window(fakes, Window::lasting(ms(window_ms)), request_timeout).await
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_at_the_end_are_waited_for_but_not_within_the_window() {
    let (sample, took) = run_fakes(vec![Fake(vec![Reply::Ok(10)]); 5], 95, HOUR).await;
    assert_eq!((sample.started, sample.ok, sample.ok_in_window), (50, 50, 45));
    assert_eq!((sample.window.as_millis(), took.as_millis()), (95, 100));
    assert_eq!(sample.latency.min(), sample.latency.max(), "virtual time is exact");
}

#[tokio::test(start_paused = true)]
async fn calls_are_waited_for_as_long_as_they_may_take() {
    let fakes = vec![Fake(vec![Reply::Never]), Fake(vec![Reply::Ok(10), Reply::Never]), Fake(vec![Reply::Ok(500)])];
    let (sample, took) = run_fakes(fakes, 1000, HOUR).await;
    assert_eq!((sample.started, sample.ok, sample.error, sample.unfinished), (5, 3, 2, 0));
    assert_eq!(took, HOUR + ms(10), "the timeout of the later of the two");

    // Answered after more than the drain's own time, within the call's.
    let (sample, took) = run_fakes(vec![Fake(vec![Reply::Ok(11_000)])], 500, ms(30_000)).await;
    assert_eq!((sample.started, sample.ok, sample.unfinished, took), (1, 1, 0, ms(11_000)));
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
    let hour = Window::lasting(HOUR);
    let (sample, _) = run_late(vec![Fake(vec![Reply::Ok(10)])], hour, HOUR, Duration::ZERO, sleep(ms(42))).await;
    assert_eq!(sample.window.as_millis(), 42);
    assert_eq!((sample.started, sample.ok, sample.ok_in_window), (5, 5, 4));
}

fn requests(count: u64) -> Window {
    Window { end: End::Requests(count), rate: None, think: Duration::ZERO }
}

#[tokio::test(start_paused = true)]
async fn exactly_as_many_calls_as_asked_for_are_started() {
    // Three at a time, and the seventh alone.
    let (sample, took) = run_window(vec![Fake(vec![Reply::Ok(10)]); 3], requests(7), HOUR).await;
    assert_eq!((sample.started, sample.ok, sample.ok_in_window), (7, 7, 7));
    assert_eq!((sample.window, took), (ms(30), ms(30)), "from the first start to the last reply");

    let (sample, _) = run_window(vec![Fake(vec![Reply::Ok(10)]); 9], requests(2), HOUR).await;
    assert_eq!((sample.started, sample.ok, sample.window), (2, 2, ms(10)), "more tasks than calls");
}

#[tokio::test(start_paused = true)]
async fn calls_that_fail_count_and_tasks_that_remain_make_the_others() {
    let fakes = vec![Fake(vec![Reply::Lost]), Fake(vec![Reply::Wrong(5), Reply::Ok(10)])];
    let (sample, _) = run_window(fakes, requests(6), HOUR).await;
    assert_eq!((sample.started, sample.ok, sample.error, sample.lost), (6, 4, 2, 1));
    assert_eq!(sample.window, ms(45));

    let (sample, _) = run_window(vec![Fake(vec![Reply::Lost]); 4], requests(100), HOUR).await;
    assert_eq!((sample.started, sample.error, sample.window), (4, 4, Duration::ZERO), "nobody remains");
}

#[tokio::test(start_paused = true)]
async fn a_task_thinks_after_each_reply_but_not_beyond_the_end() {
    let thinking = Window { think: ms(40), ..Window::lasting(ms(200)) };
    let (sample, took) = run_window(vec![Fake(vec![Reply::Ok(10)]); 2], thinking, HOUR).await;
    // From 0, 50, 100 and 150.
    assert_eq!((sample.started, sample.ok_in_window, took), (8, 8, ms(200)));
    assert_eq!(sample.latency.max().map(|ns| ns / 1_000_000), Some(10), "thinking is no part of a call");

    let counted = Window { think: HOUR, ..requests(3) };
    let (sample, took) = run_window(vec![Fake(vec![Reply::Ok(10)]); 3], counted, HOUR).await;
    assert_eq!((sample.ok, sample.window, took), (3, ms(10), ms(10)));
}

fn at_rate(rate: f64, length_ms: u64) -> Window {
    Window { rate: Some(rate), ..Window::lasting(ms(length_ms)) }
}

#[tokio::test(start_paused = true)]
async fn at_a_rate_calls_start_when_their_time_comes() {
    for tasks in [1, 5] {
        let (sample, _) = run_window(vec![Fake(vec![Reply::Ok(2)]); tasks], at_rate(100.0, 1000), HOUR).await;
        assert_eq!((sample.started, sample.ok, sample.scheduled), (100, 100, Some(100)));
        assert_eq!(sample.window, ms(1000), "to its end, though the last call was answered before");
        let response = sample.response.unwrap();
        assert_eq!((response.min(), response.max()), (Some(2_000_000), Some(2_000_000)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_is_seen_by_every_call_it_delays_and_the_backlog_is_sent_at_once() {
    let (sample, _) = run_window(vec![Fake(vec![Reply::Ok(95), Reply::Ok(1)])], at_rate(100.0, 1000), HOUR).await;
    assert_eq!((sample.ok, sample.scheduled), (100, Some(100)));
    // Call k, which was to start at 10k, is sent at 94 + k and answered at 95 + k, until it has caught up with the eleventh;
    // the other 89 take their millisecond.
    let times: u64 = (0..=10).map(|k| 95 - 9 * k).sum::<u64>() + 89;
    let response = sample.response.unwrap();
    assert_eq!(response.mean(), Some(times as f64 * 1e6 / 100.0));
    assert_eq!((response.max(), sample.latency.max()), (Some(95_000_000), Some(95_000_000)));
    assert_eq!(sample.latency.mean(), Some((95.0 + 99.0) * 1e6 / 100.0), "service time has seen it once");
}

#[tokio::test(start_paused = true)]
async fn calls_that_find_no_task_until_the_end_are_missed() {
    let (sample, took) = run_window(vec![Fake(vec![Reply::Ok(300)]); 2], at_rate(100.0, 1000), HOUR).await;
    // From 0, 300, 600 and 900; and from 10, 310, 610 and 910.
    assert_eq!((sample.started, sample.ok, sample.ok_in_window, sample.scheduled), (8, 8, 6, Some(100)));
    assert_eq!(took, ms(1210));
}

#[tokio::test(start_paused = true)]
async fn a_count_at_a_rate_ends_with_its_last_reply() {
    let window = Window { rate: Some(1000.0), ..requests(50) };
    let (sample, took) = run_window(vec![Fake(vec![Reply::Ok(3)]); 10], window, HOUR).await;
    assert_eq!((sample.started, sample.ok_in_window, sample.scheduled), (50, 50, Some(50)));
    assert_eq!((sample.window, took), (ms(52), ms(52)));
    assert_eq!(sample.last_start, Some(ms(49)));
}

#[tokio::test(start_paused = true)]
async fn at_a_rate_the_calls_of_a_lost_connection_go_to_the_others() {
    let fakes = vec![Fake(vec![Reply::Ok(1), Reply::Lost]), Fake(vec![Reply::Ok(1)]), Fake(vec![Reply::Ok(1)])];
    let (sample, _) = run_window(fakes, at_rate(100.0, 1000), HOUR).await;
    assert_eq!((sample.started, sample.ok, sample.lost, sample.scheduled), (100, 99, 1, Some(100)));
    assert_eq!(sample.response.unwrap().max(), Some(1_000_000));

    let (sample, _) = run_window(vec![Fake(vec![Reply::Ok(1), Reply::Lost])], at_rate(100.0, 1000), HOUR).await;
    assert_eq!((sample.started, sample.lost, sample.window), (2, 1, ms(10)), "nobody is left: it ends early");
    assert_eq!(sample.scheduled, Some(2));
}

#[tokio::test(start_paused = true)]
async fn when_it_is_enough_the_schedule_ends_there() {
    let fakes = vec![Fake(vec![Reply::Ok(1)]); 4];
    let (sample, took) = run_late(fakes, at_rate(100.0, 10_000), HOUR, Duration::ZERO, sleep(ms(95))).await;
    assert_eq!((sample.started, sample.ok, sample.scheduled), (10, 10, Some(10)));
    assert_eq!((sample.window, took), (ms(95), ms(95)));
}

#[tokio::test(start_paused = true)]
async fn what_the_pacer_is_late_by_is_in_the_response_time_and_costs_no_call() {
    let fakes = vec![Fake(vec![Reply::Ok(1)]); 4];
    let (sample, _) = run_late(fakes, at_rate(100.0, 1000), HOUR, ms(25), pending()).await;
    // Awake at 0, and at 35, 75, 115 and so on: the call of 990 is released by the end of the window.
    assert_eq!((sample.started, sample.ok, sample.scheduled), (100, 100, Some(100)));
    assert_eq!(sample.latency.max(), Some(1_000_000));
    assert_eq!(sample.response.unwrap().max(), Some(26_000_000));
}

#[tokio::test(start_paused = true)]
async fn a_call_costs_the_engine_no_allocation_in_any_kind_of_window() {
    let windows = [
        requests,
        |count| Window::lasting(Duration::from_millis(count / 8)),
        |count| Window { rate: Some(8_000.0), ..requests(count) },
        |count| at_rate(8_000.0, count / 8),
        // Three calls of four find no task.
        |count| at_rate(32_000.0, count / 8),
    ];
    for window in windows {
        let mut costs = [0; 2];
        for (cost, count) in costs.iter_mut().zip([3_200, 32_000]) {
            let before = allocations();
            let (sample, _) = run_window(vec![Fake(vec![Reply::Ok(1)]); 8], window(count), HOUR).await;
            *cost = allocations() - before;
            assert!(sample.ok.abs_diff(count) <= 16, "{sample:?}");
        }
        // Tokio's timers may take one a task, by chance.
        assert!(costs[0].abs_diff(costs[1]) <= 8, "{costs:?} {:?}", window(1));
    }
}

/// Closing it takes its time, or for ever.
struct SlowToClose(Option<u64>);

impl Transport for SlowToClose {
    async fn call(&mut self, _verify: bool) -> Result<(), CallError> {
        sleep(ms(10)).await;
        Ok(())
    }

    fn check(&mut self) -> Result<(), CallError> {
        Err(CallError::Mismatch(0))
    }

    async fn close(&mut self) {
        match self.0 {
            Some(time) => sleep(ms(time)).await,
            None => pending().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_held_between_calls_is_let_go_after_the_window_for_as_long_as_it_drains() {
    for (closing, expected) in [(Some(5), ms(105)), (None, ms(100) + DRAIN_TIMEOUT)] {
        for window in [Window::lasting(ms(100)), requests(10)] {
            let begun = Instant::now();
            let alarm = Arc::new(VirtualAlarm { late: Duration::ZERO });
            let ledger = Ledger::new(Live::default(), false);
            let sample = run([SlowToClose(closing)], &window, HOUR, &alarm, ledger, pending()).await;
            assert_eq!((sample.started, sample.unfinished, sample.window), (10, 0, ms(100)));
            assert_eq!((sample.ok, sample.error), (0, 10), "a check that fails is an error");
            assert_eq!(begun.elapsed(), expected);
        }
    }
}

thread_local!(static ALLOCATIONS: Cell<u64> = const { Cell::new(0) });

/// Allocations of this thread so far.
fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// The system's allocator, counted by thread, since tests run side by side.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator; counting doesn't allocate, since a `const` cell without a
// destructor needs no set-up.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
