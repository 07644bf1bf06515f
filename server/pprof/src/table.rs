//! A fixed table of stacks and counts: no lock, no allocation, usable in a signal handler, bounded in memory.
//!
//! Open addressing over entries whose frames lie in an arena that only grows. Entries never leave while the table is in
//! use, so counts only grow and a span of time is the difference of two readings. Lives in zeroed static memory, of which
//! the system backs only what is touched.

use std::{
    collections::HashMap,
    sync::atomic::{
        AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

use crate::walk::{End, Frames};

/// Counts an entry holds; what each means is its table's business.
pub(crate) const COUNTS: usize = 4;
/// Places looked at for a stack before the table counts as full for it.
const PROBES: usize = 64;

const EMPTY: u64 = 0;
const BEING_WRITTEN: u64 = 1;

/// How far the frames of an entry can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u32)]
pub(crate) enum Trust {
    /// Whole and confirmed.
    Whole,
    /// Confirmed, but cut off at the root end.
    Cut,
    /// Wrong: its frames must not be shown.
    Wrong,
}

#[repr(align(64))]
pub(crate) struct Entry {
    hash: AtomicU64,
    size_class: AtomicU64,
    start: AtomicU32,
    len: AtomicU32,
    trust: AtomicU32,
    counts: [AtomicU64; COUNTS],
}

/// `ENTRIES` must be a power of two; `WORDS` bounds the frames of all entries together.
pub(crate) struct StackTable<const ENTRIES: usize, const WORDS: usize> {
    entries: [Entry; ENTRIES],
    words: [AtomicUsize; WORDS],
    used_words: AtomicUsize,
    dropped: [AtomicU64; COUNTS],
}

/// What identifies an entry to a reader.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StackKey {
    /// Leaf first; empty when the stack is not known.
    pub(crate) pcs: Box<[usize]>,
    pub(crate) size_class: u64,
    pub(crate) trust: Trust,
}

/// A reading of a table.
#[derive(Default, Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) stacks: HashMap<StackKey, [u64; COUNTS]>,
    /// What could not be kept by stack because the table was full.
    pub(crate) dropped: [u64; COUNTS],
}

impl Reading {
    /// What came to the table since `earlier`; stacks without anything new are left out.
    pub(crate) fn since(mut self, earlier: &Reading) -> Reading {
        for (key, then) in &earlier.stacks {
            if let Some(now) = self.stacks.get_mut(key) {
                subtract(now, then);
            }
        }
        self.stacks.retain(|_, counts| counts.iter().any(|&count| count != 0));
        subtract(&mut self.dropped, &earlier.dropped);
        self
    }
}

fn subtract(now: &mut [u64; COUNTS], then: &[u64; COUNTS]) {
    for (now, then) in now.iter_mut().zip(then) {
        *now = now.saturating_sub(*then);
    }
}

impl Entry {
    const fn new() -> Self {
        Entry {
            hash: AtomicU64::new(EMPTY),
            size_class: AtomicU64::new(0),
            start: AtomicU32::new(0),
            len: AtomicU32::new(0),
            trust: AtomicU32::new(0),
            counts: [const { AtomicU64::new(0) }; COUNTS],
        }
    }

    fn trust(&self) -> Trust {
        match self.trust.load(Relaxed) {
            0 => Trust::Whole,
            1 => Trust::Cut,
            _ => Trust::Wrong,
        }
    }

    /// Whether a stack with the entry's hash is the entry's. The frames are not compared, which would double the cost of a
    /// record: that two of a full table's 2¹⁵ stacks share 63 bits of hash, and depth and size class as well, has a
    /// probability below 10⁻¹⁰.
    #[inline]
    fn is_of(&self, depth: usize, size_class: u64) -> bool {
        self.len.load(Relaxed) as usize == depth && self.size_class.load(Relaxed) == size_class
    }

    /// Adds to the entry's counts.
    #[inline]
    pub(crate) fn add(&self, index: usize, by: u64) {
        self.counts[index].fetch_add(by, Relaxed);
    }
}

impl<const ENTRIES: usize, const WORDS: usize> StackTable<ENTRIES, WORDS> {
    pub(crate) const fn new() -> Self {
        assert!(ENTRIES.is_power_of_two() && WORDS <= u32::MAX as usize);
        StackTable {
            entries: [const { Entry::new() }; ENTRIES],
            words: [const { AtomicUsize::new(0) }; WORDS],
            used_words: AtomicUsize::new(0),
            dropped: [const { AtomicU64::new(0) }; COUNTS],
        }
    }

    /// The entry of this stack and size class, made when it is new; `confirm` is asked only then. `None` when full.
    ///
    /// Two threads that bring a new stack at the same moment may make two entries of it; readers add them up.
    #[inline]
    pub(crate) fn entry(
        &self,
        frames: &Frames<'_>,
        size_class: u64,
        confirm: impl Fn(&Frames<'_>) -> bool,
    ) -> Option<(usize, &Entry)> {
        let hash = hash_of(frames, size_class);
        for probe in 0..PROBES.min(ENTRIES) {
            let index = (hash as usize).wrapping_add(probe) & (ENTRIES - 1);
            let entry = &self.entries[index];
            match entry.hash.load(Acquire) {
                EMPTY if entry.hash.compare_exchange(EMPTY, BEING_WRITTEN, AcqRel, Acquire).is_ok() => {
                    return self.fill(entry, hash, frames, size_class, confirm).map(|()| (index, entry));
                }
                found if found == hash && entry.is_of(frames.pcs.len(), size_class) => return Some((index, entry)),
                _ => {}
            }
        }
        None
    }

    /// The entry at an index that [`StackTable::entry`] gave.
    pub(crate) fn at(&self, index: usize) -> &Entry {
        &self.entries[index & (ENTRIES - 1)]
    }

    /// Counts what found no entry.
    #[cold]
    pub(crate) fn drop_count(&self, index: usize, by: u64) {
        self.dropped[index].fetch_add(by, Relaxed);
    }

    #[cold]
    fn fill(
        &self,
        entry: &Entry,
        hash: u64,
        frames: &Frames<'_>,
        size_class: u64,
        confirm: impl Fn(&Frames<'_>) -> bool,
    ) -> Option<()> {
        let start = self.used_words.fetch_add(frames.pcs.len(), Relaxed);
        let Some(words) = self.words.get(start..start + frames.pcs.len()) else {
            // Stays beyond the end: from here on every new stack is dropped, and counted.
            self.used_words.store(WORDS, Relaxed);
            entry.hash.store(EMPTY, Release);
            return None;
        };
        for (word, &pc) in words.iter().zip(frames.pcs) {
            word.store(pc, Relaxed);
        }
        let trust = match frames.end {
            _ if !confirm(frames) => Trust::Wrong,
            End::Depth => Trust::Cut,
            End::Root | End::Astray => Trust::Whole,
        };
        entry.size_class.store(size_class, Relaxed);
        entry.start.store(start as u32, Relaxed);
        entry.len.store(frames.pcs.len() as u32, Relaxed);
        entry.trust.store(trust as u32, Relaxed);
        // Release: whoever sees the hash sees the rest.
        entry.hash.store(hash, Release);
        Some(())
    }

    fn words_of(&self, entry: &Entry) -> &[AtomicUsize] {
        let start = entry.start.load(Relaxed) as usize;
        &self.words[start..start + entry.len.load(Relaxed) as usize]
    }

    /// What identifies an entry that was filled.
    pub(crate) fn key(&self, entry: &Entry) -> StackKey {
        let trust = entry.trust();
        let pcs = match trust {
            Trust::Wrong => Box::default(),
            Trust::Whole | Trust::Cut => self.words_of(entry).iter().map(|word| word.load(Relaxed)).collect(),
        };
        StackKey { pcs, size_class: entry.size_class.load(Relaxed), trust }
    }

    /// All stacks and their counts as they are now. Blocks nobody; allocates.
    pub(crate) fn read(&self) -> Reading {
        let mut reading = Reading::default();
        for entry in &self.entries {
            if entry.hash.load(Acquire) <= BEING_WRITTEN {
                continue;
            }
            let sums = reading.stacks.entry(self.key(entry)).or_default();
            for (sum, count) in sums.iter_mut().zip(&entry.counts) {
                *sum += count.load(Relaxed);
            }
        }
        for (sum, count) in reading.dropped.iter_mut().zip(&self.dropped) {
            *sum = count.load(Relaxed);
        }
        reading
    }

    /// Empties the table. No thread may use it meanwhile: entries in use would be lost or torn.
    pub(crate) fn clear(&self) {
        for entry in &self.entries {
            if entry.hash.swap(EMPTY, Relaxed) != EMPTY {
                for count in &entry.counts {
                    count.store(0, Relaxed);
                }
            }
        }
        for count in &self.dropped {
            count.store(0, Relaxed);
        }
        self.used_words.store(0, Release);
    }
}

/// Never [`EMPTY`] or [`BEING_WRITTEN`].
#[inline]
fn hash_of(frames: &Frames<'_>, size_class: u64) -> u64 {
    frames.hash.with(size_class as usize).finish().max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pcs: &[usize]) -> Frames<'_> {
        Frames::new(pcs, End::Root)
    }

    #[test]
    fn a_stack_is_one_entry_a_size_class() {
        static TABLE: StackTable<64, 256> = StackTable::new();
        for (pcs, size) in [(&[1usize, 2, 3][..], 16), (&[1, 2, 3], 16), (&[1, 2, 3], 32), (&[1, 2], 16)] {
            TABLE.entry(&whole(pcs), size, |_| true).expect("room").1.add(0, 1);
        }
        let reading = TABLE.read();
        let count = |pcs: &[usize], size_class| {
            let key = StackKey { pcs: pcs.into(), size_class, trust: Trust::Whole };
            reading.stacks.get(&key).map(|counts| counts[0])
        };
        assert_eq!(count(&[1, 2, 3], 16), Some(2));
        assert_eq!(count(&[1, 2, 3], 32), Some(1));
        assert_eq!(count(&[1, 2], 16), Some(1));
        assert_eq!(reading.stacks.len(), 3);
    }

    #[test]
    fn a_stack_that_is_not_confirmed_is_counted_without_its_frames() {
        static TABLE: StackTable<64, 256> = StackTable::new();
        for pcs in [[1usize, 2], [3, 4]] {
            TABLE.entry(&whole(&pcs), 16, |_| false).expect("room").1.add(0, 1);
        }
        let reading = TABLE.read();
        let key = StackKey { pcs: Box::default(), size_class: 16, trust: Trust::Wrong };
        assert_eq!(reading.stacks, HashMap::from([(key, [2, 0, 0, 0])]));
    }

    #[test]
    fn a_full_table_says_so_and_keeps_what_it_has() {
        static TABLE: StackTable<8, 1024> = StackTable::new();
        let made = (0..100usize).filter(|&n| TABLE.entry(&whole(&[n]), 1, |_| true).is_some()).count();
        assert_eq!(made, 8);
        static NARROW: StackTable<64, 8> = StackTable::new();
        let made = (0..10usize).filter(|&n| NARROW.entry(&whole(&[n, n, n]), 1, |_| true).is_some()).count();
        assert_eq!(made, 2);
    }

    #[test]
    fn a_span_is_the_difference_of_two_readings() {
        static TABLE: StackTable<64, 256> = StackTable::new();
        let add = |pcs: &[usize]| TABLE.entry(&whole(pcs), 8, |_| true).expect("room").1.add(1, 5);
        add(&[1]);
        add(&[2]);
        let before = TABLE.read();
        add(&[2]);
        let span = TABLE.read().since(&before);
        let key = StackKey { pcs: [2].into(), size_class: 8, trust: Trust::Whole };
        assert_eq!(span.stacks, HashMap::from([(key, [0, 5, 0, 0])]));
    }

    #[test]
    fn threads_that_race_lose_nothing() {
        static TABLE: StackTable<256, 4096> = StackTable::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..10_000usize {
                        let stack = [round % 50, 7, round % 3];
                        TABLE.entry(&whole(&stack), 8, |_| true).expect("room").1.add(0, 1);
                    }
                });
            }
        });
        let total: u64 = TABLE.read().stacks.values().map(|counts| counts[0]).sum();
        assert_eq!(total, 40_000);
    }
}
