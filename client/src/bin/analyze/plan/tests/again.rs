//! The commands that reports print measure what was measured.

use std::time::Duration;

use analyze::{
    load::{Latency, LoadSample, Wire},
    measure::result::{ClientReading, Environment, Interval, RunResult, RunSample},
    report,
};

use super::{super::*, CPUS};
use crate::cli::run_args;

/// What is measured, in an order of its own.
type Cells = Vec<String>;

fn plan(flags: &[&str]) -> Plan {
    Plan::of_run(run_args(flags), &CPUS).unwrap_or_else(|error| panic!("{flags:?}: {error}"))
}

fn cells(plan: &Plan) -> Cells {
    let cell = |subject: &Subject| {
        let Subject { framework, origin, case, rounds, warmup, profiled, .. } = subject;
        let addr = match origin {
            Origin::Start(_) => None,
            Origin::Attach { addr, .. } => Some(addr),
        };
        format!("{framework} {addr:?} {case:?} {rounds} {warmup:?} {profiled} {:?}", plan.placement)
    };
    let mut cells: Cells = plan.subjects().map(cell).collect();
    cells.sort();
    cells.dedup();
    cells
}

/// What a run of the plan would leave, as far as it tells what was measured.
fn results(plan: &Plan) -> Vec<RunResult> {
    plan.subjects().map(|subject| result(plan, subject)).collect()
}

fn result(plan: &Plan, subject: &Subject) -> RunResult {
    let (origin, address) = match &subject.origin {
        Origin::Start(_) => (Default::default(), "127.0.0.1:4711".to_owned()),
        Origin::Attach { addr, .. } => (analyze::measure::result::ServerOrigin::Attached, addr.to_string()),
    };
    let environment = Environment {
        server: origin,
        server_address: Some(address),
        cpus: Some(CPUS.len() as u32),
        server_cpus: plan.placement.server.clone(),
        client_cpus: Some(plan.placement.client.clone()),
        round_duration_ms: match subject.case.window.end {
            End::After(length) => Some(length.as_millis() as u64),
            End::Requests(_) => None,
        },
        warmup_ms: Some(subject.warmup.as_millis() as u64),
        ..Environment::default()
    };
    let mut meta = subject.meta(&plan.label, plan.started, environment);
    let offers = subject.case.accept_gzip || subject.case.compression != Compression::None;
    let names = offers.then(|| "grpc-accept-encoding".to_owned());
    meta.wire = Some(Wire { request_header_names: names.into_iter().collect(), ..wire() });
    let samples: Vec<RunSample> = (1..=subject.rounds).map(sample).collect();
    let mut result = RunResult::derive(meta, &samples);
    result.files.cpu_profile = subject.profiled.then(|| "a.cpu.pb.gz".to_owned());
    result
}

fn wire() -> Wire {
    let encoding = || "identity".to_owned();
    Wire {
        http_version: "HTTP/2".to_owned(),
        tls: None,
        content_type: None,
        response_content_type: None,
        request_encoding: encoding(),
        response_encoding: encoding(),
        connections: 1,
        client_settings: None,
        server_settings: None,
        request_header_names: Vec::new(),
        response_header_names: Vec::new(),
        request_bytes: 0,
        response_bytes: 0,
        opening_frames: None,
    }
}

fn sample(round: u32) -> RunSample {
    let client = || ClientReading { counters: None, cpu_ns: None };
    RunSample {
        round,
        load: LoadSample {
            window: Duration::from_secs(1),
            started: 1,
            ok: 1,
            error: 0,
            lost: 0,
            unfinished: 0,
            ok_in_window: 1,
            latency: Latency::default(),
            response: None,
            scheduled: None,
            last_start: None,
            errors: Vec::new(),
            replies: None,
            payload_bytes: 1,
            sent_bytes: 1,
            received_bytes: 1,
            wire_use: None,
        },
        elapsed: Duration::from_secs(1),
        server: None,
        client: Interval { before: client(), after: client() },
        server_process: None,
        client_process: None,
        gateway_processes: None,
    }
}

#[track_caller]
fn is_measured_again(flags: &[&str]) {
    let first = plan(flags);
    let lines = report::repeat(&results(&first), Some("again"));
    let mut again: Cells = Vec::new();
    for line in &lines {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], "analyze");
        let repeated = plan(&words[1..]);
        assert_eq!(repeated.label.to_string(), "again");
        again.extend(cells(&repeated));
    }
    again.sort();
    assert_eq!(again, cells(&first), "{flags:?} as {lines:?}");
    if flags.first() != Some(&"--scenario") || flags.contains(&"raw") {
        return;
    }
    assert_eq!(lines.len(), 1, "{flags:?} as {lines:?}");
}

#[test]
fn what_was_measured_is_measured_again() {
    for flags in [
        "",
        "--rounds 3 --duration 500ms --warmup 0",
        "--requests 5000 --warmup 1500ms",
        "--framework grpc",
        "--framework triple,grpc,raw",
        "--framework triple,raw --no-profiles",
        "--framework raw",
        "--framework grpc,triple --no-roofline",
        "--no-profiles",
        "--mode streaming --messages-per-stream 100",
        "--mode streaming --messages-per-stream unbounded --connections 2",
        "--framework triple --serialization hessian2 --compression best",
        "--framework triple --serialization msgpack --accept-gzip",
        "--payload-pattern zeros --response-size 1KiB --sleep 5ms",
        "--response-size 0 --think 1ms",
        "--pool",
        "--pool --connections 7",
        "--connections 3",
        "--qps 5000",
        "--qps 5000 --framework triple,raw --no-profiles",
        "--qps 1000..20000/10",
        "--qps 1000,2000 --framework triple",
        "--server-cpus 0 --client-cpus 1",
        "--server-cpus 0-3 --client-cpus 0-3",
        "--addr triple=127.0.0.1:20000 --framework triple --no-profiles",
        "--addr triple=127.0.0.1:20000 --client-cpus 2",
        "--addr triple=127.0.0.1:20000 --addr grpc=127.0.0.1:50051",
    ] {
        let flags: Vec<&str> = flags.split_whitespace().collect();
        is_measured_again(&[&["--scenario", "128B-50"], flags.as_slice()].concat());
        is_measured_again(&[&["--scenario", "128B-50,1MiB-100"], flags.as_slice()].concat());
        is_measured_again(
            &[&["--payload", "1KiB,128B:80%,1MiB:20%", "--concurrency", "50,70"], flags.as_slice()].concat(),
        );
    }
}
