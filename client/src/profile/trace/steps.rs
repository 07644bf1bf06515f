//! A request's events as people read them: with sizes, sites, lifetimes and the bytes that are live.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::follow::{Block, Followed, What};

/// A request, from its first event to its last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Which of the log, from 1.
    pub number: u64,
    /// From its first event to its last, ns.
    pub length_ns: u64,
    /// Calls that handed out memory.
    pub allocs: u64,
    /// Blocks given back, those of realloc included.
    pub frees: u64,
    /// Bytes asked for.
    pub requested_bytes: u64,
    /// Bytes handed out, or asked for where that isn't known.
    pub bytes: u64,
    /// The most bytes that were live at a time beyond those before its first event.
    pub peak_bytes: i64,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

/// Something that happened in a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Since the request's first event, ns.
    pub at_ns: u64,
    /// Position in the log's threads.
    pub thread: usize,
    /// What it is.
    pub kind: StepKind,
    /// Bytes asked for; of a free when it was handed out.
    pub requested: Option<u64>,
    /// Bytes handed out. `None` where that isn't known.
    pub usable: Option<u64>,
    /// Bytes asked for before a realloc.
    pub from: Option<u64>,
    /// Whether a realloc moved the block, so that what was in it was copied.
    pub moved: Option<bool>,
    /// Where the block was asked for; of a free when it was handed out. `None` where that was before the log.
    pub site: Option<usize>,
    /// From being handed out to being given back, or to the realloc that made another of it. `None` of what is no block, and
    /// where either end isn't in the log.
    pub lifetime: Option<Lifetime>,
    /// Of a free the step of this request that handed the block out, if one did; of what hands out, the one that gives it back.
    pub other: Option<usize>,
    /// Bytes handed out and not given back since the request's first event, after this one; negative when more was given back.
    pub live_bytes: i64,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A block was handed out.
    Alloc,
    /// The same, filled with zeros.
    AllocZeroed,
    /// A block became one of another size.
    Realloc,
    /// A block was given back.
    Free,
    /// The handler began.
    Start,
    /// The handler was done.
    Ok,
    /// The handler was done and had failed, or was given up.
    Error,
}

/// How long a block lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// ns.
    pub ns: u64,
    /// Requests later that it is given back; 0 = within the same.
    pub ops: u64,
}

/// The requests of a followed log.
pub(super) struct Requests<'a> {
    pub(super) followed: &'a Followed,
    pub(super) ranges: &'a [Range<usize>],
}

impl<'a> Requests<'a> {
    pub(super) fn new(followed: &'a Followed, ranges: &'a [Range<usize>]) -> Self {
        Self { followed, ranges }
    }

    /// How many requests' blocks are judged, and for how many more each of them is watched at least.
    pub(super) fn halves(&self) -> (u64, u64) {
        let ops = self.ranges.len().div_ceil(2);
        (ops as u64, (self.ranges.len() - ops) as u64)
    }

    /// Which request an event belongs to; one past the last of them belongs to the one after.
    pub(super) fn of_event(&self, event: usize) -> usize {
        self.ranges.partition_point(|range| range.end <= event)
    }

    pub(super) fn lifetime(&self, block: &Block) -> Option<Lifetime> {
        let died = block.died?;
        let events = &self.followed.events;
        Some(Lifetime {
            ns: events[died].at_ns - events[block.born].at_ns,
            ops: (self.of_event(died) - self.of_event(block.born)) as u64,
        })
    }

    pub(super) fn request(&self, at: usize) -> Request {
        let range = &self.ranges[at];
        let began = self.followed.events[range.start].at_ns;
        let mut request = Request {
            number: at as u64 + 1,
            length_ns: self.followed.events[range.end - 1].at_ns - began,
            allocs: 0,
            frees: 0,
            requested_bytes: 0,
            bytes: 0,
            peak_bytes: 0,
            steps: Vec::with_capacity(range.len()),
        };
        let mut live = 0i64;
        for event in range.clone() {
            let step = self.step(event, range, &mut live);
            match step.kind {
                StepKind::Alloc | StepKind::AllocZeroed | StepKind::Realloc => {
                    request.allocs += 1;
                    request.frees += u64::from(step.kind == StepKind::Realloc);
                    request.requested_bytes += step.requested.unwrap_or(0);
                    request.bytes += step.usable.or(step.requested).unwrap_or(0);
                }
                StepKind::Free => request.frees += 1,
                StepKind::Start | StepKind::Ok | StepKind::Error => {}
            }
            request.peak_bytes = request.peak_bytes.max(live);
            request.steps.push(step);
        }
        request
    }

    fn step(&self, at: usize, range: &Range<usize>, live: &mut i64) -> Step {
        let event = self.followed.events[at];
        let block = |block: usize| &self.followed.blocks[block];
        let inside = |event: usize| range.contains(&event).then(|| event - range.start);
        let mut step = Step {
            at_ns: event.at_ns - self.followed.events[range.start].at_ns,
            thread: event.thread,
            kind: StepKind::Start,
            requested: None,
            usable: None,
            from: None,
            moved: None,
            site: None,
            lifetime: None,
            other: None,
            live_bytes: 0,
        };
        match event.what {
            What::Alloc { block: of, .. } | What::Realloc { block: of } => {
                let of = block(of);
                step.kind = match event.what {
                    What::Realloc { .. } => StepKind::Realloc,
                    What::Alloc { zeroed: true, .. } => StepKind::AllocZeroed,
                    _ => StepKind::Alloc,
                };
                *live += of.bytes() as i64;
                if let Some(from) = of.from {
                    *live -= from.block.map_or(from.requested, |old| block(old).bytes()) as i64;
                    (step.from, step.moved) = (Some(from.requested), Some(from.moved));
                }
                (step.requested, step.usable, step.site) = (Some(of.requested), of.usable, Some(of.site));
                (step.lifetime, step.other) = (self.lifetime(of), of.died.and_then(inside));
            }
            What::Free { block: of, requested } => {
                let of = of.map(block);
                step.kind = StepKind::Free;
                *live -= of.map_or(requested, Block::bytes) as i64;
                (step.requested, step.usable) = (Some(requested), of.and_then(|of| of.usable));
                step.site = of.map(|of| of.site);
                (step.lifetime, step.other) = (of.and_then(|of| self.lifetime(of)), of.and_then(|of| inside(of.born)));
            }
            What::Start => {}
            What::End { ok: true } => step.kind = StepKind::Ok,
            What::End { ok: false } => step.kind = StepKind::Error,
        }
        step.live_bytes = *live;
        step
    }
}
