//! Where and how runs were measured, as blocks of a report: what a reader must know to trust the figures or to repeat them.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    blocks::{Block, Cell, Column, Table, notes, texts},
    by_scenario,
    columns::UNKNOWN,
};
use crate::{
    load::{CallInfo, Comparison, PeerSettings, Wire},
    measure::{
        cpu_list,
        result::{Environment, Files, Gateway, RunResult, ServerOrigin},
    },
    units::{format_duration, format_size},
};

/// A run in a report.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) name: &'a str,
    pub(super) results: &'a [RunResult],
}

/// Something of a result, with its name. `None` where it isn't known.
type Fact = (&'static str, fn(&RunResult) -> Option<String>);

const FACTS: [Fact; 17] = [
    ("commit", |r| commit(&r.environment)),
    ("compiler", |r| r.environment.rustc.clone()),
    ("kernel", |r| r.environment.kernel.clone()),
    ("CPU", |r| cpu(&r.environment)),
    ("the server's CPUs", |r| r.environment.server_cpus.as_deref().map(cpu_list)),
    ("the load generator's CPUs", |r| r.environment.client_cpus.as_deref().map(cpu_list)),
    ("server", |r| Some(origin(&r.environment))),
    ("allocator", |r| r.environment.allocator.clone()),
    ("allocator's settings", |r| r.environment.allocator_settings.clone()),
    ("counters", |r| r.environment.counter_source.map(|source| source.describe().to_owned())),
    ("crates", |r| crates(&r.environment)),
    ("made with", |r| r.environment.framework_version.clone()),
    ("run by", |r| r.environment.runtime.clone()),
    ("call", |r| r.call.as_ref().map(call)),
    ("gateway", |r| r.gateway.as_ref().map(Gateway::describe)),
    ("wire", |r| r.wire.as_ref().map(wire)),
    ("HTTP/2 settings", |r| r.wire.as_ref().and_then(settings)),
];

/// A row a fact, a column a run. What a later run shares with the first is said once.
pub(super) fn environment(runs: &[Run<'_>]) -> Table {
    let row = |(name, of): &Fact| -> Option<Vec<Cell>> {
        let values: Vec<String> = runs.iter().map(|run| said(run.results, *of)).collect();
        if values.iter().all(|value| value == UNKNOWN) {
            return None;
        }
        let first = values[0].clone();
        let others =
            values[1..].iter().map(|value| if *value == first { "the same".to_owned() } else { value.clone() });
        Some(texts([(*name).to_owned(), first.clone()].into_iter().chain(others)))
    };
    let heads = runs.iter().map(|run| Column::words(run.name));
    Table {
        columns: [Column::words("")].into_iter().chain(heads).collect(),
        rows: FACTS.iter().filter_map(row).collect(),
        sums: 0,
    }
}

/// How the figures came about, a sentence each.
pub(super) fn method(runs: &[Run<'_>]) -> Block {
    let all: Vec<&RunResult> = runs.iter().flat_map(|run| run.results).collect();
    let mut sentences: Vec<String> = runs.iter().map(|run| timing(run, runs.len() > 1)).collect();
    let one_run = matches!(runs, [first, second] if began(first) == began(second) && label(first.results) == label(second.results));
    if one_run || runs.iter().any(in_turn) {
        sentences.push(
            "Servers under the same load were measured in turn, round by round, forwards and backwards: a machine that drifts \
             wrongs none of them."
                .to_owned(),
        );
    }
    if let [first, second] = runs
        && !one_run
    {
        sentences.push(apart(first, second));
    }
    if all.iter().any(|result| result.figures.allocs_per_op.is_some()) {
        sentences.push(
            "The server's counters were read with nothing in flight, before and after each round: allocs/op and B/op belong to \
             its calls exactly."
                .to_owned(),
        );
    }
    if all.iter().any(|result| is_profiled(&result.files)) {
        sentences.push("Profiles were taken after the timed rounds, under load of their own.".to_owned());
    }
    notes(sentences)
}

/// Whether profiles were taken.
pub(super) fn is_profiled(files: &Files) -> bool {
    [&files.cpu_profile, &files.allocs_profile, &files.heap_profile].into_iter().any(Option::is_some)
}

/// Whether servers share a load.
fn in_turn(run: &Run<'_>) -> bool {
    by_scenario(&run.results.iter().collect::<Vec<_>>()).iter().any(|group| group.len() > 1)
}

/// The labels of results.
pub(super) fn label(results: &[RunResult]) -> String {
    names(results, |result| &result.label)
}

/// The frameworks of results.
pub(super) fn frameworks(results: &[RunResult]) -> String {
    names(results, |result| &result.framework)
}

/// Those whose servers ran already, on one line whatever they are called.
pub(super) fn attached(results: &[RunResult]) -> String {
    let attached = results.iter().filter(|result| result.environment.server == ServerOrigin::Attached);
    names(attached, |result| &result.framework).replace(char::is_control, " ")
}

fn names<'a>(results: impl IntoIterator<Item = &'a RunResult>, of: fn(&RunResult) -> &String) -> String {
    let names = distinct(results.into_iter().map(|result| (of(result), ())));
    names.into_iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// `3 rounds of 1 s each, after 200 ms of warm-up`
fn timing(run: &Run<'_>, named: bool) -> String {
    let name = if named { format!("{}: ", run.name) } else { String::new() };
    name + &said(run.results, |result| {
        let rounds = result.rounds.len();
        let environment = &result.environment;
        let length = match (result.load.requests, environment.round_duration_ms) {
            (Some(requests), _) => format!(" of {} calls", crate::units::thousands(requests)),
            (None, Some(ms)) => format!(" of {}", format_duration(Duration::from_millis(ms))),
            (None, None) => String::new(),
        };
        let warmup = environment.warmup_ms.map(|ms| format_duration(Duration::from_millis(ms)));
        let warmup = warmup.map(|warmup| format!(", each after {warmup} of warm-up")).unwrap_or_default();
        Some(format!("{rounds} round{}{length}{warmup}", if rounds == 1 { "" } else { "s" }))
    }) + "."
}

/// Whether two runs were measured over the same time, as `analyze ab` does, or one after the other.
fn at_once(runs: &[Run<'_>]) -> bool {
    let spans: Vec<(Timestamp, Timestamp)> = runs.iter().filter_map(span).collect();
    matches!(spans.as_slice(), [a, b] if a.0 < b.1 && b.0 < a.1)
}

/// From its start for as long as its rounds took, if no longer.
fn span(run: &Run<'_>) -> Option<(Timestamp, Timestamp)> {
    let start: Timestamp = began(run).parse().ok()?;
    let rounds: u64 = run.results.iter().flat_map(|result| &result.rounds).map(|round| round.elapsed_ns).sum();
    Some((start, start.checked_add(Duration::from_nanos(rounds)).ok()?))
}

/// When two runs were measured.
fn apart(first: &Run<'_>, second: &Run<'_>) -> String {
    let (a, b) = (first.name, second.name);
    if at_once(&[*first, *second]) {
        return format!("{a} and {b} were measured over the same time.");
    }
    let seconds = |time: String| time.split_once('.').map(|(whole, _)| format!("{whole}Z")).unwrap_or(time);
    let (began_a, began_b) = (seconds(began(first)), seconds(began(second)));
    format!(
        "{a} began at {began_a}, {b} at {began_b}: what the machine did meanwhile is in the difference between them."
    )
}

/// When the first of its results was begun.
fn began(run: &Run<'_>) -> String {
    run.results.iter().map(|result| result.timestamp.clone()).min().unwrap_or_default()
}

/// A fact of a run: its value, or each of its values and whose it is.
fn said(results: &[RunResult], of: fn(&RunResult) -> Option<String>) -> String {
    let value = |result: &RunResult| of(result).unwrap_or_else(|| UNKNOWN.to_owned());
    let values = distinct(results.iter().map(|result| (value(result), result)));
    match values.as_slice() {
        [] => UNKNOWN.to_owned(),
        [(value, _)] => value.clone(),
        values => {
            values.iter().map(|(value, of)| format!("{}: {value}", owners(of, results))).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Frameworks, or where some results of a framework are not among them, how many results of it.
fn owners(of: &[&RunResult], all: &[RunResult]) -> String {
    let frameworks = distinct(of.iter().map(|result| (result.framework.clone(), ())));
    let name = |(framework, owned): &(String, Vec<()>)| {
        let has = all.iter().filter(|result| result.framework == *framework).count();
        if has == owned.len() { framework.clone() } else { format!("{framework} ({} of {has})", owned.len()) }
    };
    frameworks.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Keys in the order in which each first appears, with what came with them.
fn distinct<K: PartialEq, V>(pairs: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// As much of the commit as tells it from others.
pub(super) fn commit(environment: &Environment) -> Option<String> {
    let commit: String = environment.commit.as_ref()?.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    let dirty = if environment.dirty == Some(true) { ", with changes that are not committed" } else { "" };
    Some(commit + dirty)
}

fn cpu(environment: &Environment) -> Option<String> {
    let model = environment.cpu_model.clone()?;
    let number = |number: u32, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let logical = environment.cpus.map(|cpus| number(cpus, "CPU"));
    let physical = environment.cores.map(|cores| number(cores, "core"));
    Some([Some(model), logical, physical].into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn origin(environment: &Environment) -> String {
    match (environment.server, &environment.server_address) {
        (ServerOrigin::Started, _) if environment.server_restarted => "started anew for each round".to_owned(),
        (ServerOrigin::Started, _) => "started for the run".to_owned(),
        (ServerOrigin::Attached, Some(address)) => format!("ran already at {address}"),
        (ServerOrigin::Attached, None) => "ran already".to_owned(),
    }
}

fn crates(environment: &Environment) -> Option<String> {
    let crates: Vec<String> = environment.crates.iter().map(|(name, version)| format!("{name} {version}")).collect();
    (!crates.is_empty()).then(|| crates.join(", "))
}

/// `my.Greeter/SayHello of {"name":"you"}, schema from reflection, replies not compared`
fn call(call: &CallInfo) -> String {
    let replies = match call.replies {
        Comparison::None => "replies not compared",
        Comparison::Expected => "replies compared",
    };
    if call.schema == "none" {
        return format!("{}, {replies}", call.method);
    }
    format!("{} of {}, schema from {}, {replies}", call.method, call.request, call.schema)
}

/// `HTTP/2, application/grpc, encoding identity both ways, 1 connection`
fn wire(wire: &Wire) -> String {
    let types = match (&wire.content_type, &wire.response_content_type) {
        (Some(request), Some(reply)) if request == reply => Some(request.clone()),
        (request, reply) => {
            let known: Vec<&str> = [request, reply].into_iter().flatten().map(String::as_str).collect();
            (!known.is_empty()).then(|| known.join(" → "))
        }
    };
    let encoding = if wire.request_encoding == wire.response_encoding {
        format!("encoding {}", wire.request_encoding)
    } else {
        format!("encoding {} → {}", wire.request_encoding, wire.response_encoding)
    };
    let connections = format!("{} connection{}", wire.connections, if wire.connections == 1 { "" } else { "s" });
    let parts = [Some(wire.http_version.clone()), types, Some(encoding), Some(connections)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn settings(wire: &Wire) -> Option<String> {
    let (client, server) = wire.client_settings.as_ref().zip(wire.server_settings.as_ref())?;
    let say = |settings: &PeerSettings| {
        format!(
            "frames {}, stream window {}, connection window {}",
            format_size(u64::from(settings.max_frame_size)),
            format_size(u64::from(settings.stream_window)),
            format_size(u64::from(settings.connection_window))
        )
    };
    let (client, server) = (say(client), say(server));
    Some(if client == server { client } else { format!("client: {client}; server: {server}") })
}
