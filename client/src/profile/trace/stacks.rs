//! What became of memory by the whole stack that asked for it: in whole numbers, of which all that is said per op is made.

use std::{collections::HashMap, iter::Sum};

use serde::{Deserialize, Serialize};

use super::{growth::Chain, steps::Requests};
use crate::measure::{
    allocation_log::{AllocationLog, LogFrame},
    result::PerOp,
};

/// What became of what a stack asked for. The four kinds of blocks are all that it asked for in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFate {
    /// Its calls, innermost first, as positions in [`Trace::frames`](super::Trace::frames).
    pub frames: Vec<usize>,
    /// Of the requests that [`Fates::ops`](super::Fates::ops) counts: given back, or grown to another block, within the same.
    pub within: Blocks,
    /// The same in a later one.
    pub later: Blocks,
    /// Neither by the end of the log.
    pub kept: Blocks,
    /// Asked for after those requests: not judged, as they are not watched for long enough.
    pub after: Blocks,
    /// Blocks that it asked for, and that grew.
    pub grown: Grown,
}

/// Blocks, and the bytes in them: handed out, or asked for where that isn't known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many.
    pub blocks: u64,
    /// Of how many bytes together.
    pub bytes: u64,
}

/// Growth of all requests of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grown {
    /// Blocks that were made larger or smaller.
    pub blocks: u64,
    /// Reallocs of them.
    pub steps: u64,
    /// Reallocs that moved them.
    pub moves: u64,
    /// Bytes asked for of what was moved, and so copied.
    pub copied_bytes: u64,
}

impl Blocks {
    pub(super) fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
    }

    pub(super) fn per(self, ops: u64) -> PerOp {
        let ops = ops.max(1) as f64;
        PerOp { bytes_per_op: self.bytes as f64 / ops, allocs_per_op: self.blocks as f64 / ops }
    }
}

impl Sum for Blocks {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, each| {
            sum.add(each);
            sum
        })
    }
}

impl StackFate {
    /// Within, later, kept.
    pub fn fates(&self) -> [Blocks; 3] {
        [self.within, self.later, self.kept]
    }
}

/// The frames of a log's stacks, each once, and the fate of each stack that asked for memory, with its position in the log.
pub(super) fn stacks(
    log: &AllocationLog,
    requests: &Requests<'_>,
    chains: &[Chain],
) -> (Vec<LogFrame>, Vec<(usize, StackFate)>) {
    let (ops, _) = requests.halves();
    let mut fates = vec![StackFate::default(); log.stacks.len()];
    for block in &requests.followed.blocks {
        let fate = &mut fates[block.stack];
        let fate = match requests.lifetime(block) {
            _ if requests.of_event(block.born) as u64 >= ops => &mut fate.after,
            Some(lifetime) if lifetime.ops == 0 => &mut fate.within,
            Some(_) => &mut fate.later,
            None => &mut fate.kept,
        };
        fate.add(Blocks { blocks: 1, bytes: block.bytes() });
    }
    for chain in chains {
        let grown = &mut fates[chain.stack].grown;
        grown.blocks += 1;
        grown.steps += chain.steps;
        grown.moves += chain.moves;
        grown.copied_bytes += chain.copied;
    }
    let mut frames: Vec<LogFrame> = Vec::new();
    let mut places: HashMap<&LogFrame, usize> = HashMap::new();
    let mut place = |frame| {
        *places.entry(frame).or_insert_with(|| {
            frames.push(frame.clone());
            frames.len() - 1
        })
    };
    let used = fates.into_iter().enumerate().filter(|(_, fate)| *fate != StackFate::default());
    let stacks = used
        .map(|(at, fate)| (at, StackFate { frames: log.stacks[at].iter().map(&mut place).collect(), ..fate }))
        .collect();
    (frames, stacks)
}
