//! What is sent, and what must come back.
//!
//! - `payload`, `random`: what payloads are made of; `pick`: which size each call has;
//! - `reply`: a reply as it comes in pieces; `decode`: what was in it;
//! - `echo`: a raw reply, which is the request's payload and nothing else.

mod decode;
mod echo;
mod payload;
mod pick;
mod random;
mod reply;

use std::{io::Write, sync::Arc};

use bytes::{BufMut, Bytes, BytesMut};
use echo_proto::{benchmark::BenchmarkRequest, envelope};
use flate2::write::GzEncoder;
use prost::Message as _;

pub(super) use self::{echo::EchoCheck, pick::Picker, reply::Reply};
use super::{
    Case,
    call::{Answer, Call},
};
use crate::scenario::{Compression, Serialization};

/// gRPC's prefix: a flag that says whether the message is compressed, and its length in four bytes, big-endian.
const PREFIX: usize = 5;

/// One size's payloads, as they are sent and as they must come back.
#[derive(Debug, Clone)]
pub(super) struct Payloads {
    pub(super) request: Bytes,
    pub(super) reply: Bytes,
}

impl Payloads {
    /// One for each share of the case's payload, in that order.
    pub(super) fn of(case: &Case) -> Vec<Self> {
        let sizes = case.scenario.payload.shares().iter().map(|share| share.size as usize);
        sizes
            .map(|size| {
                let request = payload::payload(case.pattern, size);
                let reply = match case.response_size {
                    Some(len) => repeated(&request, len as usize),
                    None => request.clone(),
                };
                Self { request, reply }
            })
            .collect()
    }
}

/// `pattern` over and over, or cut, so that there are `len` bytes.
fn repeated(pattern: &Bytes, len: usize) -> Bytes {
    if len <= pattern.len() {
        return pattern.slice(..len);
    }
    pattern.iter().copied().cycle().take(len).collect()
}

/// One size's messages, ready to be sent any number of times.
#[derive(Debug)]
pub(super) struct Message {
    /// The request with its prefix.
    pub(super) request: Bytes,
    expected: Expected,
}

/// What a right reply is, compression aside.
#[derive(Debug)]
enum Expected {
    /// These bytes, prefix included: the echo's answer has the request's schema, so that it is the request's bytes again,
    /// field header and all.
    Bytes(Bytes),
    /// An envelope with this payload. A server may write the same one in several ways.
    Envelope(envelope::Serialization, Bytes),
    /// Whatever a method of the user's answers; or several such messages.
    Answer(Arc<Answer>),
}

impl Expected {
    /// Bytes of the reply with its prefix: exactly, or at least.
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Envelope(_, payload) => PREFIX + payload.len(),
            Self::Answer(_) => PREFIX,
        }
    }

    /// The longest reply that is read, or decompressed, where its length can't be known.
    fn limit(&self) -> usize {
        match self {
            Self::Answer(_) => ANSWER_LIMIT,
            Self::Bytes(_) | Self::Envelope(..) => long_limit(self.len()),
        }
    }

    fn is_stream(&self) -> bool {
        matches!(self, Self::Answer(answer) if answer.is_stream())
    }

    /// Whether a method of the user's must answer with something.
    fn is_compared(&self) -> bool {
        matches!(self, Self::Answer(answer) if answer.is_compared())
    }
}

impl Message {
    /// One for each share of the case's payload, in that order.
    pub(super) fn of(case: &Case) -> Vec<Self> {
        let message = |Payloads { request, reply }| {
            let (request, expected) = match envelope(case.serialization) {
                None => (protobuf(request), Expected::Bytes(prefixed(0, &protobuf(reply)))),
                Some(kind) => (envelope::encode_request(kind, request), Expected::Envelope(kind, reply)),
            };
            Self { request: framed(&request, case.compression), expected }
        };
        Payloads::of(case).into_iter().map(message).collect()
    }

    pub(super) fn has_stream_of_replies(&self) -> bool {
        self.expected.is_stream()
    }

    /// That of a call of the user's own.
    pub(super) fn of_call(call: &Call, compression: Compression) -> Self {
        Self { request: framed(&call.request, compression), expected: Expected::Answer(call.answer.clone()) }
    }
}

/// The envelope that messages of a serialization come in.
fn envelope(serialization: Serialization) -> Option<envelope::Serialization> {
    match serialization {
        Serialization::Protobuf | Serialization::Thrift => None,
        Serialization::Hessian2 => Some(envelope::Serialization::Hessian2),
        Serialization::Msgpack => Some(envelope::Serialization::Msgpack),
    }
}

fn protobuf(payload: Bytes) -> Bytes {
    BenchmarkRequest { payload }.encode_to_vec().into()
}

/// A request as it is sent.
fn framed(message: &[u8], compression: Compression) -> Bytes {
    match compression.gzip_level() {
        Some(level) => prefixed(1, &gzip(message, level)),
        None => prefixed(0, message),
    }
}

pub(super) fn prefixed(flag: u8, message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(flag);
    framed.put_u32(message.len() as u32);
    framed.put_slice(message);
    framed.freeze()
}

/// The same bytes each time: gzip's header has no time in it.
fn gzip(message: &[u8], level: u32) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(message).and_then(|()| encoder.finish()).expect("a vector takes all that is written").into()
}

/// The longest message that is read where nothing is known of it. gRPC's own clients take 4 MiB unless told.
pub(super) const ANSWER_LIMIT: usize = 64 << 20;

/// The longest reply that is read, or decompressed, where its content is known but not its length: a compressor makes what it can't shrink
/// longer by less than a thousandth and its header, and an envelope adds some tens of bytes and three in 32 KiB.
fn long_limit(expected: usize) -> usize {
    2 * expected + 1024
}

#[cfg(test)]
mod tests {
    use std::{io::Read, time::Duration};

    use super::*;
    use crate::scenario::PayloadPattern;

    fn expected(message: &Message) -> &[u8] {
        match &message.expected {
            Expected::Bytes(bytes) => bytes,
            Expected::Envelope(..) | Expected::Answer(_) => panic!("no bytes are expected of an envelope"),
        }
    }

    fn case(scenario: &str) -> Case {
        Case::new(scenario.parse().unwrap(), Duration::from_secs(1))
    }

    #[test]
    fn a_grpc_message_is_prefix_and_protobuf() {
        assert_eq!(prefixed(0, &protobuf(Bytes::from_static(b"hi")))[..], *b"\0\0\0\0\x04\x0a\x02hi");
        let message = Message::of(&case("3000B-1")).remove(0);
        let decoded = BenchmarkRequest::decode(message.request.slice(PREFIX..)).unwrap();
        assert_eq!(decoded.payload, payload::payload(PayloadPattern::Random, 3000));
        assert_eq!(message.request, expected(&message));
    }

    #[test]
    fn every_share_has_its_message() {
        let messages = Message::of(&case("128B:80%+1KiB:20%-1"));
        assert_eq!(messages.iter().map(|m| m.request.len()).collect::<Vec<_>>(), [5 + 3 + 128, 5 + 3 + 1024]);
    }

    #[test]
    fn a_reply_of_another_size_is_the_payload_repeated_or_cut() {
        let sized = |len| Case { response_size: Some(len), ..case("3B-1") };
        let payload = payload::payload(PayloadPattern::Random, 3);
        for (len, expected) in [
            (0, vec![]),
            (2, payload[..2].to_vec()),
            (3, payload.to_vec()),
            (7, [&payload[..], &payload, &payload[..1]].concat()),
        ] {
            assert_eq!(Payloads::of(&sized(len))[0].reply, expected);
            let message = Message::of(&sized(len)).remove(0);
            assert_eq!(message.request, prefixed(0, &protobuf(payload.clone())));
            assert_eq!(self::expected(&message), prefixed(0, &protobuf(expected.into())));
        }
    }

    #[test]
    fn a_compressed_request_has_the_flag_and_is_gzip() {
        for compression in [Compression::Fastest, Compression::Default, Compression::Best] {
            let case = Case { compression, pattern: PayloadPattern::Text, ..case("10000B-1") };
            let message = Message::of(&case).remove(0);
            assert_eq!(message.request[0], 1);
            assert_eq!(message.request[1..PREFIX], ((message.request.len() - PREFIX) as u32).to_be_bytes());
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&message.request[PREFIX..]).read_to_end(&mut plain).unwrap();
            assert_eq!(plain, expected(&message)[PREFIX..]);
            assert_eq!(message.request, Message::of(&case).remove(0).request);
        }
    }

    #[test]
    fn other_serializations_are_arguments_in_envelopes() {
        for (serialization, kind) in [
            (Serialization::Hessian2, envelope::Serialization::Hessian2),
            (Serialization::Msgpack, envelope::Serialization::Msgpack),
        ] {
            let message = Message::of(&Case { serialization, ..case("70000B-1") }).remove(0);
            let body = [message.request.slice(PREFIX..)];
            let request = envelope::decode_request(&body).unwrap();
            assert_eq!(request.serialization(), kind);
            assert_eq!(request.payload().concat(), payload::payload(PayloadPattern::Random, 70_000));
        }
    }
}
