//! `analyze suite` as a program: what it prints, saves, leaves out, resumes and refuses.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use analyze::{measure::result::RunResult, store::load_result};
use tempfile::TempDir;

/// Two cells of Triple with the bare echo beside each; gRPC knows no msgpack, so that there is nothing of it to measure.
const CONFIG: &str = "\
payload_sizes: [128]
serializations: [msgpack]
concurrency_levels: [1, 2]
frameworks: [triple, grpc]
benchmark: {warmup_duration: 0s}
load: {requests: 50}
rounds: 1
";

const CELLS: [&str; 4] = [
    "raw_128_none_none_1_unary",
    "raw_128_none_none_2_unary",
    "triple_128_msgpack_none_1_unary",
    "triple_128_msgpack_none_2_unary",
];

/// Runs a suite in a folder of its own; the flags follow `--config`.
fn suite(dir: &TempDir, config: &str, flags: &[&str]) -> Output {
    fs::write(dir.path().join("t.yaml"), config).expect("a config");
    Command::new(env!("CARGO_BIN_EXE_analyze"))
        .args(["suite", "--config", "t.yaml"])
        .args(flags)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn result(dir: &TempDir, stem: &str) -> RunResult {
    load_result(&dir.path().join(format!("data/t/{stem}.json"))).expect("a result")
}

#[test]
fn a_dry_run_lists_the_cells_and_starts_nothing() {
    let dir = TempDir::new().expect("a folder");
    let listed = suite(&dir, CONFIG, &["--dry-run"]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
    let text = stdout(&listed);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + CELLS.len() + 2, "{text}");
    assert!(lines[0].starts_with("cell  framework  payload  serialization"), "{text}");
    assert!(lines[1].starts_with("1     triple     128B     msgpack"), "{text}");
    assert!(lines[5].starts_with("not measured: grpc msgpack (2 cells): gRPC carries protobuf only"), "{text}");
    assert!(lines[6].starts_with("4 cells, about "), "{text}");
    assert_eq!(files(dir.path()), ["t.yaml"]);
}

#[test]
fn a_suite_is_saved_cell_by_cell_and_goes_on_where_cells_are_missing() {
    let dir = TempDir::new().expect("a folder");
    let first = suite(&dir, CONFIG, &["--label", "t"]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(stdout(&first).contains("msgpack"), "{}", stdout(&first));
    assert!(stderr(&first).contains("[4/4] "), "{}", stderr(&first));
    let names: Vec<String> = CELLS.iter().map(|stem| format!("{stem}.json")).collect();
    let data = dir.path().join("data/t");
    assert_eq!(files(&data), [&["plan.json".to_owned()], names.as_slice()].concat());
    for stem in CELLS {
        let result = result(&dir, stem);
        assert_eq!((result.rounds.len(), result.failure.as_deref()), (1, None), "{stem}");
        assert!(result.success_requests > 0 && result.roofline_ratio.is_some(), "{stem}");
    }

    // It is not begun again by accident.
    let again = suite(&dir, CONFIG, &["--label", "t"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--resume goes on with it"), "{}", stderr(&again));

    // Nor does another suite go on in its place.
    let other = suite(&dir, CONFIG, &["--label", "t", "--resume", "--rounds", "2"]);
    assert_eq!(other.status.code(), Some(2));
    assert_eq!(stderr(&other), "error: --resume: the plan of t is another: rounds 2, was 1 (4 cells)\n");

    // What is missing is measured, the rest stays as it is, and the table has all.
    let (missing, kept) = (format!("{}.json", CELLS[3]), format!("{}.json", CELLS[2]));
    fs::remove_file(data.join(&missing)).expect("the file");
    let before = fs::read(data.join(&kept)).expect("the file");
    let resumed = suite(&dir, CONFIG, &["--label", "t", "--resume", "--format", "csv"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("3 of 4 cells were measured before"), "{}", stderr(&resumed));
    assert_eq!(stderr(&resumed).matches("round 1/1").count(), 1, "{}", stderr(&resumed));
    assert_eq!(fs::read(data.join(&kept)).expect("the file"), before);
    assert!(result(&dir, CELLS[3]).roofline_ratio.is_some(), "set against the echo of before");
    assert_eq!(stdout(&resumed).lines().count(), 1 + CELLS.len(), "{}", stdout(&resumed));

    // With nothing left, nothing is measured.
    let nothing = suite(&dir, CONFIG, &["--label", "t", "--resume"]);
    assert_eq!(nothing.status.code(), Some(0), "{}", stderr(&nothing));
    assert!(!stderr(&nothing).contains("round"), "{}", stderr(&nothing));
}

#[test]
fn a_cell_that_fails_does_not_end_the_suite_and_is_tried_again() {
    let dir = TempDir::new().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    // Accepts and closes, as long as the test runs.
    thread::spawn(move || while listener.accept().is_ok() {});
    let config =
        CONFIG.replace("[msgpack]", "[protobuf]").replace("[1, 2]", "[1]").replace("[triple, grpc]", "[grpc, triple]")
            + &format!("roofline: false\nservers: {{grpc: {{addr: \"{addr}\"}}}}\n");
    for flags in [&["--label", "t"][..], &["--label", "t", "--resume"]] {
        let ended = suite(&dir, &config, flags);
        assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
        assert!(stderr(&ended).contains("error: 128B-1 grpc: "), "{}", stderr(&ended));
        assert!(stdout(&ended).contains("! grpc 128B-1: "), "{}", stdout(&ended));
    }
    let (failed, measured) =
        (result(&dir, "grpc_128_protobuf_none_1_unary"), result(&dir, "triple_128_protobuf_none_1_unary"));
    assert!(failed.failure.is_some() && failed.rounds.is_empty());
    assert_eq!((measured.failure, measured.rounds.len()), (None, 1));
}

#[test]
fn an_interrupted_suite_keeps_what_had_finished_and_says_how_it_goes_on() {
    let dir = TempDir::new().expect("a folder");
    let config = CONFIG
        .replace("[triple, grpc]", "triple")
        .replace("load: {requests: 50}", "roofline: false")
        .replace("warmup_duration: 0s", "warmup_duration: 0s, test_duration: 100ms")
        + "cells: [{match: {concurrency: 2}, test_duration: 1h}]\n";
    fs::write(dir.path().join("t.yaml"), config).expect("a config");
    let mut suite = Command::new(env!("CARGO_BIN_EXE_analyze"))
        .args(["suite", "--config", "t.yaml", "--label", "t"])
        .current_dir(&dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(suite.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    // From here on the second cell is prepared, or measured for an hour.
    assert!(lines.any(|line| line.starts_with("[1/2] 128B-1 triple msgpack round 1/1")));
    let pid = libc::pid_t::try_from(suite.id()).expect("a process id");
    // SAFETY: sends a signal to the child, which has not been waited for, so the id is still its own.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    let next = "interrupted: what had finished is saved; go on with: ";
    assert!(lines.any(|line| line.starts_with(next) && line.ends_with(" suite --config t.yaml --label t --resume")));
    assert_eq!(suite.wait().expect("its end").code(), Some(130));
    assert_eq!(result(&dir, CELLS[2]).rounds.len(), 1);
}

#[test]
fn what_can_not_be_begun_is_said_in_a_line_a_finding() {
    let dir = TempDir::new().expect("a folder");
    for (config, flags, line) in [
        ("payload_size: 5\n", &[][..], "error: t.yaml:1:1: unknown key \"payload_size\": must be one of "),
        (CONFIG, &["--resume", "--label", "t"], "error: --resume: there is no suite t in .\n"),
        (CONFIG, &["--framework", "grpc"], "error: --config t.yaml: no cell is left to measure"),
        (CONFIG, &["--config"], "error: "),
    ] {
        let refused = suite(&dir, config, flags);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).starts_with(line), "{}", stderr(&refused));
        assert_eq!(stdout(&refused), "");
        assert_eq!(files(dir.path()), ["t.yaml"]);
    }
}
