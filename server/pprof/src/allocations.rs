//! The event log as JSON: what `/debug/allocations` answers.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, SystemTime},
};

use echo_proto::profile::Profile;
use serde::Serialize;

use crate::{
    builder::{Recording, StackSample},
    census,
    event_log::{Event, EventKind, EventLog, Logged},
    heap,
    ops::{self, MethodCounts},
    tally::Counts,
    thread,
};

/// The version of the shape. It grows when a key changes its meaning or goes; new keys don't change it.
const SCHEMA_VERSION: u32 = 1;

/// Why a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ended {
    /// As many requests as asked for had ended, and the threads rested.
    Ops,
    /// The time was over.
    Seconds,
    /// There was no room for more.
    Full,
}

/// What the serving threads did with memory, in order.
///
/// Threads, methods and stacks are lists; events name their members by position. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct AllocationLog {
    schema_version: u32,
    ended: Ended,
    /// From switching the log on to switching it off.
    duration_ns: u64,
    /// Whether usable sizes are known; where not, every `usable` is null.
    usable_known: bool,
    /// What the counters gained in the same span.
    counters: Option<Counts>,
    ops: MethodCounts,
    /// Events that came when the log was full.
    dropped: u64,
    threads: Vec<Thread>,
    methods: Vec<String>,
    /// Innermost function first, without the allocator's own. Where a stack isn't known its one frame says why.
    stacks: Vec<Vec<Frame>>,
    events: Vec<EventRow>,
}

#[derive(Debug, Serialize)]
struct Thread {
    /// The kernel's.
    id: u32,
    /// Null when it has ended.
    name: Option<String>,
}

/// A call in a stack, inlined ones included.
#[derive(Debug, Serialize)]
struct Frame {
    /// Empty when it isn't known.
    function: String,
    /// Empty when it isn't known.
    file: String,
    /// 0 when it isn't known.
    line: i64,
}

/// What happened. `kind` is
///
/// - `alloc`, `alloc_zeroed`: `address` was handed out;
/// - `realloc_from`, then as the same thread's next event `realloc`: the block at the first address became one of another size
///   at the second, which may be the first. Without the second event there was no memory, and the block stays;
/// - `free`: `address` was given back;
/// - `op_start`, `op_ok`, `op_error`: a request of `method` began or ended.
///
/// What hands out memory has `requested`, `usable` and `stack`; what takes it back has in `requested` what was asked for.
#[derive(Debug, Serialize)]
struct EventRow {
    /// Since the log was switched on. Never less than that of the event before.
    at_ns: u64,
    thread: usize,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usable: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<usize>,
}

impl AllocationLog {
    /// `symbolize` makes a profile of stacks.
    pub(crate) fn new(log: &EventLog, ended: Ended, symbolize: impl FnOnce(&Recording) -> Profile) -> Self {
        let (mut threads, mut methods, mut stacks) = (Positions::default(), Positions::default(), Positions::default());
        let mut latest = log.began;
        let row = |&Logged { at, thread, event }: &Logged| {
            latest = latest.max(at);
            let Event { kind, address, requested, usable, stack } = event;
            let is_mark = matches!(kind, EventKind::OpStart | EventKind::OpOk | EventKind::OpError);
            let hands_out = matches!(kind, EventKind::Alloc | EventKind::AllocZeroed | EventKind::Realloc);
            EventRow {
                at_ns: latest - log.began,
                thread: threads.of(thread),
                kind: name(kind),
                address: (!is_mark).then_some(address),
                requested: (!is_mark).then_some(requested),
                usable: (hands_out && thread::usable_known()).then_some(usable),
                stack: hands_out.then(|| stacks.of(stack)),
                method: is_mark.then(|| methods.of(address)),
            }
        };
        let events = log.events.iter().map(row).collect();
        AllocationLog {
            schema_version: SCHEMA_VERSION,
            ended,
            duration_ns: log.ended - log.began,
            usable_known: thread::usable_known(),
            counters: log.counted,
            ops: log.ops,
            dropped: log.dropped,
            threads: threads.members.into_iter().map(Thread::of).collect(),
            methods: methods.members.into_iter().map(|at| ops::name_at(at).unwrap_or_default().to_owned()).collect(),
            stacks: frames(&symbolize(&recording(&stacks.members))),
            events,
        }
    }
}

fn name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Alloc => "alloc",
        EventKind::AllocZeroed => "alloc_zeroed",
        EventKind::Realloc => "realloc",
        EventKind::ReallocFrom => "realloc_from",
        EventKind::Free => "free",
        EventKind::OpStart => "op_start",
        EventKind::OpOk => "op_ok",
        EventKind::OpError => "op_error",
    }
}

/// Members of a list, each once, in the order in which they were first asked for.
struct Positions<T> {
    members: Vec<T>,
    positions: HashMap<T, usize>,
}

impl<T> Default for Positions<T> {
    fn default() -> Self {
        Positions { members: Vec::new(), positions: HashMap::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Positions<T> {
    fn of(&mut self, member: T) -> usize {
        *self.positions.entry(member).or_insert_with(|| {
            self.members.push(member);
            self.members.len() - 1
        })
    }
}

impl Thread {
    fn of(id: u32) -> Self {
        let name = fs::read_to_string(format!("/proc/self/task/{id}/comm")).ok();
        Thread { id, name: name.map(|name| name.trim_end().to_owned()) }
    }
}

/// The stacks as a recording of which only they matter.
fn recording(stacks: &[Option<u32>]) -> Recording {
    let sample = |&number: &Option<u32>| StackSample {
        stack: heap::shown(number.map(census::stack_at).as_ref()),
        values: Vec::new(),
    };
    Recording {
        kinds: Vec::new(),
        default_kind: "",
        period_kind: ("", ""),
        period: 1,
        ended: SystemTime::now(),
        duration: Duration::ZERO,
        samples: stacks.iter().map(sample).collect(),
        comments: Vec::new(),
        hide_allocator: true,
    }
}

/// The frames of a profile's samples. It is one that this crate built: its ids are positions plus one.
fn frames(profile: &Profile) -> Vec<Vec<Frame>> {
    let text = |index: i64| profile.string_table[index as usize].clone();
    let of_location = |&location: &u64| {
        let lines = &profile.location[location as usize - 1].line;
        let frames = lines.iter().map(|line| {
            let function = &profile.function[line.function_id as usize - 1];
            Frame { function: text(function.name), file: text(function.filename), line: line.line }
        });
        // A location without lines is a frame nevertheless.
        let unknown = || Frame { function: String::new(), file: String::new(), line: 0 };
        frames.chain(lines.is_empty().then(unknown)).collect::<Vec<_>>()
    };
    profile.sample.iter().map(|sample| sample.location_id.iter().flat_map(of_location).collect()).collect()
}
