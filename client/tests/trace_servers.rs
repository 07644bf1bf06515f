//! `analyze trace` and its parts against this project's own servers, whose allocations are counted another way too.

use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use analyze::{
    load::{Case, Driver, End, Live, LoadSpec, Window},
    measure::{DebugClient, LogLoad, ServerProcess, ServerStart, Target, log_pass, measure_round},
    profile::{StackFate, trace},
    scenario::Framework,
};
use serde_json::Value;
use tempfile::TempDir;

fn analyze(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_analyze"))
        .arg("trace")
        .args(args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is listed one by one is what the counters count in a load of the same requests.
#[tokio::test(flavor = "multi_thread")]
async fn as_many_allocations_are_listed_as_are_counted_under_load() {
    for framework in [Framework::Triple, Framework::Grpc] {
        let dir = TempDir::new().expect("a folder");
        let parent = format!("--exit-with-parent={}", std::process::id());
        let args = ["serve", framework.name(), "--addr", "127.0.0.1:0", "--debug-addr", "127.0.0.1:0", &parent];
        let start = ServerStart {
            program: env!("CARGO_BIN_EXE_analyze").into(),
            args: args.map(str::to_owned).into(),
            env: Vec::new(),
            log: dir.path().join("server.log"),
        };
        let server = ServerProcess::start(&start).await.expect("a server");
        let debug = DebugClient::new(server.ready().debug_addr.as_deref().expect("endpoints")).expect("a URL");
        let case = Case::new("128B-1".parse().expect("a scenario"), Duration::from_secs(1));
        let spec = LoadSpec {
            request_timeout: Duration::from_secs(600),
            ..LoadSpec::new(framework, server.ready().addr, case)
        };
        let mut driver = Driver::connect(spec).await.expect("a connection");
        let ms = Duration::from_millis;
        let load = LogLoad { warmup: ms(200), ops: 60, pause: ms(5), within: None };
        let log = log_pass(&mut driver, &debug, &load).await.expect("a log");
        let traced = trace(&log).expect("a trace");
        assert!(traced.check.agrees(), "{framework}: {:?}", traced.check);
        assert_eq!(traced.ops, 60);
        let all = |stack: &StackFate| [stack.within, stack.later, stack.kept, stack.after];
        let blocks: u64 = traced.stacks.iter().flat_map(all).map(|blocks| blocks.blocks).sum();
        assert_eq!(
            Some(blocks),
            traced.check.counted.map(|counted| counted.allocs),
            "{framework}: fates of all blocks"
        );
        let listed = traced.check.listed.allocs as f64 / traced.ops as f64;

        let mut target = Target { driver, debug: Some(debug), pid: None, gateway: None };
        let window = Window { end: End::Requests(3_000), rate: None, think: Duration::ZERO };
        let round = measure_round(&mut target, 1, (Duration::ZERO, &window), &Live::default()).await;
        let reading = round.server.expect("counters");
        let counted = reading.counters().and_then(|counters| counters.per_op(reading.ops()?.ok)).expect("per op");
        // Buffers that serve many requests come now and then.
        assert!((listed - counted.allocs_per_op).abs() < 0.3, "{framework}: {listed} listed, {counted:?} counted");
        assert!(
            (traced.request.allocs as f64 - counted.allocs_per_op).abs() < 0.5,
            "{framework}: {:?}",
            traced.request
        );
        drop(target);
        server.stop().await;
    }
}

#[test]
fn a_trace_is_printed_and_kept() {
    let dir = TempDir::new().expect("a folder");
    let flags =
        ["--scenario", "128B-1", "--framework", "triple", "--requests", "30", "--warmup", "100ms", "--label", "t"];
    let ended = analyze(dir.path(), &flags);
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}\n{out}");
    assert!(out.starts_with("triple 128B-1: request ") && out.contains("of 30 under the glass"), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["Serving::poll_server", "What became of it", "→ handler", "free #1", "read before and after, say the same"]
    {
        assert!(words.contains(part), "no {part} in {out}");
    }
    let kept =
        std::fs::read(dir.path().join("profiles/t/triple_128_protobuf_none_1_unary.trace.json")).expect("a file");
    let kept: Value = serde_json::from_slice(&kept).expect("JSON");
    assert_eq!((&kept["framework"], &kept["trace"]["ops"]), (&"triple".into(), &30.into()));
    assert_eq!(kept["trace"]["request"]["allocs"], 5);
    let picture = dir.path().join("flamegraphs/t/triple_128_protobuf_none_1_unary.trace.svg");
    let picture = std::fs::read_to_string(picture).expect("a picture");
    // Five blocks, each a bar with its name.
    assert!(picture.starts_with("<svg ") && picture.matches("<g>").count() == 5, "{picture}");

    let json = analyze(dir.path(), &[&flags[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json[0]["trace"]["check"]["listed"], json[0]["trace"]["check"]["counted"]);
}

/// The profiles of a run have a trace beside them, which tables and reports are made of.
#[test]
fn a_run_takes_a_trace_with_its_profiles() {
    let dir = TempDir::new().expect("a folder");
    let analyze = |args: &[&str]| {
        let args = args.iter().filter(|arg| !arg.is_empty());
        let mut program = Command::new(env!("CARGO_BIN_EXE_analyze"));
        let ended = program.args(args).current_dir(&dir).env("NO_COLOR", "1").env("COLUMNS", "80").output();
        let ended = ended.expect("the program runs");
        assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
        text(&ended.stdout)
    };
    let run = |label: &str, flag: &str| {
        let short =
            ["--rounds", "1", "--duration", "300ms", "--warmup", "100ms", "--no-roofline", "--label", label, flag];
        analyze(&[&["--scenario", "128B-4", "--framework", "triple"][..], &short].concat());
        let stem = format!("data/{label}/triple_128_protobuf_none_4_unary.json");
        let result = std::fs::read(dir.path().join(stem)).expect("a result");
        serde_json::from_slice::<Value>(&result).expect("JSON")
    };
    let result = run("t", "");
    let warnings = &result["warnings"];
    let trace = result["files"]["trace"].as_str().unwrap_or_else(|| panic!("no trace: {warnings}"));
    assert_eq!(trace, "../../profiles/t/triple_128_protobuf_none_4_unary.trace.json");
    let trace = dir.path().join("data/t").join(trace);
    let kept: Value = serde_json::from_slice(&std::fs::read(&trace).expect("a file")).expect("JSON");
    assert_eq!(kept["scenario"], "128B-1");
    // A slow machine has time for fewer.
    assert!(kept["trace"]["ops"].as_u64().is_some_and(|ops| (4..=100).contains(&ops)), "{}", kept["trace"]["ops"]);
    assert_eq!(kept["trace"]["check"]["listed"], kept["trace"]["check"]["counted"]);
    // Four calls in flight allocate as one does, but for what is bought for many requests at once.
    let (traced, counted) = (kept["trace"]["request"]["allocs"].as_f64(), result["allocs_per_op"].as_f64());
    assert!(
        traced.zip(counted).is_some_and(|(traced, counted)| (traced - counted).abs() < 1.5),
        "{traced:?} {counted:?}"
    );
    assert!(dir.path().join("data/t").join(result["files"]["trace_timeline"].as_str().expect("a picture")).is_file());

    let by_layer = analyze(&["top", "t", "--by", "layer"]);
    assert!(
        by_layer.contains("what becomes of what is allocated, by layer") && by_layer.contains("not 4"),
        "{by_layer}"
    );
    assert!(!analyze(&["top", "t", "--type", "cpu"]).contains("what becomes"));
    let of_file = analyze(&["top", &trace.to_string_lossy(), "--by", "crate"]);
    assert!(of_file.starts_with("triple 128B-1; what becomes of what is allocated, by crate\n"), "{of_file}");
    assert!(analyze(&["report", "t"]).contains("\n## What becomes of it\n"));
    assert!(analyze(&["report", "t", "--html"]).contains("class=\"picture timeline\""));
    std::fs::remove_file(&trace).expect("a file");
    assert!(!analyze(&["report", "t"]).contains("What becomes of it"), "a report without it");

    assert_eq!(run("u", "--no-profiles")["files"]["trace"], Value::Null);
}

#[test]
fn a_server_that_has_no_log_is_said_to_have_none() {
    let dir = TempDir::new().expect("a folder");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("raw=http://{}", listener.local_addr().expect("an address"));
    // Answers every question as Go's expvar does.
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            use std::io::{Read, Write};
            let Ok(mut socket) = socket else { continue };
            let mut request = [0; 4096];
            let _ = socket.read(&mut request);
            let vars = r#"{"cmdline":["x"],"memstats":{"Mallocs":1,"TotalAlloc":2,"Frees":0}}"#;
            let _ = write!(socket, "HTTP/1.0 200 OK\r\ncontent-length: {}\r\n\r\n{vars}", vars.len());
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let served = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let addr = format!("raw={}", served.local_addr().expect("an address"));
    runtime.spawn(echo_server::raw::run(served, Default::default(), std::future::pending()));
    let ended = analyze(dir.path(), &["--scenario", "128B-1", "--framework", "raw", "--addr", &addr, "--debug", &url]);
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains("error: 128B-1 raw: http://") && said.contains("this server has no log of its allocations"),
        "{said}"
    );
}
