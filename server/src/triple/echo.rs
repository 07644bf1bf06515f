//! The service itself: decodes a request, encodes the response.

use bytes::{Buf, Bytes};
use echo_proto::{
    benchmark::BenchmarkRequest,
    envelope::{self, is_envelope},
};
use prost::{
    Message as _,
    encoding::{WireType, decode_varint},
};

use super::{
    content_type::Codec,
    encoding, json,
    message::{Enclosure, Message, PAYLOAD_FIELD, benchmark_response_len},
    segments::Segments,
    status::{Code, Fault},
};
use crate::Handler;

/// A tag and the longest varint.
const LONGEST_FIELD_HEAD: usize = 1 + 10;
const PAYLOAD_TAG: u8 = ((PAYLOAD_FIELD << 3) | WireType::LengthDelimited as u32) as u8;

/// How to answer, which the request's headers and the server's options settle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) codec: Codec,
    pub(crate) prefixed: bool,
    /// The level to compress at, if the reply is to be compressed.
    pub(crate) gzip_level: Option<u8>,
    /// Longest message given, in bytes before compression.
    pub(crate) limit: usize,
    pub(crate) handler: Handler,
}

impl Answer {
    pub(crate) fn gzip(&self) -> bool {
        self.gzip_level.is_some()
    }

    /// The reply's payload to that of a request.
    fn payload(&self, request: Segments) -> Segments {
        match self.handler.response_size {
            Some(size) => request.resized(size as usize),
            None => request,
        }
    }
}

/// Answers one request message, given uncompressed.
///
/// # Errors
/// The message is no request in this codec, or its answer is too long.
pub(crate) fn echo(request: Segments, answer: Answer) -> Result<Message, Fault> {
    match answer.codec {
        Codec::Proto => match decode_proto(request)? {
            Request::Benchmark(payload) => benchmark_response(answer.payload(payload), answer),
            Request::Envelope(message) => encoded(answer_envelope(&message, answer)?, answer),
        },
        Codec::Json => {
            let payload = Bytes::from(json::decode(request.into_contiguous())?);
            encoded(json::encode(&answer.payload(payload.into()).into_contiguous())?, answer)
        }
        Codec::Envelope => encoded(answer_envelope(&request, answer)?, answer),
    }
}

fn benchmark_response(payload: Segments, answer: Answer) -> Result<Message, Fault> {
    check_length(benchmark_response_len(payload.remaining()), answer.limit)?;
    match answer.gzip_level {
        Some(level) => {
            let plain = Message::benchmark_response(payload, Enclosure::Bare);
            compressed(plain, level, answer.prefixed)
        }
        None => Ok(Message::benchmark_response(payload, enclosure(answer.prefixed, false))),
    }
}

/// A reply that is encoded already.
fn encoded(reply: Bytes, answer: Answer) -> Result<Message, Fault> {
    check_length(reply.len(), answer.limit)?;
    match answer.gzip_level {
        Some(level) => compressed(reply, level, answer.prefixed),
        None => Ok(Message::encoded(reply, enclosure(answer.prefixed, false))),
    }
}

/// The envelope that answers one: the argument is decoded, and its payload encoded anew.
fn answer_envelope(message: &Segments, answer: Answer) -> Result<Bytes, Fault> {
    let request = envelope::decode_request(message.pieces()).map_err(invalid_argument)?;
    match answer.handler.response_size {
        None => request.encode_echo(),
        Some(size) => {
            let payload: Segments = request.payload().iter().cloned().collect();
            request.encode_response(payload.resized(size as usize))
        }
    }
    .map_err(invalid_argument)
}

fn compressed(plain: impl Buf, level: u8, prefixed: bool) -> Result<Message, Fault> {
    let zipped =
        encoding::gzip(plain, level).map_err(|error| Fault::new(Code::Internal, format!("compress: {error}")))?;
    Ok(Message::encoded(zipped, enclosure(prefixed, true)))
}

fn enclosure(prefixed: bool, compressed: bool) -> Enclosure {
    if prefixed { Enclosure::Prefixed { compressed } } else { Enclosure::Bare }
}

fn check_length(length: usize, limit: usize) -> Result<(), Fault> {
    if length > limit { Err(Fault::too_large(length, limit)) } else { Ok(()) }
}

/// What a protobuf message may be.
#[derive(Debug)]
enum Request {
    /// A `BenchmarkRequest` with this payload.
    Benchmark(Segments),
    /// An envelope.
    Envelope(Segments),
}

/// Tells the two apart, and takes the payload in the pieces it came in when it is the message's only field.
fn decode_proto(mut message: Segments) -> Result<Request, Fault> {
    if message.is_empty() {
        return Ok(Request::Benchmark(message));
    }
    if let Some(head) = only_payload_head(&message) {
        message.advance(head);
        return Ok(Request::Benchmark(message));
    }
    if is_envelope(message.pieces()) {
        return Ok(Request::Envelope(message));
    }
    // Unknown or repeated fields: prost knows the rules.
    BenchmarkRequest::decode(message.into_contiguous())
        .map(|request| Request::Benchmark(request.payload.into()))
        .map_err(|error| malformed(&error))
}

/// Length of the tag and length in front of the payload, if the message is that field and nothing else.
fn only_payload_head(message: &Segments) -> Option<usize> {
    let mut copy = [0; LONGEST_FIELD_HEAD];
    let known = peek(message, &mut copy);
    let mut head = &copy[..known];
    if head.try_get_u8().ok()? != PAYLOAD_TAG {
        return None;
    }
    let length = decode_varint(&mut head).ok()?;
    let head_len = known - head.len();
    (length == (message.remaining() - head_len) as u64).then_some(head_len)
}

/// Copies the first bytes of `message` without taking them. How many, is returned.
fn peek(message: &Segments, into: &mut [u8]) -> usize {
    let mut filled = 0;
    for piece in message.pieces() {
        let count = piece.len().min(into.len() - filled);
        into[filled..filled + count].copy_from_slice(&piece[..count]);
        filled += count;
        if filled == into.len() {
            break;
        }
    }
    filled
}

pub(crate) fn malformed(error: &dyn std::fmt::Display) -> Fault {
    invalid_argument(format_args!("unmarshal into benchmark.BenchmarkRequest: {error}"))
}

fn invalid_argument(error: impl std::fmt::Display) -> Fault {
    Fault::new(Code::InvalidArgument, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8], cuts: &[usize]) -> Segments {
        let mut segments = Segments::default();
        let mut start = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            segments.push(Bytes::copy_from_slice(&bytes[start..cut]));
            start = cut;
        }
        segments
    }

    #[test]
    fn messages_cut_anywhere_decode_as_prost_does() {
        let messages: &[&[u8]] = &[
            b"",
            b"\x0a\x00",
            b"\x0a\x02hi",
            b"\x0a\x82\x00hi",          // an overlong length
            b"\x0a\x02hi\x0a\x03you",   // the last one wins
            b"\x12\x01x\x0a\x02hi",     // an unknown field in front
            b"\x0a\x02hi\x12\x01x",     // and behind
            b"\x0a\x07msgpack\x20\x01", // no envelope
            b"\x0a\x03hi",              // too short
            b"\x0a\x01hi",              // too long
            b"\x08\x01",                // no bytes field
            b"\x0a",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ];
        for message in messages {
            let expected = BenchmarkRequest::decode(*message).ok().map(|request| request.payload);
            for first in 0..=message.len() {
                for second in first..=message.len() {
                    let decoded = match decode_proto(pieces(message, &[first, second])) {
                        Ok(Request::Benchmark(payload)) => Some(payload.into_contiguous()),
                        Ok(Request::Envelope(_)) => panic!("{message:02x?} is no envelope"),
                        Err(_) => None,
                    };
                    assert_eq!(decoded, expected, "{message:02x?} cut at {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn a_payload_alone_is_not_copied() {
        let message = Bytes::from(BenchmarkRequest { payload: vec![1; 300].into() }.encode_to_vec());
        let (front, back) = (message.slice(..100), message.slice(100..));
        let mut cut = Segments::from(front.clone());
        cut.push(back.clone());
        let Ok(Request::Benchmark(payload)) = decode_proto(cut) else { panic!("it is a BenchmarkRequest") };
        let pointers: Vec<_> = payload.pieces().iter().map(|piece| piece.as_ptr()).collect();
        assert_eq!(pointers, [front[3..].as_ptr(), back.as_ptr()]);
    }
}
