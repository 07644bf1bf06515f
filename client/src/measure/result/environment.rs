//! Where and with what a run was measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::AllocCounters;

/// The machine, the build and the settings behind a result: what two results must share to be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The commit the tool was built from.
    pub commit: Option<String>,
    /// Whether its tree had changes that were not committed.
    pub dirty: Option<bool>,
    /// `rustc --version` of the build.
    pub rustc: Option<String>,
    /// Kernel name and release of the load generator's machine.
    pub kernel: Option<String>,
    /// CPU model of that machine, as the kernel names it.
    pub cpu_model: Option<String>,
    /// Logical CPUs of that machine that are online.
    pub cpus: Option<u32>,
    /// Physical cores of that machine.
    pub cores: Option<u32>,
    /// The CPUs the server may run on. `None` when it is not known.
    pub server_cpus: Option<Vec<u32>>,
    /// The CPUs the load generator may run on. `None` when it is not known.
    pub client_cpus: Option<Vec<u32>>,
    /// The server's allocator and its version.
    pub allocator: Option<String>,
    /// The allocator's settings, in its own notation.
    pub allocator_settings: Option<String>,
    /// Where the server's counters come from. `None` in results from before it was asked.
    #[serde(default)]
    pub counter_source: Option<SourceKind>,
    /// What the server allocates for answering one reading of its counters, where they hold that; per-op figures leave it out.
    #[serde(default)]
    pub reading_cost: Option<AllocCounters>,
    /// Versions of the crates that shape the figures, by name.
    pub crates: BTreeMap<String, String>,
    /// What a peer's server is made with, as `google.golang.org/grpc v1.76.0`. `None` for our own, which `crates` tells of.
    #[serde(default)]
    pub framework_version: Option<String>,
    /// What runs a peer's server, as `go1.26.8`, or which JVM an attached one says it is.
    #[serde(default)]
    pub runtime: Option<String>,
    /// A hash of the sources, the recipe and the toolchain that a peer was built from: the same for the same build.
    #[serde(default)]
    pub peer_build: Option<String>,
    /// Who started the server.
    pub server: ServerOrigin,
    /// Whether the server was started anew for each round.
    #[serde(default)]
    pub server_restarted: bool,
    /// The server's address.
    pub server_address: Option<String>,
    /// The command line the server says it was started with.
    pub server_cmdline: Option<Vec<String>>,
    /// Length of a timed round as asked for, ms.
    pub round_duration_ms: Option<u64>,
    /// Length of the warm-up before a timed round as asked for, ms.
    pub warmup_ms: Option<u64>,
}

/// Who started the server under test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerOrigin {
    /// The run did, and stopped it.
    #[default]
    Started,
    /// It was running already. Its build, CPUs and settings are its owner's.
    Attached,
}

/// Where a server's counters come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// The crate `debug-pprof`: what its allocator handed out to serving threads.
    DebugPprof,
    /// Go's `runtime.MemStats` by `expvar`: size classes, as all goroutines got them.
    GoExpvar,
    /// The same, at the end of a profile as text.
    GoPprof,
    /// The agent in a JVM: bytes of the heap, as all threads but its own got them.
    JvmAgent,
    /// Nothing tells what the server allocates.
    None,
}

impl SourceKind {
    /// What it is and whose allocations it counts.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::DebugPprof => "debug-pprof: serving threads",
            Self::GoExpvar => "Go's MemStats (expvar): all goroutines",
            Self::GoPprof => "Go's MemStats (pprof): all goroutines",
            Self::JvmAgent => "the agent in the JVM: heap, all threads but its own",
            Self::None => "none",
        }
    }

    /// Whether it is Go's.
    pub const fn is_go(self) -> bool {
        matches!(self, Self::GoExpvar | Self::GoPprof)
    }
}
