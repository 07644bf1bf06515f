//! Calls handed over to the task of a connection, which answers each: what protocols of frames over TCP have in common.

use std::{io, sync::Arc};

use tokio::sync::{SetOnce, mpsc, oneshot};

use super::CallError;

/// A call on its way.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) share: usize,
    pub(super) verify: bool,
    /// Whoever waits is told once; nobody waits where the call was given up.
    pub(super) done: oneshot::Sender<Result<(), CallError>>,
}

/// A way to a connection's task. Tickets that are in it, or with the task, go only when the connection goes.
#[derive(Debug)]
pub(super) struct Tickets<M> {
    queue: mpsc::UnboundedSender<M>,
    ended: Ended,
}

/// Why a connection ended: told by its task, known soon after its tickets are gone.
#[derive(Debug, Clone, Default)]
pub(super) struct Ended(Arc<SetOnce<String>>);

impl Ended {
    /// Tells it, once. Without an error every way to the task was gone, and nobody asks.
    pub(super) fn tell(&self, result: io::Result<()>) {
        let _ = self.0.set(result.map_or_else(|error| error.to_string(), |()| String::new()));
    }
}

impl<M: From<Ticket>> Tickets<M> {
    pub(super) fn new(queue: mpsc::UnboundedSender<M>, ended: Ended) -> Self {
        Self { queue, ended }
    }

    /// Hands a call over and waits for what comes of it.
    pub(super) async fn exchange(&self, share: usize, verify: bool) -> Result<(), CallError> {
        let (done, reply) = oneshot::channel();
        if self.queue.send(Ticket { share, verify, done }.into()).is_ok()
            && let Ok(result) = reply.await
        {
            return result;
        }
        Err(CallError::ConnectionLost(self.ended.0.wait().await.clone()))
    }
}

// Derived, it would ask for messages that can be cloned.
impl<M> Clone for Tickets<M> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), ended: self.ended.clone() }
    }
}
