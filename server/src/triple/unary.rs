//! The unary echo, in either framing.

use std::task::{Context, Poll, ready};

use debug_pprof::ops::Op;
use http::{Request, Response};
use hyper::body::Incoming;

use super::{
    Connection,
    body::ReplyBody,
    content_type::ContentType,
    deadline::Deadline,
    echo::{Answer, echo},
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
}

#[derive(Debug)]
struct Work {
    receiver: Receiver,
    deadline: Deadline,
    answer: Answer,
}

impl UnaryCall {
    pub(crate) fn new(request: Request<Incoming>, content_type: ContentType, connection: &Connection) -> Self {
        let op = Some(connection.unary.start());
        let (to, body) = ReplyTo::split(request, content_type.framing);
        let work = Terms::of(&to.headers, content_type, &connection.options).map(|terms| Work {
            receiver: Receiver::new(content_type.framing, terms.request_encoding, terms.answer.limit),
            deadline: terms.deadline,
            answer: terms.answer,
        });
        Self { to, body, work, op }
    }

    /// The reply. Counts the call.
    pub(crate) fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Response<ReplyBody>> {
        let (gzip, outcome) = match &mut self.work {
            Ok(work) => (work.answer.gzip, ready!(work.poll(&mut self.body, cx))),
            Err(fault) => (false, Err(fault.clone())),
        };
        match self.op.take() {
            Some(op) if outcome.is_ok() => op.ok(),
            failed => drop(failed),
        }
        Poll::Ready(self.to.unary(gzip, outcome))
    }
}

impl Work {
    fn poll(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> Poll<Result<Message, Fault>> {
        match self.receiver.poll(body, cx) {
            Poll::Ready(request) => Poll::Ready(request.and_then(|request| echo(request, self.answer))),
            Poll::Pending => self.deadline.poll_exceeded(cx).map(Err),
        }
    }
}
