//! `analyze run`: the main job.

use std::{future::Future, process::ExitCode, time::Duration};

use analyze::{
    load::Case,
    measure::{
        bind_to, bound_cpus,
        result::{RunResult, ServerOrigin},
        split_cpus,
    },
    report,
    scenario::Framework,
    store::{Store, StoreError},
};
use anyhow::Context;
use tokio::sync::watch;

use super::{
    cell::{Bench, Cell, SYSCALLS_PASS, pass_length, round_length},
    signals::{INTERRUPTED, stop_on_signal},
};
use crate::{
    cli::Format,
    plan::{Origin, Plan, UsageError},
    progress::Progress,
    terminal,
};

/// Connecting, preflight and stopping, for each cell.
const OVERHEAD: Duration = Duration::from_secs(1);

/// Measures, prints and saves. See [`Plan`] for what.
pub(super) fn run(plan: Plan) -> anyhow::Result<ExitCode> {
    let store = Store::open(&plan.out, plan.label.clone())
        .map_err(|error: StoreError| UsageError(format!("--out {}: {error}", plan.out.display())))?;
    // Before the runtime starts its threads, so that all of them are bound.
    let cpus = bound_cpus().context("reading which CPUs may be used")?;
    let ours = plan.subjects.iter().any(|subject| matches!(subject.origin, Origin::Start));
    let split = split_cpus(&cpus).filter(|_| ours);
    let own = split.as_ref().map_or(&cpus, |split| &split.client);
    bind_to(own).context("binding the load generator to its CPUs")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(own.len())
        .enable_all()
        .build()
        .context("starting the runtime")?;
    let (results, outcome) = runtime.block_on(async {
        let stop = stop_on_signal().context("listening for signals")?;
        let bench = Bench { plan: &plan, store: &store, split: split.as_ref(), stop: &stop };
        let mut results = Vec::new();
        let outcome = measure_all(bench, &mut results).await;
        anyhow::Ok((results, outcome))
    })?;
    if !results.is_empty() {
        print(&results, &plan, &store)?;
        if let Err(error) = store.link_latest() {
            terminal::say(&format!("warning: latest still leads to an earlier run: {error}"));
        }
    }
    outcome
}

async fn measure_all(bench: Bench<'_>, results: &mut Vec<RunResult>) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new(planned(bench.plan));
    for &case in &bench.plan.cases {
        let mut cells = Vec::new();
        let measured = measure_case(case, bench, &mut cells, &mut progress).await;
        // Also after an error: nobody else would stop them.
        for cell in &mut cells {
            cell.stop_server().await;
        }
        let saved = finish(bench, &mut cells);
        let failure =
            cells.iter().find_map(|cell| cell.failure.clone().map(|why| (cell.result.framework.clone(), why)));
        results.extend(cells.into_iter().filter(Cell::has_result).map(|cell| cell.result));
        measured.and(saved)?;
        if *bench.stop.borrow() {
            progress.say("interrupted: what had finished is saved");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        if let Some((framework, why)) = failure {
            progress.say(&format!("error: {} {framework}: {why}", case.scenario));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures all servers of a case, in turn round by round, until the run is stopped. `cells` holds what was measured,
/// also on error; a round or a profile in the making is dropped.
async fn measure_case(
    case: Case,
    bench: Bench<'_>,
    cells: &mut Vec<Cell>,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    for subject in &bench.plan.subjects {
        let prepared = Cell::prepare(subject, case, bench);
        let Some(cell) = unless_stopped(bench.stop, prepared).await.transpose()? else { return Ok(()) };
        cells.push(cell);
    }
    for round in 1..=bench.plan.rounds {
        for index in turn(round, cells.len()) {
            let measured = cells[index].round(round, bench, progress);
            if unless_stopped(bench.stop, measured).await.transpose()?.is_none() || cells[index].failure.is_some() {
                return Ok(());
            }
        }
    }
    for cell in cells.iter_mut() {
        if unless_stopped(bench.stop, cell.count_syscalls(progress)).await.is_none() {
            return Ok(());
        }
        cell.stop_server().await;
    }
    // The figures are whole now; whatever becomes of the profiles, they are on the disk.
    finish(bench, cells)?;
    for cell in cells.iter_mut().filter(|cell| cell.wants_profiles()) {
        match unless_stopped(bench.stop, cell.profiles(bench, progress)).await {
            Some(Ok(())) => {}
            Some(Err(error)) => cell.warn(format!("no profiles: {error:#}")),
            None => cell.warn("interrupted before all profiles were taken".to_owned()),
        }
    }
    Ok(())
}

/// The order in a round: there and back again, so that a machine that drifts hits all alike.
fn turn(round: u32, cells: usize) -> Vec<usize> {
    if round % 2 == 1 { (0..cells).collect() } else { (0..cells).rev().collect() }
}

/// Sets the results against the roofline and saves them.
fn finish(bench: Bench<'_>, cells: &mut [Cell]) -> anyhow::Result<()> {
    set_rooflines(cells.iter_mut().map(|cell| &mut cell.result));
    cells.iter_mut().filter(|cell| cell.has_result()).try_for_each(|cell| cell.save(bench.store))
}

/// Only servers that we started share a machine and its CPUs with the bare echo that we started.
fn set_rooflines<'a>(results: impl Iterator<Item = &'a mut RunResult>) {
    let (started, attached): (Vec<_>, Vec<_>) =
        results.partition(|result| result.environment.server == ServerOrigin::Started);
    let raw = started.iter().find(|result| result.framework == Framework::Raw.name());
    let raw_qps = raw.and_then(|raw| raw.figures.qps);
    started.into_iter().for_each(|result| result.set_roofline(raw_qps));
    attached.into_iter().for_each(|result| result.set_roofline(None));
}

/// `None` when the run was stopped first; the work is dropped then.
async fn unless_stopped<T>(stop: &watch::Receiver<bool>, work: impl Future<Output = T>) -> Option<T> {
    let mut stop = stop.clone();
    tokio::select! {
        // Work that ends because it was stopped must not count as done.
        biased;
        // Waiting fails only when nobody can say stop any more.
        Ok(_) = stop.wait_for(|stop| *stop) => None,
        done = work => Some(done),
    }
}

/// How long the run will take.
fn planned(plan: &Plan) -> Duration {
    let cells = plan.subjects.len() as u32;
    let profiled = plan.subjects.iter().filter(|subject| subject.profiled).count() as u32;
    let case = |case: &Case| {
        let rounds = ((plan.warmup + round_length(case)) * plan.rounds + SYSCALLS_PASS) * cells;
        rounds + (pass_length(case) * 2 + OVERHEAD) * profiled
    };
    plan.cases.iter().map(case).sum()
}

fn print(results: &[RunResult], plan: &Plan, store: &Store) -> anyhow::Result<()> {
    let text = match plan.format {
        Format::Table => report::text(results, &store.data_dir(), terminal::style()),
        Format::Json => report::json(results).context("writing JSON")?,
        Format::Csv => report::csv(results)?,
        Format::Markdown => report::markdown(results),
    };
    if plan.format != Format::Table {
        let warnings = report::warnings(results, report::Style { color: false, ..terminal::style() });
        if !warnings.is_empty() {
            terminal::say(warnings.trim_end());
        }
    }
    terminal::print(&text).context("writing to stdout")
}

#[cfg(test)]
mod tests {
    use analyze::{
        load::{Latency, LoadSample},
        measure::{
            describe_machine,
            result::{ClientReading, Interval, RunMeta, RunSample},
        },
    };

    use super::*;

    fn result(framework: &str, server: ServerOrigin, replies: u64) -> RunResult {
        let build = analyze::measure::Build { commit: "", dirty: "", rustc: "", crates: "" };
        let mut environment = describe_machine(&build);
        environment.server = server;
        let meta = RunMeta {
            label: "t".to_owned(),
            framework: framework.to_owned(),
            case: Case::new("128B-1".parse().expect("a scenario"), Duration::from_secs(1)),
            serialization: "protobuf".to_owned(),
            started: jiff::Timestamp::UNIX_EPOCH,
            rounds: 1,
            wire: None,
            environment,
            warnings: Vec::new(),
        };
        let load = LoadSample {
            window: Duration::from_secs(1),
            started: replies,
            ok: replies,
            error: 0,
            lost: 0,
            unfinished: 0,
            ok_in_window: replies,
            latency: Latency::default(),
            response: None,
            scheduled: None,
            errors: Vec::new(),
            sent_bytes: 0,
            received_bytes: 0,
        };
        let client = Interval { before: ClientReading::default(), after: ClientReading::default() };
        let elapsed = load.window;
        let sample =
            RunSample { round: 1, load, elapsed, server: None, client, server_process: None, client_process: None };
        RunResult::derive(meta, &[sample])
    }

    #[test]
    fn the_roofline_is_for_servers_on_the_same_cpus() {
        let ratios = |raw| {
            let mut results = [
                result("triple", ServerOrigin::Started, 50),
                result("grpc", ServerOrigin::Attached, 50),
                result("raw", raw, 200),
            ];
            set_rooflines(results.iter_mut());
            results.map(|result| result.roofline_ratio)
        };
        assert_eq!(ratios(ServerOrigin::Started), [Some(0.25), None, Some(1.0)]);
        assert_eq!(ratios(ServerOrigin::Attached), [None, None, None]);
    }

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

    #[test]
    fn rounds_go_there_and_back_again() {
        assert_eq!(turn(1, 3), [0, 1, 2]);
        assert_eq!(turn(2, 3), [2, 1, 0]);
        assert_eq!(turn(3, 2), [0, 1]);
    }
}
