//! One request under the glass: what it allocates, grows and gives back, in order; and what becomes of what requests allocate.
//!
//! [`trace()`] is a pure function of an [`AllocationLog`] of requests that were sent one at a time.

mod check;
mod fate;
mod follow;
mod growth;
mod requests;
mod sequence;
mod sound;
mod stacks;
mod steps;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use self::{
    check::{Check, Tally},
    fate::{Fates, SiteFate},
    growth::Growth,
    sequence::{Compared, Variant, Whose},
    stacks::{Blocks, Grown, StackFate},
    steps::{Lifetime, Request, Step, StepKind},
};
use self::{follow::follow, requests::requests, steps::Requests};
use crate::measure::allocation_log::{AllocationLog, LogFrame};

/// Why a log tells nothing of single requests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// None ended.
    #[error("no request ended in the log of {0} events: the server counts none, or answered none")]
    NoRequests(usize),
    /// Its events can't be told apart.
    #[error("two requests were in the server at the same time: somebody else calls it too")]
    AtOnce,
}

/// What the requests of a log did. Sites are positions in `sites`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Requests that ended in the log.
    pub ops: u64,
    /// Whether every allocation is listed.
    pub check: Check,
    /// The lines that asked for memory: first those of `request` in their order, then by bytes.
    pub sites: Vec<TraceSite>,
    /// One that did what most did.
    pub request: Request,
    /// Requests that did the same, `request` among them.
    pub same: u64,
    /// `request` and the one after it, step by step. `None` when it was the last.
    pub next: Option<Vec<Compared>>,
    /// What the others did, most frequent first, each against `request`.
    pub variants: Vec<Variant>,
    /// What became of what was allocated.
    pub fates: Fates,
    /// Blocks that grew or shrank, most copied bytes first.
    pub growth: Vec<Growth>,
    /// Every call in `stacks`, once.
    pub frames: Vec<LogFrame>,
    /// Both by the whole stack, of which other tables than those by site are made. Together all allocations of the log.
    pub stacks: Vec<StackFate>,
    /// Blocks that came back without an event, given back by threads that aren't logged: how long they lived isn't known.
    pub unseen_frees: u64,
}

/// A source line that asked for memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSite {
    /// The function, readable.
    pub function: String,
    /// Its source file. `None` when it isn't known.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u64>,
}

/// Follows the addresses of a log, and finds its requests.
///
/// # Errors
/// [`TraceError`].
pub fn trace(log: &AllocationLog) -> Result<Trace, TraceError> {
    let mut followed = follow(log);
    let ranges = requests(&followed.events)?;
    let sequences: Vec<_> = ranges.iter().map(|range| sequence::of(&followed, range)).collect();
    let (typical, same) = sequence::most_common(&sequences);
    order_sites(&mut followed, &ranges[typical]);
    let sequences: Vec<_> = ranges.iter().map(|range| sequence::of(&followed, range)).collect();

    let requests = Requests::new(&followed, &ranges);
    let request = requests.request(typical);
    let compared =
        |at: usize| sequence::compare((&sequences[typical], &request), (&sequences[at], &requests.request(at)));
    let next = (typical + 1 < ranges.len()).then(|| compared(typical + 1));
    let variants = sequence::variants(&sequences, typical, compared);
    let chains = growth::chains(&requests);
    let (frames, stacks) = stacks::stacks(log, &requests, &chains);
    let site =
        |key: &super::sites::Key| TraceSite { function: key.function.clone(), file: key.file.clone(), line: key.line };
    Ok(Trace {
        ops: ranges.len() as u64,
        check: Check::of(log),
        sites: followed.sites.iter().map(site).collect(),
        same,
        next,
        variants,
        fates: fate::fates(&requests, &stacks),
        growth: growth::growth(&chains, ranges.len()),
        unseen_frees: followed.unseen_frees,
        request,
        frames,
        stacks: stacks.into_iter().map(|(_, fate)| fate).collect(),
    })
}

/// Sites in the order in which a request comes to them, the others by bytes.
fn order_sites(followed: &mut follow::Followed, request: &std::ops::Range<usize>) {
    let mut first: HashMap<usize, usize> = HashMap::new();
    let mut bytes: HashMap<usize, u64> = HashMap::new();
    for block in &followed.blocks {
        *bytes.entry(block.site).or_default() += block.bytes();
        if request.contains(&block.born) {
            first.entry(block.site).or_insert(block.born);
        }
    }
    let mut order: Vec<usize> = (0..followed.sites.len()).collect();
    let rank = |site: &usize| {
        (first.get(site).copied().unwrap_or(usize::MAX), std::cmp::Reverse(bytes.get(site).copied().unwrap_or(0)))
    };
    order.sort_by_key(rank);
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    followed.blocks.iter_mut().for_each(|block| block.site = place[block.site]);
    followed.site_of_stack.iter_mut().for_each(|site| *site = place[*site]);
    followed.sites = order.iter().map(|&old| followed.sites[old].clone()).collect();
}
