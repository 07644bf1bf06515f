//! Go-compatible `/debug/pprof` endpoints and exact allocation counts for any tokio server.

pub mod ops;
