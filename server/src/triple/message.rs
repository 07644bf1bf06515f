//! What the server sends as one body frame: a few bytes made here and a payload passed on.

use std::io::IoSlice;

use bytes::{Buf, Bytes};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::{
    frame::{COMPRESSED, PLAIN, PREFIX_LEN},
    segments::Segments,
};

/// The message prefix, a one-byte tag and the longest length a `u32` needs.
const HEAD_CAPACITY: usize = PREFIX_LEN + 1 + 5;

/// The number of the only field of `BenchmarkRequest` and `BenchmarkResponse`.
pub(crate) const PAYLOAD_FIELD: u32 = 1;

/// A head held inline and a payload in the pieces it arrived in: an echo needs no buffer to be encoded into.
#[derive(Debug)]
pub(crate) struct Message {
    head: [u8; HEAD_CAPACITY],
    head_start: u8,
    head_end: u8,
    payload: Segments,
}

/// What encloses a message on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enclosure {
    /// The message is the body.
    Bare,
    /// The 5-byte prefix, with its flag clear or set.
    Prefixed { compressed: bool },
}

impl Message {
    /// `BenchmarkResponse { payload }`, encoded. As prost does, leaves out an empty field.
    pub(crate) fn benchmark_response(payload: Segments, enclosure: Enclosure) -> Self {
        let mut field = [0; HEAD_CAPACITY];
        let mut rest = &mut field[..];
        if !payload.is_empty() {
            encode_key(PAYLOAD_FIELD, WireType::LengthDelimited, &mut rest);
            encode_varint(payload.remaining() as u64, &mut rest);
        }
        let field_len = HEAD_CAPACITY - rest.len();
        Self::new(&field[..field_len], payload, enclosure)
    }

    /// Bytes that are a whole encoded message.
    pub(crate) fn encoded(bytes: Bytes, enclosure: Enclosure) -> Self {
        Self::new(&[], bytes.into(), enclosure)
    }

    fn new(field: &[u8], payload: Segments, enclosure: Enclosure) -> Self {
        let mut head = [0; HEAD_CAPACITY];
        let mut end = 0;
        if let Enclosure::Prefixed { compressed } = enclosure {
            let length = (field.len() + payload.remaining()) as u32;
            head[0] = if compressed { COMPRESSED } else { PLAIN };
            head[1..PREFIX_LEN].copy_from_slice(&length.to_be_bytes());
            end = PREFIX_LEN;
        }
        head[end..end + field.len()].copy_from_slice(field);
        end += field.len();
        Self { head, head_start: 0, head_end: end as u8, payload }
    }

    fn head(&self) -> &[u8] {
        &self.head[usize::from(self.head_start)..usize::from(self.head_end)]
    }
}

/// Length of the encoded `BenchmarkResponse` with a payload of that many bytes.
pub(crate) fn benchmark_response_len(payload: usize) -> usize {
    if payload == 0 { 0 } else { 1 + encoded_len_varint(payload as u64) + payload }
}

impl Buf for Message {
    fn remaining(&self) -> usize {
        self.head().len() + self.payload.remaining()
    }

    fn chunk(&self) -> &[u8] {
        if self.head().is_empty() { self.payload.chunk() } else { self.head() }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        match slices {
            [first, rest @ ..] if !self.head().is_empty() => {
                *first = IoSlice::new(self.head());
                1 + self.payload.chunks_vectored(rest)
            }
            _ => self.payload.chunks_vectored(slices),
        }
    }

    fn advance(&mut self, count: usize) {
        let of_head = count.min(self.head().len());
        self.head_start += of_head as u8;
        self.payload.advance(count - of_head);
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;
    use echo_proto::benchmark::BenchmarkResponse;
    use prost::Message as _;

    use super::*;

    fn bytes(message: Message) -> Vec<u8> {
        let mut out = Vec::new();
        out.put(message);
        out
    }

    #[test]
    fn a_response_is_what_prost_encodes() {
        for length in [0, 1, 127, 128, 16_384, 1 << 21] {
            let payload = Bytes::from(vec![9; length]);
            let expected = BenchmarkResponse { payload: payload.clone() }.encode_to_vec();
            assert_eq!(benchmark_response_len(length), expected.len());
            let bare = Message::benchmark_response(payload.clone().into(), Enclosure::Bare);
            assert_eq!(bytes(bare), expected);
            let prefixed =
                bytes(Message::benchmark_response(payload.into(), Enclosure::Prefixed { compressed: false }));
            assert_eq!(prefixed[0], 0);
            assert_eq!(prefixed[1..5], (expected.len() as u32).to_be_bytes());
            assert_eq!(prefixed[5..], expected);
        }
    }

    #[test]
    fn head_and_payload_are_read_in_any_steps() {
        let whole = bytes(Message::benchmark_response(
            Bytes::from_static(b"payload").into(),
            Enclosure::Prefixed { compressed: true },
        ));
        for step in 1..=whole.len() {
            let mut message = Message::benchmark_response(
                Bytes::from_static(b"payload").into(),
                Enclosure::Prefixed { compressed: true },
            );
            let mut read = Vec::new();
            while message.has_remaining() {
                let count = step.min(message.remaining());
                read.extend_from_slice(&message.copy_to_bytes(count));
            }
            assert_eq!(read, whole, "in steps of {step}");
        }
    }
}
