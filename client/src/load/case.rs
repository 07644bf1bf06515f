//! What is asked for, whoever answers it.

use std::{fmt, num::NonZeroU64, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::Window;
use crate::scenario::{Compression, PayloadPattern, Scenario, Serialization, named};

/// A load without the server it is sent to: what two frameworks share that are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Payload and calls in flight.
    pub scenario: Scenario,
    /// How messages are encoded. Only Triple knows others than protobuf.
    pub serialization: Serialization,
    /// How hard requests are compressed; replies are then accepted compressed. Requests are compressed once, before the load:
    /// what it costs the client is not in its figures, undoing it is in the server's.
    pub compression: Compression,
    /// Whether compressed replies are accepted though requests aren't compressed.
    pub accept_gzip: bool,
    /// What the payload is made of.
    pub pattern: PayloadPattern,
    /// Bytes of payload in each reply: the request's payload, repeated or cut to this length. `None` is the request's length.
    pub response_size: Option<u64>,
    /// How long the server's handler waits before each reply. It is the server that must be told.
    pub sleep: Duration,
    /// Unary or streaming.
    pub mode: CallMode,
    /// Messages in each stream, where the mode is streaming.
    pub messages_per_stream: MessagesPerStream,
    /// Connections, over which the calls in flight are spread evenly. More than the scenario's concurrency would idle,
    /// so that no more are opened; [`Wire::connections`](super::Wire::connections) says how many there are.
    pub connections: usize,
    /// How calls share the connections.
    pub sharing: Sharing,
    /// Until when, and how fast.
    pub window: Window,
}

impl Case {
    /// The plainest case of a scenario: unary, protobuf, random bytes, not compressed, the reply as the request, over one
    /// connection, in a closed loop for a time.
    pub fn new(scenario: Scenario, duration: Duration) -> Self {
        Self {
            scenario,
            serialization: Serialization::Protobuf,
            compression: Compression::None,
            accept_gzip: false,
            pattern: PayloadPattern::Random,
            response_size: None,
            sleep: Duration::ZERO,
            mode: CallMode::Unary,
            messages_per_stream: MessagesPerStream::default(),
            connections: 1,
            sharing: Sharing::Mux,
            window: Window::lasting(duration),
        }
    }

    /// The messages of each stream. `None` for unary calls.
    pub fn stream_length(&self) -> Option<MessagesPerStream> {
        (self.mode == CallMode::Streaming).then_some(self.messages_per_stream)
    }
}

/// How the echo is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallMode {
    /// `UnaryCall`: message and end of stream in one frame.
    #[default]
    Unary,
    /// `StreamCall`, with [`Case::messages_per_stream`] messages a call, one in flight at a time. The raw echo knows no
    /// calls, there it is the same as `Unary`.
    Streaming,
}

named!(CallMode, "mode", [Unary = "unary", Streaming = "streaming"]);

/// How many messages a stream carries before it is closed and another opened. In JSON a number, or `"unbounded"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "StreamLength", try_from = "StreamLength")]
pub enum MessagesPerStream {
    /// So many; 1 is a call of its own for each message.
    Count(NonZeroU64),
    /// One stream for each call in flight, for as long as the load lasts.
    Unbounded,
}

impl Default for MessagesPerStream {
    /// One: open, one message, close.
    fn default() -> Self {
        Self::Count(NonZeroU64::MIN)
    }
}

impl fmt::Display for MessagesPerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Unbounded => f.write_str(UNBOUNDED),
        }
    }
}

impl FromStr for MessagesPerStream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            UNBOUNDED => Ok(Self::Unbounded),
            _ => text
                .parse()
                .ok()
                .filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
                .map(Self::Count)
                .ok_or_else(|| format!("{text:?}: must be a number of messages from 1, or unbounded")),
        }
    }
}

const UNBOUNDED: &str = "unbounded";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StreamLength {
    Count(NonZeroU64),
    Name(String),
}

impl From<MessagesPerStream> for StreamLength {
    fn from(messages: MessagesPerStream) -> Self {
        match messages {
            MessagesPerStream::Count(count) => Self::Count(count),
            MessagesPerStream::Unbounded => Self::Name(UNBOUNDED.to_owned()),
        }
    }
}

impl TryFrom<StreamLength> for MessagesPerStream {
    type Error = String;

    fn try_from(length: StreamLength) -> Result<Self, String> {
        match length {
            StreamLength::Count(count) => Ok(Self::Count(count)),
            StreamLength::Name(name) => name.parse(),
        }
    }
}

/// How calls share the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Any number of calls at a time on each: HTTP/2 streams, or pipelined messages.
    #[default]
    Mux,
    /// One call at a time on each. Each of the calls in flight has its connection, the same throughout, and waits for its turn on
    /// that one even while another is idle; the wait is part of its latency and its timeout. On a long stream the turn is for a
    /// message: several streams are open on a connection, with one message in flight.
    Pool,
}

named!(Sharing, "sharing", [Mux = "mux", Pool = "pool"]);
