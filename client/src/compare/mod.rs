//! Whether one run is better than another: results paired, each figure judged over the rounds, and what makes runs unlike; and
//! whether a run stays within its [budgets](gate).
//!
//! Better or worse needs all three: a two-sided [Mann–Whitney test](crate::stats::mann_whitney) with p at most alpha, an
//! [interval](crate::stats::shift) of the difference that leaves out zero, and a difference that [counts](Smallest). The first two
//! don't take figures to be normal, or rounds to be many.
//!
//! What the statistics can't see: the rounds of one run share a server process, unless each started its own, so what differs from start to start (addresses,
//! hash seeds, which CPU is slow today) is in no spread. Runs measured in turn (A B B A) say more than one after another.

mod alarms;
mod budget;
mod gate;
mod judge;
mod metric;
mod smallest;
pub(crate) mod spoken;
mod unlike;

use serde::Serialize;

pub use self::{
    alarms::{Alarms, FalseAlarms},
    budget::{Bound, Budget, Cells, Limit, Tolerance},
    gate::{Check, Misfit, Outcome, Update, gate, updates},
    judge::{Change, Judgement, Side, Verdict},
    metric::{Better, METRICS, Metric},
    smallest::{Floor, Noise, Smallest},
    spoken::wire_differences,
    unlike::{Difference, differences},
};
use crate::measure::result::RunResult;

/// The probability of a false alarm that a verdict accepts, unless told otherwise.
pub const ALPHA: f64 = 0.05;

/// When a difference is a verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criteria {
    /// The probability of a false alarm that each verdict accepts.
    pub alpha: f64,
    /// How large it must be.
    pub smallest: Smallest,
}

impl Default for Criteria {
    fn default() -> Self {
        Self { alpha: ALPHA, smallest: Smallest::default() }
    }
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison<'a> {
    /// What the verdicts are by.
    #[serde(flatten)]
    pub criteria: Criteria,
    /// Results of the same load, in the order of the first run.
    pub pairs: Vec<Pair<'a>>,
    /// What only the first run has.
    pub only_a: Vec<String>,
    /// What only the second run has.
    pub only_b: Vec<String>,
}

/// The same load in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair<'a> {
    /// The name of the first result's files.
    pub cell: String,
    /// The first result.
    #[serde(skip)]
    pub a: &'a RunResult,
    /// The second.
    #[serde(skip)]
    pub b: &'a RunResult,
    /// In what the runs were measured otherwise. Empty for like with like.
    pub unlike: Vec<Difference>,
    /// What else must be known of both, sentences: that a measurement failed.
    pub notes: Vec<String>,
    /// A judgement for each metric that either has.
    pub judgements: Vec<Judgement>,
}

/// Compares results of the same framework and load. Two single results are compared whatever they are of.
pub fn compare<'a>(a: &'a [RunResult], b: &'a [RunResult], criteria: &Criteria) -> Comparison<'a> {
    let alone = a.len() == 1 && b.len() == 1;
    let twin = |result: &RunResult, others: &[RunResult]| {
        let stem = result.file_stem();
        others.iter().position(|other| alone || other.file_stem() == stem)
    };
    let without = |results: &[RunResult], others: &[RunResult]| {
        results.iter().filter(|result| twin(result, others).is_none()).map(RunResult::file_stem).collect()
    };
    Comparison {
        criteria: criteria.clone(),
        pairs: a.iter().filter_map(|one| Some(pair(one, &b[twin(one, b)?], criteria))).collect(),
        only_a: without(a, b),
        only_b: without(b, a),
    }
}

fn pair<'a>(a: &'a RunResult, b: &'a RunResult, criteria: &Criteria) -> Pair<'a> {
    let (rounds_a, rounds_b) = (a.figures_by_round(), b.figures_by_round());
    let judgements = METRICS.iter().filter_map(|metric| judge::judge(metric, &rounds_a, &rounds_b, criteria)).collect();
    let failure = |which: &str, result: &RunResult| {
        let failure = result.failure.as_ref()?;
        Some(format!("the measurement of the {which} run failed, and its rounds before that are judged: {failure}"))
    };
    let notes = [failure("first", a), failure("second", b)].into_iter().flatten().collect();
    Pair { cell: a.file_stem(), a, b, unlike: differences(a, b), notes, judgements }
}
