//! The service itself: decodes a request, encodes the response.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use bytes::{Buf, Bytes};
use echo_proto::benchmark::BenchmarkRequest;
use prost::{
    Message as _,
    encoding::{WireType, decode_varint},
};
use serde::{Deserialize, Serialize};

use super::{
    content_type::{Codec, Serialization},
    encoding,
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
/// The message is no `BenchmarkRequest` in this codec, or its answer is too long.
pub(crate) fn echo(request: Segments, answer: Answer) -> Result<Message, Fault> {
    match answer.codec {
        Codec::Proto => {
            let payload = answer.payload(decode_proto(request)?);
            check_length(benchmark_response_len(payload.remaining()), answer.limit)?;
            match answer.gzip_level {
                Some(level) => {
                    let plain = Message::benchmark_response(payload, Enclosure::Bare);
                    compressed(plain, level, answer.prefixed)
                }
                None => Ok(Message::benchmark_response(payload, enclosure(answer.prefixed, false))),
            }
        }
        Codec::Json => {
            let payload = Bytes::from(decode_json(request.into_contiguous())?);
            let json = encode_json(&answer.payload(payload.into()).into_contiguous())?;
            check_length(json.len(), answer.limit)?;
            match answer.gzip_level {
                Some(level) => compressed(json, level, answer.prefixed),
                None => Ok(Message::encoded(json, enclosure(answer.prefixed, false))),
            }
        }
        Codec::Wrapper(serialization) => Err(unsupported_wrapper(serialization)),
    }
}

/// Wrapped arguments are refused rather than echoed wrongly.
pub(crate) fn unsupported_wrapper(serialization: Serialization) -> Fault {
    Fault::new(
        Code::Unimplemented,
        format!("serialization {} is not supported: supported are proto and json", serialization.name()),
    )
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

/// The payload of an encoded `BenchmarkRequest`, in the pieces it came in when it is the message's only field.
fn decode_proto(mut message: Segments) -> Result<Segments, Fault> {
    if message.is_empty() {
        return Ok(message);
    }
    if let Some(head) = only_payload_head(&message) {
        message.advance(head);
        return Ok(message);
    }
    // Unknown or repeated fields: prost knows the rules.
    BenchmarkRequest::decode(message.into_contiguous())
        .map(|request| request.payload.into())
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

/// `BenchmarkRequest` and `BenchmarkResponse` in protobuf's JSON: bytes are base64, an empty field is left out.
#[derive(Debug, Serialize, Deserialize)]
struct Json<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    payload: Option<std::borrow::Cow<'a, str>>,
}

/// Protobuf's JSON takes either alphabet, padded or not.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const LENIENT_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const LENIENT_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn decode_json(message: Bytes) -> Result<Vec<u8>, Fault> {
    if message.is_empty() {
        return Err(Fault::new(Code::InvalidArgument, "zero-length payload is not a valid JSON object"));
    }
    // serde would take an array for a struct.
    if message.trim_ascii_start().first() != Some(&b'{') {
        return Err(malformed(&"a JSON object is expected"));
    }
    let json: Json<'_> = serde_json::from_slice(&message).map_err(|error| malformed(&error))?;
    let text = json.payload.unwrap_or_default();
    let engine = if text.contains(['-', '_']) { LENIENT_URL_SAFE } else { LENIENT_STANDARD };
    engine.decode(text.as_bytes()).map_err(|error| malformed(&format_args!("payload: {error}")))
}

fn encode_json(payload: &[u8]) -> Result<Bytes, Fault> {
    let payload = (!payload.is_empty()).then(|| STANDARD.encode(payload).into());
    serde_json::to_vec(&Json { payload })
        .map(Bytes::from)
        .map_err(|error| Fault::new(Code::Internal, format!("marshal benchmark.BenchmarkResponse: {error}")))
}

fn malformed(error: &dyn std::fmt::Display) -> Fault {
    Fault::new(Code::InvalidArgument, format!("unmarshal into benchmark.BenchmarkRequest: {error}"))
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
            b"\x0a\x82\x00hi",        // an overlong length
            b"\x0a\x02hi\x0a\x03you", // the last one wins
            b"\x12\x01x\x0a\x02hi",   // an unknown field in front
            b"\x0a\x02hi\x12\x01x",   // and behind
            b"\x0a\x07msgpack\x12\x02ab\x1a\x01c",
            b"\x0a\x03hi", // too short
            b"\x0a\x01hi", // too long
            b"\x08\x01",   // no bytes field
            b"\x0a",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ];
        for message in messages {
            let expected = BenchmarkRequest::decode(*message).ok().map(|request| request.payload);
            for first in 0..=message.len() {
                for second in first..=message.len() {
                    let decoded = decode_proto(pieces(message, &[first, second])).ok().map(Segments::into_contiguous);
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
        let payload = decode_proto(cut).unwrap();
        let pointers: Vec<_> = payload.pieces().iter().map(|piece| piece.as_ptr()).collect();
        assert_eq!(pointers, [front[3..].as_ptr(), back.as_ptr()]);
    }

    #[test]
    fn json_in_and_out() {
        let echo = |text: &'static str| decode_json(text.into()).and_then(|payload| encode_json(&payload));
        for (request, response) in [
            ("{}", "{}"),
            (r#"{"payload":null}"#, "{}"),
            (r#" {"payload":"aGk="} "#, r#"{"payload":"aGk="}"#),
            (r#"{"payload":"aGk","other":[1]}"#, r#"{"payload":"aGk="}"#),
            (r#"{"payload":"-_8"}"#, r#"{"payload":"+/8="}"#),
            (r#"{"payload":"a\u0047k="}"#, r#"{"payload":"aGk="}"#),
        ] {
            assert_eq!(echo(request), Ok(response.into()), "{request}");
        }
        for request in ["", "[\"aGk=\"]", "{bad", "{} {}", r#"{"payload":1}"#, r#"{"payload":"!"}"#, "null"] {
            assert_eq!(echo(request).map_err(|fault| fault.code), Err(Code::InvalidArgument), "{request}");
        }
    }
}
