//! Carries out a plan, whichever command made it: sets up this process, measures group after group, saves, prints.

use std::{collections::HashMap, future::Future, process::ExitCode};

use analyze::{
    load::{Driver, LoadError},
    measure::{bind_to, result::RunResult},
    report::{self, Style},
    store::{Store, StoreError},
};
use anyhow::Context;
use tokio::{runtime::Runtime, sync::watch};

use super::{
    group::Measuring,
    open_files,
    signals::{INTERRUPTED, stop_on_signal},
};
use crate::{
    cli::Format,
    gateway::Via,
    peers::Peers,
    plan::{Origin, Plan, PlanRecord, Subject, UsageError},
    progress::Progress,
    terminal,
};

/// What cells are measured with.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) store: &'a Store,
    pub(super) stop: &'a watch::Receiver<bool>,
    pub(super) peers: &'a Peers,
}

/// `analyze run`.
pub(super) fn run(plan: &Plan) -> anyhow::Result<ExitCode> {
    if Store::has_plan(&plan.out, &plan.label) {
        let problem = "is a suite, whose results a run would overwrite: must be another name";
        return Err(UsageError(format!("--label {}: {problem}", plan.label)).into());
    }
    let store = open(plan)?;
    let session = Session { plan, store: &store, record: None, earlier: Vec::new(), goes_on_with: None };
    session.carry_out(Reports {
        text: &|results, style| report::text(results, &store.data_dir(), style),
        markdown: &report::markdown,
    })
}

/// A plan and what belongs to carrying it out.
pub(super) struct Session<'a> {
    pub(super) plan: &'a Plan,
    pub(super) store: &'a Store,
    /// What is saved of the plan, once nothing stands in the way of measuring.
    pub(super) record: Option<PlanRecord>,
    /// Results of cells that were measured before.
    pub(super) earlier: Vec<RunResult>,
    /// The command that goes on after an interruption.
    pub(super) goes_on_with: Option<String>,
}

/// Results as a command shows them; JSON and CSV are the same for all.
#[derive(Clone, Copy)]
pub(super) struct Reports<'a> {
    pub(super) text: &'a dyn Fn(&[RunResult], Style) -> String,
    pub(super) markdown: &'a dyn Fn(&[RunResult]) -> String,
}

impl Session<'_> {
    /// Measures, prints and saves. A cell that fails is reported and the others go on.
    pub(super) fn carry_out(&self, reports: Reports<'_>) -> anyhow::Result<ExitCode> {
        let done = self.earlier.iter().map(RunResult::file_stem).collect();
        let left = self.plan.without(&done);
        // Before this process is bound to the load generator's CPUs.
        let peers = Peers::of(&left);
        let mut results = Vec::new();
        let outcome = runtime(&left)?.block_on(async {
            let stop = stop_on_signal().context("listening for signals")?;
            let bench = Bench { plan: &left, store: self.store, stop: &stop, peers: &peers };
            // Stopped here, a suite has begun nevertheless: it is told how to go on.
            if let Some(reached) = unless_stopped(&stop, reach_attached(&left)).await {
                reached?;
            }
            if let Some(record) = &self.record {
                self.store.save_plan(record)?;
            }
            // Before it begins there is nothing to print: wrong usage is all there is to say.
            results.clone_from(&self.earlier);
            measure_all(bench, &mut results, self.goes_on_with.as_deref()).await
        });
        if !results.is_empty() {
            let stems = self.plan.subjects().map(|subject| subject.file_stem(&self.plan.label));
            let places: HashMap<String, usize> = stems.zip(0..).collect();
            results.sort_by_cached_key(|result| places.get(&result.file_stem()).copied());
            print(&results, self.plan.format, reports)?;
            if let Err(error) = self.store.link_latest() {
                terminal::say(&format!("warning: latest still leads to an earlier run: {error}"));
            }
        }
        outcome
    }
}

/// Sets this process up for the load of a plan, and makes the runtime that sends it.
pub(super) fn runtime(plan: &Plan) -> anyhow::Result<Runtime> {
    plan.notes.iter().for_each(|note| terminal::say(&format!("note: {note}")));
    open_files::make_room(plan.connections(), plan.names)?;
    // Before the runtime starts its threads, so that all of them are bound.
    bind_to(&plan.placement.client).context("binding the load generator to its CPUs")?;
    serve_own_debug_endpoints(plan)?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(plan.placement.client.len())
        .enable_all()
        .build()
        .context("starting the runtime")
}

/// Makes the run's folders.
pub(super) fn open(plan: &Plan) -> Result<Store, UsageError> {
    Store::open(&plan.out, plan.label.clone())
        .map_err(|error: StoreError| UsageError(format!("--out {}: {error}", plan.out.display())))
}

/// They last as long as the process.
fn serve_own_debug_endpoints(plan: &Plan) -> Result<(), UsageError> {
    let Some(options) = plan.client_debug else { return Ok(()) };
    let server =
        debug_pprof::serve(options).map_err(|error| UsageError(format!("--client-debug {}: {error}", options.addr)))?;
    debug_pprof::set_ready(true);
    terminal::say(&format!("load generator: http://{}/debug/pprof/", server.local_addr()));
    Ok(())
}

async fn measure_all(
    bench: Bench<'_>,
    results: &mut Vec<RunResult>,
    goes_on_with: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let mut measuring = Measuring::new(bench, Progress::new(bench.plan.length()), results);
    for group in &bench.plan.groups {
        let measured = measuring.group(group).await;
        results.append(&mut measuring.results);
        measured?;
        if *bench.stop.borrow() {
            break;
        }
    }
    measuring.finish_earlier(results)?;
    if *bench.stop.borrow() {
        let next = goes_on_with.map(|command| format!("; go on with: {command}")).unwrap_or_default();
        measuring.progress.say(&format!("interrupted: what had finished is saved{next}"));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if measuring.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Connects once to each server that is said to run already, and to its debug endpoints: an address that nobody answers at
/// is a usage error before anything is measured.
pub(super) async fn reach_attached(plan: &Plan) -> anyhow::Result<()> {
    let mut reached = Vec::new();
    for subject in plan.subjects() {
        reach_gateway(plan, subject).await?;
        let Subject { framework, origin: Origin::Attach { addr, debug, .. }, .. } = subject else { continue };
        if reached.contains(framework) {
            continue;
        }
        let name = |key| plan.names.of_server(*framework, key);
        match Driver::connect(subject.load(addr.clone(), plan.connect_timeout)).await {
            Ok(_) => {}
            Err(error @ (LoadError::Connect { .. } | LoadError::ConnectTimeout { .. } | LoadError::Tls { .. })) => {
                return Err(UsageError(format!("{} {addr}: {error}", name("addr"))).into());
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(debug) = debug {
            debug.cmdline().await.map_err(|error| UsageError(format!("{}: {error}", name("debug"))))?;
        }
        reached.push(*framework);
    }
    Ok(())
}

/// The same for a gateway that is said to run already.
async fn reach_gateway(plan: &Plan, subject: &Subject) -> Result<(), UsageError> {
    let Some(Via::Running(addr)) = subject.via else { return Ok(()) };
    match Driver::connect(subject.load(addr.into(), plan.connect_timeout)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(UsageError(format!("--via {addr}: {error}"))),
    }
}

/// `None` when the run was stopped first; the work is dropped then.
pub(super) async fn unless_stopped<T>(stop: &watch::Receiver<bool>, work: impl Future<Output = T>) -> Option<T> {
    let mut stop = stop.clone();
    tokio::select! {
        // Work that ends because it was stopped must not count as done.
        biased;
        // Waiting fails only when nobody can say stop any more.
        Ok(_) = stop.wait_for(|stop| *stop) => None,
        done = work => Some(done),
    }
}

fn print(results: &[RunResult], format: Format, reports: Reports<'_>) -> anyhow::Result<()> {
    let text = match format {
        Format::Table => (reports.text)(results, terminal::style()),
        Format::Json => report::json(results).context("writing JSON")?,
        Format::Csv => report::csv(results)?,
        Format::Markdown => (reports.markdown)(results),
    };
    if format != Format::Table {
        let warnings = report::warnings(results, Style { color: false, ..terminal::style() });
        if !warnings.is_empty() {
            terminal::say(warnings.trim_end());
        }
    }
    terminal::print(&text).context("writing to stdout")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stopped_work_is_dropped_and_does_not_count_as_done() {
        let (stop, stopped) = watch::channel(false);
        assert_eq!(unless_stopped(&stopped, async { 7 }).await, Some(7));
        let work = async {
            stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        assert_eq!(unless_stopped(&stopped, work).await, None);
        assert_eq!(unless_stopped(&stopped, async { 7 }).await, None);
        drop(stop);
    }
}
