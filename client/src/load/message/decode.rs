//! What is in a reply whose bytes can't be known beforehand.

use std::io::Read;

use bytes::Bytes;
use echo_proto::envelope;
use flate2::bufread::GzDecoder;

use super::{ANSWER_LIMIT, Expected, Message, PREFIX, long_limit};
use crate::load::CallError;

impl Message {
    /// Compares a reply that came in `pieces`, which are those of its message without its prefix.
    ///
    /// # Errors
    /// [`CallError::Decode`], or how its content differs, counted in bytes of the reply as it would be if it weren't compressed.
    pub(super) fn compare(&self, pieces: &[Bytes], compressed: bool) -> Result<(), CallError> {
        match &self.expected {
            Expected::Bytes(reply) => {
                let expected = &reply[PREFIX..];
                let message = if compressed { gunzip(pieces, expected.len())? } else { pieces.concat() };
                equal([&message[..]], expected, PREFIX)
            }
            Expected::Envelope(kind, payload) if compressed => {
                let message = gunzip(pieces, long_limit(payload.len()))?;
                equal_envelope(&[message.into()], *kind, payload)
            }
            Expected::Envelope(kind, payload) => equal_envelope(pieces, *kind, payload),
            Expected::Answer(answer) => answer.compare(&plain(pieces, compressed)?),
        }
    }

    /// A reply as people read it. `None` where it is known beforehand.
    ///
    /// # Errors
    /// [`CallError::Decode`].
    pub(super) fn text(&self, pieces: &[Bytes], compressed: bool) -> Result<Option<String>, CallError> {
        match &self.expected {
            Expected::Bytes(_) | Expected::Envelope(..) => Ok(None),
            Expected::Answer(answer) => answer.text(&plain(pieces, compressed)?).map(Some),
        }
    }
}

fn plain(pieces: &[Bytes], compressed: bool) -> Result<Vec<u8>, CallError> {
    if compressed { gunzip(pieces, ANSWER_LIMIT) } else { Ok(pieces.concat()) }
}

fn equal_envelope(message: &[Bytes], kind: envelope::Serialization, payload: &[u8]) -> Result<(), CallError> {
    let answer = envelope::decode_request(message).map_err(|error| CallError::Decode(error.to_string()))?;
    if answer.serialization() != kind {
        return Err(CallError::Decode(format!("{} and not {}", answer.serialization().name(), kind.name())));
    }
    equal(answer.payload().iter().map(|piece| &piece[..]), payload, 0)
}

/// Undoes gzip, up to one byte more than `limit`, so that a bomb takes no more memory than a right reply.
fn gunzip(pieces: &[Bytes], limit: usize) -> Result<Vec<u8>, CallError> {
    let failed = |what: String| CallError::Decode(format!("gzip: {what}"));
    let message = pieces.concat();
    let mut decoder = GzDecoder::new(&message[..]).take(limit as u64 + 1);
    // A known reply takes all of it; one that isn't may be a thousandth of the limit.
    let mut plain = Vec::with_capacity(limit.min(1 << 20) + 1);
    // To its end, where the checksum is.
    decoder.read_to_end(&mut plain).map_err(|error| failed(error.to_string()))?;
    if plain.len() > limit {
        return Err(failed(format!("more than {limit} bytes come out of it")));
    }
    match decoder.into_inner().into_inner().len() {
        0 => Ok(plain),
        left => Err(failed(format!("{left} bytes follow its end"))),
    }
}

/// Compares what comes in pieces, behind `before` bytes that count in what is told of a difference.
fn equal<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, expected: &[u8], before: usize) -> Result<(), CallError> {
    let mut got = 0;
    let mut differs = None;
    for piece in pieces {
        let part = expected.get(got..).unwrap_or_default();
        let part = &part[..piece.len().min(part.len())];
        if differs.is_none() && !piece.starts_with(part) {
            differs = Some(got + piece.iter().zip(part).take_while(|(a, b)| a == b).count());
        }
        got += piece.len();
    }
    match differs {
        _ if got != expected.len() => Err(CallError::Length { got: before + got, expected: before + expected.len() }),
        Some(offset) => Err(CallError::Mismatch(before + offset)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{Payloads, gzip, protobuf},
        *,
    };
    use crate::{
        load::Case,
        scenario::{PayloadPattern, Serialization},
    };

    fn message(serialization: Serialization) -> (Message, Bytes) {
        let case = Case {
            serialization,
            pattern: PayloadPattern::Text,
            ..Case::new("10000B-1".parse().unwrap(), Duration::from_secs(1))
        };
        (Message::of(&case).remove(0), Payloads::of(&case).remove(0).reply)
    }

    fn cut(message: &Bytes, piece: usize) -> Vec<Bytes> {
        message.chunks(piece).map(Bytes::copy_from_slice).collect()
    }

    fn flipped(message: &Bytes, at: usize) -> Bytes {
        let mut message = message.to_vec();
        message[at] ^= 1;
        message.into()
    }

    #[test]
    fn compressed_protobuf_is_compared_whatever_its_pieces() {
        let (expected, payload) = message(Serialization::Protobuf);
        let plain = protobuf(payload);
        for level in [0, 1, 6, 9] {
            let right = gzip(&plain, level);
            for piece in [1, 7, 1000, 100_000] {
                assert_eq!(expected.compare(&cut(&right, piece), true), Ok(()));
            }
        }
        let compare = |plain: &[u8]| expected.compare(&[gzip(plain, 6)], true).unwrap_err();
        assert_eq!(compare(&flipped(&plain, 77)), CallError::Mismatch(PREFIX + 77));
        assert_eq!(compare(&plain[..5000]), CallError::Length { got: 5005, expected: 10_008 });
        assert_eq!(
            compare(&[0; 50_000_000]).to_string(),
            "reply can't be decoded: gzip: more than 10003 bytes come out of it"
        );
    }

    #[test]
    fn what_is_no_gzip_is_an_error() {
        let (expected, payload) = message(Serialization::Protobuf);
        let right = gzip(&protobuf(payload), 6);
        let wrongs = [
            Bytes::new(),
            Bytes::from_static(b"not gzip at all, not even for a moment"),
            right.slice(..right.len() - 3),
            flipped(&right, right.len() - 6),
            [&right[..], b"more"].concat().into(),
        ];
        for wrong in wrongs {
            let error = expected.compare(&cut(&wrong, 100), true).unwrap_err();
            assert!(error.to_string().starts_with("reply can't be decoded: gzip: "), "{error}");
        }
    }

    #[test]
    fn envelopes_are_compared_by_their_payload() {
        for (serialization, kind, other) in [
            (Serialization::Hessian2, envelope::Serialization::Hessian2, envelope::Serialization::Msgpack),
            (Serialization::Msgpack, envelope::Serialization::Msgpack, envelope::Serialization::Hessian2),
        ] {
            let (expected, payload) = message(serialization);
            let right = envelope::encode_request(kind, payload.clone());
            for piece in [1, 7, 1000, 100_000] {
                assert_eq!(expected.compare(&cut(&right, piece), false), Ok(()), "{piece}");
                assert_eq!(expected.compare(&cut(&gzip(&right, 6), piece), true), Ok(()), "{piece}");
            }
            let compare = |kind, payload| expected.compare(&[envelope::encode_request(kind, payload)], false);
            assert_eq!(compare(kind, flipped(&payload, 9_999)), Err(CallError::Mismatch(9_999)));
            assert_eq!(compare(kind, payload.slice(1..)), Err(CallError::Length { got: 9_999, expected: 10_000 }));
            let error = compare(other, payload.clone()).unwrap_err().to_string();
            assert!(error.ends_with(&format!("{} and not {}", other.name(), kind.name())), "{error}");
            let error = expected.compare(&[protobuf(payload)], false).unwrap_err();
            assert!(matches!(error, CallError::Decode(_)), "{error}");
        }
    }
}
