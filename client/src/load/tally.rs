//! What tasks record, without a lock or a contended counter per call.
//!
//! A histogram a task would take 216 KiB each, two gigabytes for 10,000 tasks. Instead a task keeps its last
//! [`BATCH`] calls' times (512 bytes) and adds them to one of [`LANES`] shared histograms when they are full: one lock in
//! 32 calls, held for about 300 ns, among an eighth of the tasks. So memory is the same after any number of calls.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{CallError, ErrorCount, Latency, LoadSample, spec::nanos};

/// Histograms that tasks share.
const LANES: usize = 8;

/// Times a task keeps before it adds them to its lane.
const BATCH: usize = 32;

/// Distinct error texts a lane keeps, since a server may put a number of its own into each. Further ones are counted
/// together.
const DISTINCT_ERRORS: usize = 64;

/// The text under which errors beyond [`DISTINCT_ERRORS`] are counted.
const OTHER_ERRORS: &str = "other errors";

/// Every how many calls of a task the reply is compared byte for byte. The first of each task is.
const VERIFY_EVERY: u64 = 64;

/// Calls answered so far, for progress displays; a handle, clones see the same count.
#[derive(Debug, Clone, Default)]
pub struct Live(Arc<[LiveLane; LANES]>);

/// Two cache lines, since x86 prefetches them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LiveLane(AtomicU64);

impl Live {
    /// Calls answered as they should be, over all windows run with this handle.
    pub fn ok(&self) -> u64 {
        self.0.iter().map(|lane| lane.0.load(Ordering::Relaxed)).sum()
    }
}

/// The shared side of one window.
#[derive(Debug)]
pub(super) struct Ledger {
    closed: AtomicBool,
    timed: bool,
    lanes: [Mutex<Lane>; LANES],
    /// Where the lanes are added up, made with them so that nothing is allocated later; gone once it was.
    total: Mutex<Option<Lane>>,
    live: Live,
}

#[derive(Debug, Default)]
struct Lane {
    started: u64,
    ok: u64,
    error: u64,
    lost: u64,
    ok_in_window: u64,
    last_start: Option<Instant>,
    latency: Latency,
    /// Where calls have a time to start.
    response: Option<Latency>,
    errors: HashMap<String, u64>,
}

impl Ledger {
    /// `timed` keeps response times beside service times.
    pub(super) fn new(live: Live, timed: bool) -> Arc<Self> {
        let lanes = std::array::from_fn(|_| Mutex::new(Lane::new(timed)));
        let total = Mutex::new(Some(Lane::new(timed)));
        Arc::new(Self { closed: AtomicBool::new(false), timed, lanes, total, live })
    }

    /// Ends the window: tasks start no further call, and replies from now on are not counted as within it.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// The sum over all tasks of a window that began then. Right once every [`Tally`] is dropped.
    pub(super) fn sample(&self, begun: Instant, window: Duration, scheduled: Option<u64>) -> LoadSample {
        let mut total = lock(&self.total).take().unwrap_or_else(|| Lane::new(self.timed));
        for lane in &self.lanes {
            total.add(&lock(lane));
        }
        let mut errors: Vec<_> =
            total.errors.into_iter().map(|(message, count)| ErrorCount { message, count }).collect();
        errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.message.cmp(&b.message)));
        LoadSample {
            window,
            started: total.started,
            ok: total.ok,
            error: total.error,
            lost: total.lost,
            unfinished: total.started - total.ok - total.error,
            ok_in_window: total.ok_in_window,
            latency: total.latency,
            response: total.response,
            scheduled,
            last_start: total.last_start.map(|last| last - begun),
            errors,
            replies: None,
            payload_bytes: 0,
            sent_bytes: 0,
            received_bytes: 0,
            wire_use: None,
        }
    }
}

impl Lane {
    fn new(timed: bool) -> Self {
        Self { response: timed.then(Latency::default), ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.ok += other.ok;
        self.error += other.error;
        self.lost += other.lost;
        self.ok_in_window += other.ok_in_window;
        self.last_start = self.last_start.max(other.last_start);
        self.latency.merge(&other.latency);
        if let (Some(response), Some(other)) = (&mut self.response, &other.response) {
            response.merge(other);
        }
        for (message, count) in &other.errors {
            *self.errors.entry(message.clone()).or_default() += count;
        }
    }

    fn count_error(&mut self, message: String) {
        let full = self.errors.len() >= DISTINCT_ERRORS;
        let key = if full && !self.errors.contains_key(&message) { OTHER_ERRORS.to_owned() } else { message };
        *self.errors.entry(key).or_default() += 1;
    }
}

/// The side of one task. What it holds back goes to its lane when it is dropped, so that the ledger closes for tasks that
/// are aborted in a call as well.
#[derive(Debug)]
pub(super) struct Tally {
    ledger: Arc<Ledger>,
    lane: usize,
    started: u64,
    ok: u64,
    error: u64,
    lost: u64,
    ok_in_window: u64,
    last_start: Option<Instant>,
    /// Service and response time of each.
    times_ns: [(u64, u64); BATCH],
    held: usize,
}

impl Tally {
    /// The tally of the `task`th task.
    pub(super) fn new(ledger: Arc<Ledger>, task: usize) -> Self {
        Self {
            ledger,
            lane: task % LANES,
            started: 0,
            ok: 0,
            error: 0,
            lost: 0,
            ok_in_window: 0,
            last_start: None,
            times_ns: [(0, 0); BATCH],
            held: 0,
        }
    }

    pub(super) fn window_is_closed(&self) -> bool {
        self.ledger.closed.load(Ordering::Relaxed)
    }

    /// Counts a call that starts now; whether its reply is to be compared byte for byte.
    pub(super) fn start(&mut self, now: Instant) -> bool {
        self.last_start = Some(now);
        let verify = self.started.is_multiple_of(VERIFY_EVERY);
        self.started += 1;
        verify
    }

    /// Counts a call answered as it should be. The response time counts where calls have a time to start.
    pub(super) fn ok(&mut self, service_time: Duration, response_time: Duration) {
        self.ok += 1;
        self.ok_in_window += u64::from(!self.window_is_closed());
        self.ledger.live.0[self.lane].0.fetch_add(1, Ordering::Relaxed);
        self.times_ns[self.held] = (nanos(service_time), nanos(response_time));
        self.held += 1;
        if self.held == BATCH {
            self.flush();
        }
    }

    pub(super) fn error(&mut self, error: &CallError) {
        self.error += 1;
        self.lost += u64::from(error.is_fatal());
        lock(&self.ledger.lanes[self.lane]).count_error(error.to_string());
    }

    fn flush(&mut self) {
        let mut lane = lock(&self.ledger.lanes[self.lane]);
        for &(service, response) in &self.times_ns[..self.held] {
            lane.latency.record(service);
            if let Some(responses) = &mut lane.response {
                responses.record(response);
            }
        }
        self.held = 0;
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.flush();
        let mut lane = lock(&self.ledger.lanes[self.lane]);
        lane.started += self.started;
        lane.ok += self.ok;
        lane.error += self.error;
        lane.lost += self.lost;
        lane.ok_in_window += self.ok_in_window;
        lane.last_start = lane.last_start.max(self.last_start);
    }
}

/// A lane's counts hold whatever became of the thread that held its lock.
fn lock<T>(lane: &Mutex<T>) -> MutexGuard<'_, T> {
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_closes_over_tasks_dropped_in_a_call() {
        let live = Live::default();
        let ledger = Ledger::new(live.clone(), true);
        let begun = Instant::now();
        for task in 0..20 {
            let mut tally = Tally::new(ledger.clone(), task);
            for i in 0..100u64 {
                tally.start(Instant::now());
                tally.ok(Duration::from_micros(i + 1), Duration::from_micros(i + 3));
            }
            tally.start(Instant::now());
            tally.error(&CallError::NoStatus);
            tally.start(begun + Duration::from_millis(100 - task as u64));
        }
        let sample = ledger.sample(begun, Duration::from_secs(2), Some(2050));
        assert_eq!((sample.started, sample.ok, sample.error, sample.unfinished), (2040, 2000, 20, 20));
        assert_eq!((sample.latency.count(), sample.latency.max(), live.ok()), (2000, Some(100_000), 2000));
        let response = sample.response.as_ref().unwrap();
        assert_eq!((response.count(), response.min(), response.max()), (2000, Some(3_000), Some(102_000)));
        assert_eq!((sample.scheduled, sample.last_start), (Some(2050), Some(Duration::from_millis(100))));
        assert_eq!(sample.errors, [ErrorCount { message: CallError::NoStatus.to_string(), count: 20 }]);
        assert_eq!(sample.qps(), Some(1000.0));
    }

    #[test]
    fn replies_after_the_window_are_ok_but_not_within_it() {
        let ledger = Ledger::new(Live::default(), false);
        let mut tally = Tally::new(ledger.clone(), 0);
        tally.start(Instant::now());
        tally.ok(Duration::from_millis(1), Duration::ZERO);
        tally.start(Instant::now());
        ledger.close();
        tally.ok(Duration::from_millis(1), Duration::ZERO);
        assert!(tally.window_is_closed());
        drop(tally);
        let sample = ledger.sample(Instant::now(), Duration::from_secs(1), None);
        assert_eq!((sample.ok, sample.ok_in_window, sample.latency.count()), (2, 1, 2));
        assert!(sample.response.is_none() && sample.scheduled.is_none());
    }

    #[test]
    fn memory_for_error_texts_is_bounded_and_none_is_lost() {
        let ledger = Ledger::new(Live::default(), false);
        let mut tally = Tally::new(ledger.clone(), 0);
        for i in 0..1000 {
            tally.start(Instant::now());
            tally.error(&CallError::ConnectionLost(i.to_string()));
        }
        drop(tally);
        let sample = ledger.sample(Instant::now(), Duration::ZERO, None);
        assert_eq!((sample.error, sample.lost), (1000, 1000));
        assert_eq!(sample.errors.len(), DISTINCT_ERRORS + 1);
        assert_eq!(sample.errors[0], ErrorCount { message: OTHER_ERRORS.into(), count: 936 });
        assert_eq!(sample.errors.iter().map(|e| e.count).sum::<u64>(), sample.error);
        assert_eq!(sample.qps(), None);
    }

    #[test]
    fn the_first_and_every_64th_reply_is_verified() {
        let mut tally = Tally::new(Ledger::new(Live::default(), false), 0);
        let verified: Vec<_> = (0..200).filter(|_| tally.start(Instant::now())).collect();
        assert_eq!(verified, [0, 64, 128, 192]);
    }
}
