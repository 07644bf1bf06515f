//! Raw rounds → figures. Everything here is arithmetic on what the rounds hold.

use super::{
    AllocCounters, BytesBasis, ClientReading, Figures, Files, Interval, LatencySummary, LoadShape, OpCounts, Over,
    PerOp, Round, RunMeta, RunResult, RunSample, SCHEMA_VERSION, ServerReading, SiteTable, SlowCalls, warnings,
};
use crate::{load::Latency, stats};

const NS_PER_MS: f64 = 1e6;
const NS_PER_US: f64 = 1e3;
const NS_PER_S: f64 = 1e9;
const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

impl RunResult {
    /// Derives a run's result from its finished rounds. With none, or without a single success, what can't be said is `None`.
    pub fn derive(meta: RunMeta, samples: &[RunSample]) -> Self {
        let rounds: Vec<Round> = samples.iter().map(Round::from).collect();
        let latency = merged_latency(samples);
        let mut result = Self::from_rounds(meta, rounds, latency);
        result.warnings.extend(warnings::of(&result));
        result
    }

    fn from_rounds(meta: RunMeta, rounds: Vec<Round>, latency: LatencySummary) -> Self {
        let (basis, case) = (bytes_basis(&rounds), meta.case);
        let context = Context {
            payload: case.scenario.payload.mean(),
            basis,
            client_cpus: meta.environment.client_cpus.as_ref().map(Vec::len),
        };
        // A round without a success has no rate, and nothing of it is the cost of an op: it must not move a median.
        let per_round: Vec<Figures> =
            rounds.iter().filter(|round| round.ok > 0).map(|round| round.figures(&context)).collect();
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
            call_mode: case.mode.to_string(),
            messages_per_stream: case.stream_length(),
            load: LoadShape::from(&case),
            timestamp: meta.started.to_string(),
            figures: Figures::combine(&per_round, stats::median).with_latency(&latency),
            success_rate: ratio(ok as f64 * 100.0, started as f64),
            total_requests: started,
            success_requests: ok,
            failure_requests: sum(|r| r.error),
            unfinished_requests: sum(|r| r.unfinished),
            missed_requests: None,
            latency_above_range: latency.above_range,
            slow_calls: SlowCalls { service: Over::default(), response: None },
            bytes_per_op_basis: basis,
            memory_peak_mb: rounds
                .iter()
                .filter_map(|r| r.server_rss_peak_bytes)
                .max()
                .map(|b| b as f64 / BYTES_PER_MIB),
            roofline_ratio: None,
            spread: Figures::combine(&per_round, spread),
            rounds,
            wire: meta.wire,
            environment: meta.environment,
            sites: None,
            files: Files::default(),
            warnings,
        }
    }

    /// Sets [`RunResult::roofline_ratio`] from the QPS of the bare TCP echo in the same run and scenario. The echo's own is 1.
    pub fn set_roofline(&mut self, raw_qps: Option<f64>) {
        self.roofline_ratio = self.figures.qps.zip(raw_qps).and_then(|(qps, raw)| ratio(qps, raw));
    }

    /// Adds the allocation sites, and a warning where their sum isn't what the counters said of the same requests
    /// (`counted`), or those requests cost other than the rounds'.
    pub fn set_sites(&mut self, sites: SiteTable, counted: Option<PerOp>) {
        self.warnings.extend(warnings::of_sites(&self.figures, &sites, counted));
        self.sites = Some(sites);
    }
}

/// What a round's figures depend on beside the round.
pub(super) struct Context {
    payload: u64,
    basis: Option<BytesBasis>,
    client_cpus: Option<usize>,
}

impl Round {
    /// The figures of this round alone.
    fn figures(&self, context: &Context) -> Figures {
        let ops = self.ops();
        let per_op = |total: Option<u64>| total.zip(ops).and_then(|(total, ops)| ratio(total as f64, ops as f64));
        let server = self.server.as_ref().and_then(Interval::<ServerReading>::counters).unwrap_or_default();
        let client = self.client.counters().unwrap_or_default();
        let server_cpu = self.server.as_ref().and_then(Interval::<ServerReading>::cpu_ns);
        let client_cpu = self.client.cpu_ns();
        let requested_bytes_per_op = per_op(server.requested_bytes);
        Figures {
            qps: ratio(self.ok_in_window as f64 * NS_PER_S, self.window_ns as f64),
            bytes_per_op: match context.basis {
                Some(BytesBasis::Usable) => per_op(server.usable_bytes),
                _ => requested_bytes_per_op,
            },
            requested_bytes_per_op,
            allocs_per_op: per_op(server.calls()),
            frees_per_op: per_op(server.frees),
            copies_per_op: requested_bytes_per_op.and_then(|bytes| ratio(bytes, context.payload as f64)),
            server_cpu_us_per_op: per_op(server_cpu).map(|ns| ns / NS_PER_US),
            client_cpu_us_per_op: per_op(client_cpu).map(|ns| ns / NS_PER_US),
            client_bytes_per_op: per_op(client.requested_bytes),
            client_allocs_per_op: per_op(client.calls()),
            cpu_avg_percent: server_cpu.and_then(|ns| ratio(ns as f64 * 100.0, self.elapsed_ns as f64)),
            client_cpu_utilisation_percent: client_cpu
                .zip(context.client_cpus)
                .and_then(|(ns, cpus)| ratio(ns as f64 * 100.0, self.elapsed_ns as f64 * cpus as f64)),
            ..Figures::default()
        }
        .with_latency(&self.latency)
    }

    /// Requests completed between the readings, by the server's own count; by the load generator's when the server has none.
    /// `None` when none succeeded: the cost of failing is not the cost of an op.
    fn ops(&self) -> Option<u64> {
        let (ok, error) = match self.server.as_ref().and_then(Interval::<ServerReading>::ops) {
            Some(ops) => (ops.ok, ops.error),
            None => (self.ok, self.error),
        };
        (ok > 0).then_some(ok + error)
    }
}

impl Figures {
    /// Applies `how` to each figure over all rounds that have it.
    fn combine(rounds: &[Self], how: impl Fn(&[f64]) -> Option<f64>) -> Self {
        let over = |figure: fn(&Self) -> Option<f64>| how(&rounds.iter().filter_map(figure).collect::<Vec<_>>());
        Self {
            qps: over(|f| f.qps),
            latency_p50_ms: over(|f| f.latency_p50_ms),
            latency_p90_ms: over(|f| f.latency_p90_ms),
            latency_p95_ms: over(|f| f.latency_p95_ms),
            latency_p99_ms: over(|f| f.latency_p99_ms),
            latency_p999_ms: over(|f| f.latency_p999_ms),
            latency_min_ms: over(|f| f.latency_min_ms),
            latency_max_ms: over(|f| f.latency_max_ms),
            latency_avg_ms: over(|f| f.latency_avg_ms),
            latency_stddev_ms: over(|f| f.latency_stddev_ms),
            response_p50_ms: over(|f| f.response_p50_ms),
            response_p90_ms: over(|f| f.response_p90_ms),
            response_p95_ms: over(|f| f.response_p95_ms),
            response_p99_ms: over(|f| f.response_p99_ms),
            response_p999_ms: over(|f| f.response_p999_ms),
            response_min_ms: over(|f| f.response_min_ms),
            response_max_ms: over(|f| f.response_max_ms),
            response_avg_ms: over(|f| f.response_avg_ms),
            response_stddev_ms: over(|f| f.response_stddev_ms),
            sent_bytes_per_op: over(|f| f.sent_bytes_per_op),
            received_bytes_per_op: over(|f| f.received_bytes_per_op),
            memory_avg_mb: over(|f| f.memory_avg_mb),
            client_memory_avg_mb: over(|f| f.client_memory_avg_mb),
            client_memory_peak_mb: over(|f| f.client_memory_peak_mb),
            context_switches_per_op: over(|f| f.context_switches_per_op),
            page_faults_per_op: over(|f| f.page_faults_per_op),
            syscalls_per_op: over(|f| f.syscalls_per_op),
            client_context_switches_per_op: over(|f| f.client_context_switches_per_op),
            client_page_faults_per_op: over(|f| f.client_page_faults_per_op),
            client_syscalls_per_op: over(|f| f.client_syscalls_per_op),
            bytes_per_op: over(|f| f.bytes_per_op),
            requested_bytes_per_op: over(|f| f.requested_bytes_per_op),
            allocs_per_op: over(|f| f.allocs_per_op),
            frees_per_op: over(|f| f.frees_per_op),
            copies_per_op: over(|f| f.copies_per_op),
            server_cpu_us_per_op: over(|f| f.server_cpu_us_per_op),
            client_cpu_us_per_op: over(|f| f.client_cpu_us_per_op),
            client_bytes_per_op: over(|f| f.client_bytes_per_op),
            client_allocs_per_op: over(|f| f.client_allocs_per_op),
            cpu_avg_percent: over(|f| f.cpu_avg_percent),
            client_cpu_utilisation_percent: over(|f| f.client_cpu_utilisation_percent),
        }
    }

    fn with_latency(self, latency: &LatencySummary) -> Self {
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / NS_PER_MS);
        Self {
            latency_p50_ms: ms(latency.p50_ns),
            latency_p90_ms: ms(latency.p90_ns),
            latency_p95_ms: ms(latency.p95_ns),
            latency_p99_ms: ms(latency.p99_ns),
            latency_p999_ms: ms(latency.p999_ns),
            latency_min_ms: ms(latency.min_ns),
            latency_max_ms: ms(latency.max_ns),
            latency_avg_ms: latency.mean_ns.map(|ns| ns / NS_PER_MS),
            latency_stddev_ms: latency.stddev_ns.map(|ns| ns / NS_PER_MS),
            ..self
        }
    }
}

impl AllocCounters {
    /// Calls that handed out memory. What a runtime doesn't tell apart counts as none of that kind.
    fn calls(&self) -> Option<u64> {
        Some(self.allocs? + self.zeroed_allocs.unwrap_or(0) + self.reallocs.unwrap_or(0))
    }

    /// These totals spread over so many requests; requested bytes where usable ones are unknown. `None` without requests.
    pub fn per_op(&self, ops: u64) -> Option<PerOp> {
        let bytes = self.usable_bytes.or(self.requested_bytes)?;
        Some(PerOp {
            bytes_per_op: ratio(bytes as f64, ops as f64)?,
            allocs_per_op: ratio(self.calls()? as f64, ops as f64)?,
        })
    }

    /// What was added since `before`. A total that went down (the process was restarted) is `None`.
    fn since(&self, before: &Self) -> Self {
        let of = |total: fn(&Self) -> Option<u64>| increase(total(before), total(self));
        Self {
            allocs: of(|c| c.allocs),
            zeroed_allocs: of(|c| c.zeroed_allocs),
            reallocs: of(|c| c.reallocs),
            frees: of(|c| c.frees),
            requested_bytes: of(|c| c.requested_bytes),
            usable_bytes: of(|c| c.usable_bytes),
        }
    }
}

impl Interval<ServerReading> {
    /// What the serving threads allocated between the readings.
    pub fn counters(&self) -> Option<AllocCounters> {
        Some(self.after.counters?.since(&self.before.counters?))
    }

    /// Requests between the readings, all methods together. `None` without counts, or when they went down.
    pub fn ops(&self) -> Option<OpCounts> {
        let (before, after) = (self.before.ops.as_ref()?, self.after.ops.as_ref()?);
        let mut sum = OpCounts::default();
        for (method, now) in after {
            let then = before.get(method).copied().unwrap_or_default();
            sum.started += now.started.checked_sub(then.started)?;
            sum.ok += now.ok.checked_sub(then.ok)?;
            sum.error += now.error.checked_sub(then.error)?;
        }
        Some(sum)
    }

    /// CPU time between the readings, ns.
    pub fn cpu_ns(&self) -> Option<u64> {
        increase(self.before.cpu_ns, self.after.cpu_ns)
    }
}

impl Interval<ClientReading> {
    /// What the load generator allocated between the readings.
    pub fn counters(&self) -> Option<AllocCounters> {
        Some(self.after.counters?.since(&self.before.counters?))
    }

    /// CPU time between the readings, ns.
    pub fn cpu_ns(&self) -> Option<u64> {
        increase(self.before.cpu_ns, self.after.cpu_ns)
    }
}

fn merged_latency(samples: &[RunSample]) -> LatencySummary {
    let mut merged = Latency::default();
    for sample in samples {
        merged.merge(&sample.load.latency);
    }
    LatencySummary::from(&merged)
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

fn increase(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

/// `None` for a denominator of zero.
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}
