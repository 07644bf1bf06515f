//! Servers of other frameworks as the program builds and measures them, with a toolchain that is there, is missing, or fails.
//!
//! The toolchain is a script: what it "builds" is our own gRPC server under another name, so that no test needs Go or a registry.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use analyze::measure::result::{RunResult, ServerOrigin};
use tempfile::TempDir;

const ANALYZE: &str = env!("CARGO_BIN_EXE_analyze");

/// As few calls as can be measured.
const LOAD: [&str; 11] =
    ["--scenario", "128B-2", "--requests", "200", "--warmup", "0s", "--rounds", "2", "--label", "t", "--no-profiles"];

/// A folder with a cache, and with programs that are all that PATH has.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(bench.path("bin")).expect("a folder");
        bench
    }

    /// With a `go` whose `build` does this, after it has noted that it was called; `$OUTPUT` is what it is to make.
    fn with_go(build: &str) -> Self {
        let bench = Self::new();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = version ] && echo 'go version go9.9 any/any' && exit\n\
             echo built >> {}\nfor OUTPUT in \"$@\"; do [ \"$before\" = -o ] && break; before=$OUTPUT; done\n{build}\n",
            bench.path("builds").display()
        );
        let go = bench.path("bin").join("go");
        fs::write(&go, script).expect("a script");
        fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).expect("executable");
        bench
    }

    /// With one that builds a server.
    fn with_working_go() -> Self {
        Self::with_go(&format!(
            "/bin/sleep 0.5\nprintf '#!/bin/sh\\nexec {ANALYZE} serve grpc \"$@\"\\n' > $OUTPUT\n/bin/chmod +x $OUTPUT"
        ))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(ANALYZE);
        command.args(args).current_dir(&self.0).env("PATH", self.path("bin")).env("NO_COLOR", "1");
        command.env("ANALYZE_CACHE_DIR", self.path("cache")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.path("builds")).map_or(0, |text| text.lines().count())
    }

    fn result(&self, framework: &str) -> RunResult {
        let path = self.path("data/t").join(format!("{framework}_128_protobuf_none_2_unary.json"));
        serde_json::from_slice(&fs::read(&path).expect("a result")).expect("a result")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_peer_is_built_once_and_measured_beside_our_servers() {
    let bench = Bench::with_working_go();
    let flags = [&["--framework", "grpc-go,grpc"][..], &LOAD].concat();
    let output = bench.run(&flags);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("grpc-go: building it, once"), "{said}");
    let table = text(&output.stdout);
    assert!(table.contains("\ngrpc-go ") && table.contains("\ngrpc "), "{table}");
    let (peer, ours) = (bench.result("grpc-go"), bench.result("grpc"));
    assert_eq!((peer.failure.as_ref(), peer.rounds.len(), peer.success_requests), (None, 2, 400));
    assert!(peer.roofline_ratio.is_some() && peer.environment.server == ServerOrigin::Started);
    assert_eq!(peer.environment.server_cpus, ours.environment.server_cpus);
    assert_eq!(peer.environment.runtime.as_deref(), Some("go9.9"));
    let version = peer.environment.framework_version.expect("a version");
    assert!(version.starts_with("google.golang.org/grpc v1."), "{version}");
    assert!(peer.environment.peer_build.is_some_and(|hash| hash.len() == 16));
    // It is our own server behind another name, so that what it costs is known.
    let (theirs, own) = (peer.figures.allocs_per_op.expect("counts"), ours.figures.allocs_per_op.expect("counts"));
    assert!((theirs / own - 1.0).abs() < 0.05, "{theirs} against {own}");
    assert_eq!((ours.environment.framework_version, ours.environment.runtime), (None, None));

    let output = bench.run(&flags);
    assert!(output.status.success() && !text(&output.stderr).contains("building"), "{}", text(&output.stderr));
    assert_eq!(bench.builds(), 1);
    let list = text(&bench.run(&["peers"]).stdout);
    let row = list.lines().find(|line| line.starts_with("grpc-go ")).expect("a row");
    assert!(row.contains("Go") && row.contains("gRPC") && row.contains("go9.9") && row.ends_with("yes"), "{list}");
    assert!(bench.run(&["peers", "clean"]).status.success());
    let list = text(&bench.run(&["peers"]).stdout);
    assert!(list.lines().any(|line| line.starts_with("grpc-go ") && line.ends_with("no")), "{list}");
}

#[test]
fn a_suite_does_not_go_on_with_another_toolchain() {
    let bench = Bench::with_working_go();
    let config = "frameworks: grpc-go\npayload_sizes: [128]\nconcurrency_levels: [2]\n";
    fs::write(bench.path("c.yaml"), config).expect("a config");
    let flags = ["--warmup", "0s", "--rounds", "1", "--duration", "200ms", "--label", "t", "--no-profiles"];
    let suite = |more: &[&str]| bench.run(&[&["suite", "--config", "c.yaml"], &flags[..], more].concat());
    let output = suite(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = suite(&["--resume"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("2 of 2 cells were measured before"), "{said}");

    let go = bench.path("bin").join("go");
    let script = fs::read_to_string(&go).expect("a script");
    fs::write(&go, script.replace("go9.9", "go9.10")).expect("a script");
    let output = suite(&["--resume"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("peers.grpc-go.runtime \"go9.10\", was \"go9.9\""), "{said}");
    fs::remove_file(&go).expect("gone");
    let said = text(&suite(&["--resume"]).stderr);
    assert!(said.contains("peers.grpc-go null, was {"), "{said}");
}

#[test]
fn two_runs_at_a_time_build_a_peer_once() {
    let bench = Bench::with_working_go();
    let build = || bench.command(&["peers", "build", "grpc-go"]).spawn().expect("the program runs");
    for child in [build(), build()] {
        assert!(child.wait_with_output().expect("an end").status.success());
    }
    assert_eq!(bench.builds(), 1);
}

#[test]
fn without_its_toolchain_a_peer_is_a_row_that_says_so_and_the_rest_runs() {
    let bench = Bench::new();
    let output = bench.run(&[&["--framework", "grpc-go,grpc"][..], &LOAD].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("grpc-go: go can't be started: install Go, from https://go.dev/dl: No such file"), "{said}");
    let failure = bench.result("grpc-go").failure.expect("a failure");
    assert!(failure.starts_with("go can't be started: install Go"), "{failure}");
    let ours = bench.result("grpc");
    assert_eq!((ours.failure, ours.rounds.len()), (None, 2));
    assert!(text(&output.stdout).contains("\ngrpc "), "{}", text(&output.stdout));
    let output = bench.run(&["peers"]);
    let list = text(&output.stdout);
    assert!(output.status.success() && list.contains("missing: go can't be started: install Go"), "{list}");
    assert_eq!(bench.run(&["peers", "build", "grpc-go"]).status.code(), Some(1));
}

#[test]
fn a_build_that_fails_names_its_log_and_is_tried_again() {
    let bench = Bench::with_go("echo 'no such module' >&2; exit 3");
    for _ in 0..2 {
        let output = bench.run(&["peers", "build", "grpc-go"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("grpc-go can't be built: go build ") && said.contains(": exit status: 3; "), "{said}");
        let log = said.trim_end().rsplit("what it said is in ").next().map(Path::new).expect("a log");
        assert_eq!(fs::read_to_string(log).expect("a log"), "no such module\n");
    }
    assert_eq!(bench.builds(), 2);
}

#[test]
fn what_is_no_peer_is_wrong_usage() {
    let bench = Bench::new();
    let output = bench.run(&["peers", "build", "grpc"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: peer \"grpc\": must be one of "), "{}", text(&output.stderr));
    let revisions = ["ab", "--base", "a", "--head", "b", "--framework", "grpc-go", "--scenario", "128B-2"];
    let output = bench.run(&revisions);
    assert_eq!(output.status.code(), Some(2));
    let line =
        "error: --framework grpc-go: goes with --base-cmd and --head-cmd; a revision's own are triple, grpc, raw\n";
    assert_eq!(text(&output.stderr), line);
}
