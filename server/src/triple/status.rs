//! Errors of a call, and both forms they take on the wire.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use bytes::Bytes;
use echo_proto::status::Status;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use prost::Message;
use serde::Serialize;

/// Trailer with the number of the [`Code`], 0 for success.
pub(crate) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// Trailer with the percent-encoded message.
pub(crate) const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// Trailer with a `google.rpc.Status` in base64 without padding.
pub(crate) const GRPC_STATUS_DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
/// The trailers above, as HTTP/1.1 announces them.
pub(crate) const TRAILER_NAMES: HeaderValue =
    HeaderValue::from_static("grpc-status, grpc-message, grpc-status-details-bin");

/// Longest message of a fault, in bytes. Some quote what the caller sent, which may be as long as a message, and each goes
/// out twice.
const LONGEST_MESSAGE: usize = 1 << 10;

/// The gRPC codes this server answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Canceled = 1,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
}

impl Code {
    /// The name in Triple's JSON errors.
    fn name(self) -> &'static str {
        match self {
            Code::Canceled => "canceled",
            Code::InvalidArgument => "invalid_argument",
            Code::DeadlineExceeded => "deadline_exceeded",
            Code::NotFound => "not_found",
            Code::ResourceExhausted => "resource_exhausted",
            Code::Unimplemented => "unimplemented",
            Code::Internal => "internal",
        }
    }

    /// The HTTP status of Triple's unary mode, by dubbo-go's table.
    pub(crate) fn http_status(self) -> StatusCode {
        match self {
            Code::Canceled | Code::DeadlineExceeded => StatusCode::REQUEST_TIMEOUT,
            Code::InvalidArgument => StatusCode::BAD_REQUEST,
            Code::NotFound | Code::Unimplemented => StatusCode::NOT_FOUND,
            Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: Cow<'static, str>,
}

impl Fault {
    /// A message that is too long is cut.
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        if message.len() <= LONGEST_MESSAGE {
            return Self { code, message };
        }
        let shown = &message[..message.floor_char_boundary(LONGEST_MESSAGE)];
        Self { code, message: format!("{shown}…").into() }
    }

    pub(crate) fn too_large(length: usize, limit: usize) -> Self {
        Self::new(Code::ResourceExhausted, format!("message size {length} is larger than configured max {limit}"))
    }

    /// Triple's JSON error: `{"code":"…","message":"…"}`, the message left out when empty.
    pub(crate) fn to_json(&self) -> Bytes {
        #[derive(Serialize)]
        struct Json<'a> {
            code: &'static str,
            #[serde(skip_serializing_if = "str::is_empty")]
            message: &'a str,
        }
        // Two strings always serialize.
        serde_json::to_vec(&Json { code: self.code.name(), message: &self.message }).unwrap_or_default().into()
    }
}

/// Writes how a gRPC call ended. Success is one header: `grpc-message` may be absent.
pub(crate) fn write_grpc_status(headers: &mut HeaderMap, outcome: Result<(), &Fault>) {
    let Err(fault) = outcome else {
        headers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
        return;
    };
    let details = Status { code: fault.code as i32, message: fault.message.to_string(), details: Vec::new() };
    headers.insert(GRPC_STATUS, HeaderValue::from(fault.code as u16));
    headers.insert(GRPC_MESSAGE, ascii_value(percent_encode(&fault.message)));
    headers.insert(GRPC_STATUS_DETAILS, ascii_value(STANDARD_NO_PAD.encode(details.encode_to_vec())));
}

/// The trailers of a gRPC call.
pub(crate) fn grpc_trailers(outcome: Result<(), &Fault>) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(if outcome.is_ok() { 1 } else { 3 });
    write_grpc_status(&mut trailers, outcome);
    trailers
}

/// Escapes what gRPC escapes in `grpc-message`: all but printable ASCII, and `%`.
fn percent_encode(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

fn ascii_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(const { HeaderValue::from_static("") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_errors_are_the_captured_bytes() {
        let trailers = grpc_trailers(Err(&Fault::new(Code::InvalidArgument, "boom 100%")));
        assert_eq!(trailers["grpc-status"], "3");
        assert_eq!(trailers["grpc-message"], "boom 100%25");
        assert_eq!(trailers["grpc-status-details-bin"], "CAMSCWJvb20gMTAwJQ");
    }

    #[test]
    fn success_is_one_trailer() {
        let trailers = grpc_trailers(Ok(()));
        assert_eq!((trailers.len(), &trailers["grpc-status"]), (1, &HeaderValue::from_static("0")));
    }

    #[test]
    fn control_characters_and_utf_8_are_escaped() {
        assert_eq!(percent_encode("a\n\u{e9}~ "), "a%0A%C3%A9~ ");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let message = |text: String| Fault::new(Code::NotFound, text).message.into_owned();
        let longest = "é".repeat(LONGEST_MESSAGE / 2);
        assert_eq!(message(longest.clone()), longest);
        assert_eq!(message(format!("{longest}.")), format!("{longest}…"));
        assert_eq!(message(format!("a{longest}")), format!("a{}…", &longest[2..]));
    }

    #[test]
    fn json_errors_leave_out_an_empty_message() {
        let json = |message: &'static str| Fault::new(Code::InvalidArgument, message).to_json();
        assert_eq!(json("boom 100%"), r#"{"code":"invalid_argument","message":"boom 100%"}"#);
        assert_eq!(json(""), r#"{"code":"invalid_argument"}"#);
    }
}
