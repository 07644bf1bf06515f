//! `analyze diff` as people call it: its table, its picture, and what it says of what can't be compared.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod results;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use analyze::measure::result::{PerOp, RunResult, SiteTable};
use echo_proto::profile as proto;
use prost::Message;
use results::full;
use tempfile::TempDir;

const BEFORE: &str = "p;a 10\np;b 10\nq 30\n";
const AFTER: &str = "p;a 30\np;b 30\nq 30\n";

fn analyze(dir: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_analyze"))
        .arg("diff")
        .args(args)
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

fn texts() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.folded"), BEFORE).unwrap();
    fs::write(dir.path().join("b.folded"), AFTER).unwrap();
    fs::write(dir.path().join("zero.folded"), "p;a 0\n").unwrap();
    dir
}

#[test]
fn the_command_prints_a_table_and_draws_a_picture() {
    let dir = texts();
    let output = analyze(&dir, &["a.folded", "b.folded", "--ops-a", "10", "--ops-b", "10"]);
    assert!(output.status.success() && stdout(&output).starts_with("values per op: A a.folded → B b.folded\n"));
    let svg = fs::read_to_string(dir.path().join("flamegraphs/diff/a.folded_vs_b.folded.svg")).unwrap();
    assert!(svg.contains("<title>p (2 → 6 per op, +4 per op, +200%)</title>"), "{svg}");
    let output = analyze(&dir, &["a.folded", "b.folded", "--title", "mine", "-o", "x.svg", "--cum"]);
    assert!(stdout(&output).contains("\np ") && stderr(&output).contains("x.svg"), "{}", stderr(&output));
    assert!(fs::read_to_string(dir.path().join("x.svg")).unwrap().contains(">mine<"));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let dir = texts();
    for (args, expected) in [
        (vec!["a.folded", "nope"], "error: nope: must be a profile, a text of folded stacks,"),
        (vec!["a.folded", "b.folded", "--type", "cpu"], "error: --type cpu: a.folded and b.folded are folded stacks"),
        (
            vec!["a.folded", "zero.folded", "-o", "x.svg", "--widths", "b"],
            "error: --widths b: zero.folded has no values to draw",
        ),
        (vec!["a.folded", "b.folded", "--ops-a", "0"], "error: "),
    ] {
        let output = analyze(&dir, &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    }
    let output = analyze(&dir, &["a.folded", "zero.folded", "--widths", "b"]);
    assert!(output.status.success() && stdout(&output).contains("gone"), "a table needs no widths");
    assert!(stderr(&output).starts_with("no picture: --widths b: "), "{}", stderr(&output));
}

/// Saves a result with an allocation profile of `bytes` in so many ops.
fn save(root: &Path, label: &str, mut result: RunResult, ops: u64, bytes: i64) {
    let data = root.join("data").join(label);
    fs::create_dir_all(&data).unwrap();
    fs::create_dir_all(root.join("profiles").join(label)).unwrap();
    let allocs = proto_bytes(ops as i64, bytes);
    let per_op = PerOp { bytes_per_op: bytes as f64 / ops as f64, allocs_per_op: 1.0 };
    result.label = label.to_owned();
    let path = format!("../../profiles/{label}/{}.allocs.pb", result.file_stem());
    fs::write(data.join(&path), allocs).unwrap();
    result.files.allocs_profile = Some(path);
    result.sites = Some(SiteTable { total: per_op, rows: Vec::new(), others: Default::default(), sampling: None });
    fs::write(data.join(format!("{}.json", result.file_stem())), serde_json::to_vec(&result).unwrap()).unwrap();
}

fn proto_bytes(objects: i64, bytes: i64) -> Vec<u8> {
    proto::Profile {
        string_table: ["", "alloc_objects", "count", "alloc_space", "bytes", "app::encode"].map(str::to_owned).to_vec(),
        sample_type: vec![proto::ValueType { r#type: 1, unit: 2 }, proto::ValueType { r#type: 3, unit: 4 }],
        function: vec![proto::Function { id: 1, name: 5, ..Default::default() }],
        location: vec![proto::Location {
            id: 1,
            line: vec![proto::Line { function_id: 1, line: 1, column: 0 }],
            ..Default::default()
        }],
        sample: vec![proto::Sample { location_id: vec![1], value: vec![objects, bytes], label: Vec::new() }],
        ..Default::default()
    }
    .encode_to_vec()
}

#[test]
fn runs_are_compared_per_op_by_the_one_result_they_have_in_common() {
    let dir = tempfile::tempdir().unwrap();
    let [triple, grpc, raw] = <[RunResult; 3]>::try_from(full()).unwrap();
    save(dir.path(), "before", triple.clone(), 100, 819_200);
    save(dir.path(), "before", grpc.clone(), 100, 100);
    save(dir.path(), "after", triple.clone(), 300, 307_200);
    // The bare echo has no profile.
    for label in ["before", "after"] {
        let file = dir.path().join("data").join(label).join(raw.file_name());
        fs::write(file, serde_json::to_vec(&raw).unwrap()).unwrap();
    }
    let output = analyze(&dir, &["before", "after"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("alloc_space, bytes per op: A before triple 128B-50 → B after triple 128B-50\n"),
        "{text}{}",
        stderr(&output)
    );
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(text.lines().any(|line| words(line) == ["app::encode", "8,192", "1,024", "−7,168", "−87.5%"]), "{text}");
    save(dir.path(), "after", grpc, 100, 100);
    let output = analyze(&dir, &["before", "after"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("2 results to choose from"), "{}", stderr(&output));
    let file = format!("data/before/{}.json", triple.file_stem());
    let output = analyze(&dir, &[&file, "after"]);
    assert!(output.status.success(), "{}", stderr(&output));
    fs::write(dir.path().join("a.folded"), BEFORE).unwrap();
    let output = analyze(&dir, &["before", "a.folded"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("before: 2 results"), "{}", stderr(&output));
}

#[test]
fn results_that_were_measured_otherwise_are_refused_unless_forced() {
    let dir = tempfile::tempdir().unwrap();
    let [triple, ..] = <[RunResult; 3]>::try_from(full()).unwrap();
    save(dir.path(), "before", triple.clone(), 100, 819_200);
    let mut other = triple;
    other.environment.kernel = Some("Linux 5".to_owned());
    save(dir.path(), "after", other, 100, 307_200);
    let output = analyze(&dir, &["before", "after"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    let refused = stderr(&output);
    assert!(
        refused.starts_with("error: before and after were measured otherwise") && refused.lines().count() == 1,
        "{refused}"
    );
    assert!(refused.contains("--force") && refused.contains(": kernel: Linux 6.1.0 against Linux 5"), "{refused}");
    assert!(!dir.path().join("flamegraphs/diff").exists(), "nothing is drawn");
    let output = analyze(&dir, &["before", "after", "--force"]);
    assert!(output.status.success() && stdout(&output).contains("app::encode"), "{}", stderr(&output));
    assert!(stderr(&output).contains("warning: measured otherwise: kernel: Linux 6.1.0 against Linux 5"));
    // The same words as compare's.
    let compared =
        Command::new(env!("CARGO_BIN_EXE_analyze")).args(["compare", "before", "after"]).current_dir(&dir).output();
    let compared = stderr(&compared.expect("the program runs"));
    let (said, cell) = (refused.trim_end(), "triple_128_protobuf_none_50_unary: ");
    assert_eq!(compared.trim_end(), said.replace("same): kernel", &format!("same): {cell}kernel")));
}
