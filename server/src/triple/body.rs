//! The bodies of replies: an enum, so that the common ones need no box.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};

use super::{
    health::Watch,
    message::Message,
    status::{Fault, grpc_trailers},
    stream::EchoStream,
};

#[derive(Debug)]
pub(crate) enum ReplyBody {
    Empty,
    /// All there is, with a content-length.
    Whole(Option<Message>),
    /// A gRPC unary reply: a message unless the call failed, then how it ended.
    Grpc {
        message: Option<Message>,
        outcome: Option<Result<(), Fault>>,
    },
    Stream(Box<EchoStream>),
    Watch(Box<Watch>),
}

impl Body for ReplyBody {
    type Data = Message;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Message>, Infallible>>> {
        let frame = match self.get_mut() {
            ReplyBody::Empty => None,
            ReplyBody::Whole(message) => message.take().map(Frame::data),
            ReplyBody::Grpc { message, outcome } => message.take().map(Frame::data).or_else(|| {
                let outcome = outcome.take()?;
                Some(Frame::trailers(grpc_trailers(outcome.as_ref().map(|_| ()))))
            }),
            ReplyBody::Stream(stream) => return stream.poll_frame(cx).map(|frame| frame.map(Ok)),
            ReplyBody::Watch(watch) => return watch.poll_frame(cx).map(|frame| frame.map(Ok)),
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ReplyBody::Empty | ReplyBody::Whole(None))
    }

    /// Exact for whole bodies only: hyper would add a content-length, which allocates, to gRPC replies.
    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Empty | ReplyBody::Whole(None) => SizeHint::with_exact(0),
            ReplyBody::Whole(Some(message)) => SizeHint::with_exact(message.remaining() as u64),
            ReplyBody::Grpc { .. } | ReplyBody::Stream(_) | ReplyBody::Watch(_) => SizeHint::default(),
        }
    }
}
