//! The servers a run starts, bound to the server's CPUs: this very program as `analyze serve F` or another build of it, on free
//! ports; or somebody else's, where it listens.

use std::{env, path::PathBuf};

use analyze::{
    load::{Address, Case, Sharing},
    measure::{DebugClient, ServerProcess, ServerStart, cpu_list},
    scenario::{Framework, Protocol},
    store::Artifact,
};
use anyhow::Context;

use super::{gateways::Gateway, run::Bench};
use crate::{
    peers::Start,
    plan::{Origin, Program, Subject},
};

/// Where jemalloc's options come from, on top of those it was built with.
const MALLOC_CONF: &str = "_RJEM_MALLOC_CONF";

/// Free ports.
const ADDRESSES: [&str; 4] = ["--addr", "127.0.0.1:0", "--debug-addr", "127.0.0.1:0"];

/// Whether jemalloc's own heap profiler runs in a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapProfiler {
    /// For timed rounds: no profiler runs in these.
    Off,
    /// For profile passes.
    On,
}

impl HeapProfiler {
    /// What sets it in a server on jemalloc, and means nothing to any other.
    fn env(self) -> Vec<(String, String)> {
        match self {
            Self::Off => vec![(MALLOC_CONF.to_owned(), without_profiler(env::var(MALLOC_CONF).ok()))],
            Self::On => Vec::new(),
        }
    }
}

/// A server that a cell talks to.
pub(super) struct Server {
    pub(super) process: Option<ServerProcess>,
    pub(super) addr: Address,
    pub(super) debug: Option<DebugClient>,
    /// What stands before it.
    pub(super) gateway: Option<Gateway>,
}

impl Server {
    /// Starts it, or takes the one that runs already, and the gateway before it if there is one.
    pub(super) async fn of(subject: &Subject, profiler: HeapProfiler, bench: Bench<'_>) -> anyhow::Result<Self> {
        let server = Self::alone(subject, profiler, bench).await?;
        match Gateway::of(subject, &server.addr, profiler, bench).await {
            Ok(gateway) => Ok(Self { gateway, ..server }),
            Err(error) => {
                server.stop().await;
                Err(error)
            }
        }
    }

    async fn alone(subject: &Subject, profiler: HeapProfiler, bench: Bench<'_>) -> anyhow::Result<Self> {
        let gateway = None;
        match &subject.origin {
            Origin::Attach { addr, debug, .. } => {
                Ok(Self { process: None, addr: addr.clone(), debug: debug.clone(), gateway })
            }
            Origin::Start(program) => {
                let log = bench.store.path(Artifact::ServerLog, &subject.file_stem(&bench.plan.label));
                let process = start(subject, program, profiler, bench, log).await?;
                let debug = match program {
                    Program::Command { debug, .. } => debug.clone(),
                    Program::This | Program::Build(_) | Program::Peer(_) => debug_client(&process)?,
                };
                let addr = process.ready().addr.into();
                Ok(Self { process: Some(process), addr, debug, gateway })
            }
        }
    }

    /// Where calls are sent.
    pub(super) fn target(&self) -> Address {
        self.gateway.as_ref().map_or_else(|| self.addr.clone(), |gateway| gateway.addr.into())
    }

    /// Stops what was started, the gateway first.
    pub(super) async fn stop(self) {
        if let Some(gateway) = self.gateway {
            gateway.stop().await;
        }
        if let Some(process) = self.process {
            process.stop().await;
        }
    }
}

/// Starts a server and waits until it is ready.
async fn start(
    subject: &Subject,
    program: &Program,
    profiler: HeapProfiler,
    bench: Bench<'_>,
    log: PathBuf,
) -> anyhow::Result<ServerProcess> {
    let cpus = bench.plan.placement.server.as_deref();
    let (program, serve) = match program {
        Program::This => (env::current_exe().context("finding this program, to start its servers")?, Some("serve")),
        Program::Build(program) => (program.clone(), None),
        Program::Peer(peer) => {
            let Start { program, mut args } = bench.peers.get(peer)?.start.clone();
            args.extend(ADDRESSES.map(str::to_owned));
            args.extend(handler_flags(subject.framework, &subject.case));
            let start = ServerStart { program, args, env: profiler.env(), log };
            return Ok(ServerProcess::start_bound(&start, cpus).await?);
        }
        Program::Command { command, addr, .. } => {
            let args = vec!["-c".to_owned(), command.clone()];
            let start = ServerStart { program: "/bin/sh".into(), args, env: Vec::new(), log };
            return Ok(ServerProcess::start_at(&start, *addr, cpus).await?);
        }
    };
    let parent = format!("--exit-with-parent={}", std::process::id());
    let words = serve.into_iter().chain([subject.framework.name()]).chain(ADDRESSES).chain([&*parent]);
    let mut args: Vec<String> = words.map(str::to_owned).collect();
    args.extend(handler_flags(subject.framework, &subject.case));
    if let Some(cpus) = cpus {
        args.extend(["--cpus".to_owned(), cpu_list(cpus)]);
    }
    let env = profiler.env();
    Ok(ServerProcess::start(&ServerStart { program, args, env, log }).await?)
}

/// The flags that make a server do what the case asks of it; what is as usual is left out.
fn handler_flags(framework: Framework, case: &Case) -> Vec<String> {
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
    if let Some(size) = case.response_size {
        add("--response-size", size.to_string());
    }
    if !case.sleep.is_zero() {
        add("--sleep", format!("{}ns", case.sleep.as_nanos()));
    }
    if let (Framework::Peer(_), true) = (framework, case.serialization != framework.protocol().serialization()) {
        add("--serialization", case.serialization.to_string());
    }
    let level = case.compression.gzip_level();
    if let (Framework::Triple, Some(level)) = (framework, level) {
        add("--gzip-level", level.to_string());
    }
    let gzip = match framework {
        // Answers a compressed request compressed, and any other so only when told.
        Framework::Triple => case.accept_gzip,
        // Refuses a compressed request unless told.
        Framework::Grpc => case.accept_gzip || level.is_some(),
        // Answers a compressed request compressed.
        Framework::Peer(_) => case.accept_gzip,
        Framework::Raw | Framework::Call | Framework::Http1 | Framework::H2 => false,
    };
    if gzip {
        flags.push("--accept-gzip".to_owned());
    }
    if let (Protocol::Thrift | Protocol::KitexProtobuf, Sharing::Mux) = (framework.protocol(), case.sharing) {
        flags.push("--mux".to_owned());
    }
    flags
}

/// jemalloc's options with its profiler off; of two settings of an option the last one counts.
fn without_profiler(options: Option<String>) -> String {
    match options {
        Some(options) if !options.is_empty() => format!("{options},prof_active:false"),
        _ => "prof_active:false".to_owned(),
    }
}

/// The debug endpoints of a server that was started.
fn debug_client(server: &ServerProcess) -> anyhow::Result<Option<DebugClient>> {
    Ok(server.ready().debug_addr.as_deref().map(DebugClient::new).transpose()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use analyze::scenario::{Compression, Serialization};

    use super::*;

    #[test]
    fn a_server_is_told_what_is_not_as_usual() {
        let usual = Case::new("128B-1".parse().expect("a scenario"), Duration::from_secs(1));
        let flags = |framework, case| handler_flags(framework, &case).join(" ");
        assert_eq!(flags(Framework::Triple, usual), "");
        let best = Case { compression: Compression::Best, ..usual };
        assert_eq!(flags(Framework::Triple, best), "--gzip-level 9");
        assert_eq!(flags(Framework::Grpc, best), "--accept-gzip");
        assert_eq!(flags(Framework::Raw, best), "");
        let eager = Case { accept_gzip: true, response_size: Some(7), sleep: Duration::from_micros(1500), ..usual };
        assert_eq!(flags(Framework::Triple, eager), "--response-size 7 --sleep 1500000ns --accept-gzip");
        assert_eq!(flags(Framework::Raw, eager), "--response-size 7 --sleep 1500000ns");
        let dubbo_go = "dubbo-go".parse().expect("a peer");
        assert_eq!(flags(dubbo_go, eager), "--response-size 7 --sleep 1500000ns --accept-gzip");
        assert_eq!(flags(dubbo_go, best), "");
        let hessian2 = Case { serialization: Serialization::Hessian2, ..usual };
        assert_eq!(flags(dubbo_go, hessian2), "--serialization hessian2");
        assert_eq!(flags(Framework::Triple, hessian2), "");
        assert_eq!(flags("dubbo-go-dubbo".parse().expect("a peer"), hessian2), "");
        let kitex = "kitex-thrift".parse().expect("a peer");
        let thrift = Case { serialization: Serialization::Thrift, ..usual };
        assert_eq!(flags(kitex, thrift), "--mux");
        assert_eq!(flags(kitex, Case { sharing: Sharing::Pool, ..thrift }), "");
    }

    #[test]
    fn options_given_from_outside_are_kept() {
        assert_eq!(without_profiler(None), "prof_active:false");
        assert_eq!(without_profiler(Some(String::new())), "prof_active:false");
        assert_eq!(without_profiler(Some("narenas:2".to_owned())), "narenas:2,prof_active:false");
    }
}
