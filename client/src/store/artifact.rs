//! The files beside a result's JSON.

use crate::measure::result::Files;

pub(super) const DATA: &str = "data";
const PROFILES: &str = "profiles";
const FLAMEGRAPHS: &str = "flamegraphs";
const LOGS: &str = "logs";

/// The folders of a root.
pub(super) const KINDS: [&str; 4] = [DATA, PROFILES, FLAMEGRAPHS, LOGS];

/// How the names of traces end.
pub const TRACE: &str = ".trace.json";

/// A file that belongs to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artifact {
    /// See [`Files::cpu_profile`].
    CpuProfile,
    /// See [`Files::allocs_profile`].
    AllocsProfile,
    /// See [`Files::heap_profile`].
    HeapProfile,
    /// See [`Files::cpu_flamegraph`].
    CpuFlamegraph,
    /// See [`Files::alloc_space_flamegraph`].
    AllocSpaceFlamegraph,
    /// See [`Files::alloc_objects_flamegraph`].
    AllocObjectsFlamegraph,
    /// See [`Files::trace`].
    Trace,
    /// See [`Files::trace_timeline`].
    TraceTimeline,
    /// See [`Files::server_log`].
    ServerLog,
    /// See [`Files::gateway_config`].
    GatewayConfig,
    /// See [`Files::gateway_log`].
    GatewayLog,
}

impl Artifact {
    /// Every one of them.
    pub const ALL: [Self; 11] = [
        Self::CpuProfile,
        Self::AllocsProfile,
        Self::HeapProfile,
        Self::CpuFlamegraph,
        Self::AllocSpaceFlamegraph,
        Self::AllocObjectsFlamegraph,
        Self::Trace,
        Self::TraceTimeline,
        Self::ServerLog,
        Self::GatewayConfig,
        Self::GatewayLog,
    ];

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::CpuProfile | Self::AllocsProfile | Self::HeapProfile | Self::Trace => PROFILES,
            Self::CpuFlamegraph | Self::AllocSpaceFlamegraph | Self::AllocObjectsFlamegraph | Self::TraceTimeline => {
                FLAMEGRAPHS
            }
            Self::ServerLog | Self::GatewayConfig | Self::GatewayLog => LOGS,
        }
    }

    pub(super) fn file_name(self, stem: &str) -> String {
        let suffix = match self {
            Self::CpuProfile => "cpu.pb.gz",
            Self::AllocsProfile => "allocs.pb.gz",
            Self::HeapProfile => "heap.pb.gz",
            Self::CpuFlamegraph => "cpu.svg",
            Self::AllocSpaceFlamegraph => "alloc_space.svg",
            Self::AllocObjectsFlamegraph => "alloc_objects.svg",
            Self::Trace => &TRACE[1..],
            Self::TraceTimeline => "trace.svg",
            Self::ServerLog => "server.log",
            Self::GatewayConfig => "gateway.conf",
            Self::GatewayLog => "gateway.log",
        };
        format!("{stem}.{suffix}")
    }

    pub(super) fn slot(self, files: &mut Files) -> &mut Option<String> {
        match self {
            Self::CpuProfile => &mut files.cpu_profile,
            Self::AllocsProfile => &mut files.allocs_profile,
            Self::HeapProfile => &mut files.heap_profile,
            Self::CpuFlamegraph => &mut files.cpu_flamegraph,
            Self::AllocSpaceFlamegraph => &mut files.alloc_space_flamegraph,
            Self::AllocObjectsFlamegraph => &mut files.alloc_objects_flamegraph,
            Self::Trace => &mut files.trace,
            Self::TraceTimeline => &mut files.trace_timeline,
            Self::ServerLog => &mut files.server_log,
            Self::GatewayConfig => &mut files.gateway_config,
            Self::GatewayLog => &mut files.gateway_log,
        }
    }
}
