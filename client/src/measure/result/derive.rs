//! Raw rounds → figures. Everything here is arithmetic on what the rounds hold.

use super::{
    AllocCounters, BytesBasis, Figures, Files, Interval, LatencySummary, LoadKind, LoadShape, OpCounts, PerOp,
    ProcessUse, Round, RunMeta, RunResult, RunSample, SCHEMA_VERSION, ServerReading, SiteTable, SlowCalls,
    SyscallCounts, WireFigures, warnings,
};
use crate::{
    load::{CallKind, Latency},
    stats,
};

const NS_PER_US: f64 = 1e3;
const NS_PER_S: f64 = 1e9;
const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

impl RunResult {
    /// Derives a run's result from its finished rounds. With none, or without a single success, what can't be said is `None`.
    pub fn derive(meta: RunMeta, samples: &[RunSample]) -> Self {
        let rounds: Vec<Round> = samples.iter().map(Round::from).collect();
        let latency = merged(samples.iter().map(|sample| &sample.load.latency)).unwrap_or_default();
        let response = merged(samples.iter().filter_map(|sample| sample.load.response.as_ref()));
        let case = meta.case;
        let mut result = Self::from_rounds(meta, rounds, latency, response);
        result.warnings.extend(warnings::of(&result, &case));
        result
    }

    fn from_rounds(
        meta: RunMeta,
        rounds: Vec<Round>,
        latency: LatencySummary,
        response: Option<LatencySummary>,
    ) -> Self {
        let (basis, case) = (bytes_basis(&rounds), meta.case);
        let context = Context {
            echoes: meta.call.is_none(),
            payload: (!case.scenario.payload.is_mix()).then(|| case.scenario.payload.mean()),
            response_size: case.response_size,
            basis,
            client_cpus: meta.environment.client_cpus.as_ref().map(Vec::len),
            reading_cost: meta.environment.reading_cost,
        };
        let per_round = context.figures(&rounds);
        let sum = |count: fn(&Round) -> u64| rounds.iter().map(count).sum::<u64>();
        let (started, ok) = (sum(|r| r.started), sum(|r| r.ok));
        let mut warnings = meta.warnings;
        if rounds.len() < meta.rounds as usize {
            warnings.push(format!("{} of {} rounds were measured", rounds.len(), meta.rounds));
        }
        Self {
            schema_version: SCHEMA_VERSION,
            label: meta.label,
            scenario: case.scenario.to_string(),
            framework: meta.framework,
            payload_size: case.scenario.payload.mean(),
            payload_mix: case.scenario.payload.is_mix().then(|| case.scenario.payload.shares().to_vec()),
            payload_pattern: case.pattern,
            response_size: case.response_size,
            serialization: meta.serialization,
            compression: case.compression.to_string(),
            concurrency: case.scenario.concurrency,
            call_mode: match meta.call.as_ref().map(|call| call.kind) {
                Some(CallKind::ServerStreaming) => "server_streaming".to_owned(),
                Some(CallKind::Unary) | None => case.mode.to_string(),
            },
            messages_per_stream: case.stream_length(),
            load: LoadShape::from(&case),
            call: meta.call,
            timestamp: meta.started.to_string(),
            figures: Figures {
                client_memory_peak_mb: peak_mb(&rounds, |r| r.client_process),
                ..Figures::combine(&per_round, stats::median)
                    .with_latency(&latency)
                    .with_response(&response.unwrap_or_default())
            },
            success_rate: ratio(ok as f64 * 100.0, started as f64),
            total_requests: started,
            success_requests: ok,
            failure_requests: sum(|r| r.error),
            unfinished_requests: sum(|r| r.unfinished),
            missed_requests: rounds.iter().filter_map(Round::missed).reduce(|sum, missed| sum + missed),
            latency_above_range: latency.above_range,
            slow_calls: SlowCalls { service: latency.over, response: response.map(|response| response.over) },
            bytes_per_op_basis: basis,
            memory_peak_mb: peak_mb(&rounds, |r| r.server_process),
            roofline_ratio: None,
            spread: Figures::combine(&per_round, spread),
            wire_use: WireFigures::of(&rounds),
            rounds,
            wire: meta.wire,
            gateway: meta.gateway,
            environment: meta.environment,
            syscalls: None,
            sites: None,
            files: Files::default(),
            failure: None,
            warnings,
        }
    }

    /// The figures of each round in which calls succeeded: what medians and spreads are of.
    pub fn figures_by_round(&self) -> Vec<Figures> {
        self.numbered_figures().into_iter().map(|(_, figures)| figures).collect()
    }

    /// The same with the number of each round.
    pub(super) fn numbered_figures(&self) -> Vec<(u32, Figures)> {
        let context = Context {
            echoes: self.call.is_none(),
            payload: self.payload_mix.is_none().then_some(self.payload_size),
            response_size: self.response_size,
            basis: self.bytes_per_op_basis,
            client_cpus: self.environment.client_cpus.as_ref().map(Vec::len),
            reading_cost: self.environment.reading_cost,
        };
        let rounds = self.rounds.iter().filter(|round| round.ok > 0);
        rounds.map(|round| (round.round, round.figures(&context))).collect()
    }

    /// Sets [`RunResult::roofline_ratio`] from the QPS of the bare TCP echo in the same run and scenario. The echo's own is 1.
    /// Where the load decides the rate, it is no property of the server, and the ratio stays unknown.
    pub fn set_roofline(&mut self, raw_qps: Option<f64>) {
        let free = self.load.kind == LoadKind::Closed && self.load.think_ms == 0.0 && self.load.sleep_ms == 0.0;
        self.roofline_ratio = self.figures.qps.zip(raw_qps).filter(|_| free).and_then(|(qps, raw)| ratio(qps, raw));
    }

    /// Adds what the pass that counted system calls found.
    pub fn set_syscalls(&mut self, syscalls: SyscallCounts) {
        let per_op = |calls: Option<u64>| calls.and_then(|calls| ratio(calls as f64, syscalls.ops as f64));
        self.figures.syscalls_per_op = per_op(syscalls.server);
        self.figures.client_syscalls_per_op = per_op(syscalls.client);
        self.syscalls = Some(syscalls);
    }

    /// Adds the allocation sites, and a warning where their sum isn't what the counters said of the same requests
    /// (`counted`), or those requests cost other than the rounds'.
    pub fn set_sites(&mut self, sites: SiteTable, counted: Option<PerOp>) {
        self.warnings.extend(warnings::of_sites(&self.figures, &sites, counted));
        self.sites = Some(sites);
    }
}

/// What a round's figures depend on beside the round.
struct Context {
    /// Whether a request's payload comes back, so that it can be said how often it was copied.
    echoes: bool,
    /// Bytes in each request. `None` of a mix.
    payload: Option<u64>,
    response_size: Option<u64>,
    basis: Option<BytesBasis>,
    client_cpus: Option<usize>,
    reading_cost: Option<AllocCounters>,
}

impl Context {
    /// A round without a success has no rate, and nothing of it is the cost of an op: it must not move a median.
    fn figures(&self, rounds: &[Round]) -> Vec<Figures> {
        rounds.iter().filter(|round| round.ok > 0).map(|round| round.figures(self)).collect()
    }
}

impl Round {
    /// The figures of this round alone.
    fn figures(&self, context: &Context) -> Figures {
        let ops = self.ops();
        let per_op = |total: Option<u64>| total.zip(ops).and_then(|(total, ops)| ratio(total as f64, ops as f64));
        let server = self.server.as_ref().and_then(Interval::<ServerReading>::counters).unwrap_or_default();
        // Between two readings one answer is made: the rest of the first and the begin of the second.
        let server = context.reading_cost.map_or(server, |cost| server.without(&cost));
        let client = self.client.counters().unwrap_or_default();
        let [server_used, client_used] = [self.server_process, self.client_process].map(Option::unwrap_or_default);
        // The server's own reading holds the work of answering it. Both count ns.
        let server_cpu = server_used.cpu_ns.or_else(|| self.server.as_ref()?.cpu_ns());
        let client_cpu = self.client.cpu_ns();
        let requested_bytes_per_op = per_op(server.requested_bytes);
        let switches = |used: &ProcessUse| per_op(used.context_switches.map(|switches| switches.total()));
        let faults = |used: &ProcessUse| per_op(used.page_faults.map(|faults| faults.total()));
        Figures {
            qps: ratio(self.ok_in_window as f64 * NS_PER_S, self.window_ns as f64),
            sent_bytes_per_op: per_op(Some(self.sent_bytes)),
            received_bytes_per_op: per_op(Some(self.received_bytes)),
            bytes_per_op: match context.basis {
                Some(BytesBasis::Usable) => per_op(server.usable_bytes),
                _ => requested_bytes_per_op,
            },
            requested_bytes_per_op,
            allocs_per_op: per_op(server.calls()),
            frees_per_op: per_op(server.frees),
            copies_per_op: requested_bytes_per_op
                .filter(|_| context.echoes)
                .zip(self.payload(context))
                .and_then(|(bytes, payload)| ratio(bytes, payload)),
            server_cpu_us_per_op: per_op(server_cpu).map(|ns| ns / NS_PER_US),
            client_cpu_us_per_op: per_op(client_cpu).map(|ns| ns / NS_PER_US),
            client_bytes_per_op: per_op(client.requested_bytes),
            client_allocs_per_op: per_op(client.calls()),
            cpu_avg_percent: server_cpu.and_then(|ns| ratio(ns as f64 * 100.0, self.elapsed_ns as f64)),
            client_cpu_utilisation_percent: client_cpu
                .zip(context.client_cpus)
                .and_then(|(ns, cpus)| ratio(ns as f64 * 100.0, self.elapsed_ns as f64 * cpus as f64)),
            memory_avg_mb: server_used.memory.map(|memory| mib(memory.avg_bytes)),
            client_memory_avg_mb: client_used.memory.map(|memory| mib(memory.avg_bytes)),
            client_memory_peak_mb: client_used.memory.map(|memory| mib(memory.peak_bytes)),
            context_switches_per_op: switches(&server_used),
            page_faults_per_op: faults(&server_used),
            client_context_switches_per_op: switches(&client_used),
            client_page_faults_per_op: faults(&client_used),
            connections_per_op: per_op(self.server.as_ref().and_then(Interval::<ServerReading>::connections)),
            gateway_cpu_us_per_op: per_op(self.gateway_cpu_ns()).map(|ns| ns / NS_PER_US),
            gateway_memory_avg_mb: self.gateway_memory_bytes().map(mib),
            ..Figures::default()
        }
        .with_latency(&self.latency)
        .with_response(&self.response.unwrap_or_default())
    }

    /// Bytes of payload in a request, or in a reply where that is larger; of a mix the mean.
    fn payload(&self, context: &Context) -> Option<f64> {
        let request = match context.payload {
            Some(bytes) => bytes as f64,
            None => ratio(self.payload_bytes as f64, self.started as f64)?,
        };
        Some(request.max(context.response_size.unwrap_or(0) as f64))
    }

    /// Calls of the schedule that never started. `None` without a rate.
    fn missed(&self) -> Option<u64> {
        Some(self.scheduled?.saturating_sub(self.started))
    }

    /// The server's own count, where it counts what was called: each right answer is one of it, so that fewer are other methods'.
    pub(super) fn served(&self) -> Option<OpCounts> {
        let ops = self.server.as_ref()?.ops()?;
        (ops.ok + ops.error >= self.ok).then_some(ops)
    }

    /// Requests completed between the readings, by the server's own count; by the load generator's when the server has none.
    /// `None` when none succeeded: the cost of failing is not the cost of an op.
    pub(super) fn ops(&self) -> Option<u64> {
        let (ok, error) = match self.served() {
            Some(ops) => (ops.ok, ops.error),
            None => (self.ok, self.error),
        };
        (ok > 0).then_some(ok + error)
    }
}

/// The most memory in any round.
fn peak_mb(rounds: &[Round], of: fn(&Round) -> Option<ProcessUse>) -> Option<f64> {
    rounds.iter().filter_map(|round| Some(of(round)?.memory?.peak_bytes)).max().map(mib)
}

/// `None` when there is nothing to merge.
fn merged<'a>(latencies: impl Iterator<Item = &'a Latency>) -> Option<LatencySummary> {
    let merged = latencies.cloned().reduce(|mut merged, latency| {
        merged.merge(&latency);
        merged
    });
    merged.as_ref().map(LatencySummary::from)
}

/// Usable only when every round that counted bytes at all has it, so that rounds are never a mix.
fn bytes_basis(rounds: &[Round]) -> Option<BytesBasis> {
    let counted: Vec<AllocCounters> = rounds.iter().filter_map(|r| r.server.as_ref()?.counters()).collect();
    if counted.is_empty() {
        None
    } else if counted.iter().all(|c| c.usable_bytes.is_some()) {
        Some(BytesBasis::Usable)
    } else if counted.iter().any(|c| c.requested_bytes.is_some()) {
        Some(BytesBasis::Requested)
    } else {
        None
    }
}

/// The spread of fewer than two rounds says nothing; equal ones don't spread, even around 0.
fn spread(values: &[f64]) -> Option<f64> {
    match values {
        [] | [_] => None,
        [first, rest @ ..] if rest.iter().all(|value| value == first) => Some(0.0),
        _ => stats::spread(values),
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / BYTES_PER_MIB
}

/// `None` for a denominator of zero.
pub(super) fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}
