//! Reading the one message of a unary call off its body.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::Body;
use hyper::body::Incoming;

use super::{
    content_type::Framing,
    encoding::{self, Encoding},
    frame::{FrameDecoder, FramedMessage},
    segments::Segments,
    status::{Code, Fault},
};

/// Collects a body and takes the message out of it.
#[derive(Debug)]
pub(crate) struct Receiver {
    collected: Collected,
    encoding: Encoding,
    limit: usize,
}

#[derive(Debug)]
enum Collected {
    Framed { decoder: FrameDecoder, only: Option<FramedMessage> },
    Bare(Segments),
}

impl Receiver {
    /// For a message of at most `limit` bytes, compressed or not.
    pub(crate) fn new(framing: Framing, encoding: Encoding, limit: usize) -> Self {
        let collected = match framing {
            Framing::Grpc => Collected::Framed { decoder: FrameDecoder::new(limit), only: None },
            Framing::Unary => Collected::Bare(Segments::default()),
        };
        Self { collected, encoding, limit }
    }

    /// The message, uncompressed, once the body has ended.
    ///
    /// # Errors
    /// A body that is broken, too large, or holds another number of messages than one.
    pub(crate) fn poll(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Result<Segments, Fault>> {
        self.check_announced(body)?;
        while let Some(frame) = ready!(Pin::new(&mut *body).poll_frame(cx)) {
            if let Ok(data) = frame.map_err(|error| broken_off(&error))?.into_data() {
                self.take(data)?;
            }
        }
        Poll::Ready(self.finish())
    }

    /// A bare message is as long as its body, and that may be known beforehand.
    fn check_announced(&self, body: &Incoming) -> Result<(), Fault> {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        match self.collected {
            Collected::Bare(_) if announced > self.limit => Err(Fault::too_large(announced, self.limit)),
            _ => Ok(()),
        }
    }

    fn take(&mut self, mut data: Bytes) -> Result<(), Fault> {
        match &mut self.collected {
            Collected::Framed { decoder, only } => {
                while let Some(message) = decoder.next(&mut data)? {
                    if only.is_none() {
                        *only = Some(message);
                    } else if !plain(message, self.encoding, self.limit)?.is_empty() {
                        return Err(wrong_count("more than one"));
                    }
                    // Else PyPI apache-dubbo, which ends each call with an empty message, compressed as the others.
                }
                Ok(())
            }
            Collected::Bare(bytes) => {
                bytes.push(data);
                let length = bytes.remaining();
                if length > self.limit { Err(Fault::too_large(length, self.limit)) } else { Ok(()) }
            }
        }
    }

    fn finish(&mut self) -> Result<Segments, Fault> {
        let message = match &mut self.collected {
            Collected::Framed { decoder, only } => {
                decoder.finish()?;
                only.take().ok_or_else(|| wrong_count("none"))?
            }
            Collected::Bare(bytes) => {
                FramedMessage { compressed: self.encoding == Encoding::Gzip, bytes: std::mem::take(bytes) }
            }
        };
        plain(message, self.encoding, self.limit)
    }
}

/// Undoes the compression of a message.
///
/// # Errors
/// It is compressed though the call names no encoding, is no gzip, or is longer than `limit` once decompressed.
pub(crate) fn plain(message: FramedMessage, encoding: Encoding, limit: usize) -> Result<Segments, Fault> {
    match encoding {
        _ if !message.compressed || message.bytes.is_empty() => Ok(message.bytes),
        Encoding::Gzip => encoding::gunzip(message.bytes, limit).map(Segments::from),
        Encoding::Identity => {
            Err(Fault::new(Code::Internal, "protocol error: sent compressed message without compression support"))
        }
    }
}

/// The fault of a caller who left, or whose body broke off.
pub(crate) fn broken_off(error: &hyper::Error) -> Fault {
    Fault::new(Code::Canceled, format!("request body: {error}"))
}

/// The code is the one of gRPC's status code table for a request cardinality violation.
fn wrong_count(got: &str) -> Fault {
    Fault::new(Code::Unimplemented, format!("a unary call takes one request message: got {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(framing: Framing, encoding: Encoding, pieces: &[&'static [u8]]) -> Result<Bytes, Code> {
        let mut receiver = Receiver::new(framing, encoding, 8);
        let taken = pieces.iter().try_for_each(|piece| receiver.take(Bytes::from_static(piece)));
        taken.and_then(|()| receiver.finish()).map(Segments::into_contiguous).map_err(|fault| fault.code)
    }

    #[test]
    fn a_unary_call_has_one_message() {
        let framed = |pieces: &[&'static [u8]]| receive(Framing::Grpc, Encoding::Identity, pieces);
        assert_eq!(framed(&[b"\0\0\0", b"\0\x02h", b"i"]), Ok("hi".into()));
        assert_eq!(framed(&[b"\0\0\0\0\0"]), Ok("".into()));
        assert_eq!(framed(&[b"\0\0\0\0\x01a\0\0\0\0\0"]), Ok("a".into()));
        let empty = encoding::gzip(Bytes::new(), 6).expect("gzip");
        let compressed = [b"\0\0\0\0\x01a\x01\0\0\0", &[empty.len() as u8][..], &empty].concat();
        let mut receiver = Receiver::new(Framing::Grpc, Encoding::Gzip, 100);
        receiver.take(compressed.into()).expect("apache-dubbo ends a compressed call like that");
        assert_eq!(receiver.finish().map(Segments::into_contiguous).map_err(|fault| fault.code), Ok("a".into()));
        assert_eq!(framed(&[b"\0\0\0\0\x01a\0\0\0\0\x01b"]), Err(Code::Unimplemented));
        assert_eq!(framed(&[]), Err(Code::Unimplemented));
        assert_eq!(framed(&[b"\0\0\0\0\x01a\0"]), Err(Code::InvalidArgument));
        assert_eq!(framed(&[b"\x01\0\0\0\x01a"]), Err(Code::Internal));
        assert_eq!(framed(&[b"\0\0\0\0\x09"]), Err(Code::ResourceExhausted));
    }

    #[test]
    fn a_bare_body_is_the_message() {
        let bare = |pieces: &[&'static [u8]]| receive(Framing::Unary, Encoding::Identity, pieces);
        assert_eq!(bare(&[]), Ok("".into()));
        assert_eq!(bare(&[b"ab", b"cdefgh"]), Ok("abcdefgh".into()));
        assert_eq!(bare(&[b"abcdefgh", b"i"]), Err(Code::ResourceExhausted));
        assert_eq!(receive(Framing::Unary, Encoding::Gzip, &[b"no gzip"]), Err(Code::InvalidArgument));
    }
}
