//! The bidirectional echo: a body that answers each message of the request's as it is polled.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use debug_pprof::ops::{Method, Op};
use http::{Request, Response};
use http_body::{Body, Frame};
use hyper::body::Incoming;

use super::{
    Connection,
    body::ReplyBody,
    content_type::ContentType,
    deadline::Deadline,
    echo::{Answer, echo},
    encoding::Encoding,
    frame::{FrameDecoder, FramedMessage},
    held::HeldReply,
    message::Message,
    receive::{broken_off, plain},
    reply::ReplyTo,
    status::{Fault, grpc_trailers},
    terms::Terms,
};

pub(crate) fn answer(
    request: Request<Incoming>,
    content_type: ContentType,
    connection: &Connection,
) -> Response<ReplyBody> {
    let (mut to, body) = ReplyTo::split(request, content_type.framing);
    match Terms::of(&to.headers, content_type, &connection.options) {
        Ok(terms) => {
            let stream = EchoStream {
                body,
                chunk: Bytes::new(),
                decoder: FrameDecoder::new(terms.answer.limit),
                request_encoding: terms.request_encoding,
                padded: content_type.pads_with_empty_message,
                answer: terms.answer,
                deadline: terms.deadline,
                held: HeldReply::default(),
                method: connection.stream,
                op: None,
                ended: false,
            };
            to.stream(terms.answer.gzip(), ReplyBody::Stream(Box::new(stream)))
        }
        Err(fault) => {
            drop(connection.stream.start());
            to.unary(false, Err(fault))
        }
    }
}

/// Replies to the messages of a request's body.
#[derive(Debug)]
pub(crate) struct EchoStream {
    body: Incoming,
    /// Read, but not yet decoded.
    chunk: Bytes,
    decoder: FrameDecoder,
    request_encoding: Encoding,
    padded: bool,
    answer: Answer,
    deadline: Deadline,
    held: HeldReply,
    method: &'static Method,
    /// Of the message being received.
    op: Option<Op>,
    ended: bool,
}

impl EchoStream {
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<Message>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let outcome = match ready!(self.poll_reply(cx)) {
            Ok(Some(reply)) => return Poll::Ready(Some(Frame::data(reply))),
            Ok(None) => Ok(()),
            Err(fault) => Err(fault),
        };
        self.ended = true;
        self.op = None;
        Poll::Ready(Some(Frame::trailers(grpc_trailers(outcome.as_ref().map(|_| ())))))
    }

    /// The reply to the next message; none when the client has said all.
    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Message>, Fault>> {
        loop {
            match self.held.poll_release(cx) {
                Poll::Ready(Some(reply)) => return self.answered(reply),
                Poll::Ready(None) => {}
                Poll::Pending => return self.deadline.poll_exceeded(cx).map(Err),
            }
            match self.decoder.next(&mut self.chunk) {
                Ok(Some(message)) if self.is_padding(&message) => continue,
                Ok(Some(message)) => {
                    self.begin_op();
                    let request = plain(message, self.request_encoding, self.answer.limit)?;
                    let reply = echo(request, self.answer)?;
                    match self.answer.handler.sleep {
                        Some(time) => self.held.hold(reply, time),
                        None => return self.answered(reply),
                    }
                    continue;
                }
                Ok(None) => {}
                Err(fault) => {
                    self.begin_op();
                    return Poll::Ready(Err(fault));
                }
            }
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.chunk = frame.into_data().unwrap_or_default(),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(broken_off(&error))),
                Poll::Ready(None) => {
                    let end = self.decoder.finish();
                    if end.is_err() {
                        self.begin_op();
                    }
                    return Poll::Ready(end.map(|()| None));
                }
                Poll::Pending => {
                    if self.decoder.within_message() {
                        self.begin_op();
                    }
                    return self.deadline.poll_exceeded(cx).map(Err);
                }
            }
        }
    }

    /// Whether this is the message of no bytes with which apache-dubbo ends a call. Anyone else's empty message is one.
    fn is_padding(&self, message: &FramedMessage) -> bool {
        self.padded && message.bytes.is_empty() && self.chunk.is_empty() && self.body.is_end_stream()
    }

    /// Counts a message as begun, once. What ends it is [`Self::answered`], or the drop of the op.
    fn begin_op(&mut self) {
        self.op.get_or_insert_with(|| self.method.start());
    }

    /// Counts the message as answered, if the deadline hasn't passed. Where messages come without a pause, nothing has
    /// waited for it.
    fn answered(&mut self, reply: Message) -> Poll<Result<Option<Message>, Fault>> {
        self.deadline.check()?;
        if let Some(op) = self.op.take() {
            op.ok();
        }
        Poll::Ready(Ok(Some(reply)))
    }
}
