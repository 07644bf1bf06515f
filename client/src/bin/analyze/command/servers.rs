//! The servers a run starts: this very program as `analyze serve F`, on free ports, bound to the server's CPUs.

use std::{env, path::PathBuf};

use analyze::{
    measure::{CpuSplit, DebugClient, ServerProcess, ServerStart},
    scenario::Framework,
};
use anyhow::Context;

/// Whether jemalloc's own heap profiler runs in a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapProfiler {
    /// For timed rounds: no profiler runs in these.
    Off,
    /// For profile passes.
    On,
}

/// Starts a server and waits until it is ready.
pub(super) async fn start(
    framework: Framework,
    profiler: HeapProfiler,
    split: Option<&CpuSplit>,
    log: PathBuf,
) -> anyhow::Result<ServerProcess> {
    let program = env::current_exe().context("finding this program, to start its servers")?;
    let parent = format!("--exit-with-parent={}", std::process::id());
    let mut args: Vec<String> =
        ["serve", framework.name(), "--addr", "127.0.0.1:0", "--debug-addr", "127.0.0.1:0", &parent]
            .map(str::to_owned)
            .into();
    if let Some(split) = split {
        args.extend(["--cpus".to_owned(), split.server_list()]);
    }
    let env = match profiler {
        HeapProfiler::Off => vec![("_RJEM_MALLOC_CONF".to_owned(), "prof_active:false".to_owned())],
        HeapProfiler::On => Vec::new(),
    };
    Ok(ServerProcess::start(&ServerStart { program, args, env, log }).await?)
}

/// The debug endpoints of a server that was started.
pub(super) fn debug_client(server: &ServerProcess) -> anyhow::Result<Option<DebugClient>> {
    Ok(server.ready().debug_addr.as_deref().map(DebugClient::new).transpose()?)
}
