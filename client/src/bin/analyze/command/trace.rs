//! `analyze trace`: one request after another, and what each does with memory.

use std::{path::PathBuf, process::ExitCode};

use analyze::{
    load::{Address, Driver},
    measure::{DebugClient, LogLoad, log_pass},
    profile,
    report::{self, Traced},
    store::Store,
};
use anyhow::Context;

use super::{
    run::{Bench, open, reach_attached, runtime, unless_stopped},
    servers::{HeapProfiler, Server},
    signals::{INTERRUPTED, stop_on_signal},
};
use crate::{
    cli::TraceFormat,
    peers::Peers,
    plan::{Subject, TracePlan},
    progress::Progress,
    terminal,
};

pub(super) fn trace(plan: &TracePlan) -> anyhow::Result<ExitCode> {
    let store = open(&plan.plan)?;
    // Before this process is bound to the load generator's CPUs.
    let peers = Peers::of(&plan.plan);
    let (mut traced, mut files) = (Vec::new(), Vec::new());
    let code = runtime(&plan.plan)?.block_on(trace_all(plan, &store, &peers, (&mut traced, &mut files)))?;
    if !traced.is_empty() {
        let text = match plan.format {
            TraceFormat::Json => report::trace_json(&traced).context("writing JSON")?,
            TraceFormat::Table => report::traces(&traced, &files, terminal::style()),
        };
        terminal::print(&text).context("writing to stdout")?;
    }
    Ok(if traced.iter().all(|traced| traced.trace.check.agrees()) { code } else { ExitCode::FAILURE })
}

/// Traces every subject, also where another's failed.
async fn trace_all(
    plan: &TracePlan,
    store: &Store,
    peers: &Peers,
    (traced, files): (&mut Vec<Traced>, &mut Vec<PathBuf>),
) -> anyhow::Result<ExitCode> {
    let stop = stop_on_signal().context("listening for signals")?;
    let bench = Bench { plan: &plan.plan, store, stop: &stop, peers };
    let mut progress = Progress::new(plan.plan.length());
    let mut code = ExitCode::SUCCESS;
    let Some(reached) = unless_stopped(&stop, reach_attached(&plan.plan)).await else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    reached?;
    for subject in plan.plan.subjects() {
        let what = format!("{} trace", subject.name());
        let work = progress.during(&what, subject.length(), None, one(plan, subject, bench));
        match unless_stopped(&stop, work).await {
            None => return Ok(ExitCode::from(INTERRUPTED)),
            Some(Ok(one)) => {
                files.extend(store.save_trace(&subject.file_stem(store.label()), &one)?);
                traced.push(one);
            }
            Some(Err(error)) => {
                progress.say(&format!("error: {}: {}", subject.name(), crate::one_line(&error)));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

async fn one(plan: &TracePlan, subject: &Subject, bench: Bench<'_>) -> anyhow::Result<Traced> {
    let server = Server::of(subject, HeapProfiler::Off, bench).await?;
    let debug = server.debug.as_ref().context("the server has no debug endpoints")?;
    let load = LogLoad { warmup: subject.warmup, ops: plan.requests, pause: plan.pause, within: None };
    let traced = traced(subject, (server.target(), debug), &load, bench).await?;
    server.stop().await;
    Ok(traced)
}

/// Traces a subject with one call in flight, over a connection of its own.
pub(super) async fn traced(
    subject: &Subject,
    (addr, debug): (Address, &DebugClient),
    load: &LogLoad,
    bench: Bench<'_>,
) -> anyhow::Result<Traced> {
    let mut driver = Driver::connect(subject.load(addr, bench.plan.connect_timeout)).await?;
    let wire = driver.preflight().await?;
    let log = log_pass(&mut driver, debug, load).await?;
    Ok(Traced::new(
        &subject.meta(bench.store.label(), bench.plan.started, Default::default()),
        wire,
        profile::trace(&log)?,
    ))
}
