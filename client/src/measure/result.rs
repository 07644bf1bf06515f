//! What a run hands on: raw samples, and the result derived from them.
//!
//! [`RunSample`] and [`Round`] hold what was read; [`Figures`] and [`RunResult`] hold what follows from it. A result keeps its
//! rounds, so every figure in a file can be computed again from the same file.
//!
//! Serialised, a [`RunResult`] is what `result.schema.json` describes. What could not be measured is `None`, in JSON `null`,
//! never 0.

mod derive;
mod environment;
mod sample;
mod warnings;

use serde::{Deserialize, Serialize};

pub use self::{
    environment::{Environment, ServerOrigin},
    sample::{AllocCounters, ClientReading, Interval, LatencySummary, OpCounts, Round, RunSample, ServerReading},
};
use crate::load::Wire;

/// The version of the JSON's shape. It grows when a key changes its meaning or goes; new keys don't change it.
pub const SCHEMA_VERSION: u32 = 1;

/// What one framework did in one scenario, over all rounds.
///
/// Keys that dubbo-go's benchmark suite writes keep their names here. A figure is the **median over the rounds**, except the
/// latencies, which are those of all rounds' calls together, and the counts, which are sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The version of this shape: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The run this belongs to: the name of its folders.
    pub label: String,
    /// Payload and concurrency, as `1MiB-100`.
    pub scenario: String,
    /// The server under test: `triple`, `grpc`, `raw`, …
    pub framework: String,
    /// Bytes of payload in each request and in each reply.
    pub payload_size: u64,
    /// How the message is encoded: `protobuf`, `none`, …
    pub serialization: String,
    /// How the message is compressed: `none`, `gzip`.
    pub compression: String,
    /// Calls in flight at any time.
    pub concurrency: u32,
    /// `unary` or `streaming`.
    pub call_mode: String,
    /// When the run started: RFC 3339, UTC.
    pub timestamp: String,
    /// Rates, latencies and per-op figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Replies that were right ÷ calls started, percent: 100 = all. `None` when no call was started.
    pub success_rate: Option<f64>,
    /// Calls started in the timed rounds: succeeded + failed + unfinished.
    pub total_requests: u64,
    /// Calls answered with the echo.
    pub success_requests: u64,
    /// Calls answered with an error, or whose connection broke.
    pub failure_requests: u64,
    /// Calls with no answer when waiting for it was given up.
    pub unfinished_requests: u64,
    /// Calls of more than 60 s, the histogram's range: a percentile among them is the longest.
    pub latency_above_range: u64,
    /// What `bytes_per_op` counts: usable bytes, or the bytes asked for where the allocator doesn't tell.
    pub bytes_per_op_basis: Option<BytesBasis>,
    /// The most memory the server held in a timed round, MiB.
    pub memory_peak_mb: Option<f64>,
    /// `qps` ÷ the QPS of the bare TCP echo of the same run, scenario and CPUs: 1 = as fast as the machine goes.
    pub roofline_ratio: Option<f64>,
    /// How far the rounds lie apart, for each figure: (maximum − minimum) ÷ 2 ÷ median. 0.01 = ±1 %. `None` with fewer than
    /// two rounds.
    pub spread: Figures,
    /// The timed rounds as they were read, in order.
    pub rounds: Vec<Round>,
    /// What really went over the wire. `None` when the preflight got no answer.
    pub wire: Option<Wire>,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// Where the server's allocations come from. `None` when no exact allocation profile was taken.
    pub sites: Option<SiteTable>,
    /// The files that belong to this result.
    pub files: Files,
    /// What a reader must know before trusting a figure, a sentence each.
    pub warnings: Vec<String>,
}

impl RunResult {
    /// The name that a result's files share, without what tells them apart:
    /// `{framework}_{payload}_{serialization}_{compression}_{concurrency}_{mode}`.
    pub fn file_stem(&self) -> String {
        format!(
            "{}_{}_{}_{}_{}_{}",
            self.framework, self.payload_size, self.serialization, self.compression, self.concurrency, self.call_mode
        )
    }

    /// The name of the result's JSON file.
    pub fn file_name(&self) -> String {
        self.file_stem() + ".json"
    }
}

/// What was to be measured, and where: the part of a [`RunResult`] that is known before the first round.
#[derive(Debug, Clone, PartialEq)]
pub struct RunMeta {
    /// See [`RunResult::label`].
    pub label: String,
    /// See [`RunResult::scenario`].
    pub scenario: String,
    /// See [`RunResult::framework`].
    pub framework: String,
    /// See [`RunResult::payload_size`].
    pub payload_size: u64,
    /// See [`RunResult::serialization`].
    pub serialization: String,
    /// See [`RunResult::compression`].
    pub compression: String,
    /// See [`RunResult::concurrency`].
    pub concurrency: u32,
    /// See [`RunResult::call_mode`].
    pub call_mode: String,
    /// When the run started.
    pub started: jiff::Timestamp,
    /// Timed rounds asked for. Fewer that were measured are a warning.
    pub rounds: u32,
    /// See [`RunResult::wire`].
    pub wire: Option<Wire>,
    /// See [`RunResult::environment`].
    pub environment: Environment,
    /// Warnings from before the first round.
    pub warnings: Vec<String>,
}

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
    /// Bytes the server's serving threads got from the allocator, per op: see [`RunResult::bytes_per_op_basis`].
    pub bytes_per_op: Option<f64>,
    /// Bytes the serving threads asked the allocator for, per op.
    pub requested_bytes_per_op: Option<f64>,
    /// Calls of the serving threads that got memory (alloc, alloc_zeroed, realloc), per op.
    pub allocs_per_op: Option<f64>,
    /// Calls of the serving threads that gave memory back (dealloc, realloc), per op.
    pub frees_per_op: Option<f64>,
    /// `requested_bytes_per_op` ÷ payload: how often a large payload is copied into new memory.
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
    /// CPU time of the load generator ÷ what its CPUs could give, percent: 100 = it can do no more.
    pub client_cpu_utilisation_percent: Option<f64>,
}

/// What `bytes_per_op` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BytesBasis {
    /// What the allocator handed out: whole size classes, comparable with Go's `TotalAlloc`.
    Usable,
    /// What was asked for.
    Requested,
}

/// Where memory was asked for, largest first. `rows` and `others` always add up to `total`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteTable {
    /// All of the profile.
    pub total: PerOp,
    /// The sites with the most bytes.
    pub rows: Vec<Site>,
    /// All sites without a row of their own.
    pub others: Others,
}

/// A source line that asked for memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// The function, demangled.
    pub function: String,
    /// Its source file. `None` when the profile has no line numbers.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// What it allocates.
    #[serde(flatten)]
    pub per_op: PerOp,
}

/// The sites that share the last row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Others {
    /// How many they are.
    pub sites: u64,
    /// What they allocate together.
    #[serde(flatten)]
    pub per_op: PerOp,
}

/// Memory per op.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PerOp {
    /// Bytes.
    pub bytes_per_op: f64,
    /// Allocations.
    pub allocs_per_op: f64,
}

/// Paths of the files that belong to a result, relative to the folder of its JSON. `None` = not written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// CPU profile, gzipped profile.proto.
    pub cpu_profile: Option<String>,
    /// Allocation profile, gzipped profile.proto.
    pub allocs_profile: Option<String>,
    /// In-use heap profile, gzipped profile.proto.
    pub heap_profile: Option<String>,
    /// Flamegraph of CPU time, SVG.
    pub cpu_flamegraph: Option<String>,
    /// Flamegraph of bytes allocated per op, SVG.
    pub alloc_space_flamegraph: Option<String>,
    /// Flamegraph of allocations per op, SVG.
    pub alloc_objects_flamegraph: Option<String>,
    /// What the server wrote to stderr.
    pub server_log: Option<String>,
}
