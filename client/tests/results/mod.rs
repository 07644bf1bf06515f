//! Results and golden files for tests.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its share of this module")]

use std::{collections::BTreeMap, path::Path, time::Duration};

use analyze::{
    load::{
        CallInfo, CallKind, Case, Comparison, End, ErrorCount, FrameCount, FrameCounts, FrameType, Frames, Http2Use,
        Latency, LoadSample, PeerSettings, Window, Wire, WireUse,
    },
    measure::result::{
        AllocCounters, ClientReading, ContextSwitches, Environment, Gateway, Interval, LoadKind, MemoryUse, OpCounts,
        Others, PageFaults, PerOp, ProcessUse, RunMeta, RunResult, RunSample, ServerOrigin, ServerReading, Site,
        SiteTable, SourceKind, SyscallCounts,
    },
    scenario::{GatewayKind, Payload, PayloadPattern},
};

/// Compares a text with a file under `tests/golden`, or writes the file when `UPDATE_GOLDEN` is set.
pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("the source tree can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(golden == text, "{name} differs; it should be:\n{golden}\nit is:\n{text}");
}

/// A triple, a gRPC and a raw result of one run with nothing missing.
pub fn full() -> Vec<RunResult> {
    let mut raw = derive("raw", Costs { requests: 9_000, allocs: 0, requested: 0, usable: Some(0), cpu_us: 6 });
    let mut triple =
        derive("triple", Costs { requests: 6_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 });
    let mut grpc =
        derive("grpc", Costs { requests: 4_000, allocs: 38, requested: 23_094, usable: Some(23_712), cpu_us: 15 });
    triple.set_sites(sites(1_024.0, 4.0), None);
    triple.set_syscalls(SyscallCounts { ops: 4_000, server: Some(6_000), client: Some(8_000) });
    grpc.set_sites(sites(23_712.0, 38.0), None);
    for result in [&mut triple, &mut grpc] {
        result.set_roofline(raw.figures.qps);
        result.files.cpu_profile = Some(format!("../../profiles/t/{}.cpu.pb.gz", result.file_stem()));
        result.files.alloc_space_flamegraph =
            Some(format!("../../flamegraphs/t/{}.alloc_space.svg", result.file_stem()));
        result.files.server_log = Some(format!("../../logs/t/{}.server.log", result.file_stem()));
    }
    raw.set_roofline(raw.figures.qps);
    vec![triple, grpc, raw]
}

/// A server of whose allocator only requested bytes are known.
pub fn requested_only() -> RunResult {
    derive("triple", Costs { requests: 6_000, allocs: 4, requested: 979, usable: None, cpu_us: 10 })
}

/// A server that answers every call with an error.
pub fn zero_success() -> RunResult {
    let mut sample =
        sample(1, 500, &Costs { requests: 500, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 });
    sample.load.ok = 0;
    sample.load.ok_in_window = 0;
    sample.load.error = 500;
    sample.load.latency = Latency::default();
    sample.load.errors = vec![ErrorCount { message: "grpc-status 12: no such method".to_owned(), count: 500 }];
    if let Some(server) = &mut sample.server {
        server.after.ops = server.before.ops.clone().map(|mut ops| {
            ops.values_mut().for_each(|counts| counts.error += 500);
            ops
        });
    }
    RunResult::derive(meta("triple", 1), &[sample])
}

/// A server of somebody else's, without debug endpoints and without a preflight.
pub fn attached_without_counters() -> RunResult {
    let mut meta = meta("grpc", 2);
    meta.wire = None;
    meta.environment = Environment { server: ServerOrigin::Attached, ..Environment::default() };
    let samples = [1, 2].map(|round| {
        let mut sample =
            sample(round, 4_000, &Costs { requests: 4_000, allocs: 0, requested: 0, usable: None, cpu_us: 0 });
        sample.server = None;
        sample.server_process = None;
        sample.client.before.counters = None;
        sample
    });
    RunResult::derive(meta, &samples)
}

/// A run that ended before its first round.
pub fn no_rounds() -> RunResult {
    RunResult::derive(meta("triple", 3), &[])
}

/// What a server does with a request.
pub struct Costs {
    pub requests: u64,
    pub allocs: u64,
    pub requested: u64,
    pub usable: Option<u64>,
    pub cpu_us: u64,
}

/// Three rounds of 98 %, 100 % and 104 % of the requests.
pub fn derive(framework: &str, costs: Costs) -> RunResult {
    let samples: Vec<RunSample> = [98, 100, 104]
        .into_iter()
        .zip(1..)
        .map(|(percent, round)| sample(round, costs.requests * percent / 100, &costs))
        .map(|sample| if framework == "raw" { over_tcp(sample) } else { sample })
        .collect();
    RunResult::derive(meta(framework, 3), &samples)
}

/// A round of one second in which all of the requests succeed; it takes 1.1 s from reading to reading.
pub fn sample(round: u32, requests: u64, costs: &Costs) -> RunSample {
    let mut latency = Latency::default();
    (1..=requests).for_each(|i| latency.record(1_000_000 + i * 1_000));
    let counters = |ops: u64| {
        Some(AllocCounters {
            allocs: Some(1_000 + ops * costs.allocs / 2),
            zeroed_allocs: Some(50),
            reallocs: Some(10 + ops * costs.allocs.div_ceil(2)),
            frees: Some(900 + ops * costs.allocs),
            requested_bytes: Some(123_456 + ops * costs.requested),
            usable_bytes: costs.usable.map(|usable| 234_567 + ops * usable),
        })
    };
    let server = |ops: u64| ServerReading {
        counters: counters(ops),
        ops: Some(BTreeMap::from([("UnaryCall".to_owned(), OpCounts { started: 7 + ops, ok: 7 + ops, error: 0 })])),
        cpu_ns: Some(5_000_000 + ops * costs.cpu_us * 1_000),
        gc: None,
        connections: Some(1),
    };
    let client = |ops: u64| ClientReading { counters: counters(ops), cpu_ns: Some(ops * 9_000) };
    RunSample {
        round,
        load: LoadSample {
            window: Duration::from_secs(1),
            started: requests,
            ok: requests,
            error: 0,
            lost: 0,
            unfinished: 0,
            ok_in_window: requests,
            latency,
            response: None,
            scheduled: None,
            last_start: Some(Duration::from_millis(999)),
            errors: Vec::new(),
            replies: None,
            payload_bytes: requests * 128,
            sent_bytes: requests * 170,
            received_bytes: requests * 165,
            wire_use: Some(wire_use(requests)),
        },
        elapsed: Duration::from_millis(1_100),
        server: Some(Interval { before: server(0), after: server(requests) }),
        client: Interval { before: client(0), after: client(requests) },
        server_process: Some(process(requests, costs.cpu_us, 20 << 20)),
        client_process: Some(process(requests * 2, 10, 40 << 20)),
        gateway_processes: None,
    }
}

/// As the bare echo's.
fn over_tcp(sample: RunSample) -> RunSample {
    RunSample { load: LoadSample { wire_use: None, ..sample.load }, ..sample }
}

/// A stream a request, none compressed, and a window update in a hundred.
fn wire_use(requests: u64) -> WireUse {
    let frames = |counts: &[(FrameType, u64, u64)]| {
        let counts = counts.iter().map(|&(kind, frames, bytes)| (kind, FrameCount { frames, bytes }));
        FrameCounts::from(counts.collect::<BTreeMap<_, _>>())
    };
    let frames = Frames {
        sent: frames(&[(FrameType::Headers, requests, requests * 26), (FrameType::Data, requests, requests * 144)]),
        received: frames(&[
            (FrameType::Headers, requests * 2, requests * 21),
            (FrameType::Data, requests, requests * 144),
            (FrameType::WindowUpdate, requests / 100, requests / 100 * 13),
        ]),
    };
    let http2 = Some(Http2Use { streams_opened: requests, frames });
    WireUse { connections_opened: 0, plain_replies: requests, compressed_replies: 0, http2 }
}

/// A context switch in 4 requests, a page fault in 8, and 4 MiB more at the peak than on average.
fn process(requests: u64, cpu_us: u64, avg_bytes: u64) -> ProcessUse {
    ProcessUse {
        cpu_ns: Some(requests * cpu_us * 1_000),
        page_faults: Some(PageFaults { minor: requests / 8, major: 0 }),
        context_switches: Some(ContextSwitches { voluntary: requests / 8, involuntary: requests / 8 }),
        memory: Some(MemoryUse { avg_bytes, peak_bytes: avg_bytes + (4 << 20) }),
    }
}

/// At 10,000 calls a second, of which a server managed so many; each waited 2 ms for its turn.
pub fn at_a_rate(requests: u64, end: End) -> RunResult {
    let costs = Costs { requests, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let mut meta = meta("triple", 2);
    meta.case.window = Window { end, rate: Some(10_000.0), ..meta.case.window };
    meta.case.scenario.payload = "128B:80%+1KiB:20%".parse().expect("a mix");
    let samples = [1, 2].map(|round| {
        let mut sample = sample(round, requests, &costs);
        sample.load.scheduled = Some(if end == End::Requests(requests) { requests } else { 10_000 });
        sample.load.payload_bytes = requests * 320;
        if end == End::Requests(requests) {
            sample.load.last_start = Some(Duration::from_secs_f64((requests - 1) as f64 / 10_000.0));
        }
        let mut response = Latency::default();
        (1..=requests).for_each(|i| response.record(3_000_000 + i * 1_000));
        sample.load.response = Some(response);
        sample
    });
    RunResult::derive(meta, &samples)
}

/// A method of the user's own that answers with a stream of three messages.
pub fn call() -> RunResult {
    let costs = Costs { requests: 900, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let mut meta = meta("call", 1);
    meta.case.pattern = PayloadPattern::Given;
    meta.case.scenario.payload = Payload::given(0).expect("an empty message");
    meta.call = Some(CallInfo {
        method: "my.Greeter/SayHello".to_owned(),
        kind: CallKind::ServerStreaming,
        schema: "reflection".to_owned(),
        request: "{}".to_owned(),
        reply: Some(r#"{"message":"hello"}"#.to_owned()),
        replies: Comparison::None,
    });
    let mut sample = sample(1, 900, &costs);
    sample.load.replies = Some(2_700);
    sample.load.payload_bytes = 0;
    RunResult::derive(meta, &[sample])
}

/// A server called directly and through nginx, which takes 20 µs a call, opens a connection for every hundred, and makes a call
/// half a millisecond longer.
pub fn through_nginx() -> [RunResult; 2] {
    let costs = Costs { requests: 6_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let via = [30, 50, 52].into_iter().zip(1..).map(|(percent, round)| {
        let requests = costs.requests * percent / 100;
        let mut sample = sample(round, requests, &costs);
        let mut latency = Latency::default();
        (1..=requests).for_each(|i| latency.record(1_500_000 + i * 1_000));
        sample.load.latency = latency;
        if let Some(server) = &mut sample.server {
            (server.before.connections, server.after.connections) = (Some(50), Some(50 + requests / 100));
        }
        let used = process(requests, 20, 5 << 20);
        sample.gateway_processes = Some(vec![ProcessUse { cpu_ns: Some(0), ..used }, used]);
        sample
    });
    let mut meta = meta("triple", 3);
    meta.gateway = Some(Gateway {
        kind: GatewayKind::Nginx,
        name: Some("nginx".to_owned()),
        version: Some("1.22.1".to_owned()),
        address: Some("127.0.0.1:30000".to_owned()),
        origin: ServerOrigin::Started,
        workers: Some(1),
        processes: Some(2),
        cpus: Some(vec![0]),
        added: None,
    });
    let mut via = RunResult::derive(meta, &via.collect::<Vec<_>>());
    let direct = derive("triple", costs);
    via.set_direct(&direct);
    via.files.gateway_config = Some(format!("../../logs/t/{}.gateway.conf", via.file_stem()));
    [direct, via]
}

pub fn meta(framework: &str, rounds: u32) -> RunMeta {
    let settings = PeerSettings { max_concurrent_streams: Some(200), ..PeerSettings::default() };
    RunMeta {
        label: "t".to_owned(),
        framework: framework.to_owned(),
        case: Case::new("128B-50".parse().expect("a scenario"), Duration::from_secs(1)),
        call: None,
        serialization: "protobuf".to_owned(),
        started: "2026-01-31T17:05:09Z".parse().expect("a time"),
        rounds,
        wire: Some(Wire {
            http_version: "HTTP/2".to_owned(),
            tls: None,
            content_type: Some("application/grpc+proto".to_owned()),
            response_content_type: Some("application/grpc+proto".to_owned()),
            request_encoding: "identity".to_owned(),
            response_encoding: "identity".to_owned(),
            connections: 1,
            client_settings: Some(PeerSettings::default()),
            server_settings: Some(settings),
            request_header_names: [":method", ":path", "content-type", "te"].map(str::to_owned).to_vec(),
            response_header_names: [":status", "content-type", "grpc-status"].map(str::to_owned).to_vec(),
            request_bytes: 170,
            response_bytes: 165,
            opening_frames: wire_use(1).http2.map(|used| used.frames),
        }),
        gateway: None,
        environment: Environment {
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            dirty: Some(false),
            rustc: Some("rustc 1.95.0".to_owned()),
            kernel: Some("Linux 6.1.0".to_owned()),
            cpu_model: Some("Some CPU".to_owned()),
            cpus: Some(2),
            cores: Some(2),
            server_cpus: Some(vec![0]),
            client_cpus: Some(vec![1]),
            allocator: Some("jemalloc 5.3.1".to_owned()),
            allocator_settings: Some("prof:true".to_owned()),
            counter_source: Some(SourceKind::DebugPprof),
            reading_cost: None,
            crates: BTreeMap::from([("h2".to_owned(), "0.4.20".to_owned())]),
            framework_version: None,
            runtime: None,
            peer_build: None,
            server: ServerOrigin::Started,
            server_restarted: false,
            server_address: Some("127.0.0.1:20000".to_owned()),
            server_cmdline: Some(vec!["analyze".to_owned(), "serve".to_owned(), framework.to_owned()]),
            round_duration_ms: Some(1_000),
            warmup_ms: Some(200),
        },
        warnings: Vec::new(),
    }
}

fn sites(bytes: f64, allocs: f64) -> SiteTable {
    let site = |function: &str, file: &str, line, share: f64| Site {
        function: function.to_owned(),
        file: Some(file.to_owned()),
        line: Some(line),
        per_op: PerOp { bytes_per_op: bytes * share, allocs_per_op: allocs * share },
    };
    SiteTable {
        total: PerOp { bytes_per_op: bytes, allocs_per_op: allocs },
        rows: vec![
            site("tonic::codec::encode::EncodedBytes::poll_next", "tonic-0.14.9/src/codec/encode.rs", 84, 0.5),
            site("h2::codec::framed_read::decode_frame", "h2-0.4.20/src/codec/framed_read.rs", 213, 0.25),
            Site {
                file: None,
                line: None,
                ..site("echo_server::triple::service::Echo::call::{closure}", "", 0, 0.125)
            },
        ],
        others: Others { sites: 7, per_op: PerOp { bytes_per_op: bytes * 0.125, allocs_per_op: allocs * 0.125 } },
        sampling: None,
    }
}

/// A server of so many calls a second at most, at ten rates from a thousand on: response times as of an M/M/1 queue, and a
/// backlog of two seconds where the rate is too high.
pub fn ramp(framework: &str, capacity: f64, highest: u64) -> Vec<RunResult> {
    (1..=10)
        .map(|step| {
            let rate = 1_000.0 + (highest as f64 - 1_000.0) / 9.0 * f64::from(step - 1);
            let achieved = rate.min(capacity * 0.99);
            let mut result =
                derive(framework, Costs { requests: 100, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 });
            result.load.kind = LoadKind::Rate;
            result.load.qps = Some(rate.round());
            let backlog = if rate > achieved { 2_000.0 * (1.0 - achieved / rate) } else { 0.0 };
            let percentile = |share: f64| Some(1e3 * (1.0 / (1.0 - share)).ln() / (capacity - achieved) + backlog);
            let figures = &mut result.figures;
            figures.qps = Some(achieved);
            figures.response_p50_ms = percentile(0.5);
            figures.response_p99_ms = percentile(0.99);
            figures.response_p999_ms = percentile(0.999);
            figures.latency_p99_ms = Some(0.4 + achieved / capacity);
            result
        })
        .collect()
}
