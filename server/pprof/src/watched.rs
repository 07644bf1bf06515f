//! What is being recorded of every call of the allocator: one word, so that a call tests one, whatever there is to record.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, SeqCst},
};

/// The number of censuses, and [`EVENTS`] while the event log is on.
static WATCHED: AtomicU32 = AtomicU32::new(0);

const ONE_CENSUS: u32 = 1;
/// The sign bit, which takes one instruction to test.
const EVENTS: u32 = 1 << 31;

/// Recording of some kind; it lasts as long as this.
pub(crate) struct Watch(u32);

impl Watch {
    pub(crate) fn census() -> Self {
        Self::of(ONE_CENSUS)
    }

    /// Only one at a time.
    pub(crate) fn events() -> Self {
        Self::of(EVENTS)
    }

    fn of(kind: u32) -> Self {
        WATCHED.fetch_add(kind, SeqCst);
        Watch(kind)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.fetch_sub(self.0, SeqCst);
    }
}

/// Whether an allocation is to be recorded in any way.
#[inline]
pub(crate) fn allocations() -> bool {
    WATCHED.load(Relaxed) != 0
}

/// Whether it is to be recorded in a census.
#[inline]
pub(crate) fn census() -> bool {
    WATCHED.load(Relaxed) & !EVENTS != 0
}

/// Whether the event log is on.
#[inline]
pub(crate) fn events() -> bool {
    WATCHED.load(Relaxed) & EVENTS != 0
}

/// The same for whoever is about to write into the log: seen in one order with the end of the log.
#[inline]
pub(crate) fn events_in_order() -> bool {
    WATCHED.load(SeqCst) & EVENTS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_do_not_disturb_each_other() {
        let first = Watch::census();
        assert!(allocations() && census() && !events());
        let log = Watch::events();
        let second = Watch::census();
        drop(first);
        assert!(allocations() && census() && events() && events_in_order());
        drop(second);
        assert!(allocations() && !census() && events());
        drop(log);
        assert!(!allocations() && !census() && !events_in_order());
    }
}
