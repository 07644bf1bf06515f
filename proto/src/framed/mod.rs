//! Calls and replies in frames over TCP, of protocols whose frames have a length and a number: framed Thrift, Kitex Protobuf and Dubbo's
//! own.
//!
//! [`Request`] is a call ready to be sent any number of times; [`Replies`] reads what a server sends, whatever pieces it comes in, and
//! never holds more of it than a head or a failure's text. Replies are told apart by the number of their request alone, so that
//! they may come in any order.
//!
//! The message is that of `benchmark.proto` in each: `UnaryCall`, which Dubbo calls `unaryCall`, takes a `BenchmarkRequest` and returns a
//! `BenchmarkResponse`, both with the one field `payload`. Other fields are skipped, and what follows the payload within a frame is not looked at.

mod cursor;
mod dubbo;
mod kitex;
mod replies;
mod request;
mod thrift;
mod tt_header;

use bytes::Bytes;

use self::cursor::{Cursor, Stop};
pub use self::{
    replies::{Event, FrameError, Replies, ReplyError},
    request::Request,
};

/// The method that is called.
const METHOD: &str = "UnaryCall";

/// How calls are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Thrift's strict binary protocol.
    Thrift(Transport),
    /// Kitex Protobuf: Thrift's head with another magic, and a protobuf message behind it.
    KitexProtobuf(Transport),
    /// Dubbo's own protocol, with Hessian 2.
    Dubbo,
}

/// What lies around a message of Thrift or Kitex Protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Four bytes of length.
    Framed,
    /// A TTHeader around that. Kitex's servers answer several calls of a connection at a time with it, and only with it.
    TtHeader,
}

/// What a frame's head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    /// Bytes of the head.
    len: usize,
    /// Of the request.
    id: u64,
    /// Bytes of the frame behind the head.
    body: usize,
    kind: Kind,
}

/// Why there is no head.
enum HeadStop {
    /// More is needed than has come.
    Short,
    Wrong(FrameError),
}

impl From<Stop> for HeadStop {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Short => Self::Short,
            Stop::Wrong(what) => Self::Wrong(FrameError::Unlike(what)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reply,
    /// The whole body says what went wrong; of Dubbo's the status too.
    Failure(u8),
    /// No reply: it asks for an answer.
    Asks,
    /// No reply, and nothing to do about it.
    Aside,
}

/// What a body begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Payload(Chunk),
    /// The whole body says what went wrong.
    Failure,
}

/// Bytes of payload that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    /// What lies before them.
    skip: usize,
    len: usize,
    /// Whether no other follows.
    last: bool,
}

impl Framing {
    /// A call with this payload.
    pub fn request(self, payload: &[u8]) -> Request {
        let (request, transport) = match self {
            Self::Thrift(transport) => (thrift::request(payload), transport),
            Self::KitexProtobuf(transport) => (kitex::request(payload), transport),
            Self::Dubbo => return dubbo::request(payload),
        };
        match transport {
            Transport::Framed => request,
            Transport::TtHeader => tt_header::around(request),
        }
    }

    /// The head that an input begins with, if it is whole; `limit` is the largest frame in bytes.
    fn head(self, input: &[u8], limit: usize) -> Result<Option<Head>, FrameError> {
        let mut input = Cursor::new(input);
        let mut message = |transport, magic| match transport {
            Transport::Framed => thrift::head(&mut input, limit, magic),
            Transport::TtHeader => tt_header::head(&mut input, limit, magic),
        };
        let head = match self {
            Self::Thrift(transport) => message(transport, thrift::MAGIC),
            Self::KitexProtobuf(transport) => message(transport, kitex::MAGIC),
            Self::Dubbo => dubbo::head(&mut input, limit),
        };
        match head {
            Ok(head) => Ok(Some(head)),
            Err(HeadStop::Short) => Ok(None),
            Err(HeadStop::Wrong(error)) => Err(error),
        }
    }

    /// The payload of a reply's body, of which the begin is there, or the `whole`.
    fn find(self, body: Cursor<'_>, whole: bool) -> Result<Found, Stop> {
        match self {
            Self::Thrift(_) => thrift::find(body),
            Self::KitexProtobuf(_) => kitex::find(body, whole),
            Self::Dubbo => dubbo::find(body),
        }
    }

    /// What a failure's body says went wrong, of which the begin is there; `status` is its head's.
    fn failure(self, status: u8, body: Cursor<'_>) -> String {
        match self {
            Self::Thrift(_) => thrift::failure(body),
            Self::KitexProtobuf(_) => kitex::failure(body),
            Self::Dubbo => dubbo::failure(status, body),
        }
    }
}

/// As it is sent, whoever reads it: text that isn't UTF-8 is made so, and long text is cut.
fn text(bytes: &[u8]) -> String {
    const LIMIT: usize = 200;
    // A character has four bytes at most.
    let bytes = &bytes[..bytes.len().min(4 * LIMIT)];
    String::from_utf8_lossy(bytes).chars().take(LIMIT).collect()
}

fn unlike(what: String) -> HeadStop {
    HeadStop::Wrong(FrameError::Unlike(what))
}

fn joined(parts: &[&[u8]]) -> Bytes {
    parts.concat().into()
}
