//! What a run hands on: raw samples, and the result derived from them.
//!
//! [`RunSample`] and [`Round`] hold what was read; [`Figures`] and [`RunResult`] hold what follows from it. A result keeps its
//! rounds, so every figure in a file can be computed again from the same file.
//!
//! Serialised, a [`RunResult`] is what `result.schema.json` describes. What could not be measured is `None`, in JSON `null`,
//! never 0.

mod derive;
mod environment;
mod figures;
mod gateway;
mod interval;
mod load;
mod process;
mod rate;
mod sample;
mod warnings;
mod wire_use;

use serde::{Deserialize, Serialize};

pub use self::{
    environment::{Environment, ServerOrigin, SourceKind},
    figures::Figures,
    gateway::{Added, Gateway, OverRounds, Percentiles},
    load::{LoadKind, LoadShape, Over, SlowCalls},
    process::{ContextSwitches, MemoryUse, PageFaults, ProcessUse, SyscallCounts},
    sample::{
        AllocCounters, ClientReading, GcCounts, Interval, LatencySummary, OpCounts, Round, RunSample, ServerReading,
    },
    wire_use::{FramesPerOp, Http2Figures, Lifetime, Which, WireFigures},
};
use crate::{
    load::{CallInfo, Case, MessagesPerStream, Wire},
    scenario::{PayloadPattern, Share},
};

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
    /// The server under test: `triple`, `grpc`, `raw`, … or, for any other, `call`, `http1` or `h2`.
    pub framework: String,
    /// Bytes of payload in each request, and in each reply unless `response_size` says otherwise. Of a mix the mean. Of a `call` the
    /// encoded message.
    pub payload_size: u64,
    /// The sizes of a mix and how often each comes. `None` when all requests are of one size.
    pub payload_mix: Option<Vec<Share>>,
    /// What payloads are made of.
    pub payload_pattern: PayloadPattern,
    /// Bytes of payload in each reply. `None` when each is as long as its request, or as the server likes (`call`).
    pub response_size: Option<u64>,
    /// How the message is encoded: `protobuf`, `none`, …
    pub serialization: String,
    /// How hard messages are compressed: `none`, or with gzip `default`, `fastest`, `best`.
    pub compression: String,
    /// Calls in flight at any time.
    pub concurrency: u32,
    /// `unary` or `streaming`; `server_streaming` where a method of the user's own answers with a stream.
    pub call_mode: String,
    /// Messages in each stream. `None` for unary calls.
    pub messages_per_stream: Option<MessagesPerStream>,
    /// What was called in place of the echo. `None` for the echo.
    pub call: Option<CallInfo>,
    /// How the calls were sent.
    pub load: LoadShape,
    /// When the run started: RFC 3339, UTC.
    pub timestamp: String,
    /// Rates, latencies and per-op figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Replies that were right ÷ calls started, percent: 100 = all. `None` when no call was started.
    pub success_rate: Option<f64>,
    /// Calls started in the timed rounds: succeeded + failed + unfinished.
    pub total_requests: u64,
    /// Calls answered with the echo; those of a method of the user's own with status 0, and with what is to be expected.
    pub success_requests: u64,
    /// Calls answered with an error, or whose connection broke.
    pub failure_requests: u64,
    /// Calls with no answer when waiting for it was given up.
    pub unfinished_requests: u64,
    /// Calls that were to start at the rate asked for and never did, because every call in flight was still waiting. Their
    /// response times are in no percentile. `None` without a rate.
    pub missed_requests: Option<u64>,
    /// Calls of more than 60 s, the histogram's range: a percentile among them is the longest.
    pub latency_above_range: u64,
    /// How many calls took long.
    pub slow_calls: SlowCalls,
    /// What `bytes_per_op` counts: usable bytes, or the bytes asked for where the allocator doesn't tell.
    pub bytes_per_op_basis: Option<BytesBasis>,
    /// The most memory the server held in a timed round, MiB.
    pub memory_peak_mb: Option<f64>,
    /// `qps` ÷ the QPS of the bare TCP echo of the same run, scenario and CPUs: 1 = as fast as the machine goes. `None` where the
    /// load decides the rate: at a rate, with think time, and where the handler sleeps.
    pub roofline_ratio: Option<f64>,
    /// How far the rounds lie apart, for each figure: (maximum − minimum) ÷ 2 ÷ median. 0.01 = ±1 %. `None` with fewer than
    /// two rounds.
    pub spread: Figures,
    /// The timed rounds as they were read, in order.
    pub rounds: Vec<Round>,
    /// What really went over the wire. `None` when the preflight got no answer.
    pub wire: Option<Wire>,
    /// How the timed rounds used it. `None` of what isn't HTTP, when no call succeeded, and in results from before it was counted.
    #[serde(default)]
    pub wire_use: Option<WireFigures>,
    /// What the calls went through. `None` where they went to the server.
    #[serde(default)]
    pub gateway: Option<Gateway>,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// System calls of a pass of its own, since counting them costs time. `None` when none were counted.
    pub syscalls: Option<SyscallCounts>,
    /// Where the server's allocations come from. `None` when no allocation profile was taken, or one that was cut.
    pub sites: Option<SiteTable>,
    /// The files that belong to this result.
    pub files: Files,
    /// Why the measurement ended before all rounds were measured, or what makes them worthless. `None` when it went well.
    pub failure: Option<String>,
    /// What a reader must know before trusting a figure, a sentence each.
    pub warnings: Vec<String>,
}

impl RunResult {
    /// The name that a result's files share, without what tells them apart:
    /// `{framework}_{payload}_{serialization}_{compression}_{concurrency}_{mode}`, with `_m{messages}` for long streams and
    /// `_q{rate}` for a load at a rate, and `_via-{gateway}` for one through a gateway. Of a call the framework is `call-` and the method.
    pub fn file_stem(&self) -> String {
        let payload = match &self.payload_mix {
            Some(mix) => {
                mix.iter().map(|share| format!("{}x{}", share.size, share.percent)).collect::<Vec<_>>().join("-")
            }
            None => self.payload_size.to_string(),
        };
        let stream = match self.messages_per_stream {
            Some(messages) if messages != MessagesPerStream::default() => format!("_m{messages}"),
            _ => String::new(),
        };
        let rate = self.load.qps.map(|qps| format!("_q{qps}")).unwrap_or_default();
        let call = self.call.as_ref().map(|call| format!("-{}", plain(&call.method))).unwrap_or_default();
        let via = self.gateway.as_ref().map(|gateway| format!("_via-{}", gateway.kind)).unwrap_or_default();
        format!(
            "{}{call}_{payload}_{}_{}_{}_{}{stream}{rate}{via}",
            self.framework, self.serialization, self.compression, self.concurrency, self.call_mode
        )
    }

    /// The name of the result's JSON file.
    pub fn file_name(&self) -> String {
        self.file_stem() + ".json"
    }
}

/// A method's name as a part of a file's, which has 255 bytes.
fn plain(method: &str) -> String {
    method.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).take(120).collect()
}

/// What was to be measured, and where: the part of a [`RunResult`] that is known before the first round.
#[derive(Debug, Clone, PartialEq)]
pub struct RunMeta {
    /// See [`RunResult::label`].
    pub label: String,
    /// See [`RunResult::framework`].
    pub framework: String,
    /// What was sent.
    pub case: Case,
    /// See [`RunResult::call`].
    pub call: Option<CallInfo>,
    /// See [`RunResult::serialization`].
    pub serialization: String,
    /// When the run started.
    pub started: jiff::Timestamp,
    /// Timed rounds asked for. Fewer that were measured are a warning.
    pub rounds: u32,
    /// See [`RunResult::wire`].
    pub wire: Option<Wire>,
    /// See [`RunResult::gateway`].
    pub gateway: Option<Gateway>,
    /// See [`RunResult::environment`].
    pub environment: Environment,
    /// Warnings from before the first round.
    pub warnings: Vec<String>,
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
    /// How the profile was sampled. `None` when every allocation is in it.
    #[serde(default)]
    pub sampling: Option<Sampling>,
}

/// What sampling does to a table's sums.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Bytes between two allocations that were sampled, on average.
    pub period_bytes: u64,
    /// Standard error of the sum of bytes ÷ that sum: 0.02 = ±2 %. `None` when the sum is 0.
    pub bytes_error: Option<f64>,
    /// The same of the number of allocations.
    pub allocs_error: Option<f64>,
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
    /// A trace of requests that were sent one at a time, JSON.
    pub trace: Option<String>,
    /// One of them over its time, SVG.
    pub trace_timeline: Option<String>,
    /// What the server wrote to stderr.
    pub server_log: Option<String>,
    /// What a gateway was started with.
    #[serde(default)]
    pub gateway_config: Option<String>,
    /// What it wrote.
    #[serde(default)]
    pub gateway_log: Option<String>,
}
