//! Accepting connections until told to stop, then draining them within a bound.

use std::{future::Future, io, time::Duration};

use debug_pprof::connections;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time,
};
use tracing::{debug, warn};

use crate::ServeError;

/// How long connections may take to finish what is in flight once the server was told to stop.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// Pause after an `accept` that failed for want of a resource (file descriptors, memory), lest the loop spin.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// Tells a connection that the server drains.
#[derive(Debug, Clone)]
pub(crate) struct Draining(watch::Receiver<bool>);

impl Draining {
    /// Of a server that serves on: until what is returned beside it is dropped.
    pub(crate) fn idle() -> (watch::Sender<bool>, Self) {
        let (drain, draining) = watch::channel(false);
        (drain, Self(draining))
    }

    /// Completes when the drain begins, at once if it has begun.
    pub(crate) async fn begun(&mut self) {
        // An error means that the server itself is gone, which is a stop too.
        let _ = self.0.wait_for(|draining| *draining).await;
    }
}

/// Runs `serve` as a task for each connection until `shutdown` completes, then waits for the tasks to end.
///
/// Sockets have TCP_NODELAY set. A failing connection is its own affair: `serve` logs and ends.
pub(crate) async fn accept<F, C>(
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
    mut serve: F,
) -> Result<(), ServeError>
where
    F: FnMut(TcpStream, Draining) -> C,
    C: Future<Output = ()> + Send + 'static,
{
    let (drain, draining) = Draining::idle();
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted.and_then(|(stream, _)| no_delay(stream)) {
                Ok(stream) => {
                    connections::count();
                    connections.spawn(serve(stream, draining.clone()));
                }
                Err(error) if is_connection_error(&error) => debug!(%error, "a connection ended before it was served"),
                Err(error) => {
                    warn!(%error, "cannot accept connections");
                    time::sleep(ACCEPT_BACKOFF).await;
                }
            },
            Some(ended) = connections.join_next() => log_panic(ended),
        }
    }
    drop(listener);
    drain.send_replace(true);
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            log_panic(ended);
        }
    };
    if time::timeout(DRAIN_LIMIT, all_ended).await.is_ok() {
        return Ok(());
    }
    Err(ServeError::DrainTimeout { connections: Some(connections.len()), limit: DRAIN_LIMIT })
}

fn no_delay(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Errors of the one connection being accepted, as opposed to the process's want of something.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | InvalidInput)
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection's task failed");
    }
}
