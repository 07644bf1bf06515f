//! Bytes in the pieces the transport read them in, so that a large message is never copied together.

use std::io::IoSlice;

use bytes::{Buf, BufMut, Bytes};
use smallvec::SmallVec;

/// A sequence of bytes in pieces; one or two are held without an allocation.
pub type Pieces = SmallVec<[Bytes; 2]>;

/// Reads pieces as one sequence. Cloned, it looks ahead; what it gives out are slices of the pieces, where the borders allow.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    /// The first holds the next byte, if there is one.
    pieces: &'a [Bytes],
    /// Bytes of the first piece already read.
    at: usize,
    offset: usize,
    remaining: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the first byte of the first piece.
    pub fn new(pieces: &'a [Bytes]) -> Self {
        let remaining = pieces.iter().map(Bytes::len).sum();
        let mut reader = Self { pieces, at: 0, offset: 0, remaining };
        reader.advance(0);
        reader
    }

    /// Position of the next byte, counted from where this reader began.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Takes the next bytes; none if there are fewer.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.try_copy_to_slice(&mut bytes).ok().map(|()| bytes)
    }

    /// Takes the next `count` bytes as a reader of their own; none if there are fewer.
    pub fn split(&mut self, count: usize) -> Option<Self> {
        if count > self.remaining {
            return None;
        }
        let front = Self { remaining: count, offset: 0, ..self.clone() };
        self.advance(count);
        Some(front)
    }

    /// How many slices of pieces hold what is left.
    pub fn slices(mut self) -> usize {
        let mut count = 0;
        while self.has_remaining() {
            self.advance(self.chunk().len());
            count += 1;
        }
        count
    }

    /// Appends what is left to `pieces`, as slices without a copy; none of them is empty.
    pub fn take_slices(mut self, pieces: &mut Pieces) {
        while self.has_remaining() {
            let count = self.chunk().len();
            pieces.push(self.copy_to_bytes(count));
        }
    }

    /// What is left, as slices without a copy.
    pub fn into_pieces(self) -> Pieces {
        let mut pieces = Pieces::with_capacity(self.clone().slices());
        self.take_slices(&mut pieces);
        pieces
    }
}

impl Buf for Reader<'_> {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        let ahead = self.pieces.first().map_or(&[][..], |piece| &piece[self.at..]);
        &ahead[..ahead.len().min(self.remaining)]
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let (mut filled, mut at, mut remaining) = (0, self.at, self.remaining);
        for piece in self.pieces {
            let ahead = &piece[at..];
            let ahead = &ahead[..ahead.len().min(remaining)];
            if filled == slices.len() || remaining == 0 {
                break;
            }
            if !ahead.is_empty() {
                slices[filled] = IoSlice::new(ahead);
                filled += 1;
            }
            at = 0;
            remaining -= ahead.len();
        }
        filled
    }

    /// # Panics
    /// If fewer than `count` bytes are left, as every [`Buf`] does.
    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advanced by {count} of {} bytes", self.remaining);
        self.remaining -= count;
        self.offset += count;
        while let [first, rest @ ..] = self.pieces {
            let ahead = first.len() - self.at;
            if count < ahead {
                self.at += count;
                return;
            }
            count -= ahead;
            self.pieces = rest;
            self.at = 0;
        }
    }

    /// A slice of the piece that holds them all; a copy if no piece does.
    ///
    /// # Panics
    /// If fewer than `count` bytes are left, as every [`Buf`] does.
    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        assert!(count <= self.remaining, "took {count} of {} bytes", self.remaining);
        match self.pieces.first() {
            Some(piece) if count <= piece.len() - self.at => {
                let bytes = piece.slice(self.at..self.at + count);
                self.advance(count);
                bytes
            }
            _ => {
                let mut whole = Vec::with_capacity(count);
                whole.put(self.take(count));
                whole.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(texts: &[&'static str]) -> Vec<Bytes> {
        texts.iter().map(|text| Bytes::from_static(text.as_bytes())).collect()
    }

    #[test]
    fn pieces_read_as_one_sequence() {
        let pieces = pieces(&["", "ab", "", "cde", "f", ""]);
        let mut reader = Reader::new(&pieces);
        assert_eq!((reader.remaining(), reader.chunk(), reader.offset()), (6, &b"ab"[..], 0));
        assert_eq!(reader.array(), Some(*b"abc"));
        assert_eq!((reader.remaining(), reader.chunk(), reader.offset()), (3, &b"de"[..], 3));
        assert_eq!(reader.array::<4>(), None);
        assert_eq!(reader.clone().slices(), 2);
        let mut slices = [IoSlice::new(&[]); 4];
        assert_eq!(reader.chunks_vectored(&mut slices), 2);
        assert_eq!((&*slices[0], &*slices[1]), (&b"de"[..], &b"f"[..]));
        assert_eq!(reader.copy_to_bytes(3), "def");
        assert_eq!(reader.copy_to_bytes(0), "");
    }

    #[test]
    fn a_part_ends_where_it_was_cut() {
        let pieces = pieces(&["ab", "cde", "f"]);
        let mut whole = Reader::new(&pieces);
        let mut part = whole.split(4).unwrap();
        assert_eq!((part.remaining(), whole.chunk()), (4, &b"e"[..]));
        let mut slices = [IoSlice::new(&[]); 4];
        assert_eq!(part.chunks_vectored(&mut slices), 2);
        assert_eq!(&*slices[1], b"cd");
        assert_eq!(part.array::<5>(), None);
        assert_eq!(part.copy_to_bytes(4), "abcd");
        assert!(part.chunk().is_empty() && part.split(1).is_none());
        assert_eq!((whole.offset(), whole.copy_to_bytes(2)), (4, "ef".into()));
    }

    #[test]
    fn slices_share_memory_with_the_pieces() {
        let pieces = pieces(&["abc", "def"]);
        let mut reader = Reader::new(&pieces);
        reader.advance(1);
        let taken: Vec<_> = reader.into_pieces().iter().map(|slice| slice.as_ptr()).collect();
        assert_eq!(taken, [pieces[0][1..].as_ptr(), pieces[1].as_ptr()]);
    }
}
