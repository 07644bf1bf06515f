//! The commands that measure the same again.

use super::facts::is_profiled;
use crate::{
    load::{CallInfo, Comparison, MessagesPerStream, Sharing},
    measure::{
        cpu_list,
        result::{Gateway, RunResult, ServerOrigin},
    },
    scenario::{Compression, Framework, GatewayKind, PayloadPattern, Serialization},
    units::format_size,
};

// What `analyze run` does where a flag is left out.
const ROUNDS: usize = 5;
const ROUND_MS: u64 = 5_000;
const WARMUP_MS: u64 = 2_000;
const FRAMEWORKS: [Framework; 2] = [Framework::Triple, Framework::Grpc];

/// Headers that every call has, or compressed ones.
const USUAL_HEADERS: [&str; 7] =
    ["content-length", "content-type", "grpc-accept-encoding", "grpc-encoding", "host", "te", "user-agent"];

/// Those of plain HTTP.
const USUAL_OF_HTTP: [&str; 3] = ["content-length", "host", "user-agent"];

/// What one command measures: every framework with every scenario at every rate.
struct Line {
    scenarios: Vec<String>,
    frameworks: Vec<String>,
    /// Flags of a call of the user's own, which takes the place of scenario and framework. Empty for the echo.
    call: Vec<String>,
    /// Empty in a closed loop.
    rates: Vec<f64>,
    /// Flags of servers that ran already.
    servers: Vec<String>,
    /// All else that is not as usual.
    flags: Vec<String>,
    profiled: bool,
}

/// Lines of `analyze run` that measure what these results are of, as few as it takes; under this label, if there is one. What results
/// don't record is in none: time-outs, and the debug endpoints and process ids of servers that ran already.
pub fn repeat(results: &[RunResult], label: Option<&str>) -> Vec<String> {
    let mut lines: Vec<Line> = results.iter().filter_map(|result| Line::of(result, results)).collect();
    let at_rates = |line: &Line| !line.rates.is_empty() && !line.profiled;
    lines = merged(lines, |a, b| {
        let same = (&a.scenarios, &a.frameworks, &a.call, &a.servers, &a.flags)
            == (&b.scenarios, &b.frameworks, &b.call, &b.servers, &b.flags);
        let joins = same && at_rates(a) && at_rates(b);
        if joins {
            a.rates.extend(&b.rates);
            a.rates.sort_by(f64::total_cmp);
            a.rates.dedup();
        }
        joins
    });
    lines = merged(lines, |a, b| {
        let joins = a.call.is_empty()
            && b.call.is_empty()
            && (&a.scenarios, &a.rates, &a.flags, a.profiled) == (&b.scenarios, &b.rates, &b.flags, b.profiled);
        if joins {
            a.frameworks.extend(b.frameworks.iter().cloned());
            a.servers.extend(b.servers.iter().cloned());
        }
        joins
    });
    lines = merged(lines, |a, b| {
        let joins = (&a.frameworks, &a.call, &a.rates, &a.servers, &a.flags, a.profiled)
            == (&b.frameworks, &b.call, &b.rates, &b.servers, &b.flags, b.profiled);
        if joins {
            a.scenarios.extend(b.scenarios.iter().cloned());
        }
        joins
    });
    lines.iter().map(|line| line.text(label)).collect()
}

/// Fewer lines: each goes into the first one that takes it.
fn merged(lines: Vec<Line>, takes: impl Fn(&mut Line, &Line) -> bool) -> Vec<Line> {
    let mut fewer: Vec<Line> = Vec::new();
    for line in lines {
        if !fewer.iter_mut().any(|known| takes(known, &line)) {
            fewer.push(line);
        }
    }
    fewer
}

impl Line {
    /// Of one result of a run. `None` for a bare echo that comes with servers of our own by itself, and for a server called directly
    /// that comes with the same through a gateway.
    fn of(result: &RunResult, run: &[RunResult]) -> Option<Self> {
        if run.iter().any(|other| result.is_direct_of(other)) {
            return None;
        }
        let profiled = is_profiled(&result.files);
        let mut flags = flags(result, run);
        if is_raw(result)
            && let Some(twin) = run.iter().find(|other| !is_raw(other) && is_started(other) && same_load(other, result))
        {
            if !profiled && has_roofline(result) {
                return None;
            }
            flags = self::flags(twin, run);
        }
        let address = result.environment.server_address.iter().filter(|_| !is_started(result));
        Some(Self {
            scenarios: vec![result.scenario.clone()],
            frameworks: vec![result.framework.clone()],
            call: result.call.as_ref().map(|call| call_flags(call, result)).unwrap_or_default(),
            rates: result.load.qps.into_iter().collect(),
            servers: address.flat_map(|addr| ["--addr".to_owned(), attached(result, addr)]).collect(),
            flags,
            profiled,
        })
    }

    fn text(&self, label: Option<&str>) -> String {
        let mut words = vec!["analyze".to_owned()];
        if self.call.is_empty() {
            words.extend(["--scenario".to_owned(), self.scenarios.join(",")]);
        } else {
            let levels = self.scenarios.iter().filter_map(|scenario| scenario.rsplit('-').next());
            words.extend(self.call.iter().cloned());
            words.extend(["--concurrency".to_owned(), levels.collect::<Vec<_>>().join(",")]);
        }
        if self.call.is_empty() && self.frameworks != FRAMEWORKS.map(|framework| framework.to_string()) {
            words.extend(["--framework".to_owned(), self.frameworks.join(",")]);
        }
        if !self.rates.is_empty() {
            let rates: Vec<String> = self.rates.iter().map(f64::to_string).collect();
            words.extend(["--qps".to_owned(), rates.join(",")]);
        }
        words.extend(self.flags.iter().chain(&self.servers).cloned());
        // At several rates none are taken anyway.
        if !self.profiled && self.rates.len() < 2 {
            words.push("--no-profiles".to_owned());
        }
        words.extend(label.into_iter().flat_map(|label| ["--label".to_owned(), label.to_owned()]));
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Where a server ran already. That of a call is the only one.
fn attached(result: &RunResult, addr: &str) -> String {
    if result.call.is_some() { addr.to_owned() } else { format!("{}={addr}", result.framework) }
}

/// The flags of a call. Values of headers, the expected reply and what is cut off of a long message are in no result: there is a `…`
/// in their place. Nor are the files of certificates.
fn call_flags(call: &CallInfo, result: &RunResult) -> Vec<String> {
    let is_tls = result.wire.as_ref().is_some_and(|wire| wire.tls.is_some());
    let mut flags = Vec::new();
    match call.schema.as_str() {
        "none" => flags.extend([format!("--{}", result.framework), url(call, result, is_tls)]),
        "reflection" => flags.extend(["--call".to_owned(), call.method.clone(), "--reflection".to_owned()]),
        file => flags.extend(["--call", &call.method, "--proto", file].map(str::to_owned)),
    }
    if !["{}", ""].contains(&call.request.as_str()) {
        flags.extend(["--data".to_owned(), call.request.clone()]);
    }
    if call.replies == Comparison::Expected {
        flags.extend(["--expect".to_owned(), "…".to_owned()]);
    }
    let names = result.wire.as_ref().map(|wire| wire.request_header_names.as_slice()).unwrap_or_default();
    if is_tls && call.schema != "none" {
        flags.push("--tls".to_owned());
    }
    let usual: &[&str] = if call.schema == "none" { &USUAL_OF_HTTP } else { &USUAL_HEADERS };
    let own = names.iter().filter(|name| !name.starts_with(':') && !usual.contains(&name.as_str()));
    flags.extend(own.flat_map(|name| ["--metadata".to_owned(), format!("{name}: …")]));
    flags
}

/// The URL of a plain request: its path at the address that was called.
fn url(call: &CallInfo, result: &RunResult, is_tls: bool) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    let path = call.method.split_once(' ').map_or("/", |(_, path)| path);
    let host = result.environment.server_address.as_deref().filter(|addr| !addr.starts_with("unix:"));
    format!("{scheme}://{}{path}", host.unwrap_or("localhost"))
}

/// As `--via` takes it.
fn via(gateway: &Gateway) -> Option<String> {
    match gateway.kind {
        GatewayKind::Running => gateway.address.clone(),
        GatewayKind::Nginx | GatewayKind::Envoy => Some(gateway.kind.to_string()),
    }
}

/// The flags that tell a result's case and rounds from the usual ones, but for framework, scenario, rate and addresses.
fn flags(result: &RunResult, run: &[RunResult]) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            flags.extend([format!("--{name}"), value]);
        }
    };
    let unlike = |value: &str, usual: &str| Some(value.to_owned()).filter(|value| value != usual);
    let streams = result.messages_per_stream;
    flag("mode", unlike(&result.call_mode, "unary").filter(|_| !is_raw(result) && result.call.is_none()));
    flag(
        "messages-per-stream",
        streams.filter(|messages| *messages != MessagesPerStream::default()).map(|messages| messages.to_string()),
    );
    flag(
        "serialization",
        unlike(&result.serialization, Serialization::Protobuf.name())
            .filter(|_| !is_raw(result) && result.call.is_none()),
    );
    flag("compression", unlike(&result.compression, Compression::None.name()));
    flag(
        "payload-pattern",
        unlike(result.payload_pattern.name(), PayloadPattern::Random.name()).filter(|_| result.call.is_none()),
    );
    flag("response-size", result.response_size.map(format_size));
    // A server that ran already can't be told.
    flag("sleep", time(result.load.sleep_ms).filter(|_| is_started(result)));
    let rounds = match &result.failure {
        None => result.rounds.len(),
        Some(_) => run.iter().map(|other| other.rounds.len()).max().unwrap_or(ROUNDS),
    };
    flag("rounds", Some(rounds.max(1)).filter(|rounds| *rounds != ROUNDS).map(|rounds| rounds.to_string()));
    flag("requests", result.load.requests.map(|requests| requests.to_string()));
    let environment = &result.environment;
    let length = environment.round_duration_ms.filter(|ms| result.load.requests.is_none() && *ms != ROUND_MS);
    flag("duration", length.and_then(|ms| time(ms as f64)));
    flag(
        "warmup",
        environment.warmup_ms.filter(|ms| *ms != WARMUP_MS).map(|ms| time(ms as f64).unwrap_or("0".to_owned())),
    );
    flag("via", result.gateway.as_ref().and_then(via));
    let started = result.gateway.as_ref().filter(|gateway| gateway.origin == ServerOrigin::Started);
    let cpus = started.and_then(|gateway| gateway.cpus.as_ref()).filter(|_| environment.server_cpus.is_some());
    flag("via-cpus", cpus.filter(|cpus| environment.server_cpus.as_ref() != Some(cpus)).map(|cpus| cpu_list(cpus)));
    flag("think", time(result.load.think_ms));
    let usual_connections = match result.load.sharing {
        Sharing::Pool => result.concurrency as usize,
        Sharing::Mux => 1,
    };
    let connections = result.load.connections;
    flag("connections", Some(connections).filter(|n| *n != usual_connections).map(|n| n.to_string()));
    let (server, client) = unusual_cpus(run.iter().find(|other| is_started(other)).unwrap_or(result));
    flag("server-cpus", server);
    flag("client-cpus", client);
    if result.load.sharing == Sharing::Pool {
        flags.push("--pool".to_owned());
    }
    if accepts_gzip(result) {
        flags.push("--accept-gzip".to_owned());
    }
    let beside = |other: &RunResult| is_raw(other) && other.scenario == result.scenario && has_roofline(other);
    let bare = result.roofline_ratio.is_some() || run.iter().any(beside);
    // Servers that are started anew for each round never have one beside them.
    let wanted = !environment.server_restarted && has_roofline(result);
    if !is_raw(result) && is_started(result) && wanted && !bare {
        flags.push("--no-roofline".to_owned());
    }
    flags
}

/// The CPUs of a run's servers and of its load generator, where they are not what is usual on a machine whose CPUs are each a core of
/// their own.
fn unusual_cpus(result: &RunResult) -> (Option<String>, Option<String>) {
    let environment = &result.environment;
    let Some(cpus) = environment.cpus else { return (None, None) };
    let half = if cpus < 2 { cpus } else { cpus.div_ceil(2) };
    let all: Vec<u32> = (0..cpus).collect();
    let (first, second) = if cpus < 2 { (all.as_slice(), all.as_slice()) } else { all.split_at(half as usize) };
    let server = environment.server_cpus.as_deref().filter(|_| is_started(result));
    let client = environment.client_cpus.as_deref();
    let usual = server.is_none_or(|cpus| cpus == first)
        && client.is_none_or(|cpus| cpus == second || (cpus == all && !is_started(result)));
    if usual { (None, None) } else { (server.map(cpu_list), client.map(cpu_list)) }
}

fn is_raw(result: &RunResult) -> bool {
    result.framework == Framework::Raw.name()
}

fn is_started(result: &RunResult) -> bool {
    result.environment.server == ServerOrigin::Started
}

/// Where a bare echo is measured beside servers that are started.
fn has_roofline(result: &RunResult) -> bool {
    result.load.qps.is_none() && result.load.think_ms == 0.0 && result.load.sleep_ms == 0.0
}

/// But for what a bare echo knows nothing of.
fn same_load(a: &RunResult, b: &RunResult) -> bool {
    (&a.scenario, a.payload_pattern, a.response_size, &a.load)
        == (&b.scenario, b.payload_pattern, b.response_size, &b.load)
}

/// Compressed requests have their replies accepted compressed without being asked to.
fn accepts_gzip(result: &RunResult) -> bool {
    let names = result.wire.as_ref().map(|wire| wire.request_header_names.as_slice()).unwrap_or_default();
    let is_plain = result.call.as_ref().is_some_and(|call| call.schema == "none");
    !is_plain
        && result.compression == Compression::None.name()
        && names.iter().any(|name| name.ends_with("accept-encoding"))
}

/// A time as flags take it. `None` for no time.
fn time(ms: f64) -> Option<String> {
    let whole_seconds = ms % 1e3 == 0.0;
    (ms > 0.0).then(|| if whole_seconds { format!("{}s", ms / 1e3) } else { format!("{ms}ms") })
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:=%+/".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
