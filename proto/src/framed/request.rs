//! A call, ready to be sent.

use bytes::Bytes;

/// A call ready to be sent any number of times, each time with a number of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// With the number in it.
    head: Vec<u8>,
    /// Where it lies.
    ids: Vec<usize>,
    rest: Bytes,
}

impl Request {
    /// `id_at` is where the four bytes of the number lie, big-endian; of one that has eight they are the last.
    pub(super) fn new(head: Vec<u8>, id_at: usize, rest: Bytes) -> Self {
        Self { head, ids: vec![id_at], rest }
    }

    /// The same behind `outer`, which has the number too.
    pub(super) fn behind(self, outer: &[u8], id_at: usize) -> Self {
        let ids = std::iter::once(id_at).chain(self.ids.iter().map(|at| outer.len() + at)).collect();
        Self { head: [outer, &self.head].concat(), ids, rest: self.rest }
    }

    /// Bytes of the frame.
    pub fn frame_len(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// Writes the begin of the frame. [`rest`](Self::rest) must follow.
    pub fn write_head(&self, id: u32, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.head);
        for at in &self.ids {
            out[begin + at..][..size_of::<u32>()].copy_from_slice(&id.to_be_bytes());
        }
    }

    /// The rest of the frame, which is the same whatever the number.
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }
}
