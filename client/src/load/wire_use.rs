//! What a window of load did with its wire, as its sockets and replies show it.

use serde::{Deserialize, Serialize};

use super::{Frames, meter::Meter};

/// Counts of one window. Frames are those whose header passed the socket in it: window updates and acknowledgements that came
/// just before its first call or after its last reply belong to no window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireUse {
    /// Connections opened in it; those that were open before are not among them.
    pub connections_opened: u64,
    /// Right replies that weren't compressed.
    pub plain_replies: u64,
    /// Right replies that were.
    pub compressed_replies: u64,
    /// `None` where it isn't HTTP/2.
    pub http2: Option<Http2Use>,
}

/// What is there in HTTP/2 alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2Use {
    /// Streams opened: one a call, or fewer where calls share streams.
    pub streams_opened: u64,
    /// Frames to the server, and from it.
    pub frames: Frames,
}

impl WireUse {
    /// Of no connection.
    pub(super) fn none(is_http2: bool) -> Self {
        Self { http2: is_http2.then(Http2Use::default), ..Self::default() }
    }

    /// Of one, since it was opened.
    pub(super) fn of(meter: &Meter, is_http2: bool) -> Self {
        let [plain_replies, compressed_replies] = meter.encodings();
        let http2 = is_http2.then(|| Http2Use { streams_opened: meter.streams(), frames: meter.frames() });
        Self { connections_opened: meter.connections(), plain_replies, compressed_replies, http2 }
    }

    /// What came since an earlier reading.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, |now, then| now - then)
    }

    /// Of two windows together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    fn with(&self, other: &Self, sum: fn(u64, u64) -> u64) -> Self {
        let http2 = self.http2.zip(other.http2).map(|(one, other)| Http2Use {
            streams_opened: sum(one.streams_opened, other.streams_opened),
            frames: one.frames.with(&other.frames, sum),
        });
        Self {
            connections_opened: sum(self.connections_opened, other.connections_opened),
            plain_replies: sum(self.plain_replies, other.plain_replies),
            compressed_replies: sum(self.compressed_replies, other.compressed_replies),
            http2,
        }
    }
}
