//! Generates the messages with protox, so that no machine needs protoc.

use std::{env, error::Error, path::PathBuf};

const PROTOS: [&str; 6] = [
    "protos/benchmark.proto",
    "protos/health.proto",
    "protos/profile.proto",
    "protos/reflection.proto",
    "protos/status.proto",
    "protos/triple_wrapper.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    for proto in PROTOS {
        println!("cargo::rerun-if-changed={proto}");
    }
    let service = env::var_os("CARGO_FEATURE_SERVICE").is_some();
    tonic_prost_build::configure()
        .build_client(service)
        .build_server(service)
        // Payloads stay slices of what the transport read.
        .bytes(".")
        .out_dir(PathBuf::from(env::var("OUT_DIR")?))
        .compile_fds(protox::compile(PROTOS, ["protos"])?)?;
    Ok(())
}
