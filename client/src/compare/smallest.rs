//! The smallest effect: how large a difference must be to count.
//!
//! A difference may be no chance and still be nothing: counts repeat so well that 0.03 % more of them is significant. Tools differ in
//! what they do about it. benchstat takes any difference with p < 0.05. tango asks for more than 0.5 % beside significance (`DiffEstimate`
//! in its `cli.rs`). criterion has a `noise_threshold` of 1 %, beyond which the whole interval must lie (`compare_to_threshold` in its
//! `report.rs`). Here it is as in tango: the estimate must reach the threshold, and that it isn't chance is what the test says. With
//! the five rounds of a run an interval is nearly as wide as the rounds' range: beyond criterion's threshold it would hardly ever lie.
//!
//! The thresholds are tango's for counts and criterion's for times. An allocation more an op counts however many there are.

use serde::{Deserialize, Serialize};

use super::Metric;

/// Of allocs/op the most that the smallest effect is, unless a noise floor is larger: one more in a thousand would be lost otherwise.
const MOST_ALLOCS: f64 = 0.5;

/// The smallest differences that count, as shares: 0.01 is 1 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Smallest {
    /// Of what is counted: bytes and allocations.
    pub counts: f64,
    /// Of all else: times, rates and memory.
    pub times: f64,
    /// What was measured of the machine. No difference below it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// How far apart a server was from itself, as `analyze aa` saves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Such a share of the differences was larger than the floor.
    pub alpha: f64,
    /// The names of the results' files.
    pub cells: Vec<String>,
    /// How many times each was measured.
    pub runs: u64,
    /// One for each figure.
    pub metrics: Vec<Floor>,
}

/// The noise floor of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The figure's key in a result's JSON.
    pub metric: String,
    /// A share of it. `None` of too few runs, and around zero.
    pub noise_floor: Option<f64>,
}

impl Default for Smallest {
    fn default() -> Self {
        Self { counts: 0.005, times: 0.01, noise: None }
    }
}

impl Smallest {
    /// The smallest difference from such a value that counts, in the figure's unit; no less than the last digit that tables show.
    pub fn of(&self, metric: &Metric, value: f64) -> f64 {
        let share = if metric.is_counted() { self.counts } else { self.times };
        let mut smallest = (share * value.abs()).max(metric.resolution(value));
        if metric.key == "allocs_per_op" {
            smallest = smallest.min(MOST_ALLOCS);
        }
        smallest.max(self.floor(metric).unwrap_or(0.0) * value.abs())
    }

    /// The noise floor that was measured, a share.
    pub fn floor(&self, metric: &Metric) -> Option<f64> {
        let floors = &self.noise.as_ref()?.metrics;
        floors.iter().find(|floor| floor.metric == metric.key)?.noise_floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(smallest: &Smallest, key: &str, value: f64) -> f64 {
        let smallest = smallest.of(Metric::by_key(key).unwrap(), value);
        (smallest * 1e9).round() / 1e9
    }

    #[test]
    fn an_allocation_more_always_counts() {
        for allocs in [0.0, 1.0, 5.06, 35.06, 151.5, 407.4, 1e6] {
            assert!(of(&Smallest::default(), "allocs_per_op", allocs) < 1.0, "{allocs}");
        }
    }

    #[test]
    fn counts_and_times_have_their_own() {
        let default = Smallest::default();
        assert_eq!(of(&default, "allocs_per_op", 5.06), 0.0253);
        assert_eq!(of(&default, "allocs_per_op", 151.5), 0.5);
        assert_eq!(of(&default, "bytes_per_op", 1_776.0), 8.88);
        assert_eq!(of(&default, "qps", 50_000.0), 500.0);
        assert_eq!(of(&default, "server_cpu_us_per_op", 18.9), 0.189);
        // The last digit that is shown.
        assert_eq!(of(&default, "allocs_per_op", 0.0), 0.01);
        assert_eq!(of(&default, "bytes_per_op", 10.0), 1.0);
    }

    #[test]
    fn no_difference_below_the_noise_floor_counts() {
        let floor = |metric: &str, noise_floor| Floor { metric: metric.to_owned(), noise_floor };
        let metrics = vec![floor("qps", Some(0.04)), floor("allocs_per_op", Some(0.001)), floor("bytes_per_op", None)];
        let noise = Noise { alpha: 0.05, cells: Vec::new(), runs: 25, metrics };
        let smallest = Smallest { noise: Some(noise), ..Smallest::default() };
        assert_eq!(of(&smallest, "qps", 50_000.0), 2_000.0);
        assert_eq!(of(&smallest, "allocs_per_op", 5.06), 0.0253);
        assert_eq!(of(&smallest, "bytes_per_op", 1_776.0), 8.88);
        assert_eq!(of(&smallest, "latency_p50_ms", 0.9), 0.009);
    }
}
