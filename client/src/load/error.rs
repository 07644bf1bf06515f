//! What can go wrong with a driver, and with one call.

use std::{io, time::Duration};

use super::Address;
use crate::scenario::Framework;

/// A driver that can't be had, or can't be trusted to measure.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A field of [`LoadSpec`](super::LoadSpec) is out of range.
    #[error("{field} {value}: must be {allowed}")]
    Spec {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// What a framework can't do.
    #[error("{field} {value}: not for {framework}: {why}")]
    Unable {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: String,
        /// What was to be measured.
        framework: Framework,
        /// Why not, in a sentence.
        why: &'static str,
    },
    /// The TCP connection was refused or failed.
    #[error("{framework} server {addr}: can't connect: {source}")]
    Connect {
        /// What was to be measured.
        framework: Framework,
        /// Where it should have been.
        addr: Address,
        /// Why not.
        source: io::Error,
    },
    /// The TCP connection took longer than the connect timeout.
    #[error("{framework} server {addr}: no connection within {timeout:?}")]
    ConnectTimeout {
        /// What was to be measured.
        framework: Framework,
        /// Where it should have been.
        addr: Address,
        /// How long was waited.
        timeout: Duration,
    },
    /// The HTTP/2 connection could not be set up on the TCP connection.
    #[error("{framework} server {addr}: HTTP/2 handshake: {source}")]
    Handshake {
        /// What was to be measured.
        framework: Framework,
        /// Where it is.
        addr: Address,
        /// Why not.
        source: h2::Error,
    },
    /// TLS could not be set up on the TCP connection.
    #[error("{framework} server {addr}: TLS: {source}")]
    Tls {
        /// What was to be measured.
        framework: Framework,
        /// Where it is.
        addr: Address,
        /// Why not.
        source: io::Error,
    },
    /// HTTP could not be set up on the connection.
    #[error("{framework} server {addr}: HTTP: {source}")]
    Http {
        /// What was to be measured.
        framework: Framework,
        /// Where it is.
        addr: Address,
        /// Why not.
        source: hyper::Error,
    },
    /// The system gives no timer for calls at a rate.
    #[error("no timer for calls at a rate: {source}")]
    Timer {
        /// Why not.
        source: io::Error,
    },
    /// The preflight call failed or was not echoed byte for byte.
    #[error("{framework} server {addr}: preflight call{call}: {source}")]
    Preflight {
        /// What was to be measured.
        framework: Framework,
        /// Where it is.
        addr: Address,
        /// Which of the calls: ` of 128 bytes on connection 2 of 4`. Empty where there is but one connection and one size.
        call: String,
        /// What was wrong with the call.
        source: CallError,
    },
}

/// Why a call is no success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// A gRPC status other than OK.
    #[error("grpc-status {code}{}{message}", if .message.is_empty() { "" } else { ": " })]
    Status {
        /// As sent: a number by the specification.
        code: String,
        /// `grpc-message` as sent, percent-encoded, cut at 200 characters.
        message: String,
    },
    /// A reply without `grpc-status`, neither in trailers nor in headers.
    #[error("reply without grpc-status")]
    NoStatus,
    /// An HTTP status other than 200; of plain HTTP other than 2xx.
    #[error("HTTP status {0}")]
    Http(u16),
    /// A reply of another length than it should have, counted with its framing and without compression.
    #[error("reply of {got} bytes and not the {expected} expected")]
    Length {
        /// Bytes read, or announced; reading stops at the first beyond `expected`.
        got: usize,
        /// Bytes of the right reply's message with its prefix.
        expected: usize,
    },
    /// A reply of the right length with other bytes.
    #[error("reply differs from what was expected at byte {0}")]
    Mismatch(usize),
    /// A reply with another message than the one expected.
    #[error("reply is not the one expected: {0}")]
    Unexpected(String),
    /// A reply compressed though no encoding was offered.
    #[error("reply is compressed, which was not offered")]
    Compressed,
    /// A reply compressed in another way than with gzip, or in one that isn't named.
    #[error("reply is compressed with {0:?}, and only gzip was offered")]
    Encoding(String),
    /// The first byte of a message says whether it is compressed.
    #[error("reply with compression flag {0}, neither 0 nor 1")]
    Flag(u8),
    /// A message whose length isn't known beforehand, far longer than it can be.
    #[error("reply of {got} bytes, over the limit of {limit}")]
    TooLong {
        /// Bytes announced.
        got: usize,
        /// Twice those expected, and something for small ones.
        limit: usize,
    },
    /// A reply that can't be decoded.
    #[error("reply can't be decoded: {0}")]
    Decode(String),
    /// A reply that says what went wrong, of a protocol that isn't gRPC.
    #[error("the server failed: {0}")]
    Failure(String),
    /// A stream that ended, with status 0, with a request unanswered.
    #[error("the server ended the stream before its reply")]
    StreamEnded,
    /// A stream on which something came without a request.
    #[error("the server sent more than one reply to a message")]
    Unasked,
    /// The stream was reset.
    #[error("stream reset: {0}")]
    Reset(h2::Reason),
    /// The connection broke under this call; the next opens another.
    #[error("connection broke: {0}")]
    Broken(String),
    /// The connection is gone, and with it this call and every later one.
    #[error("connection lost: {0}")]
    ConnectionLost(String),
    /// No whole reply within the request timeout.
    #[error("no reply within {0:?}")]
    TimedOut(Duration),
}

impl CallError {
    /// Whether no later call of this connection can succeed.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::ConnectionLost(_))
    }
}

impl From<h2::Error> for CallError {
    fn from(error: h2::Error) -> Self {
        match error.reason() {
            Some(reason) if error.is_reset() => Self::Reset(reason),
            // h2 words a polite GOAWAY as "not a result of an error".
            Some(reason) if error.is_go_away() && error.is_remote() => {
                Self::ConnectionLost(format!("the server sent GOAWAY, {reason:?}"))
            }
            _ => Self::ConnectionLost(error.to_string()),
        }
    }
}
