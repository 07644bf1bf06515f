//! `analyze suite` as a program: what it prints, saves, leaves out, resumes and refuses.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output, Stdio},
    sync::mpsc::{self, TryRecvError},
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
    analyze(dir, &[&["suite", "--config", "t.yaml"], flags].concat())
}

fn analyze(dir: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_analyze"));
    command.args(words).current_dir(dir).env("NO_COLOR", "1").output().expect("the program runs")
}

/// Runs the suite t, interrupts it at a line of its stderr, and gives what followed on that.
fn interrupted(dir: &TempDir, config: &str, at: &str) -> String {
    fs::write(dir.path().join("t.yaml"), config).expect("a config");
    let mut suite = Command::new(env!("CARGO_BIN_EXE_analyze"))
        .args(["suite", "--config", "t.yaml", "--label", "t"])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(suite.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with(at)), "{at}");
    let pid = libc::pid_t::try_from(suite.id()).expect("a process id");
    // SAFETY: sends a signal to the child, which has not been waited for, so the id is still its own.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    let after = lines.map(|line| line + "\n").collect();
    assert_eq!(suite.wait().expect("its end").code(), Some(130));
    after
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

    // A dry run lists what is left, and refuses what the suite would.
    let left = |flags: &[&str]| suite(&dir, CONFIG, &[flags, &["--label", "t", "--dry-run"]].concat());
    assert_eq!(stdout(&left(&["--resume"])).lines().next(), Some("nothing is left to measure"));
    fs::remove_file(data.join(&missing)).expect("the file");
    let text = stdout(&left(&["--resume"]));
    assert!(text.contains("\n1     triple ") && text.contains("\n1 cell, about "), "{text}");
    assert_eq!(left(&[]).status.code(), Some(2));

    // Pictures that can't be written name the flag that was given.
    fs::write(dir.path().join("plots"), []).expect("a file");
    let plot = |flags: &[&str]| stderr(&analyze(&dir, &[&["plot", "t"], flags].concat()));
    assert!(plot(&[]).starts_with("error: --out .: can't write ./plots/t: "), "{}", plot(&[]));
    assert!(plot(&["--output", "plots"]).starts_with("error: --output plots: can't write: "));
}

#[test]
fn results_of_a_run_are_none_of_a_suite_of_its_name() {
    let dir = TempDir::new().expect("a folder");
    let flags = "--scenario 128B-1 --framework raw --requests 50 --warmup 0s --rounds 1 --no-profiles --label t";
    let run = || analyze(&dir, &flags.split(' ').collect::<Vec<_>>());
    let first = run();
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let (file, kept) = (dir.path().join(format!("data/t/{}.json", CELLS[0])), dir.path().join("kept.json"));
    fs::copy(&file, &kept).expect("the result");
    let config = CONFIG.replace("[1, 2]", "[1]");
    let whole = suite(&dir, &config, &["--label", "t"]);
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));

    let again = run();
    assert_eq!(again.status.code(), Some(2));
    let problem = "is a suite, whose results a run would overwrite: must be another name";
    assert_eq!(stderr(&again), format!("error: --label t: {problem}\n"));

    // As if the suite had been interrupted before it came to this cell, and the other was set against nothing.
    fs::copy(&kept, &file).expect("the result");
    let triple = dir.path().join(format!("data/t/{}.json", CELLS[2]));
    let mut without: serde_json::Value = serde_json::from_slice(&fs::read(&triple).expect("a result")).expect("JSON");
    without["roofline_ratio"] = 7.0.into();
    fs::write(&triple, without.to_string()).expect("the result");
    let resumed = suite(&dir, &config, &["--label", "t", "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("1 of 2 cells were measured before"), "{}", stderr(&resumed));
    let (raw, triple) = (result(&dir, CELLS[0]), result(&dir, CELLS[2]));
    let ratio = triple.figures.qps.zip(raw.figures.qps).map(|(qps, raw)| qps / raw);
    assert_eq!(triple.roofline_ratio, ratio);
    assert_ne!(raw.timestamp, triple.timestamp, "each says when it was measured");
}

#[test]
fn half_an_echo_is_no_roofline() {
    let dir = TempDir::new().expect("a folder");
    let config = CONFIG
        .replace("[triple, grpc]", "triple")
        .replace("[1, 2]", "[1]")
        .replace("load: {requests: 50}\nrounds: 1", "rounds: 1000")
        .replace("warmup_duration: 0s", "warmup_duration: 0s, test_duration: 100ms");
    let ended = interrupted(&dir, &config, "128B-1 raw round 1/1000");
    assert!(ended.contains("interrupted: what had finished is saved"), "{ended}");
    for stem in [CELLS[0], CELLS[2]] {
        let result = result(&dir, stem);
        assert!((1..1000).contains(&result.rounds.len()) && result.roofline_ratio.is_none(), "{stem}");
    }
}

#[test]
fn a_suite_begins_when_its_servers_are_reached() {
    let dir = TempDir::new().expect("a folder");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("an address");
    let open = TcpListener::bind("127.0.0.1:0").expect("a port");
    let config = |keys: &str| {
        let config = CONFIG.replace("[msgpack]", "[protobuf]").replace("[1, 2]", "[1]");
        config + &format!("roofline: false\nservers: {{grpc: {{{keys}}}}}\n")
    };
    let debug = format!("addr: '{}', debug: 'http://{closed}'", open.local_addr().expect("an address"));
    for (keys, line) in [
        (format!("addr: '{closed}'"), format!("error: servers.grpc.addr {closed}: ")),
        (debug, "error: servers.grpc.debug: ".to_owned()),
    ] {
        let refused = suite(&dir, &config(&keys), &["--label", "t"]);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(stderr(&refused).starts_with(&line), "{}", stderr(&refused));
        assert_eq!(files(&dir.path().join("data/t")), [""; 0]);
    }
    let other = suite(&dir, &CONFIG.replace("[1, 2]", "[1]"), &["--label", "t"]);
    assert_eq!(other.status.code(), Some(0), "the name is still free: {}", stderr(&other));
}

#[test]
fn words_that_are_no_text_are_taken() {
    let dir = TempDir::new().expect("a folder");
    let name = OsStr::from_bytes(b"\xff.yaml");
    fs::write(dir.path().join(name), CONFIG.replace("[1, 2]", "[1]")).expect("a config");
    let mut command = Command::new(env!("CARGO_BIN_EXE_analyze"));
    let measured = command.args(["suite", "--config"]).arg(name).current_dir(&dir).output().expect("the program runs");
    assert_eq!(measured.status.code(), Some(0), "{}", stderr(&measured));
}

#[test]
fn a_cell_that_fails_does_not_end_the_suite_and_is_tried_again() {
    let dir = TempDir::new().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    let (ending, ended) = mpsc::channel::<()>();
    // Accepts and closes, until told, and then a last time.
    let server =
        thread::spawn(move || while listener.accept().is_ok() && ended.try_recv() == Err(TryRecvError::Empty) {});
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

    // Where it can't be begun, that is all that is said.
    drop(ending);
    TcpStream::connect(addr).expect("the server");
    server.join().expect("its end");
    let unreached = suite(&dir, &config, &["--label", "t", "--resume"]);
    assert_eq!((unreached.status.code(), stdout(&unreached).as_str()), (Some(2), ""), "{}", stderr(&unreached));
}

#[test]
fn an_interrupted_suite_keeps_what_had_finished_and_says_how_it_goes_on() {
    let dir = TempDir::new().expect("a folder");
    let config = CONFIG
        .replace("[triple, grpc]", "triple")
        .replace("load: {requests: 50}", "roofline: false")
        .replace("warmup_duration: 0s", "warmup_duration: 0s, test_duration: 100ms")
        + "cells: [{match: {concurrency: 2}, test_duration: 1h}]\n";
    // From this line on the second cell is prepared, or measured for an hour.
    let ended = interrupted(&dir, &config, "[1/2] 128B-1 triple msgpack round 1/1");
    let next = "interrupted: what had finished is saved; go on with: ";
    let says = |line: &str| line.starts_with(next) && line.ends_with(" suite --config t.yaml --label t --resume");
    assert!(ended.lines().any(says), "{ended}");
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
