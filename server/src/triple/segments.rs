//! Bytes in the pieces the transport read them in, so that a large message is never copied together; unless it came in so
//! many short ones that these would cost more than the message.

use std::{io::IoSlice, mem};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

use crate::handler::repeated;

/// Pieces held without an allocation: what a message of one or two DATA frames needs.
const INLINE: usize = 2;

/// Most pieces shorter than [`LARGE_PIECE`] that are kept as they are, or that a repetition is made of.
const MOST_SMALL_PIECES: usize = 16;
/// A piece worth sending by itself, in bytes.
const LARGE_PIECE: usize = 4 << 10;
/// What short pieces are copied into when it would take too many of them, in bytes.
const BLOCK: usize = 16 << 10;
static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// A sequence of bytes in pieces. Read it as a [`Buf`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    /// From `front` on, no piece is empty.
    pieces: SmallVec<[Bytes; INLINE]>,
    /// The piece to be read next.
    front: usize,
    len: usize,
}

impl Segments {
    /// Keeps the piece as it is, or copies it behind the last one if there are many and both are short: what is held stays
    /// near `len`, however many DATA frames a peer cut it into.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.len += piece.len();
        match self.pieces.last() {
            Some(last) if self.pieces().len() >= MOST_SMALL_PIECES && last.len().max(piece.len()) < LARGE_PIECE => {
                self.append(&piece);
            }
            _ => self.pieces.push(piece),
        }
    }

    #[cold]
    fn append(&mut self, piece: &[u8]) {
        let last = self.pieces.pop().unwrap_or_default();
        // A block that was begun here has no other owner, and room.
        let mut block = last.try_into_mut().unwrap_or_else(|last| {
            let mut block = BytesMut::with_capacity(2 * LARGE_PIECE);
            block.put(last);
            block
        });
        block.put(piece);
        self.pieces.push(block.freeze());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All bytes as one piece: without a copy if they are one.
    pub(crate) fn into_contiguous(mut self) -> Bytes {
        match self.pieces() {
            [] => Bytes::new(),
            [_] => mem::take(&mut self.pieces[self.front]),
            _ => {
                let mut whole = BytesMut::with_capacity(self.len);
                whole.put(&mut self);
                whole.freeze()
            }
        }
    }

    /// The bytes over and over, or cut, so that there are `len`; zeros if there are none.
    ///
    /// Pieces are shared and not copied, but for short ones repeated often: these are copied into one block first, lest
    /// 1 MiB be sent in pieces of 128 B.
    pub(crate) fn resized(self, len: usize) -> Self {
        let unit = if self.len < len { self.repeatable(len) } else { self };
        let mut resized = Self::default();
        for piece in unit.pieces().iter().cycle() {
            match len - resized.len {
                0 => break,
                missing => resized.push(piece.slice(..missing.min(piece.len()))),
            }
        }
        resized
    }

    /// What to repeat for `len` bytes, more than there are.
    fn repeatable(self, len: usize) -> Self {
        if self.is_empty() {
            return Bytes::from_static(&ZEROS).into();
        }
        let count = self.pieces().len();
        if len.div_ceil(self.len) * count <= MOST_SMALL_PIECES || self.len / count >= LARGE_PIECE {
            return self;
        }
        let times = BLOCK.min(len).div_ceil(self.len);
        let block_len = times * self.len;
        repeated(&self.into_contiguous(), block_len).into()
    }

    /// The pieces not yet read.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces[self.front..]
    }
}

impl From<Bytes> for Segments {
    fn from(piece: Bytes) -> Self {
        let mut segments = Self::default();
        segments.push(piece);
        segments
    }
}

impl FromIterator<Bytes> for Segments {
    fn from_iter<I: IntoIterator<Item = Bytes>>(pieces: I) -> Self {
        let mut segments = Self::default();
        pieces.into_iter().for_each(|piece| segments.push(piece));
        segments
    }
}

impl Buf for Segments {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        self.pieces().first().map_or(&[], Bytes::as_ref)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, piece) in slices.iter_mut().zip(self.pieces()) {
            *slice = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    /// # Panics
    /// If fewer than `count` bytes are left, as every [`Buf`] does.
    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.len, "advanced by {count} of {} bytes", self.len);
        self.len -= count;
        while count > 0 {
            let piece = &mut self.pieces[self.front];
            if count < piece.len() {
                piece.advance(count);
                return;
            }
            count -= piece.len();
            // What has been read is released at once, not with the last piece.
            *piece = Bytes::new();
            self.front += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(pieces: &[&'static [u8]]) -> Segments {
        let mut segments = Segments::default();
        pieces.iter().for_each(|piece| segments.push(Bytes::from_static(piece)));
        segments
    }

    #[test]
    fn pieces_read_as_one_sequence() {
        let mut it = segments(&[b"ab", b"", b"cde", b"f"]);
        assert_eq!((it.remaining(), it.chunk()), (6, &b"ab"[..]));
        it.advance(3);
        assert_eq!((it.remaining(), it.chunk()), (3, &b"de"[..]));
        let mut slices = [IoSlice::new(&[]); 4];
        assert_eq!(it.chunks_vectored(&mut slices), 2);
        assert_eq!((&*slices[0], &*slices[1]), (&b"de"[..], &b"f"[..]));
        assert_eq!(it.into_contiguous(), "def");
    }

    #[test]
    fn bytes_in_many_short_pieces_are_copied_into_few() {
        for (step, large) in [(1, 0), (1, LARGE_PIECE), (100, 0), (LARGE_PIECE - 1, 0), (7, 1 << 18)] {
            let bytes: Vec<u8> = (0..300_000).map(|at| (at / 3) as u8).collect();
            let (first, rest) = bytes.split_at(large);
            let mut it = Segments::from(Bytes::copy_from_slice(first));
            rest.chunks(step).for_each(|piece| it.push(Bytes::copy_from_slice(piece)));
            let most = MOST_SMALL_PIECES + 1 + bytes.len() / LARGE_PIECE;
            assert!(it.pieces().len() <= most, "in pieces of {step}: {} are held", it.pieces().len());
            assert_eq!(it.remaining(), bytes.len());
            assert!(it.into_contiguous() == bytes, "in pieces of {step}");
        }
    }

    #[test]
    fn large_pieces_are_kept_as_they_are_among_short_ones() {
        let mut it = Segments::default();
        let large = Bytes::from(vec![7; LARGE_PIECE]);
        (0..100).for_each(|_| it.push(Bytes::from_static(b"ab")));
        it.push(large.clone());
        it.push(Bytes::from_static(b"c"));
        it.push(Bytes::from_static(b"d"));
        let [.., between, behind] = it.pieces() else { panic!("{} pieces", it.pieces().len()) };
        assert_eq!((between.as_ptr(), &**behind), (large.as_ptr(), &b"cd"[..]));
        assert_eq!(it.pieces().len(), MOST_SMALL_PIECES + 2);
        assert!(it.into_contiguous() == ["ab".repeat(100).as_bytes(), &large, b"cd"].concat());
    }

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 100]);
        let mut it = Segments::from(piece.clone());
        it.advance(1);
        assert_eq!(it.into_contiguous().as_ptr(), piece[1..].as_ptr());
    }

    #[test]
    fn resized_repeats_cuts_and_fills() {
        for (pieces, len, expected) in [
            (&[&b"ab"[..], b"c"][..], 0, &b""[..]),
            (&[b"ab", b"c"], 1, b"a"),
            (&[b"ab", b"c"], 2, b"ab"),
            (&[b"ab", b"c"], 3, b"abc"),
            (&[b"ab", b"c"], 8, b"abcabcab"),
            (&[], 3, b"\0\0\0"),
            (&[], 0, b""),
        ] {
            assert_eq!(segments(pieces).resized(len).into_contiguous(), expected, "{pieces:?} to {len}");
        }
        let mut read = segments(&[b"ab", b"cd"]);
        read.advance(3);
        assert_eq!(read.resized(3).into_contiguous(), "ddd");
    }

    #[test]
    fn any_size_is_repeated_into_any_other_in_few_pieces() {
        for from in [1, 3, 128, 4095, 4096, 5000, 20_000] {
            let bytes: Vec<u8> = (0..from).map(|at| at as u8).collect();
            for len in [1, 100, 4096, 16_384, 100_000, 1 << 20] {
                let resized = Segments::from(Bytes::from(bytes.clone())).resized(len);
                let pieces = resized.pieces().len();
                assert!(pieces <= MOST_SMALL_PIECES.max(len.div_ceil(LARGE_PIECE)), "{from} to {len}: {pieces} pieces");
                let expected: Vec<u8> = bytes.iter().copied().cycle().take(len).collect();
                assert!(resized.into_contiguous() == expected, "{from} to {len}");
            }
        }
        let zeros = Segments::default().resized(1 << 20);
        assert_eq!(zeros.pieces().len(), (1 << 20) / BLOCK);
        assert!(zeros.into_contiguous() == vec![0; 1 << 20]);
    }

    #[test]
    fn large_pieces_are_shared() {
        let piece = Bytes::from(vec![7; LARGE_PIECE]);
        let resized = Segments::from(piece.clone()).resized(100 * LARGE_PIECE + 1);
        assert_eq!(resized.pieces().len(), 101);
        assert!(resized.pieces().iter().all(|it| it.as_ptr() == piece.as_ptr()));
        let cut = Segments::from(piece.clone()).resized(5);
        assert_eq!((cut.pieces()[0].as_ptr(), cut.remaining()), (piece.as_ptr(), 5));
    }

    #[test]
    fn nothing_is_nothing() {
        let it = segments(&[b""]);
        assert!(it.is_empty() && it.chunk().is_empty());
        assert_eq!(it.into_contiguous(), Bytes::new());
    }
}
