//! Replies that wait out the handler's sleep.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

use super::message::Message;

/// Room for one reply. Empty it is a pointer, because it counts in every call and most servers never sleep.
#[derive(Debug, Default)]
pub(crate) struct HeldReply(Option<Box<Held>>);

#[derive(Debug)]
struct Held {
    timer: Pin<Box<Sleep>>,
    reply: Message,
}

impl HeldReply {
    /// Keeps `reply` for that time from now on.
    pub(crate) fn hold(&mut self, reply: Message, time: Duration) {
        self.0 = Some(Box::new(Held { timer: Box::pin(sleep(time)), reply }));
    }

    /// The reply, once its time has come; none, at once, if there is none.
    pub(crate) fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        if let Some(held) = &mut self.0 {
            ready!(held.timer.as_mut().poll(cx));
        }
        Poll::Ready(self.0.take().map(|held| held.reply))
    }
}
