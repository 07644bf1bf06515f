//! Echo servers that count what they do: Triple, gRPC and bare TCP, one module a protocol.
//!
//! Each module has `run(listener, options, shutdown)`: it serves until `shutdown` completes, then stops accepting,
//! lets what is in flight finish for at most [`DRAIN_LIMIT`], and returns. Requests are counted by method in
//! [`debug_pprof::ops`]; health checks are not.
//!
//! [`cli`] is the same as a command: `echo-server F` and `analyze serve F` both are [`cli::serve`].

mod accept;
pub mod cli;
mod error;
pub mod grpc;
mod handler;
pub mod raw;
mod settings;
pub mod triple;

pub use accept::DRAIN_LIMIT;
pub use error::ServeError;
pub use handler::Handler;
pub use settings::{DEFAULT_MESSAGE_LIMIT, Http2Settings};

/// Names of the methods counted in [`debug_pprof::ops`].
pub mod methods {
    /// The unary echo of Triple and gRPC: one op a call.
    pub const UNARY: &str = "benchmark.BenchmarkService/UnaryCall";
    /// The bidirectional echo of Triple and gRPC: one op a message.
    pub const STREAM: &str = "benchmark.BenchmarkService/StreamCall";
    /// The bare TCP echo: one op a message.
    pub const RAW: &str = "raw/Echo";
}
