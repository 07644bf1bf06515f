//! An HTTP/1 reply that comes before its request has ended.
//!
//! hyper answers and closes the connection, and a client that is still writing sees a broken pipe in place of the
//! answer. So what is left of the body is read and dropped first, as Go's server does, within bounds.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderValue, Response, header::CONNECTION};
use http_body::Body;
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::body::ReplyBody;
use crate::DEFAULT_MESSAGE_LIMIT;

/// What an oversize message may go on for: twice the default limit, so that its sender hears why it was refused.
const MOST_READ: usize = 2 * DEFAULT_MESSAGE_LIMIT;
/// A client that waits for the answer before it goes on gets it after this.
const PATIENCE: Duration = Duration::from_secs(1);

/// A reply that waits for the end of its request's body.
#[derive(Debug)]
pub(crate) struct ReplyAfterBody {
    response: Option<Response<ReplyBody>>,
    body: Incoming,
    bytes_left: usize,
    patience: Pin<Box<Sleep>>,
}

impl ReplyAfterBody {
    /// Gives `response` once `body` has ended.
    pub(crate) fn new(response: Response<ReplyBody>, body: Incoming) -> Self {
        Self { response: Some(response), body, bytes_left: MOST_READ, patience: Box::pin(sleep(PATIENCE)) }
    }

    /// The reply; it closes the connection when the body did not end within the bounds.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response<ReplyBody>> {
        let ended = loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(None) => break true,
                Poll::Ready(Some(Err(_))) => break false,
                Poll::Ready(Some(Ok(frame))) => {
                    let length = frame.data_ref().map_or(0, |data| data.len());
                    match self.bytes_left.checked_sub(length) {
                        Some(left) => self.bytes_left = left,
                        None => break false,
                    }
                }
                Poll::Pending => match self.patience.as_mut().poll(cx) {
                    Poll::Ready(()) => break false,
                    Poll::Pending => return Poll::Pending,
                },
            }
        };
        let mut response = self.response.take().unwrap_or_else(|| Response::new(ReplyBody::Empty));
        if !ended {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(response)
    }
}
