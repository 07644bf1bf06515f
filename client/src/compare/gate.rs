//! Whether a run stays within its budgets.

use serde::Serialize;

use super::{Better, Bound, Budget, Limit, Metric, Smallest, Tolerance, differences, judge::Side, wire_differences};
use crate::{measure::result::RunResult, stats};

/// What arithmetic may lose of a limit: 5.06 + 0.01 is less than 5.07.
const ROUNDING: f64 = 1e-9;

/// One figure of one result against its limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check<'a> {
    /// The name of the result's files.
    pub cell: String,
    /// The result.
    #[serde(skip)]
    pub result: &'a RunResult,
    /// The place of the budget among all, from 0.
    #[serde(skip)]
    pub budget: usize,
    /// The figure.
    pub metric: &'static Metric,
    /// `max` or `min`.
    pub bound: &'static str,
    /// The most that the figure may be, or the least, in its unit.
    pub limit: f64,
    /// How far that is from the baseline's median, a share of it. `None` of a limit that is absolute.
    pub change: Option<f64>,
    /// How far beyond the limit is still within, in the figure's unit.
    pub tolerance: f64,
    /// The median of the rounds. `None` when it wasn't measured.
    pub measured: Option<f64>,
    /// Half the rounds' range ÷ median. `None` of fewer than two rounds, and around zero.
    pub spread: Option<f64>,
    /// What is left to the limit ÷ limit, negative beyond it. `None` when nothing was measured, or of a limit of zero.
    pub room: Option<f64>,
    /// Whether a breach fails the gate.
    pub hard: bool,
    /// What became of it.
    pub outcome: Outcome,
    /// What a reader must know of it, sentences.
    pub notes: Vec<String>,
}

/// The word for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Within the limit and its tolerance.
    Ok,
    /// Beyond a hard limit, or not measured under one. The gate fails.
    Breach,
    /// Beyond a limit that isn't hard.
    AdvisoryBreach,
    /// No figure, and no hard limit.
    NotMeasured,
}

impl Outcome {
    /// Every one, the good first.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Breach, Self::AdvisoryBreach, Self::NotMeasured];

    /// As it is read.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Breach => "breach",
            Self::AdvisoryBreach => "advisory breach",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Why a budget can't be held against a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Misfit {
    /// The place of the budget among all, from 0.
    pub budget: usize,
    /// The figure whose limit it is about. `None` when it is about the whole budget.
    pub metric: Option<&'static Metric>,
    /// The reason, a sentence.
    pub problem: String,
}

/// Checks each limit of each budget against each result that the budget is of.
///
/// A figure is the median over the rounds. Where a limit says no tolerance it is the noise floor: the one that was measured, else half
/// the range of the rounds' values; and no less than the smallest effect, so that no breach is a difference that doesn't count. A
/// result whose measurement failed counts as not measured.
///
/// # Errors
/// Budgets that are of no result and not optional, and relative limits without their figure in the baseline, or whose baseline spoke
/// another wire, unless they are to be held against it by `force`.
pub fn gate<'a>(
    budgets: &[Budget],
    results: &'a [RunResult],
    smallest: &Smallest,
    force: bool,
) -> Result<Vec<Check<'a>>, Vec<Misfit>> {
    let (mut checks, mut misfits) = (Vec::new(), Vec::new());
    for (place, budget) in budgets.iter().enumerate() {
        let found: Vec<&RunResult> = results.iter().filter(|result| budget.cells.have(result)).collect();
        if found.is_empty() && !budget.optional {
            let have: Vec<String> = results.iter().map(RunResult::file_stem).collect();
            let problem = format!("is of no result: the run has {}; optional = true lets it", have.join(", "));
            misfits.push(Misfit { budget: place, metric: None, problem });
        }
        for result in found {
            for limit in &budget.limits {
                let checked = comparable(limit, result, &budget.baseline, force)
                    .and_then(|()| check(place, limit, result, &budget.baseline, smallest));
                match checked {
                    Ok(check) => checks.push(check),
                    Err(problem) => misfits.push(Misfit { budget: place, metric: Some(limit.metric), problem }),
                }
            }
        }
    }
    if misfits.is_empty() { Ok(checks) } else { Err(misfits) }
}

/// Refuses a baseline that spoke another wire. Another machine or binding is only said: a baseline may be kept for years.
fn comparable(limit: &Limit, result: &RunResult, baseline: &[RunResult], force: bool) -> Result<(), String> {
    if force || matches!(limit.bound, Bound::Value(_)) {
        return Ok(());
    }
    let twin = twin(result, baseline)?;
    let unlike: Vec<String> = wire_differences(twin, result).iter().map(ToString::to_string).collect();
    match unlike.as_slice() {
        [] => Ok(()),
        unlike => Err(format!(
            "is relative, and {} of the baseline spoke another wire (--force holds it all the same): {}",
            twin.file_stem(),
            unlike.join("; ")
        )),
    }
}

fn check<'a>(
    budget: usize,
    limit: &Limit,
    result: &'a RunResult,
    baseline: &[RunResult],
    smallest: &Smallest,
) -> Result<Check<'a>, String> {
    let Limit { metric, bound, tolerance, hard } = *limit;
    let mut notes = Vec::new();
    let (value, change) = match bound {
        Bound::Value(value) => (value, None),
        Bound::Change(change) => {
            let twin = twin(result, baseline)?;
            let unlike: Vec<String> = differences(twin, result).iter().map(ToString::to_string).collect();
            if !unlike.is_empty() {
                notes.push(format!("the baseline was measured otherwise: {}", unlike.join("; ")));
            }
            let median = side(metric, twin).median;
            let median = median
                .ok_or_else(|| format!("is relative, and {} of the baseline hasn't its figure", twin.file_stem()))?;
            (median * (1.0 + change), Some(change))
        }
    };
    let side = side(metric, result);
    if let Some(failure) = &result.failure {
        notes.push(format!("the measurement failed: {failure}"));
    }
    let tolerance = match tolerance {
        Some(Tolerance::Share(share)) => value * share,
        Some(Tolerance::Value(value)) => value,
        None if smallest.floor(metric).is_some() => smallest.of(metric, value),
        None => half_range(&side.values).max(smallest.of(metric, value)),
    };
    let left = side.median.map(|median| match metric.better {
        Better::Lower => value - median,
        Better::Higher => median - value,
    });
    let outcome = match left {
        Some(left) if left + tolerance >= -ROUNDING * value => Outcome::Ok,
        None if !hard => Outcome::NotMeasured,
        _ if !hard => Outcome::AdvisoryBreach,
        left => {
            if left.is_none() {
                notes.push("not measured, which under a hard budget is a breach".to_owned());
            }
            Outcome::Breach
        }
    };
    Ok(Check {
        cell: result.file_stem(),
        result,
        budget,
        metric,
        bound: metric.bound_name(),
        limit: value,
        change,
        tolerance,
        measured: side.median,
        spread: side.spread,
        room: left.and_then(|left| if left == 0.0 { Some(0.0) } else { (value != 0.0).then_some(left / value) }),
        hard,
        outcome,
        notes,
    })
}

fn twin<'a>(result: &RunResult, baseline: &'a [RunResult]) -> Result<&'a RunResult, String> {
    let stem = result.file_stem();
    let twin = baseline.iter().find(|other| other.file_stem() == stem);
    twin.ok_or_else(|| {
        let have: Vec<String> = baseline.iter().map(RunResult::file_stem).collect();
        format!("is relative, and the baseline has no {stem}: it has {}", have.join(", "))
    })
}

/// A result's values of a figure, none where its measurement failed.
fn side(metric: &Metric, result: &RunResult) -> Side {
    let rounds = if result.failure.is_some() { Vec::new() } else { result.figures_by_round() };
    Side::of(metric, &rounds)
}

fn half_range(values: &[f64]) -> f64 {
    stats::max(values).zip(stats::min(values)).map_or(0.0, |(max, min)| (max - min) / 2.0)
}

/// A limit that what was measured moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The place of the budget among all, from 0.
    pub budget: usize,
    /// The figure.
    pub metric: &'static Metric,
    /// The limit as it is.
    pub from: f64,
    /// The limit as it becomes.
    pub to: f64,
    /// The name of the files of the result that decides it.
    pub cell: String,
}

impl Update {
    /// Whether what was a breach might be none any more.
    pub fn is_looser(&self) -> bool {
        match self.metric.better {
            Better::Lower => self.to > self.from,
            Better::Higher => self.to < self.from,
        }
    }
}

/// The limits that would be met exactly: each the worst median of the results it is of, to the last digit that tables show, and not
/// tighter than the median. Relative limits and those of nothing measured stay.
pub fn updates(checks: &[Check<'_>]) -> Vec<Update> {
    let mut updates: Vec<Update> = Vec::new();
    for check in checks.iter().filter(|check| check.change.is_none()) {
        let Some(measured) = check.measured else { continue };
        let to = outward(check.metric, measured);
        let known = updates.iter_mut().find(|known| known.budget == check.budget && known.metric == check.metric);
        let update =
            Update { budget: check.budget, metric: check.metric, from: check.limit, to, cell: check.cell.clone() };
        match known {
            Some(known) if (Update { from: known.to, ..update.clone() }).is_looser() => *known = update,
            Some(_) => {}
            None => updates.push(update),
        }
    }
    updates.retain(|update| update.from != update.to);
    updates
}

/// Rounded to the figure's last digit, up for a ceiling and down for a floor.
fn outward(metric: &Metric, value: f64) -> f64 {
    let steps_per_unit = (1.0 / metric.resolution(value)).round();
    let steps = value * steps_per_unit;
    let nearest = steps.round();
    let steps = match metric.better {
        _ if (steps - nearest).abs() <= ROUNDING * steps => nearest,
        Better::Lower => steps.ceil(),
        Better::Higher => steps.floor(),
    };
    steps / steps_per_unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_never_tighter_than_what_was_measured() {
        let rounded = |key: &str, value: f64| outward(Metric::by_key(key).unwrap(), value);
        for (key, measured, limit) in [
            ("allocs_per_op", 5.0531, 5.06),
            ("allocs_per_op", 5.06, 5.06),
            ("allocs_per_op", 0.0, 0.0),
            ("bytes_per_op", 1_754.2, 1_755.0),
            ("qps", 22_392.7, 22_392.0),
            ("qps", 9.878, 9.87),
            ("latency_p99_ms", 0.8761, 0.877),
            ("latency_p99_ms", 45.61, 45.7),
        ] {
            assert_eq!(rounded(key, measured), limit, "{key} {measured}");
        }
    }
}
