//! Gateways of cells: started before a server or taken as they run, named in results, and set against the server called directly.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
};

use analyze::{
    load::{Address, Driver, LoadError},
    measure::{
        DebugClient, ServerError, ServerProcess, cpus_of, gateway_processes, listens_in_group, process_name, result,
    },
    store::Artifact,
};
use anyhow::{Context, bail, ensure};

use super::{cell::Cell, run::Bench, servers::HeapProfiler};
use crate::{
    gateway::{Place, Route, Software, Via, likely_cause},
    plan::Subject,
};

/// How often a port is looked for that another program may take before the gateway does.
const TRIES: u32 = 3;

/// A gateway that a cell talks to.
pub(super) struct Gateway {
    pub(super) addr: SocketAddr,
    /// `None` of one that ran already.
    started: Option<Started>,
}

struct Started {
    process: ServerProcess,
    /// An empty folder that nginx makes.
    scratch: PathBuf,
}

impl Gateway {
    /// Starts the gateway of a subject before its server, or takes the one that runs already. `None` where it has none.
    pub(super) async fn of(
        subject: &Subject,
        server: &Address,
        profiler: HeapProfiler,
        bench: Bench<'_>,
    ) -> anyhow::Result<Option<Self>> {
        match &subject.via {
            None => Ok(None),
            Some(Via::Running(addr)) => Ok(Some(Self { addr: *addr, started: None })),
            Some(Via::Start(software, place)) => {
                let name = software.known.name();
                let &Address::Tcp(server) = server else {
                    bail!("{name} is set up for servers at HOST:PORT, not for {server}");
                };
                // The files of the timed rounds stay.
                let passes = if profiler == HeapProfiler::On { ".profiles" } else { "" };
                let stem = subject.file_stem(&bench.plan.label) + passes;
                let mut tried = 1;
                loop {
                    match start(&stem, subject, (software, place), server, bench).await {
                        Err(error) if tried < TRIES && (error.is::<ServerError>() || error.is::<Taken>()) => tried += 1,
                        started => break started.map(Some).with_context(|| format!("starting {name}")),
                    }
                }
            }
        }
    }

    /// Adds what is known of it once it runs.
    pub(super) fn describe(&self, gateway: &mut result::Gateway) {
        let processes = gateway_processes(self.addr);
        gateway.address = Some(self.addr.to_string());
        gateway.name = processes.first().and_then(|&pid| process_name(pid));
        gateway.processes = Some(processes.len()).filter(|&count| count > 0);
        gateway.cpus = processes.last().and_then(|&pid| cpus_of(pid).ok());
    }

    pub(super) async fn stop(self) {
        let Some(Started { process, scratch }) = self.started else { return };
        process.stop().await;
        // Another gateway has none, and what is in it is worth keeping.
        let _ = fs::remove_dir(scratch);
    }
}

async fn start(
    stem: &str,
    subject: &Subject,
    (software, place): (&Software, &Place),
    server: SocketAddr,
    bench: Bench<'_>,
) -> anyhow::Result<Gateway> {
    let path = |artifact| {
        let path = bench.store.path(artifact, stem);
        std::path::absolute(&path).with_context(|| path.display().to_string())
    };
    let (config, log) = (path(Artifact::GatewayConfig)?, path(Artifact::GatewayLog)?);
    let listen = free_port().context("finding a free port")?;
    let route = Route { listen, server, scenario: subject.case.scenario, workers: place.workers, stem };
    fs::write(&config, software.config(route)).with_context(|| format!("writing {}", config.display()))?;
    let start = software.start(&config, &log, place.workers);
    let process = ServerProcess::start_at(&start, listen, place.cpus.as_deref()).await?;
    if !listens_in_group(process.ready().pid, listen) {
        process.stop().await;
        return Err(Taken(listen).into());
    }
    let scratch = config.with_file_name(format!("{stem}.scratch"));
    Ok(Gateway { addr: listen, started: Some(Started { process, scratch }) })
}

/// The gateway's port is another's.
#[derive(Debug, thiserror::Error)]
#[error("another program listens at {0}")]
struct Taken(SocketAddr);

/// One that was free a moment ago.
fn free_port() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// Makes the preflight calls. Through a gateway, what most likely is behind a failure is said with it; and where the server counts
/// its requests, these must be among them, or the gateway leads elsewhere.
pub(super) async fn preflight(
    driver: &mut Driver,
    gateway: Option<&Gateway>,
    debug: Option<&DebugClient>,
) -> anyhow::Result<analyze::load::Wire> {
    let Some(gateway) = gateway else { return Ok(driver.preflight().await?) };
    let before = completed(debug).await?;
    let wire = driver.preflight().await.map_err(|error| explained(error, gateway.addr))?;
    let after = completed(debug).await?;
    if let Some((before, after)) = before.zip(after) {
        ensure!(
            after > before,
            "the gateway at {} doesn't lead to the server at --addr: the calls were answered, but its counters saw none",
            gateway.addr
        );
    }
    Ok(wire)
}

fn explained(error: LoadError, gateway: SocketAddr) -> anyhow::Error {
    let cause = match &error {
        LoadError::Preflight { source, .. } => likely_cause(source),
        _ => None,
    };
    match cause {
        Some(cause) => anyhow::anyhow!("through the gateway at {gateway}: {error}; {cause}"),
        None => error.into(),
    }
}

/// Requests that the server completed; `None` where it doesn't count them.
async fn completed(debug: Option<&DebugClient>) -> anyhow::Result<Option<u64>> {
    let Some(debug) = debug else { return Ok(None) };
    let ops = debug.reading().await?.ops;
    Ok(ops.map(|ops| ops.values().map(|counts| counts.ok + counts.error).sum()))
}

/// Sets results through a gateway against those of the same server without it.
pub(super) fn set_against_direct(cells: &mut [Cell]) {
    for at in 0..cells.len() {
        let twin = cells.iter().find(|cell| cell.result.is_direct_of(&cells[at].result));
        if let Some(direct) = twin.map(|cell| cell.result.clone()) {
            cells[at].result.set_direct(&direct);
        }
    }
}
