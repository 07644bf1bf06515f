//! Figures: what follows from one round, and from all of them.

use serde::{Deserialize, Serialize};

use super::LatencySummary;

const NS_PER_MS: f64 = 1e6;

/// The figures that every round has and that are comparable over rounds and runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Replies within the timed window ÷ its length, 1/s.
    pub qps: Option<f64>,
    /// Service time (send to reply) of successful calls: the median, ms.
    pub latency_p50_ms: Option<f64>,
    /// 90th percentile, ms.
    pub latency_p90_ms: Option<f64>,
    /// 95th percentile, ms.
    pub latency_p95_ms: Option<f64>,
    /// 99th percentile, ms.
    pub latency_p99_ms: Option<f64>,
    /// 99.9th percentile, ms.
    pub latency_p999_ms: Option<f64>,
    /// The shortest, ms.
    pub latency_min_ms: Option<f64>,
    /// The longest, ms.
    pub latency_max_ms: Option<f64>,
    /// The mean, ms.
    pub latency_avg_ms: Option<f64>,
    /// The standard deviation, ms.
    pub latency_stddev_ms: Option<f64>,
    /// Response time (the moment a call was to start, to its reply) at a rate: the median, ms. `None` without a rate.
    pub response_p50_ms: Option<f64>,
    /// 90th percentile of the response time, ms.
    pub response_p90_ms: Option<f64>,
    /// 95th percentile of the response time, ms.
    pub response_p95_ms: Option<f64>,
    /// 99th percentile of the response time, ms.
    pub response_p99_ms: Option<f64>,
    /// 99.9th percentile of the response time, ms.
    pub response_p999_ms: Option<f64>,
    /// The shortest response time, ms.
    pub response_min_ms: Option<f64>,
    /// The longest response time, ms.
    pub response_max_ms: Option<f64>,
    /// The mean response time, ms.
    pub response_avg_ms: Option<f64>,
    /// The standard deviation of the response time, ms.
    pub response_stddev_ms: Option<f64>,
    /// Bytes the load generator wrote to its sockets, framing included, per op.
    pub sent_bytes_per_op: Option<f64>,
    /// Bytes the load generator read from its sockets, per op.
    pub received_bytes_per_op: Option<f64>,
    /// Bytes the server's serving threads got from the allocator, per op: see
    /// [`RunResult::bytes_per_op_basis`](super::RunResult::bytes_per_op_basis).
    pub bytes_per_op: Option<f64>,
    /// Bytes the serving threads asked the allocator for, per op.
    pub requested_bytes_per_op: Option<f64>,
    /// Calls of the serving threads that got memory (alloc, alloc_zeroed, realloc), per op.
    pub allocs_per_op: Option<f64>,
    /// Calls of the serving threads that gave memory back (dealloc, realloc), per op.
    pub frees_per_op: Option<f64>,
    /// `requested_bytes_per_op` ÷ payload: how often a large payload is copied into new memory. The payload is that of the request,
    /// of a mix the mean of those sent, or that of the reply where that is larger.
    pub copies_per_op: Option<f64>,
    /// User and system time of the server process per op, µs.
    pub server_cpu_us_per_op: Option<f64>,
    /// User and system time of the load generator per op, µs.
    pub client_cpu_us_per_op: Option<f64>,
    /// Bytes the load generator asked its allocator for, per op.
    pub client_bytes_per_op: Option<f64>,
    /// Calls of the load generator that got memory, per op.
    pub client_allocs_per_op: Option<f64>,
    /// CPU time of the server process ÷ wall time, percent: 100 = one CPU busy all the time.
    pub cpu_avg_percent: Option<f64>,
    /// Resident memory of the server, averaged over the window, MiB.
    pub memory_avg_mb: Option<f64>,
    /// Resident memory of the load generator, averaged over the window, MiB.
    pub client_memory_avg_mb: Option<f64>,
    /// The most resident memory of the load generator, MiB.
    pub client_memory_peak_mb: Option<f64>,
    /// Context switches of the server's threads, wanted and forced, per op.
    pub context_switches_per_op: Option<f64>,
    /// Page faults of the server, minor and major, per op.
    pub page_faults_per_op: Option<f64>,
    /// System calls of the server per op, in a pass of their own: see [`RunResult::syscalls`](super::RunResult::syscalls).
    pub syscalls_per_op: Option<f64>,
    /// Context switches of the load generator's threads per op.
    pub client_context_switches_per_op: Option<f64>,
    /// Page faults of the load generator per op.
    pub client_page_faults_per_op: Option<f64>,
    /// System calls of the load generator per op, in the same pass.
    pub client_syscalls_per_op: Option<f64>,
    /// CPU time of the load generator ÷ what its CPUs could give, percent: 100 = it can do no more.
    pub client_cpu_utilisation_percent: Option<f64>,
    /// Connections that the server accepted in the window, per op: those that a gateway opened, as the load generator keeps its own.
    #[serde(default)]
    pub connections_per_op: Option<f64>,
    /// User and system time of the gateway's processes per op, µs.
    #[serde(default)]
    pub gateway_cpu_us_per_op: Option<f64>,
    /// Resident memory of the gateway's processes, averaged over the window and added up, MiB: pages that they share count for each.
    #[serde(default)]
    pub gateway_memory_avg_mb: Option<f64>,
}

impl Figures {
    /// Applies `how` to each figure over all rounds that have it.
    pub(super) fn combine(rounds: &[Self], how: impl Fn(&[f64]) -> Option<f64>) -> Self {
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
            connections_per_op: over(|f| f.connections_per_op),
            gateway_cpu_us_per_op: over(|f| f.gateway_cpu_us_per_op),
            gateway_memory_avg_mb: over(|f| f.gateway_memory_avg_mb),
        }
    }

    /// With the service times.
    pub(super) fn with_latency(self, latency: &LatencySummary) -> Self {
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

    /// With the response times.
    pub(super) fn with_response(self, response: &LatencySummary) -> Self {
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / NS_PER_MS);
        Self {
            response_p50_ms: ms(response.p50_ns),
            response_p90_ms: ms(response.p90_ns),
            response_p95_ms: ms(response.p95_ns),
            response_p99_ms: ms(response.p99_ns),
            response_p999_ms: ms(response.p999_ns),
            response_min_ms: ms(response.min_ns),
            response_max_ms: ms(response.max_ns),
            response_avg_ms: response.mean_ns.map(|ns| ns / NS_PER_MS),
            response_stddev_ms: response.stddev_ns.map(|ns| ns / NS_PER_MS),
            ..self
        }
    }
}
