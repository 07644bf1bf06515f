//! A reply as it comes: its prefix, then its message, in pieces of any size.

use bytes::Bytes;

use super::{Expected, Message, PREFIX};
use crate::load::CallError;

/// The reply a task reads, one after another.
///
/// A protobuf reply that isn't compressed is known byte for byte, so that each piece is compared as it comes, where it is to be
/// verified, and let go. Another is kept, if it is to be verified, until [`check`](Self::check) decodes it: those the caller
/// says, and every one whose length differs from the last of its share that was right. Of a stream of replies the first is.
#[derive(Debug, Default)]
pub(in crate::load) struct Reply {
    now: State,
    /// Where it is kept, the message so far.
    pieces: Vec<Bytes>,
    /// Whole messages before this one, where a call has several.
    before: u64,
    /// By share of the mix, the length of the last kept reply that was right, prefix included.
    right_lens: Vec<usize>,
    kept: Option<Kept>,
}

/// How far one reply is.
#[derive(Debug, Default)]
struct State {
    verify: bool,
    prefix: [u8; PREFIX],
    /// Bytes taken, prefix included.
    received: usize,
    /// Bytes of the reply, prefix included; known once the prefix is whole.
    len: usize,
    compressed: bool,
    keep: bool,
}

/// The message that was kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    len: usize,
    compressed: bool,
}

impl Reply {
    /// Begins with the next one.
    pub(in crate::load) fn begin(&mut self, verify: bool) {
        self.now = State { verify, ..State::default() };
        self.pieces.clear();
        self.before = 0;
        self.kept = None;
    }

    /// Takes the next piece of the reply to the message of a share. It fails at the first byte beyond the reply, so that an
    /// endless one is not read. `decompress` is what is wrong with a compressed reply, if anything.
    pub(in crate::load) fn accept(
        &mut self,
        mut piece: Bytes,
        of: (usize, &Message),
        decompress: &Result<(), CallError>,
    ) -> Result<(), CallError> {
        while let Some(rest) = self.accept_part(piece, of, decompress)? {
            self.before += 1;
            self.now = State::default();
            piece = rest;
        }
        Ok(())
    }

    /// The same of one reply; what follows it, if several may come.
    fn accept_part(
        &mut self,
        mut piece: Bytes,
        (share, message): (usize, &Message),
        decompress: &Result<(), CallError>,
    ) -> Result<Option<Bytes>, CallError> {
        let received = self.now.received;
        self.now.received += piece.len();
        if received < PREFIX {
            let head = piece.split_to(piece.len().min(PREFIX - received));
            self.now.prefix[received..received + head.len()].copy_from_slice(&head);
            if self.now.received < PREFIX {
                return Ok(None);
            }
            self.read_prefix(share, message, decompress)?;
        }
        let mut rest = None;
        if self.now.received > self.now.len {
            if !message.expected.is_stream() {
                return Err(CallError::Length { got: self.now.received, expected: self.now.len });
            }
            rest = Some(piece.split_off(piece.len() - (self.now.received - self.now.len)));
            self.now.received = self.now.len;
        }
        if self.now.keep && !piece.is_empty() {
            self.pieces.push(piece);
        } else if self.now.verify
            && !self.now.compressed
            && let Expected::Bytes(expected) = &message.expected
        {
            let begin = self.now.received - piece.len();
            let expected = &expected[begin..self.now.received];
            if piece != expected {
                let offset = piece.iter().zip(expected).take_while(|(a, b)| a == b).count();
                return Err(CallError::Mismatch(begin + offset));
            }
        }
        Ok(rest)
    }

    fn read_prefix(
        &mut self,
        share: usize,
        message: &Message,
        decompress: &Result<(), CallError>,
    ) -> Result<(), CallError> {
        let [flag, l0, l1, l2, l3] = self.now.prefix;
        self.now.len = PREFIX + u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        let expected = message.expected.len();
        match flag {
            0 if let Expected::Bytes(_) = &message.expected => {
                if self.now.len != expected {
                    return Err(CallError::Length { got: self.now.len, expected });
                }
                return Ok(());
            }
            0 => {}
            1 => {
                decompress.clone()?;
                self.now.compressed = true;
            }
            _ => return Err(CallError::Flag(flag)),
        }
        let limit = message.expected.limit();
        if self.now.len > limit {
            return Err(CallError::TooLong { got: self.now.len, limit });
        }
        let known = message.expected.is_stream() || self.right_lens.get(share) == Some(&self.now.len);
        self.now.keep = self.now.verify || !known;
        if self.now.keep {
            self.kept = Some(Kept { len: self.now.len, compressed: self.now.compressed });
        }
        Ok(())
    }

    /// Whether all of it has come.
    pub(in crate::load) fn is_whole(&self) -> bool {
        self.now.received >= PREFIX && self.now.received == self.now.len
    }

    /// Whether it is compressed; known once all of it has come.
    pub(in crate::load) fn is_compressed(&self) -> bool {
        self.now.compressed
    }

    /// The verdict once nothing more comes.
    pub(in crate::load) fn finish(&self, message: &Message) -> Result<(), CallError> {
        let none_came = self.now.received == 0 && message.expected.is_stream() && !message.expected.is_compared();
        if self.is_whole() || none_came {
            return Ok(());
        }
        let expected = if self.now.received < PREFIX { message.expected.len() } else { self.now.len };
        Err(CallError::Length { got: self.now.received, expected })
    }

    /// Reads what was kept of a whole reply.
    pub(in crate::load) fn check(&mut self, (share, message): (usize, &Message)) -> Result<(), CallError> {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        message.compare(&self.pieces, kept.compressed)?;
        if self.right_lens.len() <= share {
            self.right_lens.resize(share + 1, 0);
        }
        self.right_lens[share] = kept.len;
        self.pieces.clear();
        Ok(())
    }

    /// What was kept of it, as people read it; `None` where it is known beforehand, or none came.
    pub(in crate::load) fn text(&self, message: &Message) -> Result<Option<String>, CallError> {
        self.kept.map_or(Ok(None), |kept| message.text(&self.pieces, kept.compressed))
    }

    /// How many messages came.
    pub(in crate::load) fn count(&self) -> u64 {
        self.before + u64::from(self.is_whole())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{Payloads, gzip, prefixed, protobuf},
        *,
    };
    use crate::load::Case;

    const PLAIN: Result<(), CallError> = Err(CallError::Compressed);
    const GZIP: Result<(), CallError> = Ok(());

    fn message() -> (Message, Bytes) {
        let case = Case::new("1000B-1".parse().unwrap(), Duration::from_secs(1));
        (Message::of(&case).remove(0), protobuf(Payloads::of(&case).remove(0).reply))
    }

    /// Takes a reply in pieces of `piece` bytes; nothing more comes then.
    fn read(
        reply: &mut Reply,
        verify: bool,
        bytes: &Bytes,
        piece: usize,
        decompress: &Result<(), CallError>,
    ) -> Result<(), CallError> {
        let (message, _) = message();
        reply.begin(verify);
        let mut left = bytes.clone();
        while !left.is_empty() {
            let piece = left.split_to(piece.min(left.len()));
            reply.accept(piece, (0, &message), decompress)?;
        }
        reply.finish(&message)?;
        assert!(reply.is_whole());
        reply.check((0, &message))
    }

    #[test]
    fn a_right_reply_is_right_in_any_pieces() {
        let (message, plain) = message();
        let mut reply = Reply::default();
        for piece in [1, 2, 4, 5, 6, 999, 10_000] {
            for verify in [true, false] {
                assert_eq!(read(&mut reply, verify, &message.request, piece, &PLAIN), Ok(()));
                assert!(!reply.is_compressed());
                let compressed = prefixed(1, &gzip(&plain, 6));
                assert_eq!(read(&mut reply, verify, &compressed, piece, &GZIP), Ok(()));
                assert!(reply.is_compressed());
            }
        }
    }

    #[test]
    fn what_is_no_right_reply_is_told_apart() {
        let (_, plain) = message();
        let right = prefixed(0, &plain);
        let with = |at: usize, byte: u8| {
            let mut bytes = right.to_vec();
            bytes[at] = byte;
            Bytes::from(bytes)
        };
        let expected = right.len();
        for (bytes, error) in [
            (Bytes::new(), CallError::Length { got: 0, expected }),
            (right.slice(..3), CallError::Length { got: 3, expected }),
            (right.slice(..50), CallError::Length { got: 50, expected }),
            (prefixed(0, &plain[..45]), CallError::Length { got: 50, expected }),
            ([&right[..], b"!"].concat().into(), CallError::Length { got: expected + 1, expected }),
            (with(0, 2), CallError::Flag(2)),
            (with(0, 1), CallError::Compressed),
            (with(100, !right[100]), CallError::Mismatch(100)),
        ] {
            for piece in [7, 10_000] {
                let result = read(&mut Reply::default(), true, &bytes, piece, &PLAIN);
                match (&error, &result) {
                    // It is told at the first byte too many, whose piece is the seventh byte's or the last.
                    (CallError::Length { got, .. }, Err(CallError::Length { got: told, .. })) if *got > expected => {
                        assert!(*told > expected);
                    }
                    _ => assert_eq!(result, Err(error.clone()), "{piece}"),
                }
            }
        }
        assert_eq!(
            read(&mut Reply::default(), false, &with(100, !right[100]), 7, &PLAIN),
            Ok(()),
            "without verification only flag and length count"
        );
        let endless = prefixed(1, &[7; 10_000]);
        let error = read(&mut Reply::default(), false, &endless, 100, &GZIP).unwrap_err();
        assert_eq!(error, CallError::TooLong { got: 10_005, limit: 2 * expected + 1024 });
    }

    #[test]
    fn a_compressed_reply_is_read_when_asked_and_when_its_length_is_new() {
        let (_, plain) = message();
        let right = prefixed(1, &gzip(&plain, 6));
        let mut wrong = right.to_vec();
        wrong[500] ^= 1;
        let wrong = Bytes::from(wrong);
        let mut reply = Reply::default();
        assert!(read(&mut reply, false, &wrong, 100, &GZIP).is_err(), "the first");
        assert!(read(&mut reply, false, &wrong, 100, &GZIP).is_err(), "no length was right yet");
        assert_eq!(read(&mut reply, false, &right, 100, &GZIP), Ok(()));
        assert_eq!(
            read(&mut reply, false, &wrong, 100, &GZIP),
            Ok(()),
            "of a length that was right, and not asked for"
        );
        assert!(read(&mut reply, true, &wrong, 100, &GZIP).is_err(), "asked for");
        let longer = prefixed(1, &[&right[PREFIX..], b"more"].concat());
        assert!(read(&mut reply, false, &longer, 100, &GZIP).is_err(), "of another length");
    }
}
