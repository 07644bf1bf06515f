//! What a server did with memory, in order: the answer of its `/debug/allocations`.

use serde::{Deserialize, Serialize};

use super::result::{AllocCounters, OpCounts};

/// The version of the answer that is read here.
pub(super) const LOG_VERSION: u32 = 1;

/// Larger blocks there are none; sums of smaller ones don't overflow.
const MAX_SIZE: u64 = 1 << 42;

/// Every call of the serving threads into the allocator over a span, with where requests began and ended.
///
/// Events name threads, methods and stacks by position in their lists. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AllocationLog {
    /// The version of the shape.
    pub schema_version: u32,
    /// Why it ended.
    pub ended: LogEnd,
    /// From switching the log on to switching it off, ns.
    pub duration_ns: u64,
    /// Whether usable sizes are known.
    pub usable_known: bool,
    /// What the counters gained in the same span. `None` where nothing is counted.
    pub counters: Option<AllocCounters>,
    /// Requests in the same span, by the counters.
    pub ops: OpCounts,
    /// Events that found the log full.
    pub dropped: u64,
    /// The threads.
    pub threads: Vec<LogThread>,
    /// The methods of requests.
    pub methods: Vec<String>,
    /// Stacks, innermost function first, without the allocator's own frames.
    pub stacks: Vec<Vec<LogFrame>>,
    /// What happened, in order.
    pub events: Vec<LogEvent>,
}

/// Why a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogEnd {
    /// As many requests as asked for had ended.
    Ops,
    /// The time was over.
    Seconds,
    /// There was no room for more.
    Full,
}

/// A serving thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogThread {
    /// The kernel's id of it.
    pub id: u32,
    /// Its name. `None` when it has ended.
    pub name: Option<String>,
}

/// A call in a stack, inlined ones included.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogFrame {
    /// The function, demangled. Empty when it isn't known.
    pub function: String,
    /// Its source file. Empty when it isn't known.
    pub file: String,
    /// The line in it; 0 when it isn't known.
    pub line: u64,
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEvent {
    /// Since the log was switched on, ns; never less than that of the event before.
    pub at_ns: u64,
    /// The thread.
    pub thread: usize,
    /// What happened.
    #[serde(flatten)]
    pub what: LogWhat,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LogWhat {
    /// A block was handed out.
    Alloc(HandedOut),
    /// The same, filled with zeros.
    AllocZeroed(HandedOut),
    /// A block became one of another size, at another address or the same. Comes after the thread's
    /// [`ReallocFrom`](Self::ReallocFrom).
    Realloc(HandedOut),
    /// A block is about to become one of another size. If the thread's next event isn't [`Realloc`](Self::Realloc), there was no
    /// memory and the block stays.
    ReallocFrom(GivenBack),
    /// A block was given back.
    Free(GivenBack),
    /// A request began.
    OpStart {
        /// Its method.
        method: usize,
    },
    /// A request was answered with success.
    OpOk {
        /// Its method.
        method: usize,
    },
    /// A request was answered with an error, or abandoned.
    OpError {
        /// Its method.
        method: usize,
    },
}

/// A block that the allocator handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOut {
    /// Where it begins.
    pub address: u64,
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes of its size class. `None` when unknown.
    pub usable: Option<u64>,
    /// Who asked.
    pub stack: usize,
}

/// A block that the allocator got back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenBack {
    /// Where it began.
    pub address: u64,
    /// Bytes that were asked for when it was handed out.
    pub requested: u64,
}

impl AllocationLog {
    /// Whether every position that an event names is one of its list, time goes on only, and sizes are such as there are.
    pub(super) fn is_sound(&self) -> bool {
        let is_sound = |event: &LogEvent| {
            let named = match event.what {
                LogWhat::Alloc(block) | LogWhat::AllocZeroed(block) | LogWhat::Realloc(block) => {
                    block.stack < self.stacks.len() && block.requested.max(block.usable.unwrap_or(0)) < MAX_SIZE
                }
                LogWhat::OpStart { method } | LogWhat::OpOk { method } | LogWhat::OpError { method } => {
                    method < self.methods.len()
                }
                LogWhat::ReallocFrom(block) | LogWhat::Free(block) => block.requested < MAX_SIZE,
            };
            named && event.thread < self.threads.len()
        };
        self.events.iter().all(is_sound) && self.events.is_sorted_by_key(|event| event.at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_what_leads_nowhere_is_found() {
        let text = r#"{"schema_version":1,"ended":"ops","duration_ns":9,"usable_known":true,"counters":{"allocs":1,
            "zeroed_allocs":0,"reallocs":1,"frees":1,"requested_bytes":3,"usable_bytes":16},
            "ops":{"started":1,"ok":1,"error":0},"dropped":0,"threads":[{"id":7,"name":null}],"methods":["m"],
            "stacks":[[{"function":"f","file":"","line":0}]],"events":[
            {"at_ns":1,"thread":0,"kind":"op_start","method":0},
            {"at_ns":2,"thread":0,"kind":"alloc_zeroed","address":64,"requested":1,"usable":8,"stack":0},
            {"at_ns":3,"thread":0,"kind":"realloc_from","address":64,"requested":1},
            {"at_ns":4,"thread":0,"kind":"realloc","address":128,"requested":2,"stack":0}]}"#;
        let mut log: AllocationLog = serde_json::from_str(text).expect("a log");
        assert_eq!(
            log.events[1].what,
            LogWhat::AllocZeroed(HandedOut { address: 64, requested: 1, usable: Some(8), stack: 0 })
        );
        assert_eq!(log.events[2].what, LogWhat::ReallocFrom(GivenBack { address: 64, requested: 1 }));
        assert!(matches!(log.events[3].what, LogWhat::Realloc(HandedOut { usable: None, .. })));
        assert!(log.is_sound());
        log.events[3].what = LogWhat::Realloc(HandedOut { address: 1, requested: 1, usable: None, stack: 1 });
        assert!(!log.is_sound());
        log.events.truncate(3);
        log.events[0].at_ns = 3;
        assert!(!log.is_sound());
    }
}
