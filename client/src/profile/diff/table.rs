//! Which functions changed most.

use std::{collections::BTreeMap, rc::Rc};

use serde::Serialize;

use super::{Both, Change, Diff};

/// Functions by how much they changed. Of [`Values::Own`], `rows` and `others` always add up to `total`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffTable {
    /// What the sides are called.
    pub names: [String; 2],
    /// The sample type. `None` for folded stacks, which don't say what they count.
    pub kind: Option<String>,
    /// Its unit, of the values here.
    pub unit: Option<String>,
    /// Requests that each side covers: values are per op. `None`: values are totals.
    pub ops: Option<[u64; 2]>,
    /// All of both profiles.
    pub total: Both,
    /// Which values the rows have.
    pub values: Values,
    /// Functions that changed, most first.
    pub rows: Vec<DiffRow>,
    /// Functions without a row: unchanged, or beyond the limit.
    pub other_functions: usize,
    /// What those are together. `None` where values hold each other and have no sum.
    pub others: Option<Both>,
    /// What a reader must know, a sentence each.
    pub notes: Vec<String>,
}

/// A function that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffRow {
    /// Its name, without what differs from build to build.
    pub function: String,
    /// Its values.
    #[serde(flatten)]
    pub value: Both,
}

/// Which of a function's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// What it spent itself; of memory, what it asked for.
    Own,
    /// What it and all it called spent, once for each stack.
    WithCallees,
}

/// Values by function.
#[derive(Debug, Clone, Default)]
pub(super) struct Functions(BTreeMap<Rc<str>, Both>);

impl Functions {
    pub(super) fn add(&mut self, function: &Rc<str>, value: Both) {
        *self.0.entry(function.clone()).or_default() += value;
    }

    pub(super) fn divide(&mut self, side: usize, divisor: f64) {
        self.0.values_mut().for_each(|both| both.divide(side, divisor));
    }
}

impl Diff {
    /// The functions whose values changed most, at most `limit`.
    pub fn table(&self, values: Values, limit: Option<usize>) -> DiffTable {
        let Functions(functions) = match values {
            Values::Own => &self.own,
            Values::WithCallees => &self.with_callees,
        };
        let size = |both: &Both| both.difference().abs();
        // Those of the same size stay by name.
        let mut by_size: Vec<(&Rc<str>, &Both)> = functions.iter().collect();
        by_size.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
        let changed = by_size.iter().take_while(|(_, both)| both.change() != Change::Unchanged).count();
        let rest = by_size.split_off(limit.unwrap_or(usize::MAX).min(changed));
        let mut others = Both::default();
        rest.iter().for_each(|(_, both)| others += **both);
        DiffTable {
            names: self.names.clone(),
            kind: self.sample_type.as_ref().map(|of| of.kind.clone()),
            unit: self.sample_type.as_ref().map(|of| of.unit.clone()),
            ops: self.ops,
            total: self.total(),
            values,
            rows: by_size
                .into_iter()
                .map(|(name, both)| DiffRow { function: name.to_string(), value: *both })
                .collect(),
            other_functions: rest.len(),
            others: (values == Values::Own).then_some(others),
            notes: self.notes.clone(),
        }
    }
}
