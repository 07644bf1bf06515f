//! How often a verdict is wrong where nothing changed, and how far apart a server is from itself.

use serde::Serialize;

use super::{Comparison, Criteria, Floor, METRICS, Noise, Verdict, judge::Judgement};
use crate::stats;

/// Verdicts on runs of the same server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FalseAlarms {
    /// What the verdicts were by.
    #[serde(flatten)]
    pub criteria: Criteria,
    /// How often the server was measured against itself.
    pub runs: u64,
    /// The names of the results' files.
    pub cells: Vec<String>,
    /// One for each figure that was judged, in the order of tables.
    pub metrics: Vec<Alarms>,
}

/// The verdicts on one figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alarms {
    /// The figure's key in a result's JSON.
    pub metric: &'static str,
    /// Verdicts.
    pub judged: u64,
    /// Of these, significant, be the difference small or large.
    pub significant: u64,
    /// How likely that was for each of them, of samples without ties.
    pub size: f64,
    /// Of these, better.
    pub better: u64,
    /// Of these, worse.
    pub worse: u64,
    /// The size that a share of alpha of the differences exceeded, a share of the figure. `None` of fewer than 1 ÷ alpha, and where
    /// figures were zero.
    pub noise_floor: Option<f64>,
    /// Each difference as it was estimated, in the order of the runs.
    pub changes: Vec<Option<f64>>,
}

impl FalseAlarms {
    /// Nothing judged yet.
    pub fn new(criteria: Criteria) -> Self {
        Self { criteria, runs: 0, cells: Vec::new(), metrics: Vec::new() }
    }

    /// Counts the verdicts of a comparison of runs of the same server, by the same criteria.
    pub fn count(&mut self, comparison: &Comparison<'_>) {
        self.runs += 1;
        for pair in &comparison.pairs {
            if !self.cells.contains(&pair.cell) {
                self.cells.push(pair.cell.clone());
            }
            let judged = pair.judgements.iter().filter(|judgement| judgement.verdict != Verdict::CannotJudge);
            judged.for_each(|judgement| self.count_one(judgement));
        }
    }

    fn count_one(&mut self, judgement: &Judgement) {
        let alpha = self.criteria.alpha;
        let size = stats::size(judgement.a.values.len(), judgement.b.values.len(), alpha);
        let alarms = self.of(judgement.metric);
        alarms.size = (alarms.size * alarms.judged as f64 + size) / (alarms.judged + 1) as f64;
        alarms.judged += 1;
        alarms.significant += u64::from(judgement.significant);
        alarms.better += u64::from(judgement.verdict == Verdict::Better);
        alarms.worse += u64::from(judgement.verdict == Verdict::Worse);
        alarms.changes.push(judgement.change.filter(|change| change.relative).map(|change| change.estimate));
        alarms.noise_floor = noise_floor(&alarms.changes, alpha);
    }

    /// What `compare` and `gate` may take for noise.
    pub fn noise(&self) -> Noise {
        let floor = |alarms: &Alarms| Floor { metric: alarms.metric.to_owned(), noise_floor: alarms.noise_floor };
        Noise {
            alpha: self.criteria.alpha,
            cells: self.cells.clone(),
            runs: self.runs,
            metrics: self.metrics.iter().map(floor).collect(),
        }
    }

    fn of(&mut self, metric: &'static str) -> &mut Alarms {
        let place = |key: &str| METRICS.iter().position(|known| known.key == key);
        let at = self.metrics.partition_point(|known| place(known.metric) < place(metric));
        if self.metrics.get(at).is_none_or(|known| known.metric != metric) {
            self.metrics.insert(at, Alarms::none(metric));
        }
        &mut self.metrics[at]
    }
}

/// The (1 - alpha)-quantile of the sizes.
fn noise_floor(changes: &[Option<f64>], alpha: f64) -> Option<f64> {
    let sizes: Vec<f64> = changes.iter().map(|change| change.map(f64::abs)).collect::<Option<_>>()?;
    stats::quantile(&sizes, 1.0 - alpha).filter(|_| sizes.len() >= Noise::runs_needed(alpha))
}

impl Noise {
    /// How many differences a floor takes: of fewer none is expected beyond it.
    pub fn runs_needed(alpha: f64) -> usize {
        // What 1 ÷ 0.05 is more than 20 is no run.
        (1.0 / alpha - 1e-9).ceil() as usize
    }
}

impl Alarms {
    fn none(metric: &'static str) -> Self {
        Self {
            metric,
            judged: 0,
            significant: 0,
            size: 0.0,
            better: 0,
            worse: 0,
            noise_floor: None,
            changes: Vec::new(),
        }
    }

    /// Verdicts that were wrong.
    pub fn wrong(&self) -> u64 {
        self.better + self.worse
    }

    /// The probability of as many significant differences or more, if each is so with the probability that it has by design, and
    /// independently: the upper tail of the binomial distribution.
    pub fn chance(&self) -> f64 {
        let mut below = 0.0;
        let mut term = (1.0 - self.size).powf(self.judged as f64);
        for k in 0..self.significant {
            below += term;
            term *= (self.judged - k) as f64 / (k + 1) as f64 * self.size / (1.0 - self.size);
        }
        (1.0 - below).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By SciPy 1.17: `binom.sf(significant - 1, judged, 0.05)`.
    #[test]
    fn chance_is_the_binomial_tail() {
        for (significant, judged, chance) in
            [(0, 25, 1.0), (1, 25, 0.7226104268781659), (4, 25, 0.034090601480990655), (12, 100, 0.004274182466365919)]
        {
            let alarms = Alarms { judged, significant, size: 0.05, ..Alarms::none("qps") };
            assert!((alarms.chance() - chance).abs() < 1e-12, "{significant} of {judged}: {}", alarms.chance());
        }
    }

    #[test]
    fn figures_stand_in_the_order_of_tables() {
        let mut alarms = FalseAlarms::new(Criteria::default());
        for metric in ["qps", "bytes_per_op", "latency_p50_ms", "allocs_per_op", "qps"] {
            alarms.of(metric).judged += 1;
        }
        let order: Vec<_> = alarms.metrics.iter().map(|alarms| (alarms.metric, alarms.judged)).collect();
        assert_eq!(order, [("bytes_per_op", 1), ("allocs_per_op", 1), ("qps", 2), ("latency_p50_ms", 1)]);
    }

    #[test]
    fn a_noise_floor_is_what_few_differences_exceed() {
        // Definition 7 of the 0.95-quantile of 1 … 25 is 23.8.
        let changes: Vec<_> = (1..=25).map(|n| Some(f64::from(n) * if n % 2 == 0 { 0.01 } else { -0.01 })).collect();
        assert!((noise_floor(&changes, 0.05).unwrap() - 0.238).abs() < 1e-12);
        assert_eq!(noise_floor(&changes[..19], 0.05), None, "too few");
        assert!(noise_floor(&changes[..20], 0.05).is_some());
        assert_eq!(noise_floor(&[&changes[..], &[None]].concat(), 0.05), None, "one around zero");
        assert_eq!((Noise::runs_needed(0.05), Noise::runs_needed(0.01), Noise::runs_needed(0.3)), (20, 100, 4));
    }
}
