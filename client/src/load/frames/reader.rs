//! Where frames begin in one direction of a connection.

use super::{FrameMeter, FrameType};

/// RFC 9113, 4.1: a length of three bytes, type, flags, and the stream.
const HEADER: usize = 9;
/// RFC 9113, 3.4: what a client sends before its first frame.
const PREFACE: usize = 24;

/// Finds the headers of frames, in whatever pieces the bytes come.
#[derive(Debug, Default)]
pub(in crate::load) struct FrameReader {
    /// The beginning of a header whose end hasn't come.
    header: [u8; HEADER],
    have: usize,
    /// Bytes before the next header.
    skip: usize,
    /// The highest stream that was begun: each has a higher number than those before (RFC 9113, 5.1.1).
    stream: u32,
}

impl FrameReader {
    /// Of what a client sends.
    pub(in crate::load) fn client() -> Self {
        Self { skip: PREFACE, ..Self::default() }
    }

    /// Of what a server sends.
    pub(in crate::load) fn server() -> Self {
        Self::default()
    }

    /// Takes the next bytes, and counts each frame once its header is whole.
    pub(in crate::load) fn feed(&mut self, mut bytes: &[u8], meter: &FrameMeter) {
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return;
            }
            let missing = HEADER - self.have;
            if bytes.len() < missing {
                self.header[self.have..self.have + bytes.len()].copy_from_slice(bytes);
                self.have += bytes.len();
                return;
            }
            self.header[self.have..].copy_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            self.have = 0;
            self.count(meter);
        }
    }

    fn count(&mut self, meter: &FrameMeter) {
        let [l0, l1, l2, number, _flags, s0, s1, s2, s3] = self.header;
        self.skip = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        let frame = FrameType::of(number);
        meter.add(frame, (HEADER + self.skip) as u64);
        let stream = u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff;
        if frame == FrameType::Headers && stream > self.stream {
            self.stream = stream;
            meter.add_stream();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::frames::FrameCount;

    fn frame(number: u8, stream: u32, len: usize) -> Vec<u8> {
        let [_, l0, l1, l2] = (len as u32).to_be_bytes();
        let [s0, s1, s2, s3] = stream.to_be_bytes();
        // A body that looks like the header of another frame.
        [vec![l0, l1, l2, number, 5, s0, s1, s2, s3], [0, 0, 1, 6, 0, 0, 0, 0, 0].repeat(len / 9 + 1)[..len].to_vec()]
            .concat()
    }

    /// Two calls on streams 1 and 3, the second with trailers, and a frame of an extension.
    fn client() -> Vec<u8> {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        let frames = [(4, 0, 18), (8, 0, 4), (1, 1, 60), (0, 1, 133), (1, 3, 7), (0, 3, 0), (1, 3, 12), (0x10, 0, 5)];
        frames.into_iter().fold(preface, |bytes, (number, stream, len)| [bytes, frame(number, stream, len)].concat())
    }

    #[test]
    fn frames_are_counted_in_whatever_pieces_they_come() {
        let bytes = client();
        for piece in [1, 2, 5, 8, 9, 10, 24, 33, 100, bytes.len()] {
            let (mut reader, meter) = (FrameReader::client(), FrameMeter::default());
            bytes.chunks(piece).for_each(|piece| reader.feed(piece, &meter));
            let counts = meter.counts();
            let count = |frames, bytes| FrameCount { frames, bytes };
            assert_eq!(counts.of(FrameType::Headers), count(3, 27 + 60 + 7 + 12), "pieces of {piece}");
            assert_eq!(counts.of(FrameType::Data), count(2, 18 + 133));
            assert_eq!(counts.of(FrameType::Settings), count(1, 27));
            assert_eq!(counts.of(FrameType::WindowUpdate), count(1, 13));
            assert_eq!(counts.of(FrameType::Other), count(1, 14));
            assert_eq!(counts.of(FrameType::Ping), count(0, 0), "what is in a body is no frame");
            assert_eq!(counts.total().bytes as usize, bytes.len() - PREFACE);
            assert_eq!(meter.streams(), 2, "trailers begin no stream");
        }
    }

    #[test]
    fn what_is_no_http2_ends_in_no_panic() {
        let (mut reader, meter) = (FrameReader::server(), FrameMeter::default());
        reader.feed(&[0xff; 100_000], &meter);
        assert_eq!(meter.counts().total().frames, 1);
    }
}
