//! Whether a rate was reached. Every view of a result asks here.

use super::{RunResult, derive::ratio};
use crate::stats;

impl RunResult {
    /// The rate at which calls were started that were then answered as they should be, 1/s. Where each round lasts for a time, it is
    /// their share of the schedule: replies within the window by its length would leave out those in flight at its end, which are
    /// many where it is short. Where each round has so many calls, all of the schedule are started, the later the slower: there it
    /// is calls by the time in which they were started, and one interval for the last. Without a schedule it is the QPS.
    pub fn achieved_rate(&self) -> Option<f64> {
        self.by_last_start().or_else(|| self.by_schedule()).or(self.figures.qps)
    }

    /// Whether the rate asked for was reached. `None` in a closed loop.
    pub fn reached_rate(&self) -> Option<bool> {
        Some(stats::reached(self.load.qps?, self.achieved_rate().unwrap_or_default()))
    }

    fn by_last_start(&self) -> Option<f64> {
        let interval = 1.0 / self.load.qps.filter(|_| self.load.requests.is_some())?;
        let span = |last_ns: u64| last_ns as f64 / 1e9 + interval;
        let seconds = self.rounds.iter().map(|round| round.last_start_ns.map(span)).sum::<Option<f64>>()?;
        ratio(self.success_requests as f64, seconds)
    }

    fn by_schedule(&self) -> Option<f64> {
        let scheduled = self.total_requests + self.missed_requests?;
        Some(self.load.qps? * ratio(self.success_requests as f64, scheduled as f64)?)
    }
}
