//! Connections that carry one call at a time.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::{CallError, engine::Transport};

/// A transport that waits for its turn on its connection, in the order in which calls came; it never moves to another. The wait is
/// part of the call: of its latency and of its timeout. Where streams are long the turn is for a message, not for the stream.
#[derive(Debug)]
pub(super) struct Pooled<T> {
    transport: T,
    /// `None` where any number of calls may be in flight, or the connection has one task only.
    turn: Option<Arc<Mutex<()>>>,
}

impl<T> Pooled<T> {
    pub(super) fn new(transport: T, turn: Option<Arc<Mutex<()>>>) -> Self {
        Self { transport, turn }
    }
}

impl<T: Transport> Transport for Pooled<T> {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        let _turn = match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        };
        self.transport.call(verify).await
    }

    fn check(&mut self) -> Result<(), CallError> {
        self.transport.check()
    }

    async fn close(&mut self) {
        self.transport.close().await;
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use tokio::time::{Instant, sleep, sleep_until};

    use super::*;
    use crate::load::{
        Live, Window,
        engine::{self, Alarm},
        tally::Ledger,
    };

    /// Fails where two of its calls are in flight at a time.
    #[derive(Clone, Default)]
    struct OneAtATime(Arc<Mutex<()>>);

    impl Transport for OneAtATime {
        async fn call(&mut self, _verify: bool) -> Result<(), CallError> {
            let _alone = self.0.try_lock().map_err(|_| CallError::Unasked)?;
            sleep(Duration::from_millis(10)).await;
            Ok(())
        }
    }

    struct Virtual;

    impl Alarm for Virtual {
        async fn wait_until(&self, deadline: Instant) {
            sleep_until(deadline).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_take_turns_and_their_wait_is_in_their_latency() {
        let connections = [OneAtATime::default(), OneAtATime::default()];
        let turns: [Arc<Mutex<()>>; 2] = Default::default();
        let tasks = (0..10).map(|i| Pooled::new(connections[i % 2].clone(), Some(turns[i % 2].clone())));
        let window = Window::lasting(Duration::from_millis(1000));
        let timeout = Duration::from_secs(60);
        let ledger = Ledger::new(Live::default(), false);
        let sample = engine::run(tasks, &window, timeout, &Arc::new(Virtual), ledger, pending()).await;
        // Two replies every 10 ms; the eight that wait at the end are answered after it.
        assert_eq!((sample.error, sample.ok_in_window), (0, 198));
        assert_eq!(sample.latency.max(), Some(50_000_000), "five on each connection, in turn: {sample:?}");
        assert_eq!(sample.latency.min(), Some(10_000_000));
    }
}
