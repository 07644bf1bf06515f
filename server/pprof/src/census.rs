//! The census: while it is on, every allocation of the serving threads with its stack. Exact, and dear enough (some tens
//! of nanoseconds an allocation) to be on only for as long as somebody asks.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use crate::{
    ops::{self, MethodCounts},
    table::{Reading, StackKey, StackTable},
    tally::Counts,
    thread,
    walk::{self, Frames},
    watched::Watch,
};

/// Entries are a stack and a size class: some hundreds for one kind of request, more with payloads of many sizes. At 30
/// frames a stack there is room for all of them, at 60 for about 17,000; none leaves while the process lives.
static TABLE: StackTable<{ 1 << 15 }, { 1 << 20 }> = StackTable::new();
/// Censuses whose first reading has been taken: what is allocated from then on is in them. Each is the difference of two
/// readings, so they don't disturb each other.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// What the table's counts are, by index.
pub(crate) const OBJECTS: usize = 0;
pub(crate) const REQUESTED: usize = 1;
/// Of what was dropped only; an entry's follow from its size class.
pub(crate) const USABLE: usize = 2;

/// One census: every allocation of a span of time, and what the counters say of the same span.
#[derive(Debug)]
pub(crate) struct Census {
    pub(crate) stacks: Reading,
    pub(crate) counted: Option<Counts>,
    pub(crate) ops: MethodCounts,
    pub(crate) duration: Duration,
}

/// A census under way; it ends with [`Running::finish`], or unread when dropped.
pub(crate) struct Running {
    before: Reading,
    counted: Option<Counts>,
    ops: MethodCounts,
    began: std::time::Instant,
    _started: Started,
    _watch: Watch,
}

/// Counts itself in [`STARTED`] while it lives.
struct Started;

impl Started {
    fn new() -> Self {
        STARTED.fetch_add(1, SeqCst);
        Started
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        STARTED.fetch_sub(1, SeqCst);
    }
}

/// Whether a census has begun whose every allocation from now on will be in it.
pub(crate) fn started() -> bool {
    STARTED.load(SeqCst) != 0
}

/// Records an allocation of the calling thread.
#[inline]
pub(crate) fn record(frames: &Frames<'_>, requested: usize, usable: u64) {
    match TABLE.entry(frames, size_class(requested, usable), walk::confirmed_by_unwinder) {
        Some((_, entry)) => {
            entry.add(OBJECTS, 1);
            entry.add(REQUESTED, requested as u64);
        }
        None => {
            TABLE.drop_count(OBJECTS, 1);
            TABLE.drop_count(REQUESTED, requested as u64);
            TABLE.drop_count(USABLE, usable);
        }
    }
}

/// A number for the stack of an allocation, which no census counts by this. `None` when the table is full.
#[inline]
pub(crate) fn stack_of(frames: &Frames<'_>, requested: usize, usable: u64) -> Option<u32> {
    let (index, _) = TABLE.entry(frames, size_class(requested, usable), walk::confirmed_by_unwinder)?;
    Some(index as u32)
}

/// The stack that [`stack_of`] gave a number.
pub(crate) fn stack_at(number: u32) -> StackKey {
    TABLE.key(TABLE.at(number as usize))
}

#[inline]
fn size_class(requested: usize, usable: u64) -> u64 {
    if usable == 0 { size_class_of(requested as u64) } else { usable }
}

/// A class for sizes whose own class isn't known: four a doubling, rounded up, as jemalloc's are.
fn size_class_of(requested: u64) -> u64 {
    let step = (requested.max(16).next_power_of_two() / 8).max(16);
    requested.max(1).next_multiple_of(step)
}

/// Turns the census on. Counters are read last, so that what the reading itself did lies before them.
pub(crate) fn start() -> Running {
    let watch = Watch::census();
    let before = TABLE.read();
    Running {
        before,
        counted: thread::serving_counts(),
        ops: ops::total(),
        began: std::time::Instant::now(),
        _started: Started::new(),
        _watch: watch,
    }
}

impl Running {
    /// Reads what was recorded since [`start`], and turns the census off.
    pub(crate) fn finish(self) -> Census {
        let counted = thread::serving_counts().zip(self.counted).map(|(now, then)| now.since(&then));
        let ops = ops::total().since(&self.ops);
        Census { duration: self.began.elapsed(), stacks: TABLE.read().since(&self.before), counted, ops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_size_classes_are_four_a_doubling() {
        let classes: Vec<u64> = (1..=128).map(size_class_of).collect();
        assert_eq!(classes[0], 16);
        assert_eq!(classes[127], 128);
        assert!(classes.iter().zip(1..).all(|(&class, size)| class >= size && class - size < 16.max(size / 4 + 1)));
        assert_eq!(size_class_of(1_048_583), 1_310_720);
    }
}
