//! The servers a run starts: this very program as `analyze serve F`, on free ports, bound to the server's CPUs.

use std::{env, path::PathBuf};

use analyze::{
    measure::{CpuSplit, DebugClient, ServerProcess, ServerStart},
    scenario::Framework,
};
use anyhow::Context;

/// Where jemalloc's options come from, on top of those it was built with.
const MALLOC_CONF: &str = "_RJEM_MALLOC_CONF";

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
        HeapProfiler::Off => vec![(MALLOC_CONF.to_owned(), without_profiler(env::var(MALLOC_CONF).ok()))],
        HeapProfiler::On => Vec::new(),
    };
    Ok(ServerProcess::start(&ServerStart { program, args, env, log }).await?)
}

/// jemalloc's options with its profiler off; of two settings of an option the last one counts.
fn without_profiler(options: Option<String>) -> String {
    match options {
        Some(options) if !options.is_empty() => format!("{options},prof_active:false"),
        _ => "prof_active:false".to_owned(),
    }
}

/// The debug endpoints of a server that was started.
pub(super) fn debug_client(server: &ServerProcess) -> anyhow::Result<Option<DebugClient>> {
    Ok(server.ready().debug_addr.as_deref().map(DebugClient::new).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_given_from_outside_are_kept() {
        assert_eq!(without_profiler(None), "prof_active:false");
        assert_eq!(without_profiler(Some(String::new())), "prof_active:false");
        assert_eq!(without_profiler(Some("narenas:2".to_owned())), "narenas:2,prof_active:false");
    }
}
