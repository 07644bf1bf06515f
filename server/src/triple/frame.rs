//! The 5-byte message prefix of gRPC, read from DATA frames that split it and the message anywhere.

use std::mem;

use bytes::{Buf, Bytes};

use super::{
    segments::Segments,
    status::{Code, Fault},
};

/// Flag byte and big-endian `u32` length.
pub(crate) const PREFIX_LEN: usize = 5;
/// Flag of a message sent as it is.
pub(crate) const PLAIN: u8 = 0;
/// Flag of a message compressed with the call's encoding.
pub(crate) const COMPRESSED: u8 = 1;

/// One message as it was framed.
#[derive(Debug, Default)]
pub(crate) struct FramedMessage {
    pub(crate) compressed: bool,
    pub(crate) bytes: Segments,
}

/// Takes the body in pieces and gives messages.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    limit: usize,
    prefix: [u8; PREFIX_LEN],
    prefix_len: usize,
    /// How much of the message is still to come; meaningful once the prefix is whole.
    missing: usize,
    message: FramedMessage,
}

impl FrameDecoder {
    /// For messages of at most `limit` bytes as they are on the wire.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, prefix: [0; PREFIX_LEN], prefix_len: 0, missing: 0, message: FramedMessage::default() }
    }

    /// The next message, taking what it needs from `data`; none once `data` is used up.
    ///
    /// # Errors
    /// A flag that is neither 0 nor 1, or a length over the limit. The stream is then beyond repair.
    pub(crate) fn next(&mut self, data: &mut Bytes) -> Result<Option<FramedMessage>, Fault> {
        if self.prefix_len < PREFIX_LEN {
            let count = data.len().min(PREFIX_LEN - self.prefix_len);
            data.copy_to_slice(&mut self.prefix[self.prefix_len..self.prefix_len + count]);
            self.prefix_len += count;
            if self.prefix_len < PREFIX_LEN {
                return Ok(None);
            }
            self.begin_message()?;
        }
        let piece = data.split_to(data.len().min(self.missing));
        self.missing -= piece.len();
        self.message.bytes.push(piece);
        if self.missing > 0 {
            return Ok(None);
        }
        self.prefix_len = 0;
        Ok(Some(mem::take(&mut self.message)))
    }

    /// Whether a message of one byte or more has begun and not ended.
    pub(crate) fn within_message(&self) -> bool {
        self.prefix_len == PREFIX_LEN
    }

    /// Checks that the body may end here.
    ///
    /// # Errors
    /// It ends within a prefix or a message.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        if self.prefix_len == 0 {
            return Ok(());
        }
        let message = if self.within_message() {
            let promised = self.message.bytes.remaining() + self.missing;
            let got = self.message.bytes.remaining();
            format!("protocol error: promised {promised} bytes in enveloped message, got {got} bytes")
        } else {
            "protocol error: incomplete envelope: unexpected EOF".to_owned()
        };
        Err(Fault::new(Code::InvalidArgument, message))
    }

    fn begin_message(&mut self) -> Result<(), Fault> {
        let [flag, length @ ..] = self.prefix;
        self.message.compressed = match flag {
            PLAIN => false,
            COMPRESSED => true,
            other => {
                return Err(Fault::new(
                    Code::Internal,
                    format!("protocol error: invalid envelope flags {other}: 0 and 1 are allowed"),
                ));
            }
        };
        let length = u32::from_be_bytes(length) as usize;
        if length > self.limit {
            return Err(Fault::too_large(length, self.limit));
        }
        self.missing = length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"\x00\x00\x00\x00\x03abc\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02de";

    fn decode(pieces: impl IntoIterator<Item = &'static [u8]>) -> (Vec<(bool, Bytes)>, FrameDecoder) {
        let mut decoder = FrameDecoder::new(3);
        let mut messages = Vec::new();
        for piece in pieces {
            let mut data = Bytes::from_static(piece);
            while let Some(message) = decoder.next(&mut data).unwrap() {
                messages.push((message.compressed, message.bytes.into_contiguous()));
            }
            assert!(data.is_empty());
        }
        (messages, decoder)
    }

    #[test]
    fn any_split_gives_the_same_messages() {
        let expected = [(false, "abc".into()), (true, Bytes::new()), (false, "de".into())];
        for step in 1..=TWO.len() {
            let (messages, decoder) = decode(TWO.chunks(step));
            assert_eq!(messages, expected, "in pieces of {step}");
            assert!(decoder.finish().is_ok());
        }
    }

    #[test]
    fn a_body_that_ends_early_is_an_error() {
        let message = |end: usize| decode([&TWO[..end]]).1.finish().unwrap_err().message.into_owned();
        assert_eq!(message(4), "protocol error: incomplete envelope: unexpected EOF");
        assert_eq!(message(5), "protocol error: promised 3 bytes in enveloped message, got 0 bytes");
        assert_eq!(message(7), "protocol error: promised 3 bytes in enveloped message, got 2 bytes");
    }

    #[test]
    fn flags_and_lengths_are_checked_as_soon_as_they_are_known() {
        let fault = |prefix: &'static [u8]| FrameDecoder::new(3).next(&mut Bytes::from_static(prefix)).unwrap_err();
        assert_eq!(fault(b"\x02\0\0\0\0").code, Code::Internal);
        assert_eq!(fault(b"\0\0\0\0\x04").code, Code::ResourceExhausted);
    }
}
