use std::time::Duration;

/// Why a server ended other than by finishing its drain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Connections were still busy when the time to drain was over; they have been cut.
    #[error("{connections} connection(s) still busy {limit:?} after the stop signal: cut off")]
    DrainTimeout {
        /// How many were cut.
        connections: usize,
        /// How long they had.
        limit: Duration,
    },
    /// tonic's server gave up.
    #[error("the gRPC server failed")]
    Grpc(#[source] tonic::transport::Error),
}
