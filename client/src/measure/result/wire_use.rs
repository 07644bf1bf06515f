//! What the timed rounds did with the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Round, RunResult};
use crate::load::{FrameCount, FrameCounts, FrameType, Http2Use, WireUse};

/// How the wire was really used, by all timed rounds together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WireFigures {
    /// Whether calls shared connections.
    pub connections: Lifetime,
    /// Which replies came compressed.
    pub compressed_replies: Which,
    /// `None` where it isn't HTTP/2.
    pub http2: Option<Http2Figures>,
}

/// What is there in HTTP/2 alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Http2Figures {
    /// Whether calls shared streams.
    pub streams: Lifetime,
    /// Streams opened ÷ ops.
    pub streams_per_op: f64,
    /// Frames to the server, by type.
    pub sent: BTreeMap<FrameType, FramesPerOp>,
    /// Frames from it.
    pub received: BTreeMap<FrameType, FramesPerOp>,
}

/// How long something lives that calls go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// At least one was opened for each call that succeeded.
    PerCall,
    /// Fewer were.
    Kept,
}

/// Which of all replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// None.
    None,
    /// Some, but not all: a server may leave small ones as they are.
    Some,
    /// All.
    All,
}

/// Frames of a type ÷ ops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FramesPerOp {
    /// Frames.
    pub frames_per_op: f64,
    /// Their bytes, headers of nine bytes included.
    pub bytes_per_op: f64,
}

impl WireFigures {
    /// Of the rounds in which it was counted and calls succeeded. `None` when there are none.
    pub(super) fn of(rounds: &[Round]) -> Option<Self> {
        let counted = |round: &Round| Some((round.wire_use?, round.ops()?, round.ok)).filter(|_| round.ok > 0);
        let (used, ops, ok) = rounds
            .iter()
            .filter_map(counted)
            .reduce(|(used, ops, ok), (more, more_ops, more_ok)| (used.plus(&more), ops + more_ops, ok + more_ok))?;
        let WireUse { connections_opened, plain_replies, compressed_replies, http2 } = used;
        Some(Self {
            connections: Lifetime::of(connections_opened, ok),
            compressed_replies: match (plain_replies, compressed_replies) {
                (_, 0) => Which::None,
                (0, _) => Which::All,
                _ => Which::Some,
            },
            http2: http2.map(|http2| Http2Figures::of(&http2, ops, ok)),
        })
    }
}

impl Http2Figures {
    fn of(used: &Http2Use, ops: u64, ok: u64) -> Self {
        let per_op = |counts: &FrameCounts| {
            let divided = |(frame, count): (FrameType, FrameCount)| {
                let [frames_per_op, bytes_per_op] = [count.frames, count.bytes].map(|total| total as f64 / ops as f64);
                (frame, FramesPerOp { frames_per_op, bytes_per_op })
            };
            counts.iter().map(divided).collect()
        };
        Self {
            streams: Lifetime::of(used.streams_opened, ok),
            streams_per_op: used.streams_opened as f64 / ops as f64,
            sent: per_op(&used.frames.sent),
            received: per_op(&used.frames.received),
        }
    }
}

impl Lifetime {
    fn of(opened: u64, ok: u64) -> Self {
        if opened >= ok { Self::PerCall } else { Self::Kept }
    }
}

impl RunResult {
    /// Right replies of all rounds that came plain, and compressed; none where it wasn't counted.
    pub(super) fn replies(&self) -> [u64; 2] {
        let used = self.rounds.iter().filter_map(|round| round.wire_use);
        used.fold([0; 2], |[plain, compressed], used| {
            [plain + used.plain_replies, compressed + used.compressed_replies]
        })
    }
}
