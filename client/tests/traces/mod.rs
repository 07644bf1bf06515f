//! Logs of known events for tests.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its share of this module")]

use std::mem;

use analyze::measure::{
    allocation_log::{AllocationLog, GivenBack, HandedOut, LogEnd, LogEvent, LogFrame, LogThread, LogWhat},
    result::{AllocCounters, OpCounts},
};

/// A log in the making, with the counters that belong to it.
pub struct Events {
    log: AllocationLog,
    thread: usize,
}

impl Events {
    /// One stack a function, each in a line of a file of its own.
    pub fn of(functions: &[&str]) -> Self {
        let frame = |(at, function): (usize, &&str)| LogFrame {
            function: (*function).to_owned(),
            file: format!("app/src/{}.rs", function.replace("::", "_")),
            line: 10 + at as u64,
        };
        Self::with(functions.iter().enumerate().map(|each| vec![frame(each)]).collect())
    }

    /// Of stacks, innermost call first.
    pub fn with(stacks: Vec<Vec<LogFrame>>) -> Self {
        let zero = Some(0);
        let counters = AllocCounters {
            allocs: zero,
            zeroed_allocs: zero,
            reallocs: zero,
            frees: zero,
            requested_bytes: zero,
            usable_bytes: zero,
        };
        let thread = |id| LogThread { id, name: Some("worker".to_owned()) };
        let log = AllocationLog {
            schema_version: 1,
            ended: LogEnd::Ops,
            duration_ns: 0,
            usable_known: true,
            counters: Some(counters),
            ops: OpCounts::default(),
            dropped: 0,
            threads: vec![thread(1), thread(2)],
            methods: vec!["m".to_owned()],
            stacks,
            events: Vec::new(),
        };
        Self { log, thread: 0 }
    }

    /// The next event comes so many nanoseconds after the last.
    pub fn at(&mut self, later_ns: u64) -> &mut Self {
        self.log.duration_ns += later_ns;
        self
    }

    /// From now on, of that thread.
    pub fn on(&mut self, thread: usize) -> &mut Self {
        self.thread = thread;
        self
    }

    fn push(&mut self, what: LogWhat) {
        self.log.events.push(LogEvent { at_ns: self.log.duration_ns, thread: self.thread, what });
    }

    fn count(&mut self, cell: fn(&mut AllocCounters) -> &mut Option<u64>, by: u64) {
        let counters = self.log.counters.as_mut().expect("counters");
        *cell(counters) = cell(counters).map(|sum| sum + by);
    }

    fn handed_out(&mut self, address: u64, (requested, usable): (u64, u64), stack: usize) -> HandedOut {
        self.count(|c| &mut c.requested_bytes, requested);
        self.count(|c| &mut c.usable_bytes, usable);
        HandedOut { address, requested, usable: Some(usable), stack }
    }

    pub fn alloc(&mut self, address: u64, sizes: (u64, u64), stack: usize) {
        self.count(|c| &mut c.allocs, 1);
        let block = self.handed_out(address, sizes, stack);
        self.push(LogWhat::Alloc(block));
    }

    /// Both events of a realloc.
    pub fn realloc(&mut self, (from, requested): (u64, u64), to: u64, sizes: (u64, u64), stack: usize) {
        self.realloc_from(from, requested);
        self.realloc_to(to, sizes, stack);
    }

    pub fn realloc_from(&mut self, address: u64, requested: u64) {
        self.push(LogWhat::ReallocFrom(GivenBack { address, requested }));
    }

    pub fn realloc_to(&mut self, address: u64, sizes: (u64, u64), stack: usize) {
        self.count(|c| &mut c.reallocs, 1);
        self.count(|c| &mut c.frees, 1);
        let block = self.handed_out(address, sizes, stack);
        self.push(LogWhat::Realloc(block));
    }

    pub fn free(&mut self, address: u64, requested: u64) {
        self.count(|c| &mut c.frees, 1);
        self.push(LogWhat::Free(GivenBack { address, requested }));
    }

    pub fn start(&mut self) {
        self.log.ops.started += 1;
        self.push(LogWhat::OpStart { method: 0 });
    }

    pub fn ok(&mut self) {
        self.log.ops.ok += 1;
        self.push(LogWhat::OpOk { method: 0 });
    }

    /// The log, whole.
    pub fn done(&mut self) -> AllocationLog {
        let empty = AllocationLog { events: Vec::new(), ..self.log.clone() };
        mem::replace(&mut self.log, empty)
    }
}
