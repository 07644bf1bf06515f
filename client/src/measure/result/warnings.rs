//! What a result must tell its reader about itself.

use std::net::SocketAddr;

use super::{
    BytesBasis, Figures, Interval, LoadKind, PerOp, Round, RunResult, Sampling, ServerOrigin, ServerReading, SiteTable,
    gateway,
};
use crate::{
    load::{Address, Case, IDENTITY},
    measure::shared_cpus,
    scenario::{Compression, Framework},
    units::thousands,
};

/// From here on, percent of its CPUs, the load generator may be what limits the rate. Threads that are ready can't all run in
/// the gaps that are left.
const CLIENT_SATURATED_PERCENT: f64 = 95.0;
/// Rounds that lie further apart than this, ± of the median, don't support a comparison of rates.
const QPS_SPREAD_LIMIT: f64 = 0.10;
/// From here on, ms on average, calls that start later than they should are worth a word. A load generator with CPU time to
/// spare is late by some hundredths of it.
const LATE_START_MS: f64 = 1.0;
/// The exact profile is taken in a pass of its own; up to this share it may differ from the timed rounds.
const SITES_TOLERANCE: f64 = 0.01;
/// A sampled profile may be off by this share, or by so many standard errors where that is more.
const SAMPLED_TOLERANCE: f64 = 0.03;
const SAMPLED_ERRORS: f64 = 3.0;
/// `mallocgcTiny` in Go's `runtime/malloc.go`: an object that fits into a block begun for others is counted in `Mallocs`, but
/// never sampled. Its bytes are those of the block.
const NOT_SAMPLED: &str =
    ". Go's profiler leaves out objects without pointers that share a block of 16 B with others, its counters don't";

/// From this share of a round's bytes on, what the server allocates to answer a reading is worth a word.
const READING_SHARE: f64 = 0.001;

/// The warnings that follow from a result's own rounds and figures.
pub(super) fn of(result: &RunResult, case: &Case) -> Vec<String> {
    let mut warnings = Vec::new();
    rate(result, &mut warnings);
    compression(result, case, &mut warnings);
    ledger(result, &mut warnings);
    failures(result, &mut warnings);
    counters(result, &mut warnings);
    disturbances(result, &mut warnings);
    warnings.extend(gateway::warnings(result));
    warnings
}

/// The warnings about sites whose sum is not what was counted, in their own pass or in the timed rounds. A sampled profile is
/// set against one of both only.
pub(super) fn of_sites(figures: &Figures, sites: &SiteTable, counted: Option<PerOp>) -> Vec<String> {
    let rounds = figures
        .bytes_per_op
        .zip(figures.allocs_per_op)
        .map(|(bytes_per_op, allocs_per_op)| PerOp { bytes_per_op, allocs_per_op });
    let tolerance = |error: fn(&Sampling) -> Option<f64>| match &sites.sampling {
        None => SITES_TOLERANCE,
        Some(sampling) => (SAMPLED_ERRORS * error(sampling).unwrap_or(0.0)).max(SAMPLED_TOLERANCE),
    };
    let bytes = ("B/op", tolerance(|sampling| sampling.bytes_error), sites.total.bytes_per_op);
    let allocs = ("allocs/op", tolerance(|sampling| sampling.allocs_error), sites.total.allocs_per_op);
    let against = |reference: Option<PerOp>, whose: &'static str| {
        let pairs = reference.map(|reference| [(bytes, reference.bytes_per_op), (allocs, reference.allocs_per_op)]);
        pairs.into_iter().flatten().filter_map(move |((unit, tolerance, profiled), counted)| {
            let off = (profiled - counted) / counted;
            (counted > 0.0 && off.abs() > tolerance).then(|| {
                let why = if sites.sampling.is_some() && unit == allocs.0 && off < 0.0 { NOT_SAMPLED } else { "" };
                format!("the sites add up to {profiled:.2} {unit}, {whose} {counted:.2}: {:+.1} %{why}", off * 100.0)
            })
        })
    };
    let rounds = rounds.filter(|_| sites.sampling.is_none() || counted.is_none());
    against(counted, "the counters of the same requests say")
        .chain(against(rounds, "the timed rounds, which are other requests, had"))
        .collect()
}

/// At a rate, what the load generator could not do of it.
fn rate(result: &RunResult, warnings: &mut Vec<String>) {
    let Some(asked) = result.load.qps.filter(|_| result.load.kind == LoadKind::Rate) else { return };
    let missed = result.missed_requests.filter(|missed| *missed > 0).map(|missed| {
        format!(
            "{} calls of the schedule never started, because all {} in flight waited. They have no response time, so that the \
             response times flatter",
            thousands(missed),
            result.concurrency
        )
    });
    let Some(achieved) = result.achieved_rate().filter(|_| result.reached_rate() == Some(false)) else {
        warnings.extend(missed);
        late(result, warnings);
        return;
    };
    let missed = missed.map(|missed| format!(": {missed}")).unwrap_or_default();
    let (asked, achieved) = (thousands(asked.round() as u64), thousands(achieved.round() as u64));
    warnings.push(format!("the rate was not reached: {asked} calls/s asked for, {achieved} achieved{missed}"));
}

fn late(result: &RunResult, warnings: &mut Vec<String>) {
    let late =
        result.figures.response_avg_ms.zip(result.figures.latency_avg_ms).map(|(response, service)| response - service);
    if let Some(late) = late.filter(|late| *late > LATE_START_MS) {
        warnings.push(format!(
            "calls started {late:.1} ms late on average, with all {} in flight waiting or the load generator busy: response times \
             hold it, service times don't",
            result.concurrency
        ));
    }
}

/// What was asked for of compression and is not so.
fn compression(result: &RunResult, case: &Case, warnings: &mut Vec<String>) {
    let Some(wire) = result.wire.as_ref().filter(|wire| wire.content_type.is_some()) else { return };
    let asked = case.compression != Compression::None || case.accept_gzip;
    if asked && wire.response_encoding == IDENTITY {
        warnings.push("replies are not compressed, though the client offers gzip".to_owned());
    }
    if case.compression != Compression::None && wire.request_encoding == IDENTITY {
        warnings.push(format!("requests are not compressed, though compression {} was asked for", case.compression));
    }
    let [plain, compressed] = result.replies();
    if plain > 0 && compressed > 0 {
        warnings.push(format!(
            "{} of {} replies came compressed, the others did not",
            thousands(compressed),
            thousands(plain + compressed)
        ));
    }
    let level = case.compression.gzip_level().filter(|_| case.compression != Compression::Default);
    if let Some(level) = level.filter(|_| wire.response_encoding != IDENTITY) {
        let asked = case.compression;
        match result.environment.server {
            ServerOrigin::Attached => warnings.push(format!(
                "replies are compressed at the attached server's own level: --compression {asked} sets that of requests only"
            )),
            ServerOrigin::Started if result.framework == Framework::Grpc.name() => warnings.push(format!(
                "replies are compressed at level 6, the only one of tonic, though --compression {asked} asks for level {level}"
            )),
            ServerOrigin::Started if result.framework != Framework::Triple.name() => warnings.push(format!(
                "replies are compressed at {}'s own level: --compression {asked} sets that of requests only", result.framework
            )),
            ServerOrigin::Started => {}
        }
    }
}

fn ledger(result: &RunResult, warnings: &mut Vec<String>) {
    for round in &result.rounds {
        let ended = round.ok + round.error + round.unfinished;
        if round.started != ended {
            warnings.push(format!(
                "round {}: {} calls started but {ended} accounted for; its figures are wrong",
                round.round, round.started
            ));
        }
        let counted = round.server.as_ref().and_then(Interval::<ServerReading>::ops);
        // A server may count other methods than the one of a call.
        let Some(ops) = counted.filter(|_| result.call.is_none() || round.served().is_some()) else { continue };
        let (served, answered) = (ops.ok + ops.error, round.ok + round.error);
        if served.abs_diff(answered) > round.error + round.unfinished {
            let why = match round.served() {
                Some(_) => "it has other callers, and per-op figures include theirs",
                None => "its counters are of other calls, and per-op figures are by the load generator's count",
            };
            warnings.push(format!(
                "round {}: the server completed {served} requests, the load generator got {answered} answers: {why}",
                round.round
            ));
        }
    }
}

fn failures(result: &RunResult, warnings: &mut Vec<String>) {
    if result.total_requests > 0 && result.success_requests == 0 {
        warnings.push("no call succeeded".to_owned());
    }
    if result.failure_requests > 0 {
        let most =
            most_frequent_error(&result.rounds).map(|message| format!("; most often: {message}")).unwrap_or_default();
        let cost = if result.success_requests > 0 { "; per-op figures include their cost" } else { "" };
        warnings.push(format!("{} of {} calls failed{cost}{most}", result.failure_requests, result.total_requests));
    }
    if result.unfinished_requests > 0 {
        warnings.push(format!("{} calls were never answered", result.unfinished_requests));
    }
    if result.latency_above_range > 0 {
        warnings.push(format!(
            "{} calls took longer than the histogram's 60 s: percentiles among them are the longest",
            result.latency_above_range
        ));
    }
}

fn counters(result: &RunResult, warnings: &mut Vec<String>) {
    if result.rounds.is_empty() {
        return;
    }
    let readings: Vec<&Interval<ServerReading>> = result.rounds.iter().filter_map(|r| r.server.as_ref()).collect();
    if !readings.iter().any(|server| server.counters().is_some()) {
        warnings.push("the server doesn't count its allocations: B/op and allocs/op are unknown".to_owned());
    } else if result.rounds.iter().any(|r| r.ok > 0 && r.server.is_some() && r.served().is_none()) {
        warnings
            .push("the server doesn't count its requests: per-op figures use the load generator's count".to_owned());
    }
    let least = readings.iter().filter_map(|server| server.counters()?.usable_bytes).min();
    let cost = result.environment.reading_cost.and_then(|cost| cost.usable_bytes);
    if let Some((cost, of)) = cost.zip(least).filter(|(cost, of)| *cost as f64 > *of as f64 * READING_SHARE) {
        warnings.push(format!(
            "the server allocates {} B to answer a reading of its counters, {:.1} % of what they say of a round: it is taken off, \
             but is not the same each time",
            thousands(cost),
            cost as f64 * 100.0 / of as f64
        ));
    }
    if result.bytes_per_op_basis == Some(BytesBasis::Requested) {
        warnings.push("the server's allocator doesn't tell usable bytes: B/op is what was requested".to_owned());
    }
}

fn disturbances(result: &RunResult, warnings: &mut Vec<String>) {
    cpus(result, warnings);
    if let Some(busy) = result.figures.client_cpu_utilisation_percent.filter(|busy| *busy > CLIENT_SATURATED_PERCENT) {
        warnings.push(format!(
            "the load generator's CPUs were {busy:.0} % busy: it may be what limits QPS and lengthens latency, not the server"
        ));
    }
    if let Some(spread) = result.spread.qps.filter(|spread| *spread > QPS_SPREAD_LIMIT) {
        warnings.push(format!("QPS varies by ±{:.0} % over the rounds: too much to compare rates by", spread * 100.0));
    }
}

/// Whether both sides are in each other's way. The roofline's server has the CPUs of those it is compared with.
fn cpus(result: &RunResult, warnings: &mut Vec<String>) {
    let environment = &result.environment;
    match (&environment.server_cpus, &environment.client_cpus) {
        _ if result.framework == Framework::Raw.name() => {}
        (Some(server), Some(client)) => warnings.extend(shared_cpus(server, client)),
        (None, _) if is_loopback(environment.server_address.as_deref()) => {
            warnings
                .push("it is not known which CPUs the server has: it may share those of the load generator".to_owned());
        }
        (None, _) if environment.server_address.is_some() => warnings.push(
            "the server isn't known to run on this machine, as a process of it: kernel, processor and CPUs in the result are the load generator's".to_owned(),
        ),
        _ => {}
    }
}

fn is_loopback(addr: Option<&str>) -> bool {
    addr.is_some_and(|addr| {
        Address::unix(addr).is_some() || addr.parse::<SocketAddr>().is_ok_and(|addr| addr.ip().is_loopback())
    })
}

fn most_frequent_error(rounds: &[Round]) -> Option<&str> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for error in rounds.iter().flat_map(|r| &r.errors) {
        match counts.iter_mut().find(|(message, _)| *message == error.message) {
            Some((_, count)) => *count += error.count,
            None => counts.push((&error.message, error.count)),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(message, _)| message)
}
