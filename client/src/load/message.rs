//! What is sent, and whether what comes back is the same.

use bytes::{BufMut, Bytes, BytesMut};
use echo_proto::benchmark::BenchmarkRequest;
use prost::Message;

use super::CallError;

/// The seed of every payload: the same bytes in every run, on every machine.
const SEED: u64 = 0x5eed;

/// The payload: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), in
/// little-endian words, which no compressor shrinks.
pub(super) fn payload(len: usize) -> Bytes {
    let mut state = SEED;
    let mut bytes = BytesMut::with_capacity(len + size_of::<u64>());
    while bytes.len() < len {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.put_u64_le(z ^ (z >> 31));
    }
    bytes.truncate(len);
    bytes.freeze()
}

/// A gRPC message: flag 0 (not compressed), length in four bytes big-endian, protobuf.
pub(super) fn grpc(payload: Bytes) -> Bytes {
    let request = BenchmarkRequest { payload };
    let len = request.encoded_len();
    let mut framed = BytesMut::with_capacity(1 + size_of::<u32>() + len);
    framed.put_u8(0);
    framed.put_u32(len as u32);
    request.encode(&mut framed).expect("a BytesMut grows as needed");
    framed.freeze()
}

/// Compares a reply that comes in pieces with what was sent. The echo's answer has the request's schema, so that a right
/// reply is the request's bytes again: gRPC prefix, field header and all.
#[derive(Debug)]
pub(super) struct EchoCheck<'a> {
    sent: &'a [u8],
    received: usize,
    verify: bool,
}

impl<'a> EchoCheck<'a> {
    /// Compares the length, and every byte where `verify` says so.
    pub(super) fn new(sent: &'a [u8], verify: bool) -> Self {
        Self { sent, received: 0, verify }
    }

    /// Takes the next piece. It fails at the first byte beyond what was sent, so that an endless reply is not read.
    pub(super) fn accept(&mut self, piece: &[u8]) -> Result<(), CallError> {
        let end = self.received + piece.len();
        let expected =
            self.sent.get(self.received..end).ok_or(CallError::Length { got: end, expected: self.sent.len() })?;
        if self.verify && piece != expected {
            let offset = piece.iter().zip(expected).take_while(|(a, b)| a == b).count();
            return Err(CallError::Mismatch(self.received + offset));
        }
        self.received = end;
        Ok(())
    }

    /// The verdict once the reply has ended.
    pub(super) fn finish(self) -> Result<(), CallError> {
        if self.received == self.sent.len() {
            Ok(())
        } else {
            Err(CallError::Length { got: self.received, expected: self.sent.len() })
        }
    }

    /// Whether nothing was taken yet.
    pub(super) fn is_at_start(&self) -> bool {
        self.received == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_fixed_and_of_any_length() {
        assert_eq!(payload(0).len(), 0);
        for len in [1, 7, 8, 9, 1 << 20] {
            assert_eq!(payload(len).len(), len);
            assert_eq!(payload(len), payload(1 << 20).slice(..len));
        }
    }

    #[test]
    fn payloads_do_not_compress() {
        use std::io::Write;
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        deflate.write_all(&payload(1 << 16)).unwrap();
        assert!(deflate.finish().unwrap().len() >= 1 << 16);
    }

    #[test]
    fn a_grpc_message_is_prefix_and_protobuf() {
        assert_eq!(grpc(Bytes::from_static(b"hi"))[..], *b"\0\0\0\0\x04\x0a\x02hi");
        let framed = grpc(payload(3000));
        let decoded = BenchmarkRequest::decode(framed.slice(5..)).unwrap();
        assert_eq!(decoded.payload, payload(3000));
    }

    #[test]
    fn an_echo_in_any_pieces_is_right() {
        let sent = payload(1000);
        for piece in [1, 3, 999, 1000] {
            let mut check = EchoCheck::new(&sent, true);
            sent.chunks(piece).for_each(|piece| check.accept(piece).unwrap());
            assert_eq!(check.finish(), Ok(()));
        }
    }

    #[test]
    fn what_is_no_echo_is_told_apart() {
        let mut short = EchoCheck::new(b"hello", false);
        short.accept(b"hell").unwrap();
        assert_eq!(short.finish(), Err(CallError::Length { got: 4, expected: 5 }));

        let mut long = EchoCheck::new(b"hello", false);
        long.accept(b"hello").unwrap();
        assert_eq!(long.accept(b"!"), Err(CallError::Length { got: 6, expected: 5 }));

        let mut unlike = EchoCheck::new(b"hello", true);
        unlike.accept(b"he").unwrap();
        assert_eq!(unlike.accept(b"lp!"), Err(CallError::Mismatch(3)));

        let mut unverified = EchoCheck::new(b"hello", false);
        unverified.accept(b"jello").unwrap();
        assert_eq!(unverified.finish(), Ok(()), "without verification only the length counts");
    }
}
