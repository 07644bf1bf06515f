//! What a run's results may cost.

use super::{Better, Metric};
use crate::{
    load::CallMode,
    measure::result::RunResult,
    scenario::{Compression, Scenario},
};

/// Limits for some of a run's results.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Which results.
    pub cells: Cells,
    /// One for each figure that has any.
    pub limits: Vec<Limit>,
    /// What relative limits are relative to: for each result the one with the same file name.
    pub baseline: Vec<RunResult>,
    /// Whether a run may lack results that the budget is of.
    pub optional: bool,
}

/// What results have in common. `None` is any.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cells {
    /// See [`RunResult::framework`].
    pub framework: Option<String>,
    /// See [`RunResult::scenario`].
    pub scenario: Option<Scenario>,
    /// See [`RunResult::serialization`].
    pub serialization: Option<String>,
    /// See [`RunResult::compression`].
    pub compression: Option<Compression>,
    /// See [`RunResult::call_mode`].
    pub mode: Option<CallMode>,
    /// The rate asked for, 1/s.
    pub rate: Option<f64>,
}

/// The most that a figure may be, or the least where more is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The figure.
    pub metric: &'static Metric,
    /// How much.
    pub bound: Bound,
    /// How far beyond is still within. `None` is the noise floor of what was measured.
    pub tolerance: Option<Tolerance>,
    /// Whether a breach fails the gate, or is only said.
    pub hard: bool,
}

/// How much a figure may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// So much, in the figure's unit.
    Value(f64),
    /// So much more than the baseline's median: 0.02 is 2 % more, -0.02 is 2 % less.
    Change(f64),
}

/// How far beyond a limit a figure may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// By a share of the limit: 0.01 is 1 %.
    Share(f64),
    /// By so much, in the figure's unit.
    Value(f64),
}

impl Cells {
    /// Whether a result is one of them. One through a gateway is none: budgets are of servers.
    pub fn have(&self, result: &RunResult) -> bool {
        fn is<T: ToString>(wanted: &Option<T>, value: &str) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted.to_string() == value)
        }
        let Self { framework, scenario, serialization, compression, mode, rate } = self;
        is(framework, &result.framework)
            && is(scenario, &result.scenario)
            && is(serialization, &result.serialization)
            && is(compression, &result.compression)
            && is(mode, &result.call_mode)
            && rate.is_none_or(|rate| result.load.qps == Some(rate))
            && result.gateway.is_none()
    }
}

impl Metric {
    /// Whether a breach of its budget fails the gate unless told otherwise: counts repeat on another machine, times don't.
    pub fn is_hard(&self) -> bool {
        self.is_counted()
    }

    /// What its limit is called in files: `max`, or `min` where more is better.
    pub fn bound_name(&self) -> &'static str {
        match self.better {
            Better::Lower => "max",
            Better::Higher => "min",
        }
    }
}
