//! What becomes of memory, by function, line, crate, layer or type: a trace's stacks, attributed as those of a profile are.

use std::{collections::HashMap, iter::Sum};

use super::{Blocks, By, Filter, Layers, Profile, Row, SampleType, StackFate, Trace, attribute};

/// What became of what each asked for, in whole requests: [`Fates::ops`](super::Fates::ops) of them, but all of the trace for
/// what grew.
#[derive(Debug, Clone, PartialEq)]
pub struct FateTable {
    /// What a row stands for.
    pub by: By,
    /// Most bytes first, layers in their order. They add up to [`Self::total`].
    pub rows: Vec<FateRow>,
    /// Of all stacks that pass the filter.
    pub total: FateSums,
}

/// What became of what one asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct FateRow {
    /// Who; without values.
    pub row: Row,
    /// What of it.
    pub sums: FateSums,
}

/// Sums over stacks. They don't overflow: 2⁶³ values of 63 bits fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FateSums {
    /// Bytes handed out, or asked for where that isn't known: those of the next three together.
    pub bytes: i128,
    /// Blocks handed out.
    pub blocks: i128,
    /// Bytes given back, or grown to another block, within the same request.
    pub within: i128,
    /// The same in a later one.
    pub later: i128,
    /// Neither by the end of the trace.
    pub kept: i128,
    /// Blocks that grew.
    pub grown: i128,
    /// Reallocs of them.
    pub steps: i128,
    /// Bytes that these copied.
    pub copied: i128,
}

impl Sum for FateSums {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, mut each| {
            KINDS.iter().for_each(|kind| *(kind.sum)(&mut sum) += *(kind.sum)(&mut each));
            sum
        })
    }
}

/// A sum, from a stack and to its place. As sample types they are memory, which is charged to who asked for it.
struct Kind {
    name: &'static str,
    of: fn(&StackFate) -> u64,
    sum: fn(&mut FateSums) -> &mut i128,
}

const KINDS: [Kind; 8] = [
    Kind { name: "alloc_space", of: |s| all(s).bytes, sum: |s| &mut s.bytes },
    Kind { name: "alloc_objects", of: |s| all(s).blocks, sum: |s| &mut s.blocks },
    Kind { name: "alloc_within", of: |s| s.within.bytes, sum: |s| &mut s.within },
    Kind { name: "alloc_later", of: |s| s.later.bytes, sum: |s| &mut s.later },
    Kind { name: "alloc_kept", of: |s| s.kept.bytes, sum: |s| &mut s.kept },
    Kind { name: "alloc_grown", of: |s| s.grown.blocks, sum: |s| &mut s.grown },
    Kind { name: "alloc_steps", of: |s| s.grown.steps, sum: |s| &mut s.steps },
    Kind { name: "alloc_copied", of: |s| s.grown.copied_bytes, sum: |s| &mut s.copied },
];

fn all(stack: &StackFate) -> Blocks {
    stack.fates().into_iter().sum()
}

/// What became of what the stacks of a trace asked for that pass the filter.
pub fn fate_table(trace: &Trace, filter: &Filter, by: By, layers: &Layers) -> FateTable {
    let profile = filter.apply(&profile(trace));
    let mut rows: Vec<FateRow> = Vec::new();
    let mut places: HashMap<(String, Option<String>), usize> = HashMap::new();
    let mut total = FateSums::default();
    for (at, kind) in KINDS.iter().enumerate() {
        let table = attribute(&profile, at, by, layers);
        *(kind.sum)(&mut total) = table.total[0];
        for row in table.rows.into_iter().filter(|row| row.flat[0] != 0) {
            let amount = row.flat[0];
            let place = *places.entry((row.name.clone(), row.place.clone())).or_insert(rows.len());
            if place == rows.len() {
                rows.push(FateRow { row: row.without_values(), sums: FateSums::default() });
            }
            *(kind.sum)(&mut rows[place].sums) = amount;
        }
    }
    if by == By::Layer {
        rows.sort_by_key(|row| layers.place(&row.row.name));
    }
    FateTable { by, rows, total }
}

fn profile(trace: &Trace) -> Profile {
    let types = KINDS.map(|kind| SampleType { kind: kind.name.to_owned(), unit: String::new() }).into();
    let stack = |stack: &StackFate| {
        let value = |kind: &Kind| i64::try_from((kind.of)(stack)).unwrap_or(i64::MAX);
        (stack.frames.clone(), KINDS.iter().map(value).collect())
    };
    Profile::of_stacks(types, &trace.frames, trace.stacks.iter().map(stack))
}
