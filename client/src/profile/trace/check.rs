//! Whether a log lists all that the counters count.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    measure::{
        allocation_log::{AllocationLog, LogWhat},
        result::AllocCounters,
    },
    units::thousands,
};

/// A log beside the server's counters, read before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The log's events, added up.
    pub listed: Tally,
    /// What the counters gained. `None` where the server doesn't count.
    pub counted: Option<Tally>,
    /// Events that the log had no room for.
    pub dropped: u64,
}

/// Calls into the allocator and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Calls that handed out memory.
    pub allocs: u64,
    /// Blocks given back, those of realloc included.
    pub frees: u64,
    /// Bytes asked for.
    pub requested_bytes: u64,
    /// Bytes handed out. `None` where they aren't known.
    pub usable_bytes: Option<u64>,
}

impl Check {
    pub(super) fn of(log: &AllocationLog) -> Self {
        let mut listed = Tally { usable_bytes: log.usable_known.then_some(0), ..Tally::default() };
        for event in &log.events {
            match event.what {
                LogWhat::Alloc(block) | LogWhat::AllocZeroed(block) | LogWhat::Realloc(block) => {
                    listed.allocs += 1;
                    listed.frees += u64::from(matches!(event.what, LogWhat::Realloc(_)));
                    listed.requested_bytes += block.requested;
                    listed.usable_bytes = listed.usable_bytes.zip(block.usable).map(|(sum, usable)| sum + usable);
                }
                LogWhat::Free(_) => listed.frees += 1,
                LogWhat::ReallocFrom(_) | LogWhat::OpStart { .. } | LogWhat::OpOk { .. } | LogWhat::OpError { .. } => {}
            }
        }
        Check { listed, counted: log.counters.as_ref().and_then(Tally::of), dropped: log.dropped }
    }

    /// Whether the log is whole and the counters say the same.
    pub fn agrees(&self) -> bool {
        self.problem().is_none()
    }

    /// Why they don't, in words.
    pub fn problem(&self) -> Option<String> {
        match self.counted {
            _ if self.dropped > 0 => Some(format!("{} events found the log full", thousands(self.dropped))),
            None => Some("the server has no counters to set the log against".to_owned()),
            Some(counted) if counted == self.listed => None,
            Some(counted) => Some(format!("the server's counters say {counted}; the log lists {}", self.listed)),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [allocs, requested, frees] = [self.allocs, self.requested_bytes, self.frees].map(thousands);
        let usable = self.usable_bytes.map(|usable| format!(" ({} B handed out)", thousands(usable)));
        write!(f, "{allocs} allocations of {requested} B asked for{} and {frees} frees", usable.unwrap_or_default())
    }
}

impl Tally {
    fn of(counters: &AllocCounters) -> Option<Self> {
        Some(Self {
            allocs: counters.allocs? + counters.zeroed_allocs? + counters.reallocs?,
            frees: counters.frees?,
            requested_bytes: counters.requested_bytes?,
            usable_bytes: counters.usable_bytes,
        })
    }
}
