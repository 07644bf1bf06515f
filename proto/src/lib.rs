//! Schemas and wire codecs: the echo benchmark's messages, Triple's envelopes, health, and pprof's profiles.
//!
//! No sockets and no runtime. Bytes fields are [`bytes::Bytes`], so decoding from a `Bytes` copies no payload.
#![forbid(unsafe_code)]

pub mod envelope;
pub mod framed;
pub mod hessian2;
pub mod pieces;

/// The echo service of dubbo-go's benchmark: `benchmark.BenchmarkService`.
pub mod benchmark {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/benchmark.rs"));
}

/// Triple's envelopes for arguments that are no protobuf messages.
pub mod triple {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/org.apache.dubbo.triple.rs"));
}

/// `grpc.health.v1` messages.
pub mod health {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/grpc.health.v1.rs"));
}

/// `google.rpc.Status`, the error details of gRPC.
pub mod status {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/google.rpc.rs"));
}

/// `grpc.reflection.v1` messages, as far as a client needs them.
pub mod reflection {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/grpc.reflection.v1.rs"));
}

/// pprof's `profile.proto`.
pub mod profile {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/perftools.profiles.rs"));
}

/// Path of the unary echo.
pub const UNARY_PATH: &str = "/benchmark.BenchmarkService/UnaryCall";
/// Path of the bidirectional echo.
pub const STREAM_PATH: &str = "/benchmark.BenchmarkService/StreamCall";
