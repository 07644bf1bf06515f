//! The debug endpoints on a thread and runtime of their own.

use std::net::{SocketAddr, TcpListener};

use crate::{error::Error, routes::router, thread::spawn_excluded};

/// Where to serve the debug endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Port 0 takes a free one.
    pub addr: SocketAddr,
    /// Whether `addr` may be other than loopback. The endpoints show the program's insides and can slow it down.
    pub allow_remote: bool,
}

/// The running debug server; it lasts as long as the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugServer {
    addr: SocketAddr,
}

impl DebugServer {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Serves the debug endpoints from a thread of their own, whose allocations aren't counted as the program's.
///
/// # Errors
/// When the address isn't loopback and remote access isn't allowed, can't be listened on, or the thread can't start.
pub fn serve(options: Options) -> Result<DebugServer, Error> {
    let Options { addr, allow_remote } = options;
    if !allow_remote && !addr.ip().is_loopback() {
        return Err(Error::NotLoopback(addr));
    }
    let listen = |source| Error::Listen { addr, source };
    let listener = TcpListener::bind(addr).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    let addr = listener.local_addr().map_err(listen)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let run = move || {
        runtime.block_on(async {
            let served = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => axum::serve(listener, router()).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                tracing::error!(%error, "the debug endpoints ended");
            }
        });
    };
    spawn_excluded(run).map_err(Error::Start)?;
    Ok(DebugServer { addr })
}
