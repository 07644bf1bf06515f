//! Servers called through a gateway: one of this test that passes bytes on and counts its connections, one that refuses large bodies,
//! and nginx and Envoy where they are.

use std::{
    collections::HashSet,
    fs,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use analyze::{
    measure::result::{RunResult, ServerOrigin},
    scenario::GatewayKind,
};
use serde_json::Value;
use tempfile::TempDir;

const ANALYZE: &str = env!("CARGO_BIN_EXE_analyze");
/// As few calls as can be measured.
const LOAD: [&str; 9] = ["--requests", "200", "--warmup", "0s", "--rounds", "3", "--label", "t", "--no-profiles"];

/// A test at a time: a program that is being started has, for a moment, the sockets of this one, and is a process of the gateway then.
static ALONE: Mutex<()> = Mutex::new(());

/// Passes bytes on to a server, over a connection of its own for each of a client's.
struct Forwarder {
    addr: SocketAddr,
    opened: Arc<AtomicU64>,
}

impl Forwarder {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (addr, opened) = (listener.local_addr().expect("an address"), Arc::new(AtomicU64::new(0)));
        let count = opened.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(server) else { continue };
                count.fetch_add(1, SeqCst);
                pass_both_ways(client, server).expect("threads");
            }
        });
        Self { addr, opened }
    }
}

fn pass_both_ways(client: TcpStream, server: TcpStream) -> io::Result<()> {
    for (mut from, mut to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        from.set_nodelay(true)?;
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}

/// A server of this program, which ends with it.
struct Server {
    process: Child,
    addr: String,
    debug: String,
}

impl Server {
    fn start(framework: &str) -> Self {
        let mut process = Command::new(ANALYZE)
            .args(["serve", framework, "--addr", "127.0.0.1:0", "--debug-addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a server");
        let mut line = Vec::new();
        let mut stdout = process.stdout.take().expect("stdout");
        let mut byte = [0];
        while stdout.read(&mut byte).expect("a ready line") == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        let ready: Value = serde_json::from_slice(&line).expect("a ready line");
        let text = |key: &str| ready[key].as_str().expect("a text").to_owned();
        Self { addr: text("addr"), debug: text("debug_addr"), process }
    }

    fn socket(&self) -> SocketAddr {
        self.addr.parse().expect("an address")
    }

    /// Connections that it has accepted.
    fn accepted(&self) -> u64 {
        let authority = self.debug.trim_start_matches("http://");
        let mut stream = TcpStream::connect(authority).expect("debug endpoints");
        write!(stream, "GET /debug/vars HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")
            .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let json = answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| &body[body.find('{').unwrap_or(0)..=body.rfind('}').unwrap_or(0)]);
        let vars: Value = serde_json::from_str(json.expect("a body")).expect("JSON");
        vars["connections"]["accepted"].as_u64().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn analyze(dir: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(ANALYZE);
    command.args(args).current_dir(dir).env("NO_COLOR", "1").stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn result(dir: &TempDir, stem: &str) -> RunResult {
    let path = dir.path().join("data/t").join(format!("{stem}.json"));
    serde_json::from_slice(&fs::read(&path).expect("a result")).expect("a result")
}

/// The cells of a line of a table that begins so.
fn row(text: &str, name: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_gateway_that_runs_already_is_measured_in_turn_with_its_server() {
    let _alone = alone();
    let dir = TempDir::new().expect("a folder");
    let server = Server::start("grpc");
    let forwarder = Forwarder::before(server.socket());
    let at = forwarder.addr.to_string();
    let (addr, debug) = (format!("grpc={}", server.addr), format!("grpc={}", server.debug));
    let servers = ["--framework", "grpc", "--addr", &addr, "--debug", &debug, "--via", &at, "--scenario", "128B-4"];
    let ended = analyze(&dir, &[&servers[..], &LOAD, &["--connections", "2"]].concat());
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}");
    // Two to see whether anybody listens, and two of the load.
    assert_eq!(forwarder.opened.load(SeqCst), 2 + 2);
    // The same for the server itself, to which the gateway's come.
    assert_eq!(server.accepted(), (2 + 2) * 2);
    let order: Vec<bool> =
        said.lines().filter(|line| line.contains(" round ")).map(|line| line.contains(" via ")).collect();
    assert_eq!(order, [false, true, true, false, false, true], "{said}");
    let (direct, via) =
        (result(&dir, "grpc_128_protobuf_none_4_unary"), result(&dir, "grpc_128_protobuf_none_4_unary_via-running"));
    assert_eq!(direct.gateway, None);
    let gateway = via.gateway.as_ref().expect("a gateway");
    assert_eq!((gateway.kind, gateway.origin), (GatewayKind::Running, ServerOrigin::Attached));
    assert_eq!((gateway.address.as_deref(), gateway.processes), (Some(&*at), Some(1)));
    assert_eq!((direct.figures.connections_per_op, via.figures.connections_per_op), (Some(0.0), Some(0.0)));
    assert_eq!(direct.figures.gateway_cpu_us_per_op, None);
    assert!(via.figures.gateway_cpu_us_per_op.is_some_and(|cpu| cpu > 0.0), "{via:?}");
    assert!(via.figures.gateway_memory_avg_mb.is_some_and(|mb| mb > 1.0), "{via:?}");
    assert_eq!(
        via.rounds.iter().filter_map(|round| round.gateway_processes.as_ref()).map(Vec::len).collect::<Vec<_>>(),
        [1, 1, 1]
    );
    let added = gateway.added.expect("what it adds");
    assert_eq!((added.rounds, added.response), (3, None));
    let p99 = |result: &RunResult| result.figures.latency_p99_ms.expect("calls");
    assert!(is(added.service.p99_ms.value, p99(&via) - p99(&direct)), "{added:?}");
    let qps = |result: &RunResult, round: usize| result.figures_by_round()[round].qps.expect("a rate");
    let mut ratios: Vec<f64> = (0..3).map(|round| qps(&via, round) / qps(&direct, round)).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = added.qps_ratio;
    assert!(is(ratio.min, ratios[0]) && is(ratio.value, ratios[1]) && is(ratio.max, ratios[2]), "{ratio:?} {ratios:?}");
    // The same bytes reach the server, if not in the same pieces.
    let allocs = |result: &RunResult| result.figures.allocs_per_op.expect("counted");
    let ratio = allocs(&via) / allocs(&direct);
    assert!((0.8..1.25).contains(&ratio), "{} {}", allocs(&via), allocs(&direct));
    assert!(out.contains(" that ran already: grpc 128B-4, "), "{out}");
    assert_eq!(row(&out, "connections/op")[..2], ["0", "0"], "{out}");
    refused_to_compare(&dir, "grpc_128_protobuf_none_4_unary");
}

/// But for what is lost where numbers are written and read.
fn is(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-9)
}

/// A result through a gateway is not like one without.
fn refused_to_compare(dir: &TempDir, stem: &str) {
    let file = |stem: &str| format!("data/t/{stem}.json");
    let via = file(&format!("{stem}_via-running"));
    let compare = |more: &[&str]| analyze(dir, &[&["compare", &file(stem), &via], more].concat());
    let refused = compare(&[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("were measured otherwise") && said.contains("gateway: none against "), "{said}");
    assert_eq!(compare(&["--force"]).status.code(), Some(0));
}

#[test]
fn a_gateway_before_another_server_is_found_out() {
    let _alone = alone();
    let dir = TempDir::new().expect("a folder");
    let (server, other) = (Server::start("triple"), Server::start("triple"));
    let via = Forwarder::before(other.socket()).addr.to_string();
    let (addr, debug) = (format!("triple={}", server.addr), format!("triple={}", server.debug));
    let servers = ["--framework", "triple", "--addr", &addr, "--debug", &debug, "--via", &via, "--scenario", "128B-1"];
    let ended = analyze(&dir, &[&servers[..], &LOAD].concat());
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("the gateway at {via} doesn't lead to the server at --addr")), "{said}");
}

#[test]
fn what_is_wrong_is_said_before_anything_starts() {
    let _alone = alone();
    let dir = TempDir::new().expect("a folder");
    let (server, nobody) = (Server::start("grpc"), free_addr());
    let attached = format!("grpc={}", server.addr);
    let refused = |args: &[&str]| {
        let ended = analyze(&dir, &[&["--scenario", "128B-1"], args, &LOAD].concat());
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(!said.contains(" round "), "{said}");
        said.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(
        refused(&["--via", "traefik"]),
        "error: --via \"traefik\": must be nginx or envoy, which are started, or HOST:PORT of a gateway that runs already, \
         whatever it is"
    );
    assert!(refused(&["--via", "127.0.0.1:x"]).starts_with("error: --via \"127.0.0.1:x\": "));
    assert_eq!(
        refused(&["--via", "127.0.0.1:1"]),
        "error: --via 127.0.0.1:1: leads to one server: --framework triple,grpc has 2"
    );
    assert!(refused(&["--via", "127.0.0.1:1", "--framework", "grpc"]).contains("goes with --addr grpc=HOST:PORT"));
    assert!(
        refused(&["--via", "nginx", "--framework", "raw"])
            .contains("goes with triple, grpc or another server of HTTP/2")
    );
    assert!(refused(&["--via-cpus", "0"]).contains("--via-cpus 0: goes with --via nginx or envoy"));
    let to_server = ["--framework", "grpc", "--addr", &attached, "--via", &server.addr];
    assert!(refused(&to_server).contains("must be another address than that of the server"));
    let nobody = nobody.to_string();
    let unreachable = refused(&["--framework", "grpc", "--addr", &attached, "--via", &nobody]);
    assert!(unreachable.starts_with(&format!("error: --via {nobody}: ")), "{unreachable}");
    let ab = analyze(&dir, &["ab", "--base", "a", "--head", "b", "--scenario", "128B-1", "--via", "nginx"]);
    assert_eq!(ab.status.code(), Some(2));
    assert!(text(&ab.stderr).contains("--via nginx: goes with analyze run"), "{}", text(&ab.stderr));
}

fn free_addr() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port")
}

/// Whether a program is on PATH; says so when not.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("not tested: {program} is not on PATH");
    }
    found
}

#[test]
fn nginx_is_started_before_each_server_and_ended() {
    let _alone = alone();
    if is_there("nginx") {
        started("nginx", GatewayKind::Nginx);
    }
}

#[test]
fn envoy_is_started_before_each_server_and_ended() {
    let _alone = alone();
    if is_there("envoy") {
        started("envoy", GatewayKind::Envoy);
    }
}

fn started(program: &str, kind: GatewayKind) {
    let dir = TempDir::new().expect("a folder");
    // More than nginx takes unless it is told.
    let args = ["--via", program, "--payload", "2MiB", "--concurrency", "4", "--requests", "20"];
    let ended = analyze(&dir, &[&args[..], &LOAD[2..]].concat());
    let (out, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}");
    for framework in ["triple", "grpc"] {
        let stem = format!("{framework}_2097152_protobuf_none_4_unary_via-{program}");
        let result = result(&dir, &stem);
        assert_eq!((result.failure_requests, result.success_requests), (0, 60), "{result:?}");
        let gateway = result.gateway.expect("a gateway");
        assert_eq!((gateway.kind, gateway.origin), (kind, ServerOrigin::Started));
        assert!(gateway.version.is_some() && gateway.added.is_some(), "{gateway:?}");
        assert!(result.figures.gateway_cpu_us_per_op.is_some_and(|cpu| cpu > 0.0), "{gateway:?}");
        assert!(result.figures.connections_per_op.is_some_and(|opened| opened < 1.0), "it keeps them: {gateway:?}");
        let config = dir.path().join("data/t").join(result.files.gateway_config.expect("a configuration"));
        let addr: SocketAddr = gateway.address.expect("an address").parse().expect("an address");
        assert!(fs::read_to_string(&config).expect("a configuration").contains(&addr.port().to_string()));
        assert!(TcpStream::connect_timeout(&addr, Duration::from_secs(1)).is_err(), "it has ended");
    }
    assert!(out.contains(&format!("Through {program} ")), "{out}");
    let left: HashSet<String> = fs::read_dir(dir.path().join("logs/t"))
        .expect("logs")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".log") && !name.ends_with(".conf"))
        .collect();
    assert_eq!(left, HashSet::new());
}
