//! One figure over the rounds of two runs: the difference, how sure it is, and a word for it.

use serde::Serialize;

use super::{Better, Criteria, Metric, Smallest};
use crate::{measure::result::Figures, stats};

/// How far two groups of values must lie apart, in widths of the wider one, to be called two.
const GAP: f64 = 3.0;
/// How far, at least, of their median.
const GAP_OF_MEDIAN: f64 = 0.02;
/// The fewest values of a group.
const GROUP: usize = 2;

/// What became of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The figure's key in a result's JSON.
    pub metric: &'static str,
    /// The first run's values.
    pub a: Side,
    /// The second run's.
    pub b: Side,
    /// How the second run's rounds differ from the first's. `None` where a side has none.
    pub change: Option<Change>,
    /// Two-sided, by Mann–Whitney. `None` where a side has no values.
    pub p: Option<f64>,
    /// Whether chance alone would hardly do as much: p is at most alpha, and the interval leaves out zero.
    pub significant: bool,
    /// The smallest change that counts, in the terms of `change`.
    pub smallest: Option<f64>,
    /// The word.
    pub verdict: Verdict,
    /// What a reader must know of it, sentences.
    pub notes: Vec<String>,
}

/// How far a round of the second run is from one of the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Whether it is a share of the first run's figure: 0.01 = 1 % more. Where that would divide by zero it is a difference, in the
    /// figure's unit.
    pub relative: bool,
    /// The median over all pairs of rounds.
    pub estimate: f64,
    /// Where it lies with at least 1 - alpha confidence. `None` with too few rounds.
    pub interval: Option<(f64, f64)>,
}

/// One run's values of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// One a round.
    pub values: Vec<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// Half their range ÷ median. `None` of fewer than two, and around zero.
    pub spread: Option<f64>,
}

/// The word for a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It changed for the good by as much as counts, and that is no chance.
    Better,
    /// It changed for the bad by as much as counts, and that is no chance.
    Worse,
    /// If it changed, then by less than counts: a difference that is no chance but small, or a whole interval of small ones.
    Negligible,
    /// Chance alone would do as much.
    WithinNoise,
    /// The rounds are too few for any word.
    CannotJudge,
}

impl Verdict {
    /// Every one, those that matter first.
    pub const ALL: [Self; 5] = [Self::Better, Self::Worse, Self::Negligible, Self::WithinNoise, Self::CannotJudge];

    /// As it is read.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Negligible => "negligible",
            Self::WithinNoise => "within noise",
            Self::CannotJudge => "cannot judge",
        }
    }
}

impl Change {
    /// Of logarithms where there are any, as a ratio of two figures has the same distance from 1 either way round.
    fn between(a: &[f64], b: &[f64], alpha: f64) -> Option<Self> {
        let relative = a.iter().chain(b).all(|value| *value > 0.0);
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let shift = if relative { stats::shift(&logs(a), &logs(b), alpha)? } else { stats::shift(a, b, alpha)? };
        let back = |shift: f64| if relative { shift.exp_m1() } else { shift };
        let interval = shift.interval.map(|(low, high)| (back(low), back(high)));
        Some(Self { relative, estimate: back(shift.estimate), interval })
    }

    fn leaves_out_zero(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Whether it is smaller than that: as far as can be told, or for sure.
    fn is_below(&self, smallest: f64, significant: bool) -> bool {
        let below = |change: f64| change.abs() < smallest;
        if significant {
            below(self.estimate)
        } else {
            self.interval.is_some_and(|(low, high)| below(low) && below(high))
        }
    }
}

impl Side {
    pub(super) fn of(metric: &Metric, rounds: &[Figures]) -> Self {
        let values: Vec<f64> = rounds.iter().filter_map(metric.of).filter(|value| value.is_finite()).collect();
        let spread = (values.len() > 1).then(|| stats::spread(&values)).flatten();
        Self { median: stats::median(&values), spread, values }
    }
}

/// `None` where neither run has the figure.
pub(super) fn judge(metric: &Metric, a: &[Figures], b: &[Figures], criteria: &Criteria) -> Option<Judgement> {
    let alpha = criteria.alpha;
    let (a, b) = (Side::of(metric, a), Side::of(metric, b));
    if a.values.is_empty() && b.values.is_empty() {
        return None;
    }
    let change = Change::between(&a.values, &b.values, alpha);
    let smallest = change.zip(a.median).map(|(change, median)| smallest(&criteria.smallest, metric, change, median));
    let p = stats::mann_whitney(&a.values, &b.values);
    let mut notes = Vec::new();
    let mut significant = false;
    let verdict = match (change, smallest, p) {
        (Some(change), Some(smallest), Some(p)) if stats::least_p(a.values.len(), b.values.len()) <= alpha => {
            significant = p <= alpha && change.leaves_out_zero();
            match metric.better {
                _ if change.is_below(smallest, significant) => Verdict::Negligible,
                _ if !significant => Verdict::WithinNoise,
                Better::Higher if change.estimate > 0.0 => Verdict::Better,
                Better::Lower if change.estimate < 0.0 => Verdict::Better,
                _ => Verdict::Worse,
            }
        }
        (Some(_), _, Some(_)) => {
            notes.push(too_few(a.values.len(), b.values.len(), alpha));
            Verdict::CannotJudge
        }
        _ => {
            let side = if a.values.is_empty() { "first" } else { "second" };
            notes.push(format!("not measured in the {side} run"));
            Verdict::CannotJudge
        }
    };
    for (side, which) in [(&a, "first"), (&b, "second")] {
        notes.extend(two_groups(side).map(|groups| format!("in the {which} run {groups}")));
    }
    Some(Judgement { metric: metric.key, change, p, significant, smallest, verdict, notes, a, b })
}

/// The smallest change that counts in the terms of this one.
fn smallest(smallest: &Smallest, metric: &Metric, change: Change, median: f64) -> f64 {
    let difference = smallest.of(metric, median);
    if change.relative { difference / median } else { difference }
}

fn too_few(a: usize, b: usize, alpha: f64) -> String {
    let rounds = |n: usize| format!("{n} round{}", if n == 1 { "" } else { "s" });
    format!(
        "{} against {}: no difference, however large, has a p of {alpha} or less; it takes {} on each side",
        rounds(a),
        b,
        rounds(stats::values_needed(alpha))
    )
}

/// Where values fall into two groups far apart, what is typical is neither, and a median stands for the larger group.
fn two_groups(side: &Side) -> Option<String> {
    let mut values = side.values.clone();
    values.sort_by(f64::total_cmp);
    let width = |group: &[f64]| group.last().zip(group.first()).map_or(0.0, |(last, first)| last - first);
    let last = values.len().checked_sub(GROUP)?;
    let cut = (GROUP..=last).max_by(|&i, &j| (values[i] - values[i - 1]).total_cmp(&(values[j] - values[j - 1])))?;
    let (low, high) = values.split_at(cut);
    let gap = high[0] - low[low.len() - 1];
    let apart = gap > GAP * width(low).max(width(high)) && gap > GAP_OF_MEDIAN * side.median?.abs();
    apart.then(|| format!("the rounds fall into two groups, {} low and {} high", low.len(), high.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::METRICS;

    fn rounds(qps: &[f64]) -> Vec<Figures> {
        qps.iter().map(|&qps| Figures { qps: Some(qps), allocs_per_op: Some(qps), ..Figures::default() }).collect()
    }

    fn judged(key: &str, a: &[f64], b: &[f64]) -> Judgement {
        let metric = METRICS.iter().find(|metric| metric.key == key).unwrap();
        judge(metric, &rounds(a), &rounds(b), &Criteria::default()).unwrap()
    }

    #[test]
    fn which_way_is_good_depends_on_the_metric() {
        let (a, b) = ([100.0, 101.0, 102.0, 103.0, 104.0], [110.0, 111.0, 112.0, 113.0, 114.0]);
        assert_eq!(judged("qps", &a, &b).verdict, Verdict::Better);
        assert_eq!(judged("qps", &b, &a).verdict, Verdict::Worse);
        let allocs = judged("allocs_per_op", &a, &b);
        // The 13th of the 25 ratios is that of the middles.
        let change = allocs.change.unwrap();
        assert!(change.relative && (change.estimate - (112.0 / 102.0 - 1.0)).abs() < 1e-3, "{change:?}");
        assert_eq!(allocs.verdict, Verdict::Worse);
        assert!(allocs.p.unwrap() < 0.008 && allocs.notes.is_empty(), "{allocs:?}");
        assert_eq!(judged("allocs_per_op", &b, &a).verdict, Verdict::Better);
    }

    #[test]
    fn one_round_against_one_cannot_be_judged() {
        for (a, b) in [(&[5.0][..], &[5.0][..]), (&[5.0], &[9.0]), (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0])] {
            let judgement = judged("qps", a, b);
            assert_eq!((judgement.verdict, judgement.change.unwrap().interval), (Verdict::CannotJudge, None));
            assert!(judgement.notes[0].ends_with("it takes 4 rounds on each side"), "{:?}", judgement.notes);
        }
        // Three against ten are enough.
        let ten: Vec<f64> = (10..20).map(f64::from).collect();
        assert_eq!(judged("qps", &[1.0, 2.0, 3.0], &ten).verdict, Verdict::Better);
    }

    #[test]
    fn counts_without_variance_are_judged_by_their_difference() {
        let same = judged("allocs_per_op", &[5.0; 5], &[5.0; 5]);
        assert_eq!((same.verdict, same.p, same.a.spread), (Verdict::Negligible, Some(1.0), Some(0.0)));
        let unchanged = Change { relative: true, estimate: 0.0, interval: Some((0.0, 0.0)) };
        assert_eq!(same.change, Some(unchanged));
        let twice = judged("allocs_per_op", &[5.0; 5], &[10.0; 5]);
        let change = twice.change.unwrap();
        assert!((change.estimate - 1.0).abs() < 1e-12 && twice.verdict == Verdict::Worse, "{twice:?}");
        let from_zero = judged("allocs_per_op", &[0.0; 5], &[1.0; 5]);
        assert_eq!(from_zero.verdict, Verdict::Worse);
        assert_eq!(from_zero.change, Some(Change { relative: false, estimate: 1.0, interval: Some((1.0, 1.0)) }));
    }

    #[test]
    fn a_difference_that_is_no_chance_may_be_too_small_to_count() {
        // 0.03 % of 5.06 allocations.
        let hair = judged("allocs_per_op", &[5.06; 5], &[5.0615; 5]);
        assert!(hair.significant && hair.p.unwrap() < 0.008 && hair.notes.is_empty(), "{hair:?}");
        assert_eq!(hair.verdict, Verdict::Negligible);
        assert!((hair.smallest.unwrap() - 0.005).abs() < 1e-12, "{hair:?}");
        // One in a thousand is a tenth of a percent, and counts.
        assert_eq!(judged("allocs_per_op", &[1000.0; 5], &[1001.0; 5]).verdict, Verdict::Worse);
        assert_eq!(judged("allocs_per_op", &[1000.0; 5], &[1000.4; 5]).verdict, Verdict::Negligible);
        assert_eq!(
            judged("qps", &[100.0, 100.1, 100.2, 100.3], &[100.9, 101.0, 100.8, 100.7]).verdict,
            Verdict::Negligible
        );
        assert_eq!(
            judged("qps", &[100.0, 100.1, 100.2, 100.3], &[101.9, 102.0, 101.8, 101.7]).verdict,
            Verdict::Better
        );
    }

    #[test]
    fn what_can_not_be_told_from_chance_is_negligible_only_if_all_of_its_interval_is() {
        let near = judged("qps", &[100.0, 100.1, 100.2, 100.3], &[100.05, 100.15, 100.25, 100.35]);
        assert!(!near.significant);
        assert_eq!(near.verdict, Verdict::Negligible);
        let far = judged("qps", &[98.0, 100.0, 101.0, 103.0], &[98.1, 100.1, 101.1, 103.1]);
        assert_eq!((far.significant, far.verdict), (false, Verdict::WithinNoise));
    }

    #[test]
    fn ties_across_the_sides_make_no_verdict_that_the_interval_does_not_bear() {
        let judgement = judged("qps", &[1.0; 5], &[1.0, 2.0, 2.0, 2.0, 2.0]);
        let (low, high) = judgement.change.unwrap().interval.unwrap();
        assert!(judgement.p.unwrap() < 0.05 && low == 0.0 && (high - 1.0).abs() < 1e-12, "{judgement:?}");
        assert_eq!(judgement.verdict, Verdict::WithinNoise);
    }

    #[test]
    fn a_side_without_the_figure_is_named() {
        let metric = METRICS.iter().find(|metric| metric.key == "qps").unwrap();
        let judgement = judge(metric, &rounds(&[1.0]), &[Figures::default()], &Criteria::default()).unwrap();
        assert_eq!((judgement.verdict, judgement.p, judgement.change), (Verdict::CannotJudge, None, None));
        assert_eq!(judgement.notes, ["not measured in the second run"]);
        assert_eq!(judge(metric, &[], &[], &Criteria::default()), None);
    }

    #[test]
    fn rounds_in_two_groups_are_said_to_be() {
        let judgement = judged("qps", &[100.0, 101.0, 100.5, 150.0, 151.0], &[100.0, 110.0, 120.0, 130.0, 140.0]);
        assert_eq!(judgement.notes, ["in the first run the rounds fall into two groups, 3 low and 2 high"]);
        assert_eq!(judgement.verdict, Verdict::WithinNoise);
        // One round apart is an outlier, and a hair's breadth is none of two groups.
        assert!(judged("qps", &[100.0, 100.1, 100.2, 100.3, 180.0], &[5.0; 5]).notes.is_empty());
        assert!(judged("qps", &[5.0, 5.0, 5.0, 5.001, 5.001], &[5.0; 5]).notes.is_empty());
    }

    #[test]
    fn nothing_is_ever_nan() {
        for (a, b) in [(&[0.0; 5][..], &[0.0; 5][..]), (&[0.0], &[0.0]), (&[f64::NAN, 1.0], &[f64::INFINITY])] {
            let judgement = judged("qps", a, b);
            let numbers =
                [judgement.change.map(|change| change.estimate), judgement.p, judgement.a.median, judgement.b.spread];
            assert!(numbers.iter().flatten().all(|number| number.is_finite()), "{judgement:?}");
        }
    }
}
