//! A change that is known to be there is found with its size, and one that isn't is not: `analyze ab` on the Triple echo of
//! `server/examples/planted.rs`.

use std::{
    env,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

/// One call in flight, so that each costs as much as the next. Every second one brings the server a new read buffer of 4 KiB, and chance
/// says whether a round begins with one: of so many requests that is a byte an op.
const LOAD: [&str; 15] = [
    "--framework",
    "triple",
    "--scenario",
    "128B-1",
    "--requests",
    "3000",
    "--warmup",
    "100ms",
    "--rounds",
    "4",
    "--label",
    "t",
    "--no-profiles",
    "--format",
    "json",
];

/// The example, built as this test was. It is another package's, and so not there unless the whole workspace is tested; both packages
/// are named so that dependencies have the features that they have for this test, and aren't built again.
fn planted() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_analyze")).parent().expect("a folder");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--locked", "--quiet", "-p", "analyze", "-p", "echo-server", "--example", "planted"]);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let target = folder.parent().expect("the target folder");
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_TARGET_DIR", target).status();
    assert!(built.expect("cargo runs").success(), "the example is built");
    folder.join("examples/planted")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// The judgements of the example with nothing planted against the example with these flags, by metric.
fn judged(program: &Path, plant: &str) -> impl Fn(&str) -> Value {
    let dir = TempDir::new().expect("a folder");
    let (addr, debug) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let base = format!("exec {} --addr {addr} --debug-addr {debug}", program.display());
    let head = format!("{base} {plant}");
    let (addr, debug) = (format!("triple={addr}"), format!("triple=http://{debug}"));
    let sides = ["--base-cmd", &base, "--head-cmd", &head, "--addr", &addr, "--debug", &debug];
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_analyze"));
    let ended = analyze.arg("ab").args(sides).args(LOAD).current_dir(&dir).output().expect("the program runs");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let comparison: Value = serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let judgements = comparison["pairs"][0]["judgements"].clone();
    move |metric| {
        let all = judgements.as_array().expect("judgements");
        all.iter().find(|judgement| judgement["metric"] == metric).unwrap_or_else(|| panic!("no {metric}")).clone()
    }
}

/// By how much the head's median is above the base's.
fn more(judgement: &Value) -> f64 {
    let median = |side: &str| judgement[side]["median"].as_f64().expect("a median");
    median("b") - median("a")
}

#[test]
fn what_was_planted_is_found_with_its_size() {
    let program = planted();
    for (plant, allocs, bytes) in [("--plant alloc", 1.0, 64.0), ("--plant copy", 1.0, 128.0)] {
        let judgement = judged(&program, plant);
        for (metric, planted, error) in
            [("allocs_per_op", allocs, 0.01), ("bytes_per_op", bytes, 3.0), ("requested_bytes_per_op", bytes, 3.0)]
        {
            let found = judgement(metric);
            assert_eq!(found["verdict"], "worse", "{plant}: {found}");
            assert!((more(&found) - planted).abs() < error, "{plant}: {planted} more {metric}: {found}");
        }
    }
}

#[test]
fn what_was_not_planted_is_not_found() {
    let program = planted();
    let judgement = judged(&program, "");
    for metric in ["allocs_per_op", "bytes_per_op", "requested_bytes_per_op"] {
        let found = judgement(metric);
        assert_ne!(found["verdict"], "worse", "{found}");
        assert_ne!(found["verdict"], "cannot_judge", "{found}");
    }
}
