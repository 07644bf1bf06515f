//! The sampled form of the census, always on: a Poisson process over the bytes allocated, as Go's MemProfileRate, and
//! which of the sampled blocks are still in use.
//!
//! An allocation of `s` bytes is sampled with probability `1 - exp(-s / rate)` and then counts for the inverse of that, so
//! every size is estimated without bias; the weight is fixed when the sample is taken, with the rate its thread drew
//! by, so the sums hold across a change of rate. Reference: Go's `scaleHeapSample` in runtime/pprof/protomem.go, which
//! applies the same weight when the profile is written.

use std::{
    cell::Cell,
    sync::atomic::{
        AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use crate::{
    table::{Reading, StackTable},
    walk::{self, Frames},
};

/// Mean bytes between two samples, unless set otherwise: Go's default.
pub const DEFAULT_RATE: u64 = 512 * 1024;

static RATE: AtomicU64 = AtomicU64::new(DEFAULT_RATE);
static TABLE: StackTable<{ 1 << 13 }, { 1 << 18 }> = StackTable::new();
static LIVE: LiveSamples = LiveSamples::new();
static NOT_FOLLOWED: AtomicU64 = AtomicU64::new(0);

/// What the table's counts are, by index. Objects are in units of `1 / OBJECT_UNITS`: weights are fractions.
pub(crate) const ALLOCATED_OBJECTS: usize = 0;
pub(crate) const ALLOCATED_BYTES: usize = 1;
pub(crate) const FREED_OBJECTS: usize = 2;
pub(crate) const FREED_BYTES: usize = 3;
pub(crate) const OBJECT_UNITS: u64 = 1 << 16;

/// A thread with sampling switched off looks again after so many bytes.
const OFF_INTERVAL: i64 = 16 << 20;

/// Mean bytes between two samples; 0 when off.
pub fn sample_rate() -> u64 {
    RATE.load(Relaxed)
}

/// Changes the mean number of bytes between two samples; 0 switches sampling off, 1 samples every allocation.
///
/// A running thread goes over to the new rate at its next sample (or within 16 MiB when sampling was off); what was
/// sampled before keeps its weight.
pub fn set_sample_rate(bytes: u64) {
    RATE.store(bytes, Relaxed);
}

/// A thread's way to its next sample.
pub(crate) struct Countdown {
    left: Cell<i64>,
    /// The rate `left` was drawn by; 0 when sampling was off.
    rate: Cell<u64>,
    random: Cell<u64>,
}

impl Countdown {
    pub(crate) const fn new() -> Self {
        Countdown { left: Cell::new(0), rate: Cell::new(0), random: Cell::new(0) }
    }

    /// Goes on by an allocation; true when it is to be sampled.
    #[inline]
    pub(crate) fn advance(&self, bytes: usize) -> bool {
        let left = self.left.get().wrapping_sub(bytes as i64);
        self.left.set(left);
        left < 0 && self.due(bytes)
    }

    #[cold]
    fn due(&self, bytes: usize) -> bool {
        let drawn_by = self.rate.get();
        if drawn_by != 0 {
            // `record` draws the next, once it has used the rate.
            return true;
        }
        // The thread's first allocation, or sampling was off: nothing was drawn that this could have reached.
        self.draw();
        if self.rate.get() == 0 {
            return false;
        }
        let left = self.left.get().wrapping_sub(bytes as i64);
        self.left.set(left);
        left < 0
    }

    /// Draws the distance to the next sample, exponentially distributed around the rate. Returns the rate before.
    fn draw(&self) -> u64 {
        let rate = RATE.load(Relaxed);
        let left = match rate {
            0 => OFF_INTERVAL,
            1 => 0,
            rate => (-self.uniform().ln() * rate as f64) as i64,
        };
        self.left.set(left);
        self.rate.replace(rate)
    }

    /// Uniform in (0, 1]: xorshift64*, each thread from a seed of its own.
    fn uniform(&self) -> f64 {
        let mut x = self.random.get();
        if x == 0 {
            x = next_seed();
        }
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.set(x);
        let bits = x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (bits + 1) as f64 / (1u64 << 53) as f64
    }
}

/// splitmix64 over a counter: never 0 and never the same twice. A thread's own address would not do, since threads that come
/// after one another have the same.
fn next_seed() -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static SEEDS: AtomicU64 = AtomicU64::new(0);
    let mut z = SEEDS.fetch_add(STEP, Relaxed).wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) | 1
}

/// What a sample stands for.
#[derive(Clone, Copy)]
struct Weighted {
    objects: u64,
    bytes: u64,
}

/// A sample whose block is about to be given back; see [`restore`].
pub(crate) struct Taken {
    entry: usize,
    weighted: Weighted,
}

fn weigh(requested: usize, usable: u64, rate: u64) -> Weighted {
    let size = requested.max(1) as f64;
    // exp_m1 keeps the digits when the size is small against the rate. At 1 every allocation is sampled.
    let weight = if rate <= 1 { 1.0 } else { -1.0 / (-size / rate as f64).exp_m1() };
    let bytes = if usable == 0 { requested as u64 } else { usable };
    Weighted { objects: (weight * OBJECT_UNITS as f64).round() as u64, bytes: (weight * bytes as f64).round() as u64 }
}

/// Records a sampled allocation and draws the next. The caller knows that `advance` said so.
pub(crate) fn record(countdown: &Countdown, frames: &Frames<'_>, ptr: *mut u8, requested: usize, usable: u64) {
    let rate = countdown.draw();
    let weighted = weigh(requested, usable, rate);
    // Weights are in the counts already, so sizes need not be told apart.
    match TABLE.entry(frames, 0, walk::confirmed_by_unwinder) {
        Some((index, entry)) => {
            entry.add(ALLOCATED_OBJECTS, weighted.objects);
            entry.add(ALLOCATED_BYTES, weighted.bytes);
            if !LIVE.insert(ptr as usize, &Taken { entry: index, weighted }) {
                // Not followed, so counted as if given back at once: in-use figures leave it out, and say so.
                NOT_FOLLOWED.fetch_add(weighted.bytes, Relaxed);
                free(index, weighted);
            }
        }
        None => {
            TABLE.drop_count(ALLOCATED_OBJECTS, weighted.objects);
            TABLE.drop_count(ALLOCATED_BYTES, weighted.bytes);
        }
    }
}

/// Lets a sample of a thread that isn't recorded pass.
pub(crate) fn skip(countdown: &Countdown) {
    countdown.draw();
}

fn free(entry: usize, weighted: Weighted) {
    let entry = TABLE.at(entry);
    entry.add(FREED_OBJECTS, weighted.objects);
    entry.add(FREED_BYTES, weighted.bytes);
}

/// Notes that a block is about to be given back. To be called while the caller still owns it.
#[inline]
pub(crate) fn freed(ptr: *mut u8) -> Option<Taken> {
    if LIVE.surely_lacks(ptr as usize) {
        return None;
    }
    let taken = LIVE.remove(ptr as usize)?;
    free(taken.entry, taken.weighted);
    Some(taken)
}

/// Undoes [`freed`]: the block was not given back after all.
#[cold]
pub(crate) fn restore(ptr: *mut u8, taken: Option<Taken>) {
    if let Some(taken) = taken
        && LIVE.insert(ptr as usize, &taken)
    {
        let entry = TABLE.at(taken.entry);
        entry.add(FREED_OBJECTS, taken.weighted.objects.wrapping_neg());
        entry.add(FREED_BYTES, taken.weighted.bytes.wrapping_neg());
    }
}

/// What has been sampled since the process began.
pub(crate) fn read() -> Reading {
    TABLE.read()
}

/// Bytes that in-use figures leave out, since the process began: there was no room to follow their samples.
pub(crate) fn not_followed() -> u64 {
    NOT_FOLLOWED.load(Relaxed)
}

/// The sampled blocks that are still in use: a fixed hash table by address, under a small filter that says for nearly
/// every block that it is not in there, which is what freeing costs.
struct LiveSamples {
    filter: [AtomicU8; FILTER],
    blocks: [Block; BLOCKS],
}

/// Small enough for the first-level cache; at one sample in 512 KiB a heap of 1 GiB fills an eighth of it.
const FILTER: usize = 1 << 14;
const BLOCKS: usize = 1 << 16;
/// Places a block may lie in, from its home on. A block that finds none is not followed.
const WINDOW: usize = 32;
/// A filter's cell counts the blocks of so many homes, each of at most a window: that must fit.
const HOMES: usize = BLOCKS / FILTER;
const _: () = assert!(HOMES * WINDOW <= u8::MAX as usize);

struct Block {
    address: AtomicUsize,
    entry: AtomicU32,
    objects: AtomicU64,
    bytes: AtomicU64,
}

const NO_BLOCK: usize = 0;
const BEING_WRITTEN: usize = 1;

impl Block {
    const fn new() -> Self {
        Block {
            address: AtomicUsize::new(NO_BLOCK),
            entry: AtomicU32::new(0),
            objects: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }
}

impl LiveSamples {
    const fn new() -> Self {
        LiveSamples { filter: [const { AtomicU8::new(0) }; FILTER], blocks: [const { Block::new() }; BLOCKS] }
    }

    /// The block's home: of a Fibonacci hash the upper bits; the low bits of an address are its alignment.
    #[inline]
    fn home(address: usize) -> usize {
        (((address as u64) >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % BLOCKS
    }

    #[inline]
    fn filter(&self, address: usize) -> &AtomicU8 {
        &self.filter[Self::home(address) / HOMES]
    }

    #[inline]
    fn surely_lacks(&self, address: usize) -> bool {
        self.filter(address).load(Relaxed) == 0
    }

    fn window(&self, address: usize) -> impl Iterator<Item = &Block> {
        let first = Self::home(address);
        (0..WINDOW).map(move |place| &self.blocks[(first + place) % BLOCKS])
    }

    fn insert(&self, address: usize, taken: &Taken) -> bool {
        for block in self.window(address) {
            if block.address.load(Relaxed) == NO_BLOCK
                && block.address.compare_exchange(NO_BLOCK, BEING_WRITTEN, Acquire, Relaxed).is_ok()
            {
                block.entry.store(taken.entry as u32, Relaxed);
                block.objects.store(taken.weighted.objects, Relaxed);
                block.bytes.store(taken.weighted.bytes, Relaxed);
                block.address.store(address, Release);
                self.filter(address).fetch_add(1, Relaxed);
                return true;
            }
        }
        false
    }

    /// Takes the sample of a block out. Only a block's owner asks, so nobody else can be taking the same one.
    #[cold]
    fn remove(&self, address: usize) -> Option<Taken> {
        let block = self.window(address).find(|block| block.address.load(Acquire) == address)?;
        let taken = Taken {
            entry: block.entry.load(Relaxed) as usize,
            weighted: Weighted { objects: block.objects.load(Relaxed), bytes: block.bytes.load(Relaxed) },
        };
        block.address.store(NO_BLOCK, Release);
        self.filter(address).fetch_sub(1, Relaxed);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_make_up_for_the_chance_of_being_sampled() {
        // 1 / (1 - exp(-size / rate)), by hand for three sizes.
        let objects = |size| weigh(size, 0, DEFAULT_RATE).objects as f64 / OBJECT_UNITS as f64;
        assert!((objects(512 * 1024) - 1.581_976_7).abs() < 1e-4);
        assert!((objects(16) - 32_768.5).abs() < 1.0);
        assert!((objects(64 << 20) - 1.0).abs() < 1e-4);
        assert_eq!(weigh(100, 112, 1).bytes, 112);
    }

    #[test]
    fn threads_that_follow_one_another_draw_their_own() {
        let first = |_| {
            let draw = || {
                let countdown = Countdown::new();
                countdown.draw();
                countdown.left.get()
            };
            std::thread::spawn(draw).join().expect("the thread")
        };
        let draws: std::collections::HashSet<i64> = (0..20).map(first).collect();
        assert!(draws.len() > 15, "{draws:?}");
    }

    #[test]
    fn samples_come_as_often_as_the_rate_says() {
        // Own countdown, process-wide default rate: 400 MB in blocks of 1,000 B.
        let countdown = Countdown::new();
        let (mut samples, mut estimate) = (0u64, 0u64);
        for _ in 0..400_000 {
            if countdown.advance(1_000) {
                samples += 1;
                estimate += weigh(1_000, 0, countdown.draw()).bytes;
            }
        }
        // Mean 763, standard deviation 28: six of them.
        assert!((595..=931).contains(&samples), "{samples} samples");
        let error = estimate as f64 / 400e6 - 1.0;
        assert!(error.abs() < 0.22, "estimate off by {error}");
    }

    #[test]
    fn a_live_sample_is_found_once() {
        let taken = Taken { entry: 3, weighted: Weighted { objects: 1, bytes: 2 } };
        static SAMPLES: LiveSamples = LiveSamples::new();
        assert!(SAMPLES.surely_lacks(0x1000));
        assert!(SAMPLES.insert(0x1000, &taken));
        assert!(!SAMPLES.surely_lacks(0x1000));
        assert_eq!(SAMPLES.remove(0x1000).map(|t| (t.entry, t.weighted.bytes)), Some((3, 2)));
        assert!(SAMPLES.remove(0x1000).is_none());
        assert!(SAMPLES.surely_lacks(0x1000));
    }
}
