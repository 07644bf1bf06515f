//! The longest a call may take.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

use crate::load::CallError;

/// A timeout for calls in sequence with one timer, armed anew only when it fires: setting a timer for each call would take
/// the runtime's timer lock twice a call.
pub(super) struct Patience {
    timer: Pin<Box<Sleep>>,
    timeout: Duration,
}

impl Patience {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timer: Box::pin(sleep(timeout)), timeout }
    }

    /// Gives `call` up with [`CallError::TimedOut`] at `begun` plus the timeout.
    pub(super) async fn limit(
        &mut self,
        begun: Instant,
        call: impl Future<Output = Result<(), CallError>>,
    ) -> Result<(), CallError> {
        let Self { timer, timeout } = self;
        let mut call = pin!(call);
        poll_fn(|cx| {
            if let Poll::Ready(result) = call.as_mut().poll(cx) {
                return Poll::Ready(result);
            }
            // The timer was armed for an earlier call when it fires too soon for this one.
            while timer.as_mut().poll(cx).is_ready() {
                if begun.elapsed() >= *timeout {
                    return Poll::Ready(Err(CallError::TimedOut(*timeout)));
                }
                timer.as_mut().reset(begun + *timeout);
            }
            Poll::Pending
        })
        .await
    }
}
