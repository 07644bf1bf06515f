//! `analyze ab` as a program: two commands, and two revisions that are built.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

use analyze::measure::result::RunResult;
use tempfile::TempDir;

/// As few calls as judge what is counted.
const LOAD: [&str; 14] = [
    "--framework",
    "grpc",
    "--scenario",
    "128B-2",
    "--requests",
    "200",
    "--warmup",
    "0s",
    "--rounds",
    "4",
    "--label",
    "t",
    "--no-profiles",
    "--no-roofline",
];

fn ab(dir: &TempDir, flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_analyze"))
        .arg("ab")
        .args(flags)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .env("ANALYZE", env!("CARGO_BIN_EXE_analyze"))
        .env("XDG_CACHE_HOME", dir.path().join("cache"))
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

fn rounds(dir: &TempDir, label: &str) -> usize {
    let path = dir.path().join("data").join(label).join("grpc_128_protobuf_none_2_unary.json");
    let json = fs::read(&path).expect("a result");
    serde_json::from_slice::<RunResult>(&json).expect("a result").rounds.len()
}

/// The line of a figure in a comparison.
fn line<'a>(text: &'a str, figure: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(figure)).unwrap_or_else(|| panic!("no {figure} in {text}"))
}

#[test]
fn two_commands_are_measured_in_turn_and_judged() {
    let dir = TempDir::new().expect("a folder");
    let (port, debug) = (free_port(), free_port());
    let command = |buffer: u32| {
        let program = env!("CARGO_BIN_EXE_analyze");
        format!(
            "{program} serve grpc --addr 127.0.0.1:{port} --debug-addr 127.0.0.1:{debug} --codec-buffer {buffer} --exit-with-parent"
        )
    };
    let (addr, url) = (format!("grpc=127.0.0.1:{port}"), format!("grpc=http://127.0.0.1:{debug}"));
    let (base, head) = (command(8192), command(1024));
    let sides = ["--base-cmd", &base, "--head-cmd", &head, "--addr", &addr, "--debug", &url];
    let ended = ab(&dir, &[&sides[..], &LOAD].concat());
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(out.starts_with("grpc 128B-2: ") && out.contains("t-base, 4 rounds → t-head, 4 rounds"), "{out}");
    // Two buffers of 8 KiB a request, or of 1 KiB.
    assert!(line(&out, "B/op").ends_with("better"), "{out}");
    let order: Vec<&str> = said.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(order, ["base", "head", "head", "base", "base", "head", "head", "base"], "{said}");
    assert_eq!((rounds(&dir, "t-base"), rounds(&dir, "t-head")), (4, 4));
}

#[test]
fn sides_that_speak_different_wires_are_not_compared_unless_they_are_to_be() {
    let dir = TempDir::new().expect("a folder");
    let (port, debug) = (free_port(), free_port());
    let program = env!("CARGO_BIN_EXE_analyze");
    let base =
        format!("{program} serve grpc --addr 127.0.0.1:{port} --debug-addr 127.0.0.1:{debug} --exit-with-parent");
    let head = format!("{base} --accept-gzip");
    let (addr, url) = (format!("grpc=127.0.0.1:{port}"), format!("grpc=http://127.0.0.1:{debug}"));
    let sides = ["--accept-gzip", "--base-cmd", &base, "--head-cmd", &head, "--addr", &addr, "--debug", &url];
    let refused = ab(&dir, &[&sides[..], &LOAD].concat());
    let said = text(&refused.stderr);
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), String::new()), "{said}");
    assert!(
        said.contains("error: grpc 128B-2: base and head speak different wires")
            && said.contains("reply encoding: identity against gzip"),
        "{said}"
    );
    assert_eq!((rounds(&dir, "t-base"), rounds(&dir, "t-head")), (1, 1), "what was measured is kept");
    let forced = ab(&dir, &[&["--force"], &sides[..], &LOAD].concat());
    let out = text(&forced.stdout);
    assert_eq!(forced.status.code(), Some(0), "{}", text(&forced.stderr));
    // The footnotes are folded.
    let unfolded = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains("measured otherwise: reply encoding: identity against gzip"), "{out}");
}

#[test]
fn a_server_against_itself_is_judged_again_and_again() {
    let dir = TempDir::new().expect("a folder");
    let ended = Command::new(env!("CARGO_BIN_EXE_analyze"))
        .args(["aa", "--runs", "2"])
        .args(LOAD)
        .current_dir(&dir)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs");
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let judged = |figure: &str| line(&out, figure).split_whitespace().nth(1).map(str::to_owned);
    assert_eq!((judged("B/op"), judged("allocs/op")), (Some("2".to_owned()), Some("2".to_owned())), "{out}");
    assert_eq!(said.lines().filter(|line| line.starts_with("[2/2] head 128B-2 grpc round ")).count(), 4, "{said}");
    // Noise floors are for those who compare; of two runs there are none yet.
    assert!(
        out.contains("It takes 20 runs.") && said.contains("noise floors, for --noise: ./data/t.noise.json"),
        "{out}{said}"
    );
    let compare = |noise: &str| {
        let mut analyze = Command::new(env!("CARGO_BIN_EXE_analyze"));
        let compare = analyze.args(["compare", "t-base", "t-head", "--format", "markdown", "--noise", noise]);
        compare.current_dir(&dir).output().expect("the program runs")
    };
    let (compared, refused) =
        (compare("data/t.noise.json"), compare("data/t-base/grpc_128_protobuf_none_2_unary.json"));
    assert!(
        text(&compared.stdout).contains("no less than the noise floors of 2 runs of grpc"),
        "{}",
        text(&compared.stderr)
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).starts_with("error: --noise: data/t-base/"), "{}", text(&refused.stderr));
}

/// A project whose program serves as echo-server does, by another.
const PROGRAM: &str = r#"
use std::{env, os::unix::process::CommandExt, process::Command};

fn main() {
    let analyze = env::var_os("ANALYZE").expect("the program");
    let mut serve = Command::new(analyze);
    panic!("{}", serve.arg("serve").args(env::args_os().skip(1)).args(["--codec-buffer", "8192"]).exec());
}
"#;

fn commit(project: &Path, program: &str) {
    fs::create_dir_all(project.join("src")).expect("a folder");
    fs::write(project.join("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2021\"\n[workspace]\n")
        .expect("a file");
    fs::write(project.join("src/main.rs"), program).expect("a file");
    for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "--message", "x"]] {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let git = Command::new("git").arg("-C").arg(project).args(identity).args(words).status().expect("git runs");
        assert!(git.success(), "git {words:?}");
    }
}

#[test]
fn two_revisions_are_built_measured_in_turn_and_judged() {
    let dir = TempDir::new().expect("a folder");
    let project = dir.path().join("project");
    commit(&project, PROGRAM);
    commit(&project, &PROGRAM.replace("8192", "1024"));
    let sides = ["--base", "HEAD~1", "--head", "HEAD", "--project", "project", "--bin", "tiny"];
    let ended = ab(&dir, &[&sides[..], &LOAD].concat());
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(line(&out, "B/op").ends_with("better"), "{out}");
    assert!(said.contains("base: building tiny of HEAD~1") && said.contains("head: building tiny of HEAD"), "{said}");
    assert!(!project.join("target").exists(), "nothing is built in the project itself");
    let trees = Command::new("git").arg("-C").arg(&project).args(["worktree", "list"]).output().expect("git runs");
    assert_eq!(text(&trees.stdout).lines().count(), 1, "no work tree is left");
    // The same against itself, the other way round: nothing is built again.
    let sides = ["--base", "HEAD", "--head", "HEAD", "--project", "project", "--bin", "tiny"];
    let ended = ab(&dir, &[&sides[..], &LOAD].concat());
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert!(said.contains("base: HEAD is ") && !said.contains("building"), "{said}");
    assert!(out.contains("t-base, 4 rounds → t-head, 4 rounds"), "{out}");
}

#[test]
fn what_can_not_be_begun_is_one_line_and_exit_code_2() {
    let dir = TempDir::new().expect("a folder");
    for (flags, problem) in [
        (&["--base", "HEAD"][..], "--head"),
        (&[], "--base REV or --base-cmd CMD: one of them is needed"),
        (&["--base", "x", "--head", "y", "--base-cmd", "z", "--head-cmd", "z"], "cannot be used with"),
        (&["--base", "x", "--head", "y"], "--project .: git: "),
        (&["--base", "x", "--head", "y", "--addr", "grpc=127.0.0.1:1"], "--addr grpc=…: goes with --base-cmd"),
        (&["--base-cmd", "x", "--head-cmd", "y"], "--base-cmd: where its server listens must be said"),
        (&["--base", "x", "--head", "y", "--format", "csv"], "--format csv: a comparison is a table, json or markdown"),
        (&["--base", "x", "--head", "y", "--max-time", "soon"], "--max-time: duration \"soon\""),
    ] {
        let ended = ab(&dir, &[flags, &LOAD].concat());
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(problem) && said.lines().count() == 1, "{flags:?}: {said}");
    }
}
