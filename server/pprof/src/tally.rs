//! The cells the counts live in: one slot a thread, written by its owner alone, read by anyone at any time.
//!
//! A slot outlives its thread and goes, counts and all, to the next one that starts, so totals survive threads that end
//! and nothing is ever folded from one place into another while a reader adds up.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use serde::Serialize;

/// Threads alive at once that get cells of their own; those beyond share one slot by atomic addition: slower, as exact.
const SLOTS: usize = 1024;

static SHARED: Slot = Slot::new();
static OWNED: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// The calls that hand out memory, as cells of a tally.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Alloc,
    Zeroed,
    Realloc,
}

/// Whether a thread does the program's work, or looks at it (debug endpoints, profilers, logs).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Serving,
    Excluded,
}

/// A cache line a class, and none that another thread's slot shares.
#[repr(align(128))]
pub(crate) struct Slot {
    tallies: [Tally; 2],
    owned: AtomicBool,
}

#[repr(align(64))]
struct Tally {
    calls: [AtomicU64; 3],
    frees: AtomicU64,
    requested: AtomicU64,
    usable: AtomicU64,
}

/// What a class of threads has allocated since the process began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls of `alloc`.
    pub allocs: u64,
    /// Calls of `alloc_zeroed`.
    pub zeroed_allocs: u64,
    /// Calls of `realloc`; each is an allocation of the new size and, within [`Counts::frees`], a free of the old.
    pub reallocs: u64,
    /// Blocks given back, those given back by `realloc` included.
    pub frees: u64,
    /// The sizes asked for, in bytes.
    pub requested_bytes: u64,
    /// The size-class bytes handed out; `None` where the allocator can't tell.
    pub usable_bytes: Option<u64>,
}

impl Counts {
    /// Calls that handed out memory: allocs, zeroed allocs and reallocs.
    pub fn allocations(&self) -> u64 {
        self.allocs + self.zeroed_allocs + self.reallocs
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts {
            allocs: self.allocs - earlier.allocs,
            zeroed_allocs: self.zeroed_allocs - earlier.zeroed_allocs,
            reallocs: self.reallocs - earlier.reallocs,
            frees: self.frees - earlier.frees,
            requested_bytes: self.requested_bytes - earlier.requested_bytes,
            usable_bytes: self.usable_bytes.zip(earlier.usable_bytes).map(|(now, then)| now - then),
        }
    }
}

impl Tally {
    const fn new() -> Self {
        Tally {
            calls: [const { AtomicU64::new(0) }; 3],
            frees: AtomicU64::new(0),
            requested: AtomicU64::new(0),
            usable: AtomicU64::new(0),
        }
    }

    fn add_to(&self, sum: &mut Counts, usable: &mut u64) {
        sum.allocs += self.calls[Kind::Alloc as usize].load(Relaxed);
        sum.zeroed_allocs += self.calls[Kind::Zeroed as usize].load(Relaxed);
        sum.reallocs += self.calls[Kind::Realloc as usize].load(Relaxed);
        sum.frees += self.frees.load(Relaxed);
        sum.requested_bytes += self.requested.load(Relaxed);
        *usable += self.usable.load(Relaxed);
    }
}

/// Adds to a cell that only the calling thread writes: a load and a store, no locked instruction.
#[inline]
fn bump(cell: &AtomicU64, by: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(by), Relaxed);
}

impl Slot {
    const fn new() -> Self {
        Slot { tallies: [const { Tally::new() }; 2], owned: AtomicBool::new(false) }
    }

    /// Takes a free slot for the calling thread; `None` when all are taken.
    pub(crate) fn acquire() -> Option<&'static Slot> {
        OWNED.iter().find(|slot| {
            // Acquire pairs with `release`: the last owner's stores are seen before this one adds to them.
            !slot.owned.load(Relaxed) && slot.owned.compare_exchange(false, true, Acquire, Relaxed).is_ok()
        })
    }

    /// Gives the slot back, its counts left in it.
    pub(crate) fn release(&self) {
        self.owned.store(false, Release);
    }

    /// Counts an allocation in the caller's own slot.
    #[inline]
    pub(crate) fn allocated(&self, class: Class, kind: Kind, requested: u64, usable: u64) {
        let tally = &self.tallies[class as usize];
        bump(&tally.calls[kind as usize], 1);
        bump(&tally.requested, requested);
        bump(&tally.usable, usable);
    }

    /// Counts a free in the caller's own slot.
    #[inline]
    pub(crate) fn freed(&self, class: Class) {
        bump(&self.tallies[class as usize].frees, 1);
    }
}

/// Counts an allocation of a thread that has no slot: before it has one, past its end, or past [`SLOTS`].
#[cold]
pub(crate) fn allocated_shared(class: Class, kind: Kind, requested: u64, usable: u64) {
    let tally = &SHARED.tallies[class as usize];
    tally.calls[kind as usize].fetch_add(1, Relaxed);
    tally.requested.fetch_add(requested, Relaxed);
    tally.usable.fetch_add(usable, Relaxed);
}

/// Counts a free of a thread that has no slot.
#[cold]
pub(crate) fn freed_shared(class: Class) {
    SHARED.tallies[class as usize].frees.fetch_add(1, Relaxed);
}

/// Adds up all threads of a class, those that ended included.
///
/// Exact when the threads are at rest; while they run, cells may be an allocation apart from each other.
pub(crate) fn read(class: Class, usable_known: bool) -> Counts {
    let (mut sum, mut usable) = (Counts::default(), 0);
    for slot in OWNED.iter().chain([&SHARED]) {
        slot.tallies[class as usize].add_to(&mut sum, &mut usable);
    }
    sum.usable_bytes = usable_known.then_some(usable);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_keeps_its_counts_when_it_changes_hands() {
        let before = read(Class::Excluded, true);
        let slot = Slot::acquire().expect("a free slot");
        slot.allocated(Class::Excluded, Kind::Zeroed, 10, 16);
        slot.freed(Class::Excluded);
        slot.release();
        let gained = read(Class::Excluded, true).since(&before);
        let expected =
            Counts { zeroed_allocs: 1, frees: 1, requested_bytes: 10, usable_bytes: Some(16), ..Counts::default() };
        assert_eq!(gained, expected);
    }
}
