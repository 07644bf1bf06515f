//! Bytes in the pieces the transport read them in, so that a large message is never copied together.

use std::{io::IoSlice, mem};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

/// Pieces held without an allocation: what a message of one or two DATA frames needs.
const INLINE: usize = 2;

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
    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len();
            self.pieces.push(piece);
        }
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
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 100]);
        let mut it = Segments::from(piece.clone());
        it.advance(1);
        assert_eq!(it.into_contiguous().as_ptr(), piece[1..].as_ptr());
    }

    #[test]
    fn nothing_is_nothing() {
        let it = segments(&[b""]);
        assert!(it.is_empty() && it.chunk().is_empty());
        assert_eq!(it.into_contiguous(), Bytes::new());
    }
}
