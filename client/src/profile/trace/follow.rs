//! From addresses to blocks: which event gave back what which other had handed out.

use std::collections::HashMap;

use super::super::{Frame, sites::Key};
use crate::measure::allocation_log::{AllocationLog, GivenBack, HandedOut, LogFrame, LogWhat};

/// A log whose addresses have been followed.
pub(super) struct Followed {
    /// In the log's order. A realloc is one event, where its new block was handed out.
    pub(super) events: Vec<Event>,
    pub(super) blocks: Vec<Block>,
    /// Where memory was asked for, in the order of their first block.
    pub(super) sites: Vec<Key>,
    /// The site of each of the log's stacks.
    pub(super) site_of_stack: Vec<usize>,
    /// Blocks whose memory came back without an event: given back by a thread that isn't logged.
    pub(super) unseen_frees: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at_ns: u64,
    pub(super) thread: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Alloc {
        block: usize,
        zeroed: bool,
    },
    /// The new block.
    Realloc {
        block: usize,
    },
    /// `None` is a block from before the log, of which only the bytes asked for are known.
    Free {
        block: Option<usize>,
        requested: u64,
    },
    Start,
    End {
        ok: bool,
    },
}

/// Memory from one event that handed it out to the one that gave it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) requested: u64,
    pub(super) usable: Option<u64>,
    /// Position in [`Followed::sites`].
    pub(super) site: usize,
    /// Position in the log's stacks.
    pub(super) stack: usize,
    /// Positions in [`Followed::events`].
    pub(super) born: usize,
    pub(super) died: Option<usize>,
    /// What it was before it grew or shrank.
    pub(super) from: Option<OldBlock>,
    /// The block that it became.
    pub(super) became: Option<usize>,
}

/// The old block of a realloc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OldBlock {
    /// `None` where it is from before the log.
    pub(super) block: Option<usize>,
    pub(super) requested: u64,
    /// Whether the new block lies elsewhere, so that what was in the old one was copied.
    pub(super) moved: bool,
}

impl Block {
    /// Bytes handed out, or asked for where that isn't known.
    pub(super) fn bytes(&self) -> u64 {
        self.usable.unwrap_or(self.requested)
    }
}

/// Between its two events a realloc's old block belongs to nobody: another thread may be given its memory.
struct Pending {
    block: Option<usize>,
    old: GivenBack,
}

pub(super) fn follow(log: &AllocationLog) -> Followed {
    let (sites, site_of_stack) = sites(log);
    let mut out = Followed { events: Vec::new(), blocks: Vec::new(), sites, site_of_stack, unseen_frees: 0 };
    let mut live: HashMap<u64, usize> = HashMap::new();
    let mut pending: HashMap<usize, Pending> = HashMap::new();
    for event in &log.events {
        let before = pending.remove(&event.thread);
        if let (Some(Pending { block: Some(block), old }), false) = (&before, matches!(event.what, LogWhat::Realloc(_)))
        {
            // There was no memory for another size: the block stayed.
            live.insert(old.address, *block);
        }
        let at = out.events.len();
        let what = match event.what {
            LogWhat::ReallocFrom(old) => {
                pending.insert(event.thread, Pending { block: live.remove(&old.address), old });
                continue;
            }
            LogWhat::Alloc(new) | LogWhat::AllocZeroed(new) => {
                let block = out.hand_out(&mut live, new, at, None);
                What::Alloc { block, zeroed: matches!(event.what, LogWhat::AllocZeroed(_)) }
            }
            LogWhat::Realloc(new) => {
                // Without its first event it is one whose old block nothing is known of.
                let from = before.map(|Pending { block, old }| OldBlock {
                    block,
                    requested: old.requested,
                    moved: old.address != new.address,
                });
                let block = out.hand_out(&mut live, new, at, from);
                if let Some(old) = from.and_then(|from| from.block) {
                    out.blocks[old].died = Some(at);
                    out.blocks[old].became = Some(block);
                }
                What::Realloc { block }
            }
            LogWhat::Free(GivenBack { address, requested }) => {
                let block = live.remove(&address);
                if let Some(block) = block {
                    out.blocks[block].died = Some(at);
                }
                What::Free { block, requested }
            }
            LogWhat::OpStart { .. } => What::Start,
            LogWhat::OpOk { .. } => What::End { ok: true },
            LogWhat::OpError { .. } => What::End { ok: false },
        };
        out.events.push(Event { at_ns: event.at_ns, thread: event.thread, what });
    }
    out
}

impl Followed {
    fn hand_out(
        &mut self,
        live: &mut HashMap<u64, usize>,
        new: HandedOut,
        born: usize,
        from: Option<OldBlock>,
    ) -> usize {
        let HandedOut { address, requested, usable, stack } = new;
        let (block, site) = (self.blocks.len(), self.site_of_stack[stack]);
        self.blocks.push(Block { requested, usable, site, stack, born, died: None, from, became: None });
        if let Some(gone) = live.insert(address, block) {
            self.unseen_frees += 1;
            self.blocks[gone].died = Some(born);
        }
        block
    }
}

/// The sites of a log's stacks, and which each stack's is.
fn sites(log: &AllocationLog) -> (Vec<Key>, Vec<usize>) {
    let mut sites: Vec<Key> = Vec::new();
    let mut positions: HashMap<Key, usize> = HashMap::new();
    let mut of_stack = |stack: &Vec<LogFrame>| {
        let key = Key::of(stack.iter().map(frame));
        *positions.entry(key.clone()).or_insert_with(|| {
            sites.push(key);
            sites.len() - 1
        })
    };
    let site_of_stack = log.stacks.iter().map(&mut of_stack).collect();
    (sites, site_of_stack)
}

fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn frame(frame: &LogFrame) -> Frame<'_> {
    Frame {
        function: known(&frame.function),
        symbol: None,
        file: known(&frame.file),
        line: Some(frame.line).filter(|&line| line > 0),
        mapping: None,
        inlined: false,
    }
}
