//! `analyze run`: the main job.

use std::{future::Future, process::ExitCode, time::Duration};

use analyze::{
    measure::{bind_to, bound_cpus, result::RunResult, split_cpus},
    report,
    scenario::{Framework, Scenario},
    store::{Store, StoreError},
};
use anyhow::Context;

use super::{
    cell::{Bench, Cell, pass_length},
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
        store.link_latest()?;
        print(&results, &plan, &store)?;
    }
    outcome
}

async fn measure_all(bench: Bench<'_>, results: &mut Vec<RunResult>) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new(planned(bench.plan));
    for &scenario in &bench.plan.scenarios {
        let mut cells = Vec::new();
        let measured = measure_scenario(scenario, bench, &mut cells, &mut progress).await;
        // Also after an error: nobody else would stop them.
        for cell in &mut cells {
            cell.stop_server().await;
        }
        let failure =
            cells.iter().find_map(|cell| cell.failure.clone().map(|why| (cell.result.framework.clone(), why)));
        results.extend(cells.into_iter().map(|cell| cell.result));
        measured?;
        if *bench.stop.borrow() {
            progress.say("interrupted: what had finished is saved");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        if let Some((framework, why)) = failure {
            progress.say(&format!("error: {scenario} {framework}: {why}"));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures all servers of a scenario, in turn round by round. `cells` holds what was measured, also on error.
async fn measure_scenario(
    scenario: Scenario,
    bench: Bench<'_>,
    cells: &mut Vec<Cell>,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    for subject in &bench.plan.subjects {
        let prepared = Cell::prepare(subject, scenario, bench);
        let Some(cell) = unless_stopped(bench, prepared).await.transpose()? else { return Ok(()) };
        cells.push(cell);
    }
    let ended = |cells: &[Cell]| *bench.stop.borrow() || cells.iter().any(|cell| cell.failure.is_some());
    for round in 1..=bench.plan.rounds {
        for index in turn(round, cells.len()) {
            if ended(cells) {
                return finish(bench, cells);
            }
            cells[index].round(round, bench, progress).await?;
        }
    }
    for cell in cells.iter_mut() {
        cell.stop_server().await;
    }
    for cell in cells.iter_mut() {
        if cell.wants_profiles() && !*bench.stop.borrow() {
            cell.profiles(bench, progress).await?;
        }
    }
    finish(bench, cells)
}

/// The order in a round: there and back again, so that a machine that drifts hits all alike.
fn turn(round: u32, cells: usize) -> Vec<usize> {
    if round % 2 == 1 { (0..cells).collect() } else { (0..cells).rev().collect() }
}

/// Sets the results against the roofline and saves them.
fn finish(bench: Bench<'_>, cells: &mut [Cell]) -> anyhow::Result<()> {
    let raw = |cell: &&Cell| cell.result.framework == Framework::Raw.name();
    let raw_qps = cells.iter().find(raw).and_then(|cell| cell.result.figures.qps);
    for cell in cells {
        cell.result.set_roofline(raw_qps);
        cell.save(bench.store)?;
    }
    Ok(())
}

/// `None` when the run was stopped first.
async fn unless_stopped<T>(bench: Bench<'_>, work: impl Future<Output = T>) -> Option<T> {
    let mut stop = bench.stop.clone();
    tokio::select! {
        done = work => Some(done),
        // Waiting fails only when nobody can say stop any more.
        Ok(_) = stop.wait_for(|stop| *stop) => None,
    }
}

/// How long the run will take.
fn planned(plan: &Plan) -> Duration {
    let cells = plan.subjects.len() as u32;
    let profiled = plan.subjects.iter().filter(|subject| subject.profiled).count() as u32;
    let rounds = (plan.warmup + plan.duration) * plan.rounds * cells;
    let passes = (pass_length(plan) * 2 + OVERHEAD) * profiled;
    (rounds + passes) * plan.scenarios.len() as u32
}

fn print(results: &[RunResult], plan: &Plan, store: &Store) -> anyhow::Result<()> {
    let text = match plan.format {
        Format::Table => report::text(results, &store.data_dir(), terminal::style()),
        Format::Json => report::json(results).context("writing JSON")?,
        Format::Csv => report::csv(results)?,
        Format::Markdown => report::markdown(results),
    };
    if plan.format != Format::Table {
        eprint!("{}", report::warnings(results, report::Style { color: false, ..terminal::style() }));
    }
    terminal::print(&text).context("writing to stdout")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_there_and_back_again() {
        assert_eq!(turn(1, 3), [0, 1, 2]);
        assert_eq!(turn(2, 3), [2, 1, 0]);
        assert_eq!(turn(3, 2), [0, 1]);
    }
}
