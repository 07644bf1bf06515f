//! Files that are refused, each with everything that is said of it.

use super::{
    super::{servers::OTHERS, *},
    read,
};

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    let invalid = read(text).expect_err(text);
    let expected: Vec<String> = expected.iter().map(|line| format!("config.yaml:{line}")).collect();
    assert_eq!(invalid.to_string().lines().collect::<Vec<_>>(), expected, "{text}");
}

/// What is said of a framework that isn't one.
fn known() -> String {
    format!("must be one of {}", Framework::names().join(", "))
}

#[test]
fn a_file_that_cannot_be_read() {
    let error = |path: &str| Config::open(Path::new(path), None).expect_err(path).to_string();
    assert_eq!(error("no/such.yaml"), "--config no/such.yaml: No such file or directory (os error 2)");
    assert_eq!(error("/dev"), "--config /dev: Is a directory (os error 21)");
    assert_eq!(error("/dev/null"), format!("/dev/null:1:1: no value: must be a mapping with keys of {KEYS}"));
    assert_eq!(error("/dev/zero"), "/dev/zero:1:1: more than 65536 bytes");
}

const KEYS: &str = "service, payload_sizes, serializations, compressions, call_modes, concurrency_levels, benchmark, frameworks, \
                    rounds, roofline, profiles, load, servers, server_cpus, client_cpus, label, out, cells";

#[test]
fn what_is_no_mapping_of_known_keys() {
    let mapping = |what: &str| format!("1:1: {what}: must be a mapping with keys of {KEYS}");
    refused("", &[&mapping("no value")]);
    refused("# nothing\n", &[&mapping("no value")]);
    refused("[1, 2]", &[&mapping("a list")]);
    refused("payload_sizes", &[&mapping("\"payload_sizes\"")]);
    let unknown = format!("unknown key \"paylod_sizes\": must be one of {KEYS}");
    refused(
        "paylod_sizes: [1]\nload:\n  qqs: 5\n\"a\\eb\": 1\n",
        &[
            &format!("1:1: {unknown}"),
            "3:3: load: unknown key \"qqs\": must be one of qps, requests, think, connections, sharing, messages_per_stream, \
             payload_pattern, response_size, sleep, accept_gzip",
            &format!("4:1: unknown key \"a\\u{{1b}}b\": must be one of {KEYS}"),
        ],
    );
    refused(
        "benchmark:\n  duration: 5s\n  rounds: 3",
        &[
            "2:3: benchmark: unknown key \"duration\": must be one of warmup_duration, test_duration, request_timeout, \
             connect_timeout",
            "3:3: benchmark: unknown key \"rounds\": must be one of warmup_duration, test_duration, request_timeout, \
             connect_timeout",
        ],
    );
    refused(
        "benchmark:\nload: 5",
        &[
            "1:10: benchmark: no value: must be a mapping with keys of warmup_duration, test_duration, request_timeout, \
             connect_timeout",
            "2:7: load: \"5\": must be a mapping with keys of qps, requests, think, connections, sharing, \
             messages_per_stream, payload_pattern, response_size, sleep, accept_gzip",
        ],
    );
}

#[test]
fn what_is_no_yaml_or_more_than_is_read() {
    refused("rounds: 3\nlabel: x\nrounds: 3", &["3:1: \"rounds\": given twice, first in line 1"]);
    refused("load:\n  qps: 5\n  think: 1s\n  qps: 6", &["4:3: \"qps\": given twice, first in line 2"]);
    refused("rounds: &r 3", &["1:9: an anchor: anchors are not read, write the value out"]);
    refused("rounds: *r", &["1:9: not YAML: while parsing node, found unknown anchor"]);
    refused("rounds: !!int 3", &["1:9: a tag: tags are not read"]);
    refused("rounds: 3\n---\nrounds: 4", &["2:1: a second document: must be one"]);
    refused("? [a, b]\n: 5", &["1:3: a list as a key: must be a word"]);
    refused("rounds: [3", &["2:1: not YAML: while parsing a flow sequence, expected ',' or ']'"]);
    refused("load:\n\tqps: 5", &["2:2: not YAML: tabs disallowed within this context (block indentation)"]);
    let invalid = Config::read("config.yaml", b"rounds: 3\nout: \xc3\xa9\xff\n", None).expect_err("no text");
    assert_eq!(invalid.to_string(), "config.yaml:2:7: the byte 0xff: must be UTF-8 text");
}

#[test]
fn values_of_the_lists() {
    const PAYLOAD: &str = "must be a size of 1B to 16MiB, as 128B, 16KiB or 1048576, or up to 8 different sizes with percents \
                           that add up to 100, as 128B:80%,1MiB:20%";
    refused(
        "payload_sizes: [128, 1MB, 128B, [1], 0, 17MiB, \"1B:50%,2B:49%\"]",
        &[
            &format!("1:22: payload_sizes[1]: payload \"1MB\": {PAYLOAD}"),
            "1:27: payload_sizes[2]: \"128B\": given twice, first in line 1",
            "1:33: payload_sizes[3]: a list: must be one value",
            &format!("1:38: payload_sizes[4]: payload \"0\": {PAYLOAD}"),
            &format!("1:41: payload_sizes[5]: payload \"17MiB\": {PAYLOAD}"),
            &format!("1:48: payload_sizes[6]: payload \"1B:50%,2B:49%\": {PAYLOAD}"),
        ],
    );
    refused(
        "payload_sizes: []\ncall_modes:\n- both\n-\n",
        &[
            "1:16: payload_sizes: an empty list: must be one value or more",
            "3:3: call_modes[0]: mode \"both\": must be one of unary, streaming",
            "4:2: call_modes[1]: no value: must be one value",
        ],
    );
    refused(
        "serializations: [json]\ncompressions: [gzip]",
        &[
            "1:18: serializations[0]: serialization \"json\": must be one of protobuf, hessian2, msgpack, thrift",
            "2:16: compressions[0]: compression \"gzip\": must be one of none, default, fastest, best",
        ],
    );
    refused(
        "concurrency_levels:\n  - 0\n  - 10001\n  - 5\n  - 05\n  - -1\n",
        &[
            "2:5: concurrency_levels[0]: \"0\": must be a whole number, 1 to 10000",
            "3:5: concurrency_levels[1]: \"10001\": must be a whole number, 1 to 10000",
            "5:5: concurrency_levels[3]: \"05\": given twice, first in line 4",
            "6:5: concurrency_levels[4]: \"-1\": must be a whole number, 1 to 10000",
        ],
    );
    let known = known();
    let running = "a server that speaks as one of them and runs already can be named in servers";
    refused(
        "frameworks: [triple, rpcx, thrift]",
        &[
            &format!("1:22: frameworks[1]: framework \"rpcx\": {known}; {running}"),
            &format!("1:28: frameworks[2]: framework \"thrift\": {known}"),
        ],
    );
    let numbers = |range: std::ops::Range<u32>| range.map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    refused(
        &format!("payload_sizes: [{}]\nconcurrency_levels: [{}]", numbers(1..501), numbers(1..102)),
        &["1:1: 101000 cells: must be 100000 at most"],
    );
}

#[test]
fn single_values() {
    refused(
        "rounds: 0\nroofline: yes\nprofiles: [true]\nserver_cpus: 3-1\nlabel: a/b\nout: ''",
        &[
            "1:9: rounds: \"0\": must be a whole number, 1 to 1000",
            "2:11: roofline: \"yes\": must be true or false",
            "3:11: profiles: a list: must be one value",
            "4:14: server_cpus: \"3-1\": must be CPU numbers below 1024 and ranges of them, as 0,2-3",
            "5:8: label: label \"a/b\": must be 1 to 100 letters, digits, '-', '_' or '.', begin with a letter, a digit or '_', \
             and not be \"latest\"",
            "6:6: out: \"\": must be a folder",
        ],
    );
    refused(
        "benchmark:\n  warmup_duration: soon\n  test_duration: 60\n  request_timeout: 0s\n  connect_timeout: 25h",
        &[
            "2:20: benchmark.warmup_duration: duration \"soon\": must be a number with ns, us, ms, s, m or h, as in 500ms or 2.5s",
            "3:18: benchmark.test_duration: duration \"60\": must be a number with ns, us, ms, s, m or h, as in 500ms or 2.5s",
            "4:20: benchmark.request_timeout: \"0s\": must be 1 ms to 24h",
            "5:20: benchmark.connect_timeout: \"25h\": must be 1 ms to 24h",
        ],
    );
    refused(
        "service:\n  name: Echo\n  port: {grpc: 0, http: 80}\nservers:\n  grpc: localhost:1\n  triple: {addr: ':1', debug: ftp://x, pid: 0}",
        &[
            "2:9: service.name: \"Echo\": must be BenchmarkService or benchmark.BenchmarkService, the one service that is called",
            "3:16: service.port.grpc: \"0\": must be a whole number, 1 to 65535",
            &format!("3:19: service.port: unknown key \"http\": {}, {}", known(), OTHERS.join(", ")),
            "5:9: servers.grpc: \"localhost:1\": must be a mapping with keys of addr, debug, pid",
            "6:18: servers.triple.addr: \":1\": must be HOST:PORT, as 127.0.0.1:20000 or [::1]:20000, or unix:PATH",
            "6:31: servers.triple.debug: debug URL \"ftp://x\": must be http://HOST:PORT",
            "6:45: servers.triple.pid: \"0\": must be a whole number, 1 to 4194304",
        ],
    );
    refused(
        "load:\n  qps: 9..1/3\n  requests: 1e6\n  connections: 0\n  sharing: both\n  messages_per_stream: 0\n  payload_pattern: ones\n  \
         response_size: 17MiB\n  sleep: -1s\n  accept_gzip: 1",
        &[
            "2:8: load.qps: \"9..1/3\": must be FROM..TO/STEPS, as 1000..20000/10: rates of 1 to 1000000 that rise, and 2 to 1000 \
             steps of at least 1",
            "3:13: load.requests: \"1e6\": must be a whole number, 1 to 1000000000",
            "4:16: load.connections: \"0\": must be a whole number, 1 to 10000",
            "5:12: load.sharing: sharing \"both\": must be one of mux, pool",
            "6:24: load.messages_per_stream: \"0\": must be a number of messages from 1, or unbounded",
            "7:20: load.payload_pattern: payload pattern \"ones\": must be one of random, zeros, text",
            "8:18: load.response_size: \"17MiB\": must be 0 to 16777216 bytes",
            "9:10: load.sleep: duration \"-1s\": must be a number with ns, us, ms, s, m or h, as in 500ms or 2.5s",
            "10:16: load.accept_gzip: \"1\": must be true or false",
        ],
    );
    refused(
        "load: {qps: [5, 0, 1..9/3, 5]}",
        &[
            "1:17: load.qps[1]: \"0\": must be calls a second, 1 to 1000000, or rates as 1000..20000/10",
            "1:20: load.qps[2]: \"1..9/3\": must be calls a second, 1 to 1000000, or rates as 1000..20000/10",
            "1:28: load.qps[3]: \"5\": given twice, first in line 1",
        ],
    );
}

#[test]
fn what_cannot_go_together() {
    refused("load:\n  messages_per_stream: 5", &["2:24: load.messages_per_stream: needs streaming among call_modes"]);
    refused(
        "load: {qps: 100, think: 1ms}",
        &["1:25: load.think: can't go with load.qps: at a rate a call waits for its time, not for a reply"],
    );
    refused(
        "load: {qps: [10, 500], requests: 1000000}",
        &["1:34: load.requests: 1000000 at 10 a second of load.qps: must take 24h at most"],
    );
    refused(
        "load: {qps: 10, requests: 864001}\nconcurrency_levels: 1",
        &["1:27: load.requests: 864001 at 10 a second of load.qps: must take 24h at most"],
    );
    refused("load: {sleep: 61m}\nbenchmark: {request_timeout: 2h}", &["1:15: load.sleep: \"61m\": must be 1h at most"]);
    refused(
        "load: {requests: 99}",
        &["1:18: load.requests: 99: fewer than the 100 calls in flight of concurrency_levels"],
    );
    refused(
        "load:\n  sleep: 2s\nbenchmark:\n  request_timeout: 2s",
        &["2:10: load.sleep: 2 s: must be less than benchmark.request_timeout, 2 s"],
    );
    refused(
        "call_modes: streaming\nload: {sharing: pool, connections: 99, messages_per_stream: unbounded}",
        &["2:61: load.messages_per_stream: unbounded streams would hold the 99 connections of the pool for good: \
             load.connections must be 100, for as many calls in flight"],
    );
    refused(
        "frameworks: grpc\nservers:\n  triple: {addr: \"127.0.0.1:1\"}",
        &["3:11: servers.triple: triple is not among frameworks: grpc"],
    );
    refused(
        "frameworks: [thrift]\nservers: {raw: {}}",
        &[&format!("1:14: frameworks[0]: framework \"thrift\": {}", known())],
    );
}

#[test]
fn changes_of_cells() {
    const MATCH: &str = "framework, payload, serialization, compression, call_mode, concurrency, qps";
    refused("cells: {match: {}}", &["1:8: cells: a mapping: must be a list"]);
    refused(
        "cells:\n  - profiles: false\n  - match: {}\n    skip: true\n  - match: {payload: 128B}\n  - 5",
        &[
            &format!("2:5: cells[0]: match is missing: must be a mapping with keys of {MATCH}"),
            &format!("3:12: cells[1].match: matches every cell: must have one or more of {MATCH}"),
            "5:5: cells[2]: changes nothing: must have skip, rounds, profiles, warmup_duration, test_duration, request_timeout",
            "6:5: cells[3]: \"5\": must be a mapping with keys of match, skip, rounds, profiles, warmup_duration, test_duration, \
             request_timeout",
        ],
    );
    refused(
        "cells:\n- match: {payload: [128B, 2MiB], framework: rpcx, qps: 5, mode: unary}\n  profiles: maybe",
        &[
            "2:27: cells[0].match.payload[1]: \"2MiB\": not among payload_sizes: 128B, 1KiB, 16KiB, 1MiB",
            &format!(
                "2:45: cells[0].match.framework: framework \"rpcx\": {}; a server that speaks as one of them and runs already \
                 can be named in servers",
                known()
            ),
            "2:56: cells[0].match.qps: \"5\": not among load.qps, which is empty",
            &format!("2:59: cells[0].match: unknown key \"mode\": must be one of {MATCH}"),
            "3:13: cells[0].profiles: \"maybe\": must be true or false",
        ],
    );
    refused(
        "load: {sleep: 1s, requests: 100}\ncells:\n- match: {payload: 128B}\n  request_timeout: 1s\n  test_duration: 5s\n- match: \
         {payload: 1MiB}\n  skip: true\n  rounds: 2",
        &[
            "4:20: cells[0].request_timeout: 1 s: must be more than load.sleep, 1 s",
            "5:18: cells[0].test_duration: can't go with load.requests, which ends each round",
            "7:9: cells[1].skip: can't go with settings: a cell that is skipped has none",
        ],
    );
}
