//! Blocks that grew: how often until they were large enough, and what that copied.

use std::{cmp::Reverse, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::steps::Requests;

/// The blocks of a site that were made larger or smaller, by realloc. A container that grows by getting a new block and giving back
/// the old one, as hash maps do, isn't seen to grow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Where the first block was asked for, or where that was before the log, where it was made larger.
    pub site: usize,
    /// Blocks that were, per request.
    pub chains_per_op: f64,
    /// Reallocs of each: the mean, and the most.
    pub steps: f64,
    /// See `steps`.
    pub most_steps: u64,
    /// Bytes asked for at first, least and most.
    pub first: (u64, u64),
    /// Bytes asked for at last.
    pub last: (u64, u64),
    /// Reallocs that moved the block, per request.
    pub moves_per_op: f64,
    /// Bytes asked for of what was moved, which was copied, per request.
    pub copied_bytes_per_op: f64,
}

/// A block from its first realloc to its last.
pub(super) struct Chain {
    /// Of the first block, or where that was before the log, of the one that it was made.
    pub(super) site: usize,
    /// The same.
    pub(super) stack: usize,
    pub(super) steps: u64,
    /// Steps that moved it.
    pub(super) moves: u64,
    /// Bytes asked for of what these moved.
    pub(super) copied: u64,
    first: u64,
    last: u64,
}

/// Those whose first realloc is in one of the requests.
pub(super) fn chains(requests: &Requests<'_>) -> Vec<Chain> {
    let followed = requests.followed;
    let mut chains = Vec::new();
    for block in &followed.blocks {
        let Some(from) = block.from else { continue };
        let old = from.block.map(|old| &followed.blocks[old]);
        let is_first = old.is_none_or(|old| old.from.is_none());
        if !is_first || requests.of_event(block.born) >= requests.ranges.len() {
            continue;
        }
        let asked = old.unwrap_or(block);
        let (site, stack, first) = (asked.site, asked.stack, from.requested);
        let mut chain = Chain { site, stack, steps: 0, moves: 0, copied: 0, first, last: 0 };
        let mut at = block;
        loop {
            chain.steps += 1;
            if let Some(from) = at.from.filter(|from| from.moved) {
                chain.moves += 1;
                chain.copied += from.requested.min(at.requested);
            }
            match at.became {
                Some(next) => at = &followed.blocks[next],
                None => break,
            }
        }
        chain.last = at.requested;
        chains.push(chain);
    }
    chains
}

#[derive(Default)]
struct Sum {
    chains: u64,
    steps: u64,
    most_steps: u64,
    first: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
    moves: u64,
    copied: u64,
}

fn widen(range: &mut Option<(u64, u64)>, value: u64) {
    let (low, high) = range.unwrap_or((value, value));
    *range = Some((low.min(value), high.max(value)));
}

/// The chains of so many requests, by site.
pub(super) fn growth(chains: &[Chain], ops: usize) -> Vec<Growth> {
    let mut by_site: BTreeMap<usize, Sum> = BTreeMap::new();
    for chain in chains {
        let sum = by_site.entry(chain.site).or_default();
        sum.chains += 1;
        sum.steps += chain.steps;
        sum.most_steps = sum.most_steps.max(chain.steps);
        sum.moves += chain.moves;
        sum.copied += chain.copied;
        widen(&mut sum.first, chain.first);
        widen(&mut sum.last, chain.last);
    }
    let per_op = |sum: u64| sum as f64 / ops as f64;
    let row = |(site, sum): (usize, Sum)| Growth {
        site,
        chains_per_op: per_op(sum.chains),
        steps: sum.steps as f64 / sum.chains as f64,
        most_steps: sum.most_steps,
        first: sum.first.unwrap_or_default(),
        last: sum.last.unwrap_or_default(),
        moves_per_op: per_op(sum.moves),
        copied_bytes_per_op: per_op(sum.copied),
    };
    let mut rows: Vec<(u64, Growth)> = by_site.into_iter().map(|(site, sum)| (sum.copied, row((site, sum)))).collect();
    rows.sort_by_key(|(copied, growth)| (Reverse(*copied), growth.site));
    rows.into_iter().map(|(_, growth)| growth).collect()
}
