//! The census: while it is on, every allocation of the serving threads with its stack. Exact, and dear enough (some tens
//! of nanoseconds an allocation) to be on only for as long as somebody asks.

use std::{
    sync::atomic::{
        AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};

use crate::{
    ops::{self, MethodCounts},
    table::{Reading, StackTable},
    tally::Counts,
    thread,
    walk::{self, Frames},
};

/// Entries are a stack and a size class: some hundreds for one kind of request, more with payloads of many sizes. At 30
/// frames a stack there is room for all of them, at 60 for about 17,000; none leaves while the process lives.
static TABLE: StackTable<{ 1 << 15 }, { 1 << 20 }> = StackTable::new();
/// Censuses for which allocations are recorded; each is the difference of two readings, so they don't disturb each other.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Those of them whose first reading has been taken: what is allocated from then on is in them.
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
    _started: Counted,
    _running: Counted,
}

/// Counts itself in the given number while it lives.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(number: &'static AtomicUsize) -> Self {
        number.fetch_add(1, SeqCst);
        Counted(number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Whether a census has begun whose every allocation from now on will be in it.
pub(crate) fn started() -> bool {
    STARTED.load(SeqCst) != 0
}

#[inline]
pub(crate) fn active() -> bool {
    RUNNING.load(Relaxed) != 0
}

/// Records an allocation of the calling thread.
#[inline]
pub(crate) fn record(frames: &Frames<'_>, requested: usize, usable: u64) {
    let size_class = if usable == 0 { size_class_of(requested as u64) } else { usable };
    match TABLE.entry(frames, size_class, walk::confirmed_by_unwinder) {
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

/// A class for sizes whose own class isn't known: four a doubling, rounded up, as jemalloc's are.
fn size_class_of(requested: u64) -> u64 {
    let step = (requested.max(16).next_power_of_two() / 8).max(16);
    requested.max(1).next_multiple_of(step)
}

/// Turns the census on. Counters are read last, so that what the reading itself did lies before them.
pub(crate) fn start() -> Running {
    let running = Counted::new(&RUNNING);
    let before = TABLE.read();
    Running {
        before,
        counted: thread::serving_counts(),
        ops: total_ops(),
        began: std::time::Instant::now(),
        _started: Counted::new(&STARTED),
        _running: running,
    }
}

impl Running {
    /// Reads what was recorded since [`start`], and turns the census off.
    pub(crate) fn finish(self) -> Census {
        let counted = thread::serving_counts().zip(self.counted).map(|(now, then)| now.since(&then));
        let now = total_ops();
        Census {
            duration: self.began.elapsed(),
            stacks: TABLE.read().since(&self.before),
            counted,
            ops: MethodCounts {
                started: now.started - self.ops.started,
                ok: now.ok - self.ops.ok,
                error: now.error - self.ops.error,
            },
        }
    }
}

fn total_ops() -> MethodCounts {
    let mut total = MethodCounts { started: 0, ok: 0, error: 0 };
    for (_, counts) in ops::counts() {
        total.started += counts.started;
        total.ok += counts.ok;
        total.error += counts.error;
    }
    total
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
