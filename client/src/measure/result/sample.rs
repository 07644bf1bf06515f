//! What is read in one round, before anything is computed from it.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Over, ProcessUse};
use crate::load::{ErrorCount, Latency, LoadSample, WireUse};

/// One timed round as it was measured. Latencies are still a histogram, so that rounds can be merged.
#[derive(Debug, Clone)]
pub struct RunSample {
    /// Which round, from 1.
    pub round: u32,
    /// What the load generator saw.
    pub load: LoadSample,
    /// Time between the load generator's readings of itself. Longer than the timed window: it holds the wait for the last replies.
    pub elapsed: Duration,
    /// The server's own counters around the load. `None` when it has no debug endpoints.
    pub server: Option<Interval<ServerReading>>,
    /// The load generator's own counters around the load.
    pub client: Interval<ClientReading>,
    /// What the kernel says the server used from the first call to the last reply. `None` when its process isn't known, or not
    /// one of this machine.
    pub server_process: Option<ProcessUse>,
    /// What the kernel says the load generator used.
    pub client_process: Option<ProcessUse>,
    /// What the kernel says each process of the gateway used. `None` without one, where its processes aren't known, and where they
    /// were others at the end.
    pub gateway_processes: Option<Vec<ProcessUse>>,
}

/// A reading before and one after. Nothing was in flight at either, so the difference belongs to the load between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval<T> {
    /// Read before the load.
    pub before: T,
    /// Read after the last reply.
    pub after: T,
}

/// What a server says about itself at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerReading {
    /// Allocations of its serving threads. `None` when it doesn't count them.
    pub counters: Option<AllocCounters>,
    /// Requests by method. `None` when it doesn't count them.
    pub ops: Option<BTreeMap<String, OpCounts>>,
    /// User and system time of the process since its start, ns.
    pub cpu_ns: Option<u64>,
    /// Garbage collections, by collector. `None` when there is no collector, or it doesn't tell.
    #[serde(default)]
    pub gc: Option<BTreeMap<String, GcCounts>>,
    /// Connections accepted since its start. `None` when it doesn't count them.
    #[serde(default)]
    pub connections: Option<u64>,
}

/// What the load generator says about itself at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientReading {
    /// Allocations of its load threads.
    pub counters: Option<AllocCounters>,
    /// User and system time of the process since its start, ns.
    pub cpu_ns: Option<u64>,
}

/// An allocator's running totals, as `/debug/vars` gives them. `None` is what a runtime doesn't tell: Go has no requested bytes
/// and no reallocations, a JVM no number of allocations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocCounters {
    /// Calls of `alloc`.
    pub allocs: Option<u64>,
    /// Calls of `alloc_zeroed`.
    pub zeroed_allocs: Option<u64>,
    /// Calls of `realloc`. Each is an allocation of the whole new size and a free of the old.
    pub reallocs: Option<u64>,
    /// Blocks given back, the old ones of `realloc` included.
    pub frees: Option<u64>,
    /// Bytes asked for by all calls that hand out memory.
    pub requested_bytes: Option<u64>,
    /// Bytes those calls handed out: whole size classes.
    pub usable_bytes: Option<u64>,
}

/// A method's running totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpCounts {
    /// Requests begun.
    pub started: u64,
    /// Requests answered with success.
    pub ok: u64,
    /// Requests answered with an error, or abandoned.
    pub error: u64,
}

/// A garbage collector's running totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcCounts {
    /// Collections finished.
    pub collections: u64,
    /// Time it says they took, ns: Go's is that in which the program stood still, a JVM's is as its collector means it. `None`
    /// when it doesn't tell.
    pub time_ns: Option<u64>,
}

/// One timed round as it is written to a file: [`RunSample`] with its histogram condensed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Which round, from 1.
    pub round: u32,
    /// Length of the timed window, ns.
    pub window_ns: u64,
    /// Time between the load generator's readings of itself, ns.
    pub elapsed_ns: u64,
    /// Calls started: `ok + error + unfinished`.
    pub started: u64,
    /// Calls answered with the echo.
    pub ok: u64,
    /// Calls answered with an error, or whose connection broke.
    pub error: u64,
    /// Calls without an answer.
    pub unfinished: u64,
    /// Those of `ok` whose reply came within the window.
    pub ok_in_window: u64,
    /// Calls that were to start within the window. `None` without a rate.
    pub scheduled: Option<u64>,
    /// When the last call was started, from the begin of the window, ns. `None` when none was.
    pub last_start_ns: Option<u64>,
    /// Service times of the calls in `ok`: from sending to the reply.
    pub latency: LatencySummary,
    /// Response times of the calls in `ok`: from the moment a call was to start to its reply. `None` without a rate.
    pub response: Option<LatencySummary>,
    /// Messages in the replies of calls, where a method answers with a stream of them. `None` where each has one.
    pub replies: Option<u64>,
    /// Bytes of payload that the calls were to carry, not compressed.
    pub payload_bytes: u64,
    /// Bytes written to the sockets from the first call to the last reply, framing included.
    pub sent_bytes: u64,
    /// Bytes read from them.
    pub received_bytes: u64,
    /// How the same calls used the wire. `None` of what isn't HTTP, and in results from before it was counted.
    #[serde(default)]
    pub wire_use: Option<WireUse>,
    /// What the failed calls said, by message.
    pub errors: Vec<ErrorCount>,
    /// The server's counters around the load.
    pub server: Option<Interval<ServerReading>>,
    /// The load generator's counters around the load.
    pub client: Interval<ClientReading>,
    /// What the kernel says the server used from the first call to the last reply. `None` when its process isn't known, or not
    /// one of this machine.
    pub server_process: Option<ProcessUse>,
    /// What the kernel says the load generator used.
    pub client_process: Option<ProcessUse>,
    /// What the kernel says each process of the gateway used. `None` without one, where its processes aren't known, and where they
    /// were others at the end.
    #[serde(default)]
    pub gateway_processes: Option<Vec<ProcessUse>>,
}

/// A latency histogram in a few numbers, all in ns. The times are `None` when nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Calls recorded.
    pub count: u64,
    /// Those of them above 60 s, the histogram's range: a percentile among them is the longest.
    pub above_range: u64,
    /// 50th percentile.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// The mean.
    pub mean_ns: Option<f64>,
    /// The standard deviation.
    pub stddev_ns: Option<f64>,
    /// How many took long.
    pub over: Over,
}

impl From<&RunSample> for Round {
    fn from(sample: &RunSample) -> Self {
        let load = &sample.load;
        Self {
            round: sample.round,
            window_ns: nanos(load.window),
            elapsed_ns: nanos(sample.elapsed),
            started: load.started,
            ok: load.ok,
            error: load.error,
            unfinished: load.unfinished,
            ok_in_window: load.ok_in_window,
            scheduled: load.scheduled,
            last_start_ns: load.last_start.map(nanos),
            latency: LatencySummary::from(&load.latency),
            response: load.response.as_ref().map(LatencySummary::from),
            replies: load.replies,
            payload_bytes: load.payload_bytes,
            sent_bytes: load.sent_bytes,
            received_bytes: load.received_bytes,
            wire_use: load.wire_use,
            errors: load.errors.clone(),
            server: sample.server.clone(),
            client: sample.client.clone(),
            server_process: sample.server_process,
            client_process: sample.client_process,
            gateway_processes: sample.gateway_processes.clone(),
        }
    }
}

impl From<&Latency> for LatencySummary {
    fn from(latency: &Latency) -> Self {
        Self {
            count: latency.count(),
            above_range: latency.above_range(),
            p50_ns: latency.p50(),
            p90_ns: latency.p90(),
            p95_ns: latency.p95(),
            p99_ns: latency.p99(),
            p999_ns: latency.p999(),
            min_ns: latency.min(),
            max_ns: latency.max(),
            mean_ns: latency.mean(),
            stddev_ns: latency.stddev(),
            over: Over::from(latency),
        }
    }
}

/// Whole nanoseconds; what is past 584 years is cut off there.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
