//! How often a verdict is wrong where nothing changed.

use serde::Serialize;

use super::{Comparison, METRICS, Verdict};

/// Verdicts on runs of the same server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FalseAlarms {
    /// The probability of a false alarm that each verdict accepted.
    pub alpha: f64,
    /// One for each figure that was judged, in the order of tables.
    pub metrics: Vec<Alarms>,
}

/// The verdicts on one figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alarms {
    /// The figure's key in a result's JSON.
    pub metric: &'static str,
    /// Verdicts.
    pub judged: u64,
    /// Of these, better.
    pub better: u64,
    /// Of these, worse.
    pub worse: u64,
}

impl FalseAlarms {
    /// Nothing judged yet.
    pub fn new(alpha: f64) -> Self {
        Self { alpha, metrics: Vec::new() }
    }

    /// Counts the verdicts of a comparison of runs of the same server.
    pub fn count(&mut self, comparison: &Comparison<'_>) {
        for judgement in comparison.pairs.iter().flat_map(|pair| &pair.judgements) {
            if judgement.verdict == Verdict::CannotJudge {
                continue;
            }
            let alarms = self.of(judgement.metric);
            alarms.judged += 1;
            match judgement.verdict {
                Verdict::Better => alarms.better += 1,
                Verdict::Worse => alarms.worse += 1,
                Verdict::WithinNoise | Verdict::CannotJudge => {}
            }
        }
    }

    fn of(&mut self, metric: &'static str) -> &mut Alarms {
        let place = |key: &str| METRICS.iter().position(|known| known.key == key);
        let at = self.metrics.partition_point(|known| place(known.metric) < place(metric));
        if self.metrics.get(at).is_none_or(|known| known.metric != metric) {
            self.metrics.insert(at, Alarms { metric, judged: 0, better: 0, worse: 0 });
        }
        &mut self.metrics[at]
    }
}

impl Alarms {
    /// Verdicts that were wrong.
    pub fn wrong(&self) -> u64 {
        self.better + self.worse
    }

    /// The probability of as many wrong verdicts or more, if each is wrong with probability `alpha` and independently: the upper tail
    /// of the binomial distribution.
    pub fn chance(&self, alpha: f64) -> f64 {
        let mut below = 0.0;
        let mut term = (1.0 - alpha).powf(self.judged as f64);
        for k in 0..self.wrong() {
            below += term;
            term *= (self.judged - k) as f64 / (k + 1) as f64 * alpha / (1.0 - alpha);
        }
        (1.0 - below).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By SciPy 1.17: `binom.sf(wrong - 1, judged, 0.05)`.
    #[test]
    fn chance_is_the_binomial_tail() {
        for (wrong, judged, chance) in
            [(0, 25, 1.0), (1, 25, 0.7226104268781659), (4, 25, 0.034090601480990655), (12, 100, 0.004274182466365919)]
        {
            let alarms = Alarms { metric: "qps", judged, better: wrong, worse: 0 };
            assert!((alarms.chance(0.05) - chance).abs() < 1e-12, "{wrong} of {judged}: {}", alarms.chance(0.05));
        }
    }

    #[test]
    fn figures_stand_in_the_order_of_tables() {
        let mut alarms = FalseAlarms::new(0.05);
        for metric in ["qps", "bytes_per_op", "latency_p50_ms", "allocs_per_op", "qps"] {
            alarms.of(metric).judged += 1;
        }
        let order: Vec<_> = alarms.metrics.iter().map(|alarms| (alarms.metric, alarms.judged)).collect();
        assert_eq!(order, [("bytes_per_op", 1), ("allocs_per_op", 1), ("qps", 2), ("latency_p50_ms", 1)]);
    }
}
