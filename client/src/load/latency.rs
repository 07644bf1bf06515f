//! Service times of successful calls.

use std::fmt;

use hdrhistogram::Histogram;

/// The longest time the histogram tells apart: 60 s in nanoseconds. Longer ones are counted, not lost.
const RANGE_NS: u64 = 60_000_000_000;

/// Times in nanoseconds: three significant digits up to 60 s, with exact minimum, maximum, sum and sum of squares.
///
/// Memory is fixed: three digits take 2,048 slots for the first 2,047 ns and 1,024 for each doubling up to 60 s, of
/// which there are 25, at eight bytes each: 216 KiB.
#[derive(Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
    above_range: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    /// Saturating, after 10¹⁷ calls of a minute.
    sum_of_squares: u128,
}

/// In short: its slots would fill pages.
impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, max] = [self.p50(), self.p99(), self.max()].map(Option::unwrap_or_default);
        write!(f, "Latency {{ count: {}, p50: {p50} ns, p99: {p99} ns, max: {max} ns }}", self.count())
    }
}

impl Default for Latency {
    fn default() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, RANGE_NS, 3).expect("constant bounds that hdrhistogram documents as valid");
        Self { histogram, above_range: 0, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, sum_of_squares: 0 }
    }
}

impl Latency {
    /// Records one call.
    pub fn record(&mut self, ns: u64) {
        if ns > RANGE_NS || self.histogram.record(ns).is_err() {
            self.above_range += 1;
        }
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += u128::from(ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(ns) * u128::from(ns));
    }

    /// Adds all of another's calls, as over the rounds of a run.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("histograms of the same bounds");
        self.above_range += other.above_range;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Calls recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.above_range
    }

    /// Calls of more than 60 s: their share of a quantile is known only as "more", so that a quantile among them is the
    /// maximum.
    pub fn above_range(&self) -> u64 {
        self.above_range
    }

    /// Calls that took longer than `ns`, which is rounded up to three digits as the recorded times are.
    pub fn over(&self, ns: u64) -> u64 {
        self.count() - self.histogram.count_between(0, ns)
    }

    /// The least time that a share `q` of the calls did not exceed, in ns; to three digits, never beyond the exact
    /// minimum and maximum.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * count as f64).ceil().max(1.0);
        let in_range = self.histogram.len() as f64;
        if rank > in_range {
            return Some(self.max_ns);
        }
        Some(self.histogram.value_at_quantile(rank / in_range).clamp(self.min_ns, self.max_ns))
    }

    /// The median in ns.
    pub fn p50(&self) -> Option<u64> {
        self.quantile(0.5)
    }

    /// The 90th percentile in ns.
    pub fn p90(&self) -> Option<u64> {
        self.quantile(0.9)
    }

    /// The 95th percentile in ns.
    pub fn p95(&self) -> Option<u64> {
        self.quantile(0.95)
    }

    /// The 99th percentile in ns.
    pub fn p99(&self) -> Option<u64> {
        self.quantile(0.99)
    }

    /// The 99.9th percentile in ns.
    pub fn p999(&self) -> Option<u64> {
        self.quantile(0.999)
    }

    /// The shortest, exact, in ns.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min_ns)
    }

    /// The longest, exact, in ns.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// The exact mean in ns.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// The population's standard deviation in ns: `√(Σx²/n - mean²)`. The sums are exact integers, so that the
    /// subtraction cancels only where they are turned into floats, at 53 bits.
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let mean_of_squares = self.sum_of_squares as f64 / self.count() as f64;
        Some((mean_of_squares - mean * mean).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::default();
        values.into_iter().for_each(|v| latency.record(v));
        latency
    }

    #[test]
    fn figures_of_known_values() {
        let latency = of((1..=1000).map(|us| us * 1000));
        assert_eq!(latency.count(), 1000);
        assert_eq!((latency.min(), latency.max(), latency.mean()), (Some(1_000), Some(1_000_000), Some(500_500.0)));
        for (q, exact) in [(0.5, 500_000.0), (0.9, 900_000.0), (0.99, 990_000.0), (0.999, 999_000.0)] {
            let got = latency.quantile(q).unwrap() as f64;
            assert!((got - exact).abs() / exact < 1e-3, "{q}: {got}");
        }
        // √((n² - 1) / 12) for 1..=n.
        let stddev = latency.stddev().unwrap();
        assert!((stddev - 288_674.99).abs() < 0.01, "{stddev}");
    }

    #[test]
    fn slow_calls_are_counted() {
        let latency = of([1, 999_000, 1_000_000, 1_002_000, 10_000_000, 20_000_000, RANGE_NS, 2 * RANGE_NS]);
        let over = [0, 1_000_000, 10_000_000, RANGE_NS, u64::MAX].map(|ns| latency.over(ns));
        assert_eq!(over, [8, 5, 3, 1, 1]);
        assert_eq!(Latency::default().over(1), 0);
    }

    #[test]
    fn nothing_recorded_is_nothing_known() {
        let empty = Latency::default();
        assert_eq!((empty.p50(), empty.p999(), empty.min(), empty.max()), (None, None, None, None));
        assert_eq!((empty.mean(), empty.stddev(), empty.count()), (None, None, 0));
    }

    #[test]
    fn times_above_the_range_are_counted_and_are_the_maximum() {
        let minute = RANGE_NS;
        let latency = of([1_000, 1_500, 2_000, u64::MAX, 2 * minute]);
        assert_eq!((latency.count(), latency.above_range(), latency.max()), (5, 2, Some(u64::MAX)));
        assert_eq!(latency.p50(), Some(2_000));
        assert_eq!(latency.p99(), Some(u64::MAX));
        assert_eq!(latency.mean(), Some((u64::MAX as f64 + 2.0 * minute as f64 + 4_500.0) / 5.0));
    }

    #[test]
    fn merged_figures_are_those_of_all_values() {
        let mut merged = of([2_000, 10_000]);
        merged.merge(&of([1_000, 2 * RANGE_NS]));
        merged.merge(&Latency::default());
        assert_eq!((merged.count(), merged.above_range()), (4, 1));
        assert_eq!((merged.min(), merged.max(), merged.p50()), (Some(1_000), Some(2 * RANGE_NS), Some(2_000)));
    }
}
