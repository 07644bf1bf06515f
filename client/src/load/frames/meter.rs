//! What one direction of connections has carried.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{FrameCount, FrameCounts, FrameType};

/// Running totals, written by the one task that has the socket and read by any: a load and a store, with no locked addition.
#[derive(Debug, Default)]
pub(in crate::load) struct FrameMeter {
    frames: [AtomicU64; FrameType::ALL.len()],
    bytes: [AtomicU64; FrameType::ALL.len()],
    streams: AtomicU64,
}

impl FrameMeter {
    /// Frames whose header has passed.
    pub(in crate::load) fn counts(&self) -> FrameCounts {
        FrameCounts(std::array::from_fn(|at| FrameCount {
            frames: self.frames[at].load(Ordering::Relaxed),
            bytes: self.bytes[at].load(Ordering::Relaxed),
        }))
    }

    /// Streams that were begun in this direction.
    pub(in crate::load) fn streams(&self) -> u64 {
        self.streams.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, frame: FrameType, bytes: u64) {
        add(&self.frames[frame as usize], 1);
        add(&self.bytes[frame as usize], bytes);
    }

    pub(super) fn add_stream(&self) {
        add(&self.streams, 1);
    }
}

fn add(total: &AtomicU64, more: u64) {
    total.store(total.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}
