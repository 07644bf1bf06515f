//! Frames of HTTP/2, counted as their bytes pass a socket in either direction. h2 shows none of them.
//!
//! - `reader`: where frames begin in a stream of bytes that comes in any pieces; `meter`: what one direction has carried.
//!
//! Nothing is allocated or copied but a frame's nine bytes of header where they come in two pieces; a frame costs a few
//! additions however long it is.

mod meter;
mod reader;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) use self::{meter::FrameMeter, reader::FrameReader};

/// The types of RFC 9113 (section 6), each with its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FrameType {
    /// 0.
    Data,
    /// 1.
    Headers,
    /// 2.
    Priority,
    /// 3.
    RstStream,
    /// 4, acknowledgements among them.
    Settings,
    /// 5.
    PushPromise,
    /// 6, acknowledgements among them.
    Ping,
    /// 7.
    Goaway,
    /// 8, of streams and of the connection.
    WindowUpdate,
    /// 9.
    Continuation,
    /// Of an extension.
    Other,
}

impl FrameType {
    /// Every one, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Data,
        Self::Headers,
        Self::Priority,
        Self::RstStream,
        Self::Settings,
        Self::PushPromise,
        Self::Ping,
        Self::Goaway,
        Self::WindowUpdate,
        Self::Continuation,
        Self::Other,
    ];

    /// As the RFC writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::Headers => "HEADERS",
            Self::Priority => "PRIORITY",
            Self::RstStream => "RST_STREAM",
            Self::Settings => "SETTINGS",
            Self::PushPromise => "PUSH_PROMISE",
            Self::Ping => "PING",
            Self::Goaway => "GOAWAY",
            Self::WindowUpdate => "WINDOW_UPDATE",
            Self::Continuation => "CONTINUATION",
            Self::Other => "OTHER",
        }
    }

    fn of(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Other)
    }
}

/// How many frames there were, and how long they are together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCount {
    /// Frames.
    pub frames: u64,
    /// Their bytes, the nine of each header included, as the headers say them.
    pub bytes: u64,
}

/// Frames by type. In JSON an object of those types that there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<FrameType, FrameCount>", from = "BTreeMap<FrameType, FrameCount>")]
pub struct FrameCounts([FrameCount; FrameType::ALL.len()]);

impl FrameCounts {
    /// Those of one type.
    pub fn of(&self, frame: FrameType) -> FrameCount {
        self.0[frame as usize]
    }

    /// Every type that there was.
    pub fn iter(&self) -> impl Iterator<Item = (FrameType, FrameCount)> + '_ {
        FrameType::ALL.into_iter().zip(self.0).filter(|(_, count)| count.frames > 0)
    }

    /// Of all types.
    pub fn total(&self) -> FrameCount {
        self.0.iter().fold(FrameCount::default(), |sum, count| FrameCount {
            frames: sum.frames + count.frames,
            bytes: sum.bytes + count.bytes,
        })
    }

    fn with(&self, other: &Self, sum: fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|at| FrameCount {
            frames: sum(self.0[at].frames, other.0[at].frames),
            bytes: sum(self.0[at].bytes, other.0[at].bytes),
        }))
    }
}

impl From<FrameCounts> for BTreeMap<FrameType, FrameCount> {
    fn from(counts: FrameCounts) -> Self {
        counts.iter().collect()
    }
}

impl From<BTreeMap<FrameType, FrameCount>> for FrameCounts {
    fn from(counts: BTreeMap<FrameType, FrameCount>) -> Self {
        let mut all = Self::default();
        counts.into_iter().for_each(|(frame, count)| all.0[frame as usize] = count);
        all
    }
}

/// Frames of both directions, as the client has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// Those to the server.
    pub sent: FrameCounts,
    /// Those from it.
    pub received: FrameCounts,
}

impl Frames {
    /// These and others.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    /// Each count with the same of others.
    pub(super) fn with(&self, other: &Self, sum: fn(u64, u64) -> u64) -> Self {
        Self { sent: self.sent.with(&other.sent, sum), received: self.received.with(&other.received, sum) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_the_rfc() {
        let json = |frame: FrameType| serde_json::to_value(frame).unwrap();
        for (number, frame) in (0..).zip(FrameType::ALL) {
            assert_eq!((FrameType::of(number), json(frame)), (frame, frame.name().into()));
        }
        assert_eq!((FrameType::Goaway as u8, FrameType::Continuation as u8), (7, 9));
        assert_eq!(FrameType::of(0xff), FrameType::Other);
    }

    #[test]
    fn counts_are_written_by_name_and_read_back() {
        let mut counts = FrameCounts::default();
        counts.0[FrameType::Data as usize] = FrameCount { frames: 2, bytes: 100 };
        counts.0[FrameType::Other as usize] = FrameCount { frames: 1, bytes: 9 };
        let json = serde_json::to_string(&counts).unwrap();
        assert_eq!(json, r#"{"DATA":{"frames":2,"bytes":100},"OTHER":{"frames":1,"bytes":9}}"#);
        assert_eq!(serde_json::from_str::<FrameCounts>(&json).unwrap(), counts);
        assert_eq!(counts.total(), FrameCount { frames: 3, bytes: 109 });
        let both = Frames { sent: counts, received: FrameCounts::default() };
        assert_eq!(both.plus(&both).with(&both, |two, one| two - one), both);
    }
}
