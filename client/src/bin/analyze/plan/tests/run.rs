//! Plans of flags: what they are, and what is refused with which line.

use super::{super::*, CPUS};
use crate::cli::run_args;

fn plan(flags: &[&str]) -> Plan {
    Plan::of_run(run_args(flags), &CPUS).expect("a plan")
}

/// With `--scenario 128B-50` where no flag says what is sent.
fn refused(flags: &[&str]) -> String {
    let sent = flags.iter().any(|flag| ["--scenario", "--payload", "--concurrency"].contains(flag));
    let scenario: &[&str] = if sent { &[] } else { &["--scenario", "128B-50"] };
    let error = Plan::of_run(run_args(&[scenario, flags].concat()), &CPUS).expect_err("a usage error").0;
    assert!(!error.contains('\n'), "{error}");
    error
}

fn scenarios(plan: &Plan) -> Vec<String> {
    plan.groups.iter().map(|group| group.subjects[0].case.scenario.to_string()).collect()
}

#[test]
fn the_roofline_is_measured_with_servers_of_our_own() {
    let frameworks = |flags: &[&str]| {
        let plan = plan(&[&["--scenario", "128B-50"], flags].concat());
        plan.subjects().map(|subject| subject.framework.name()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(frameworks(&[]), "triple grpc raw");
    assert_eq!(frameworks(&["--no-roofline"]), "triple grpc");
    assert_eq!(frameworks(&["--framework", "raw,triple"]), "raw triple");
    assert_eq!(frameworks(&["--framework", "triple", "--addr", "triple=127.0.0.1:20000"]), "triple");
    assert_eq!(frameworks(&["--qps", "100"]), "triple grpc");
    assert_eq!(frameworks(&["--think", "1ms"]), "triple grpc");
    assert_eq!(frameworks(&["--sleep", "1ms"]), "triple grpc");
    let plan = plan(&["--scenario", "128B-50", "--compression", "best"]);
    let profiled: Vec<bool> = plan.subjects().map(|subject| subject.profiled).collect();
    assert_eq!(profiled, [true, true, false]);
    let raw = &plan.groups[0].subjects[2];
    assert_eq!(raw.case.compression, Compression::None);
    assert_eq!(raw.file_stem(&plan.label), "raw_128_none_none_50_unary");
}

#[test]
fn payloads_and_concurrencies_are_crossed() {
    let plan = plan(&["--payload", "128B,1B:50%,2B:50%", "--payload", "1MiB", "--concurrency", "50,100,50"]);
    let expected = ["128B-50", "128B-100", "1B:50%+2B:50%-50", "1B:50%+2B:50%-100", "1MiB-50", "1MiB-100"];
    assert_eq!(scenarios(&plan), expected);
    assert!(refused(&["--payload", "128B"]).starts_with("--payload: --concurrency is missing"));
    assert!(refused(&["--concurrency", "1"]).starts_with("--concurrency: --payload is missing"));
    assert!(refused(&["--scenario", "1B-1", "--payload", "128B"]).starts_with("--scenario: not with --payload"));
    assert_eq!(
        refused(&["--payload", "1B", "--concurrency", "10001"]),
        "--concurrency: \"10001\": must be a whole number, 1 to 10000"
    );
    assert_eq!(
        refused(&["--payload", "17MiB", "--concurrency", "1"]),
        "--payload: payload \"17MiB\": must be a size of 1B to 16MiB, as 128B, 16KiB or 1048576, or up to 8 different \
         sizes with percents that add up to 100, as 128B:80%,1MiB:20%"
    );
}

#[test]
fn every_flag_reaches_the_case() {
    let flags = [
        "--scenario 1KiB-20 --framework triple --mode streaming --messages-per-stream 10 --serialization hessian2",
        "--compression fastest --accept-gzip --payload-pattern text --response-size 16KiB --sleep 2ms --think 3ms",
        "--connections 4 --pool --requests 1000 --timeout 10s --rounds 3 --warmup 0s --no-profiles",
    ];
    let flags = flags.join(" ");
    let plan = plan(&flags.split(' ').collect::<Vec<_>>());
    let Subject { case, rounds, warmup, request_timeout, profiled, .. } = plan.groups[0].subjects[0];
    assert_eq!(case.window.end, End::Requests(1000));
    assert_eq!(case.window.think, Duration::from_millis(3));
    assert_eq!((case.response_size, case.sleep), (Some(16_384), Duration::from_millis(2)));
    assert_eq!((case.connections, case.sharing.name(), case.accept_gzip), (4, "pool", true));
    assert_eq!((rounds, warmup, request_timeout, profiled), (3, Duration::ZERO, Duration::from_secs(10), false));
    let subject = &plan.groups[0].subjects[0];
    assert_eq!(subject.name(), "1KiB-20 triple hessian2 gzip fastest streaming 10");
    assert_eq!(subject.file_stem(&plan.label), "triple_1024_hessian2_fastest_20_streaming_m10");
    let old = self::plan(&["--scenario", "1B-1", "--request-timeout", "7s"]);
    assert_eq!(old.groups[0].subjects[0].request_timeout, Duration::from_secs(7));
}

#[test]
fn a_pool_has_a_connection_for_each_call_unless_told() {
    let connections = |flags: &[&str]| {
        let plan = plan(&[&["--scenario", "128B-50"], flags].concat());
        (plan.groups[0].subjects[0].case.connections, plan.connections(), plan.notes.len())
    };
    assert_eq!(connections(&["--framework", "triple"]), (1, 2, 0));
    assert_eq!(connections(&["--framework", "triple", "--pool"]), (50, 100, 0));
    assert_eq!(connections(&["--framework", "triple", "--pool", "--connections", "10"]), (10, 20, 0));
    let capped = plan(&["--scenario", "128B-50", "--connections", "60"]);
    assert_eq!(capped.notes, ["--connections 60: 50 with 50 calls in flight"]);
    assert_eq!(refused(&["--pool", "--mux"]), "--pool: not with --mux, its opposite");
    assert_eq!(refused(&["--connections", "0"]), "--connections: \"0\": must be a whole number, 1 to 10000");
    assert_eq!(
        refused(&["--mode", "streaming", "--messages-per-stream", "unbounded", "--pool", "--connections", "10"]),
        "--messages-per-stream unbounded: not with a pool of 10 connections: 10 streams would hold them for good, and the \
         other calls of 50 in flight never start; --connections 50 is enough"
    );
}

#[test]
fn a_ramp_is_a_group_a_rate_without_profiles() {
    let ramp = plan(&["--scenario", "1B-1,1B-2", "--qps", "1000..3000/3", "--framework", "triple"]);
    let rates: Vec<Option<f64>> = ramp.subjects().map(|subject| subject.case.window.rate).collect();
    assert_eq!(rates[..3], [Some(1000.0), Some(2000.0), Some(3000.0)]);
    assert_eq!((rates.len(), ramp.groups.len()), (6, 6));
    assert!(ramp.subjects().all(|subject| !subject.profiled));
    assert_eq!(ramp.notes, ["no profiles are taken at several rates"]);
    let one = plan(&["--scenario", "1B-1", "--qps", "1000", "--framework", "triple"]);
    assert!(one.groups[0].subjects[0].profiled && one.notes.is_empty());
    assert_eq!(one.groups[0].subjects[0].name(), "1B-1 triple 1,000/s");
    assert_eq!(refused(&["--qps", "200,100"]), "--qps: \"200,100\": 100 after 200: rates must rise");
    assert!(refused(&["--qps", "9..1/3"]).starts_with("--qps: \"9..1/3\": must be FROM..TO/STEPS"));
    assert!(refused(&["--qps", "0"]).starts_with("--qps: \"0\": must be calls a second, 1 to 1000000"));
    assert_eq!(
        refused(&["--qps", "100", "--think", "1ms"]),
        "--think 1 ms: not with --qps, where the rate alone says when a call starts"
    );
}

#[test]
fn what_a_kind_of_server_does_not_know_is_refused() {
    assert_eq!(
        refused(&["--serialization", "hessian2"]),
        "--serialization hessian2: not with grpc: gRPC carries protobuf only: hessian2 and msgpack are arguments in \
         Triple's envelopes; --framework triple leaves it out"
    );
    assert_eq!(
        refused(&["--serialization", "msgpack", "--framework", "raw"]),
        "--serialization msgpack: not with raw: the raw echo carries bytes, no messages"
    );
    assert_eq!(
        refused(&["--compression", "best", "--framework", "triple,raw"]),
        "--compression best: not with raw: the raw echo carries bytes, no messages: nothing in them says that they are \
         compressed; --framework triple leaves it out"
    );
    assert_eq!(
        refused(&["--accept-gzip", "--framework", "raw"]),
        "--accept-gzip: not with raw alone, which never compresses"
    );
    assert_eq!(
        refused(&["--sleep", "5ms", "--framework", "grpc", "--addr", "grpc=127.0.0.1:1"]),
        "--sleep 5 ms: every server runs already: start it with echo-server --sleep"
    );
    let one_of_them = ["--scenario", "1B-1", "--sleep", "5ms", "--addr", "grpc=127.0.0.1:1"];
    assert_eq!(plan(&one_of_them).subjects().count(), 2);
}

#[test]
fn wrong_values_name_flag_value_and_what_is_allowed() {
    for value in ["1MB-x", "0B-10", "20MiB-1", "-1", "128B-0"] {
        let error = refused(&["--scenario", value]);
        assert!(error.starts_with("--scenario: ") && error.contains(value) && error.contains("1MiB-100"), "{error}");
    }
    let nothing = Plan::of_run(run_args(&[]), &CPUS).expect_err("a usage error").0;
    assert!(nothing.starts_with("--scenario is missing: a size and a concurrency"), "{nothing}");
    for (flags, line) in [
        (&["--rounds", "0"][..], "--rounds: \"0\": must be a whole number, 1 to 1000"),
        (&["--duration", "0s"], "--duration: \"0s\": must be 100 ms to 24h"),
        (&["--mode", "both"], "--mode: mode \"both\": must be one of unary, streaming"),
        (&["--messages-per-stream", "5"], "--messages-per-stream 5: goes with --mode streaming"),
        (
            &["--mode", "streaming", "--messages-per-stream", "0"],
            "--messages-per-stream: \"0\": must be a number of messages from 1, or unbounded",
        ),
        (&["--compression", "zip"], "--compression: compression \"zip\": must be one of none, default, fastest, best"),
        (
            &["--payload-pattern", "ones"],
            "--payload-pattern: payload pattern \"ones\": must be one of random, zeros, text",
        ),
        (&["--response-size", "17MiB"], "--response-size: \"17MiB\": must be 0 to 16777216 bytes"),
        (&["--sleep", "31s"], "--sleep 31 s: must be less than --timeout, 30 s"),
        (&["--sleep", "2h"], "--sleep: \"2h\": must be 1h at most"),
        (&["--requests", "9", "--duration", "1s"], "--requests 9: not with --duration: a round ends by one of them"),
        (&["--requests", "9"], "--requests 9: fewer than the 50 calls in flight of 128B-50"),
        (&["--timeout", "0s"], "--timeout: \"0s\": must be 1 ms to 24h"),
        (
            &["--label", "a/b"],
            "--label: label \"a/b\": must be 1 to 100 letters, digits, '-', '_' or '.', begin with a letter, a digit or '_', and not be \"latest\"",
        ),
        (&["--addr", "triple"], "--addr \"triple\": must be FRAMEWORK=HOST:PORT, as --addr triple=…"),
        (&["--addr", "raw=127.0.0.1:1"], "--addr raw=…: raw is not among --framework triple,grpc"),
        (&["--debug", "grpc=http://127.0.0.1:1"], "--debug grpc=…: goes with --addr grpc=HOST:PORT"),
        (&["--pid", "grpc=1"], "--pid grpc=…: goes with --addr grpc=HOST:PORT"),
        (&["--addr", "grpc=127.0.0.1:1", "--pid", "grpc=0"], "--pid grpc: \"0\": must be a whole number, 1 to 4194304"),
        (&["--server-cpus", "9"], "--server-cpus 9: CPU 9 may not be used: allowed are 0-3"),
        (
            &["--client-cpus", "1-"],
            "--client-cpus: \"1-\": must be CPU numbers below 1024 and ranges of them, as 0,2-3",
        ),
        (&["--allow-remote"], "--allow-remote: goes with --client-debug IP:PORT"),
        (
            &["--client-debug", "localhost:18888"],
            "--client-debug \"localhost:18888\": must be an IP address and a port, as 127.0.0.1:18888",
        ),
        (
            &["--client-debug", "0.0.0.0:1"],
            "--client-debug 0.0.0.0:1: not a loopback address: allowed only with --allow-remote",
        ),
    ] {
        assert_eq!(refused(flags), line);
    }
    assert!(refused(&["--addr", "grpc=127.0.0.1"]).contains("must be HOST:PORT"));
    assert!(refused(&["--duration", "soon"]).contains("\"soon\""));
}

#[test]
fn a_process_is_one_of_this_machine() {
    let own = format!("grpc={}", std::process::id());
    let attached = plan(&["--scenario", "1B-1", "--addr", "grpc=127.0.0.1:1", "--pid", &own]);
    let grpc = attached.subjects().find(|subject| !subject.is_ours()).expect("an attached server");
    assert!(matches!(grpc.origin, Origin::Attach { pid: Some(pid), .. } if pid == std::process::id()));
    // No process has an id above the kernel's limit, which is 2^22 at most.
    let none = refused(&["--addr", "grpc=127.0.0.1:1", "--pid", "grpc=4194304"]);
    assert_eq!(none, "--pid grpc: \"4194304\": no such process on this machine");
}
