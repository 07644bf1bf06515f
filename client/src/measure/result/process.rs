//! What the kernel says a process used.

use serde::{Deserialize, Serialize};

/// What a process used over an interval, all its threads together. What the kernel doesn't tell is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// User and system time, ns; threads that ended are in it.
    pub cpu_ns: Option<u64>,
    /// Times it touched memory without a page behind it; threads that ended are in it.
    pub page_faults: Option<PageFaults>,
    /// Times a thread of it left its CPU.
    pub context_switches: Option<ContextSwitches>,
    /// Resident memory.
    pub memory: Option<MemoryUse>,
}

/// Page faults by what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageFaults {
    /// The kernel had the page, or took an empty one.
    pub minor: u64,
    /// The page was read from a disk.
    pub major: u64,
}

/// Context switches by whose wish they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSwitches {
    /// The thread had to wait.
    pub voluntary: u64,
    /// The kernel gave the CPU to another.
    pub involuntary: u64,
}

/// Resident memory as it was seen by looking at it again and again: what came and went between two looks is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// The average over time, bytes.
    pub avg_bytes: u64,
    /// The most that was seen, bytes.
    pub peak_bytes: u64,
}

/// System calls from the first call to the last reply of a load of their own. What may not be counted is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyscallCounts {
    /// Requests completed meanwhile, by the server's count, else the load generator's.
    pub ops: u64,
    /// Those of the server.
    pub server: Option<u64>,
    /// Those of the load generator.
    pub client: Option<u64>,
}

impl PageFaults {
    /// Both kinds.
    pub fn total(&self) -> u64 {
        self.minor + self.major
    }
}

impl ContextSwitches {
    /// Both kinds.
    pub fn total(&self) -> u64 {
        self.voluntary + self.involuntary
    }
}
