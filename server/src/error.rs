use std::time::Duration;

/// Why a server ended other than by finishing its drain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Connections were still busy when the time to drain was over; they have been cut.
    #[error("{} still busy {limit:?} after the stop signal: cut off", busy(*connections))]
    DrainTimeout {
        /// How many were cut. `None` where the server's library does not tell.
        connections: Option<usize>,
        /// How long they had.
        limit: Duration,
    },
    /// tonic's server gave up.
    #[error("the gRPC server failed")]
    Grpc(#[source] tonic::transport::Error),
}

fn busy(connections: Option<usize>) -> String {
    match connections {
        Some(1) => "1 connection".to_owned(),
        Some(count) => format!("{count} connections"),
        None => "connections".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_counted_is_given_as_a_number() {
        let text = |connections| ServeError::DrainTimeout { connections, limit: Duration::from_secs(10) }.to_string();
        assert_eq!(text(None), "connections still busy 10s after the stop signal: cut off");
        assert_eq!(text(Some(1)), "1 connection still busy 10s after the stop signal: cut off");
        assert_eq!(text(Some(2)), "2 connections still busy 10s after the stop signal: cut off");
    }
}
