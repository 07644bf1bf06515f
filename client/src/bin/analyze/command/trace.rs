//! `analyze trace`: one request after another, and what each does with memory.

use std::process::ExitCode;

use analyze::{
    load::Driver,
    measure::log_pass,
    profile,
    report::{self, Traced},
    store::Store,
};
use anyhow::Context;

use super::{
    cell::Server,
    run::{Bench, open, reach_attached, runtime, unless_stopped},
    servers::HeapProfiler,
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
    let mut traced = Vec::new();
    let code = runtime(&plan.plan)?.block_on(trace_all(plan, &store, &peers, &mut traced))?;
    if !traced.is_empty() {
        let text = match plan.format {
            TraceFormat::Json => report::trace_json(&traced).context("writing JSON")?,
            TraceFormat::Table => {
                report::traces(&traced, (&store.data_dir(), &store.pictures_dir()), terminal::style())
            }
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
    traced: &mut Vec<Traced>,
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
                store.save_trace(&one)?;
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
    let Server { process, addr, debug } = Server::of(subject, HeapProfiler::Off, bench).await?;
    let debug = debug.context("the server has no debug endpoints")?;
    let mut driver = Driver::connect(subject.load(addr, bench.plan.connect_timeout)).await?;
    let wire = driver.preflight().await?;
    let log = log_pass(&mut driver, &debug, subject.warmup, (plan.requests, plan.pause)).await?;
    drop(driver);
    if let Some(process) = process {
        process.stop().await;
    }
    Ok(Traced::new(
        &subject.meta(bench.store.label(), bench.plan.started, Default::default()),
        wire,
        profile::trace(&log)?,
    ))
}
