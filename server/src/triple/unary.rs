//! The unary echo, in either framing.

use std::task::{Context, Poll, ready};

use debug_pprof::ops::Op;
use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;

use super::{
    Connection,
    body::ReplyBody,
    content_type::ContentType,
    deadline::Deadline,
    echo::{Answer, echo},
    held::HeldReply,
    message::Message,
    receive::Receiver,
    reply::ReplyTo,
    status::Fault,
    terms::Terms,
};

/// A call being received. It is all that hyper's task for the request holds, so its size counts in every request.
#[derive(Debug)]
pub(crate) struct UnaryCall {
    to: ReplyTo,
    body: Incoming,
    work: Result<Work, Fault>,
    op: Option<Op>,
    /// Answered with an error over HTTP/1, where a body that was not read to its end is in the way.
    failed_on_http1: bool,
}

#[derive(Debug)]
struct Work {
    receiver: Receiver,
    deadline: Deadline,
    answer: Answer,
    held: HeldReply,
}

impl UnaryCall {
    pub(crate) fn new(request: Request<Incoming>, content_type: ContentType, connection: &Connection) -> Self {
        let op = Some(connection.unary.start());
        let (to, body) = ReplyTo::split(request, content_type.framing);
        let work = Terms::of(&to.headers, content_type, &connection.options).map(|terms| Work {
            receiver: Receiver::new(content_type.framing, terms.request_encoding, terms.answer.limit),
            deadline: terms.deadline,
            answer: terms.answer,
            held: HeldReply::default(),
        });
        Self { to, body, work, op, failed_on_http1: false }
    }

    /// The reply. Counts the call.
    pub(crate) fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Response<ReplyBody>> {
        let (gzip, outcome) = match &mut self.work {
            Ok(work) => (work.answer.gzip(), ready!(work.poll(&mut self.body, cx))),
            Err(fault) => (false, Err(fault.clone())),
        };
        match self.op.take() {
            Some(op) if outcome.is_ok() => op.ok(),
            failed => drop(failed),
        }
        self.failed_on_http1 = outcome.is_err() && self.to.version < Version::HTTP_2;
        Poll::Ready(self.to.unary(gzip, outcome))
    }

    /// Whether the reply must wait for the rest of the body.
    pub(crate) fn owes_body(&self) -> bool {
        self.failed_on_http1 && !self.body.is_end_stream()
    }

    /// The body, as far as it was not read.
    pub(crate) fn into_body(self) -> Incoming {
        self.body
    }
}

impl Work {
    fn poll(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Result<Message, Fault>> {
        match self.poll_reply(body, cx) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => self.deadline.poll_exceeded(cx).map(Err),
        }
    }

    fn poll_reply(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Result<Message, Fault>> {
        loop {
            if let Some(reply) = ready!(self.held.poll_release(cx)) {
                return Poll::Ready(Ok(reply));
            }
            let reply = echo(ready!(self.receiver.poll(body, cx))?, self.answer)?;
            match self.answer.handler.sleep {
                Some(time) => self.held.hold(reply, time),
                None => return Poll::Ready(Ok(reply)),
            }
        }
    }
}
