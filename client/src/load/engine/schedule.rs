//! An open loop: calls that start at times of their own, whatever the server does.
//!
//! Call `i` is to start `i / rate` after the window's begin. A task takes the next call and waits for its time; when every
//! task is still waiting for a reply, the calls whose time comes meanwhile are late, and are sent at once as soon as a task is
//! free, as wrk2 does. Response times are counted from when a call was to start, so that a stall is seen by every call
//! it delayed, and not once a task.
//!
//! # How exact it is
//! One task, the pacer, wakes the others when their time has come. What it is late by is in every response time: at the
//! most [`TICK`], what the kernel's timer takes, and a turn of the runtime.
//!
//! `cargo bench -p analyze --bench pacing` measures it against the raw echo, as response less service time. On two shared virtual
//! cores, with the server on one of them: 60 µs at the median and 150 µs at p99 at 1,000 calls a second, 60 and 100 at 5,000, 70
//! and 180 at 20,000, 90 and 320 at 50,000. The least of three runs is given; whatever else the machine does adds to p99.

use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::Alarm;
use crate::load::{
    End,
    spec::{MAX_RATE, MIN_RATE, nanos},
};

/// The pacer sleeps at least so long: beyond 20,000 calls a second it releases several at a time instead of spending a
/// core on timers.
const TICK: Duration = Duration::from_micros(50);

/// The calls of one window and what has become due of them.
#[derive(Debug)]
pub(super) struct Schedule {
    begun: Instant,
    rate: f64,
    /// Calls that are to start before the end of the window.
    planned: u64,
    /// The call that the next task takes. One contended counter a call: it is what puts calls in order.
    next: AtomicU64,
    /// Calls up to this one may start.
    due: AtomicU64,
    /// Calls from this one on never start.
    limit: AtomicU64,
    /// Where tasks wait: call `i` at `i` modulo their number. Calls are taken in order and each that is not due is waited for,
    /// so that no two of them differ by as much as there are tasks.
    places: Box<[Notify]>,
}

impl Schedule {
    /// `rate` is calls a second, beyond its limits the limit.
    pub(super) fn new(rate: f64, end: End, tasks: usize, begun: Instant) -> Self {
        let rate = if rate.is_nan() { MIN_RATE } else { rate.clamp(MIN_RATE, MAX_RATE) };
        let (planned, limit) = match end {
            // Tasks wait for calls beyond the end as well, so that the window lasts to its end.
            End::After(length) => (calls_before(nanos(length), rate), u64::MAX),
            End::Requests(count) => (count, count),
        };
        let places = (0..tasks).map(|_| Notify::new()).collect();
        Self { begun, rate, planned, next: 0.into(), due: 0.into(), limit: limit.into(), places }
    }

    /// Takes the next call and waits for its time, which it returns; `None` where there is no call left.
    pub(super) async fn next(&self) -> Option<Instant> {
        let call = self.next.fetch_add(1, SeqCst);
        loop {
            if call < self.due.load(SeqCst) {
                return Some(self.begun + Duration::from_nanos(offset(call, self.rate)));
            }
            if call >= self.limit.load(SeqCst) {
                return None;
            }
            self.place(call).notified().await;
        }
    }

    /// The pacer: lets calls start as they become due, until the last one is.
    pub(super) async fn release(&self, alarm: &impl Alarm) {
        loop {
            let now = Instant::now();
            let due = calls_before(nanos(now - self.begun) + 1, self.rate).min(self.planned);
            let released = self.due.fetch_max(due, SeqCst);
            // Who takes a later call sees that it is due. In one order with the two above: a task increments `next` and then
            // reads `due`, here `due` is written and then `next` is read.
            for call in released..due.min(self.next.load(SeqCst)) {
                self.place(call).notify_one();
            }
            if due >= self.planned {
                return;
            }
            let time = self.begun + Duration::from_nanos(offset(due, self.rate));
            alarm.wait_until(time.max(now + TICK)).await;
        }
    }

    /// Ends the window `after` its begin. Calls that a task holds and whose time lies within start at once, however late the
    /// pacer is; the others never do.
    pub(super) fn close(&self, after: Duration) {
        let limit = self.planned.min(calls_before(nanos(after), self.rate));
        self.limit.store(limit, SeqCst);
        self.due.fetch_max(limit, SeqCst);
        self.places.iter().for_each(Notify::notify_one);
    }

    /// Once closed: the calls that were to start within the window.
    pub(super) fn scheduled(&self) -> u64 {
        self.due.load(SeqCst)
    }

    fn place(&self, call: u64) -> &Notify {
        &self.places[(call % self.places.len() as u64) as usize]
    }
}

/// When a call is to start, in ns from the begin of the window. Each is computed from the rate alone, so that nothing adds up;
/// a float holds the nanoseconds of a hundred days.
fn offset(call: u64, rate: f64) -> u64 {
    (call as f64 * 1e9 / rate) as u64
}

/// How many calls are to start before `ns`: exactly those whose [`offset`] is less.
fn calls_before(ns: u64, rate: f64) -> u64 {
    let mut calls = (ns as f64 * rate / 1e9) as u64;
    while calls > 0 && offset(calls - 1, rate) >= ns {
        calls -= 1;
    }
    while offset(calls, rate) < ns {
        calls += 1;
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_as_they_are_timed() {
        for rate in [0.001, 0.3, 1.0, 7.0, 999.9, 5_000.0, 333_333.3, 1e6] {
            for ns in [0, 1, 999, 1_000, 1_000_000, 999_999_999, 1_000_000_000, 3_600_000_000_000] {
                let calls = calls_before(ns, rate);
                assert!(calls == 0 || offset(calls - 1, rate) < ns, "{rate} {ns}");
                assert!(offset(calls, rate) >= ns, "{rate} {ns}");
            }
        }
        assert_eq!(calls_before(1_000_000_000, 5_000.0), 5_000);
        assert_eq!(calls_before(1_000_000_001, 5_000.0), 5_001, "the call at one second is not before it");
    }

    #[tokio::test(start_paused = true)]
    async fn rates_that_are_none_are_the_slowest() {
        for rate in [f64::NAN, 0.0, -5.0, f64::NEG_INFINITY] {
            let schedule = Schedule::new(rate, End::After(Duration::from_secs(1)), 1, Instant::now());
            assert_eq!((schedule.rate, schedule.planned), (MIN_RATE, 1));
        }
        assert_eq!(Schedule::new(f64::INFINITY, End::Requests(9), 1, Instant::now()).rate, MAX_RATE);
    }
}
