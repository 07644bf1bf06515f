//! What can go wrong, in sentences for the caller of an endpoint or of [`serve`](crate::serve).

use std::{io, net::SocketAddr};

/// Errors of this crate. Each names what was asked and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The debug endpoints show the program's insides: another address than loopback must be asked for.
    #[error("debug address {0} is not loopback; serve it there only by allowing remote access explicitly")]
    NotLoopback(SocketAddr),
    /// The address can't be listened on.
    #[error("debug address {addr}: {source}")]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The debug thread or its runtime could not be started.
    #[error("debug server: {0}")]
    Start(io::Error),
    /// A query parameter has a value that is not allowed.
    #[error("parameter {name}={value:?}: {allowed}")]
    Query {
        /// The parameter.
        name: &'static str,
        /// What came.
        value: String,
        /// What may come.
        allowed: &'static str,
    },
    /// A CPU profile is being taken already.
    #[error("a CPU profile is being taken already: {0}")]
    CpuBusy(String),
    /// The event log is being written already.
    #[error("the event log is being written for somebody else already; there is only one")]
    EventLogBusy,
    /// Something else in the process uses SIGPROF.
    #[error("CPU profiling needs SIGPROF, which another handler in this process has")]
    SignalTaken,
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The work for a request panicked.
    #[error("the work for this request panicked; the message is on the program's stderr")]
    Panicked,
    /// No counting allocator is installed, so nothing can be counted.
    #[error("this program's global allocator is not debug_pprof::CountingAlloc, so allocations are not counted")]
    NotCounting,
    /// jemalloc's heap dump could not be read.
    #[error("jemalloc's heap dump, line {line}: {problem}")]
    HeapDump {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
}
