//! Files that are read, and what they say.

use std::time::Duration;

use analyze::{
    load::{CallMode, Case, MessagesPerStream, Sharing, Window},
    scenario::{Compression, Framework, PayloadPattern, Scenario, Serialization},
};

use super::{super::*, read};

const SUITE_A: &str = include_str!("../../../../../tests/configs/suite-a.yaml");
const EVERY_KEY: &str = include_str!("../../../../../tests/configs/every-key.yaml");
const SHORT: &str = include_str!("../../../../../tests/configs/short.yaml");

fn notes(config: &Config) -> Vec<String> {
    config.notes.iter().map(|note| format!("{}:{}: {}", note.at.line, note.at.column, note.text)).collect()
}

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

#[test]
fn the_file_of_suite_a_is_read_unchanged() {
    let config = read(SUITE_A).expect("a configuration");
    assert_eq!(texts(&config.payloads), ["128B", "1KiB", "16KiB", "1MiB"]);
    assert_eq!(config.serializations, [Serialization::Hessian2, Serialization::Protobuf, Serialization::Msgpack]);
    assert_eq!(config.compressions, [Compression::None, Compression::Default, Compression::Fastest]);
    assert_eq!(config.call_modes, [CallMode::Unary, CallMode::Streaming]);
    assert_eq!(config.concurrency_levels, [50, 100, 500, 1000, 2000]);
    assert_eq!(config.settings.warmup, Duration::from_secs(10));
    assert_eq!(config.settings.duration, Duration::from_secs(60));
    assert_eq!(config.settings.request_timeout, Duration::from_secs(30));
    // What it doesn't say is as if there were no file.
    let default = Config::default();
    assert_eq!(
        (&config.frameworks, &config.servers, &config.load),
        (&default.frameworks, &default.servers, &default.load)
    );
    assert_eq!(
        notes(&config),
        [
            "5:15: service.port.dubbo-go: not used: dubbo-go is not among the frameworks measured",
            "6:17: service.port.dubbo-java: not used: dubbo-java is not among the frameworks measured",
            "7:11: service.port.grpc: not used: the server that we start takes a free port",
        ]
    );
}

#[test]
fn the_example_of_the_readme_is_one() {
    let readme = include_str!("../../../../../../README.md");
    let example = readme.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let config = read(example).expect("a configuration");
    assert_eq!((config.payloads.len(), config.settings.profiles, notes(&config)), (3, true, Vec::new()));
}

#[test]
fn every_key_is_read() {
    let config = read(EVERY_KEY).expect("a configuration");
    let expected = Config {
        frameworks: vec![Framework::Triple, Framework::Grpc, Framework::Raw],
        payloads: ["128B", "1MiB", "128B:80%+1MiB:20%"].map(|text| text.parse().expect("a payload")).to_vec(),
        serializations: vec![Serialization::Protobuf, Serialization::Msgpack],
        encoding_asked: true,
        compressions: vec![Compression::None, Compression::Best],
        call_modes: vec![CallMode::Unary, CallMode::Streaming],
        concurrency_levels: vec![10, 10_000],
        load: Load {
            qps: vec![1000, 3000, 5000],
            requests: Some(20_000),
            think: Duration::ZERO,
            connections: Some(8),
            sharing: Sharing::Pool,
            messages_per_stream: "64".parse().expect("a count"),
            pattern: PayloadPattern::Text,
            response_size: Some(16_384),
            sleep: Duration::from_millis(5),
            accept_gzip: true,
        },
        settings: Settings {
            rounds: 7,
            profiles: false,
            warmup: Duration::from_secs(90),
            duration: Duration::from_millis(2500),
            request_timeout: Duration::from_secs(10),
        },
        connect_timeout: Duration::from_millis(500),
        roofline: false,
        servers: vec![
            Attached {
                framework: Framework::Triple,
                addr: "[::1]:20000".to_owned(),
                debug: Some("http://127.0.0.1:8000".to_owned()),
                pid: Some(4_194_304),
            },
            Attached { framework: Framework::Grpc, addr: "127.0.0.1:21001".to_owned(), debug: None, pid: None },
        ],
        server_cpus: Some(vec![0, 2, 3]),
        client_cpus: Some(vec![1]),
        label: Some("before".parse().expect("a label")),
        out: Some("runs".into()),
        changes: config.changes.clone(),
        notes: config.notes.clone(),
    };
    assert_eq!(config, expected);
    assert_eq!(config.changes.len(), 3);
    assert_eq!(
        notes(&config),
        [
            "4:18: service.port.triple: not used: servers.triple.addr has a port",
            "4:50: service.port.dubbo-java: not used: dubbo-java is not among the frameworks measured",
            "12:18: benchmark.test_duration: not used: load.requests ends each round",
            "26:18: load.response_size: not set on the server of servers.triple, which runs already",
            "27:10: load.sleep: not set on the server of servers.triple, which runs already",
            "35:14: server_cpus: not set on the server of servers.triple, which runs already",
        ]
    );
}

#[test]
fn a_key_that_is_left_out_has_its_default() {
    assert_eq!(read("rounds: 5").expect("a configuration"), Config::default());
    let default = Config::default();
    assert_eq!(texts(&default.payloads), ["128B", "1KiB", "16KiB", "1MiB"]);
    assert_eq!(default.load.messages_per_stream, MessagesPerStream::default());
    assert_eq!(default.settings(Framework::Grpc, &case("128B", None)), Some(default.settings));
    let servers = read("servers: {grpc: {}}").expect("a configuration").servers;
    assert_eq!(servers[0].addr, "127.0.0.1:50051");
}

#[test]
fn a_cell_has_the_settings_of_the_changes_that_match_it() {
    let config = read(SHORT).expect("a configuration");
    let base = Settings { duration: Duration::from_secs(60), ..Settings::default() };
    let large = Settings { rounds: 3, profiles: false, duration: Duration::from_secs(10), ..base };
    for (payload, qps, expected) in [
        ("128B", 500, Some(base)),
        ("128B", 1000, None),
        ("1MiB", 500, Some(Settings { rounds: 2, warmup: Duration::ZERO, ..large })),
        ("1MiB", 1000, Some(large)),
    ] {
        assert_eq!(config.settings(Framework::Grpc, &case(payload, Some(qps))), expected, "{payload} at {qps}");
    }
}

#[test]
fn a_change_matches_on_each_of_its_keys() {
    let matches = |cells: &str, framework, case: &Case| {
        let suite = "serializations: [protobuf, msgpack]\ncompressions: [none, best]\ncall_modes: [unary, streaming]\n";
        let config = read(&format!("{suite}cells: [{{match: {{{cells}}}, skip: true}}]")).expect("a configuration");
        config.settings(framework, case).is_none()
    };
    let plain = case("128B", None);
    let other = Case {
        serialization: Serialization::Msgpack,
        compression: Compression::Best,
        mode: CallMode::Streaming,
        scenario: Scenario { concurrency: 100, ..plain.scenario },
        ..plain
    };
    for (key, value) in [
        ("serialization", "msgpack"),
        ("compression", "best"),
        ("call_mode", "streaming"),
        ("concurrency", "100"),
        ("framework", "grpc"),
    ] {
        assert!(matches(&format!("{key}: {value}"), Framework::Grpc, &other), "{key}");
        assert!(!matches(&format!("{key}: {value}"), Framework::Triple, &plain), "{key}");
    }
    assert!(!matches("serialization: msgpack, concurrency: 50", Framework::Triple, &other), "one key of two");
    assert!(matches("serialization: [msgpack, protobuf]", Framework::Triple, &plain), "one value of two");
}

#[test]
fn values_may_be_written_in_every_way_of_yaml() {
    let plain = read("payload_sizes: [1024]\nrounds: 3\nlabel: x").expect("a configuration");
    for text in [
        "payload_sizes: 1024\nrounds: 3\nlabel: x",
        "payload_sizes: 1KiB\nrounds: '3'\nlabel: \"x\"",
        "\u{feff}---\npayload_sizes:\n- 1024 # bytes\nrounds: 3\nlabel: x\n...\n",
        "{payload_sizes: [1024], rounds: 3, \"label\": x}",
        "%YAML 1.2\n---\r\npayload_sizes: [1024]\r\nrounds: 3\r\nlabel: x\r\n",
        "label: >-\n  x\nrounds: 3\npayload_sizes: [\n  1024,\n]",
    ] {
        assert_eq!(read(text), Ok(plain.clone()), "{text}");
    }
    assert_eq!(read("label: null").expect_err("no value").findings[0].text, "label: no value: must be one value");
    assert_eq!(read("label: 'null'").expect("a configuration").label.expect("a label").as_str(), "null");
}

fn case(payload: &str, qps: Option<u32>) -> Case {
    let scenario = Scenario { payload: payload.parse().expect("a payload"), concurrency: 50 };
    let case = Case::new(scenario, Duration::from_secs(1));
    Case { window: Window { rate: qps.map(f64::from), ..case.window }, ..case }
}
