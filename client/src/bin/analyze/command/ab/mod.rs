//! `analyze ab`: two servers, measured in turn and judged.
//!
//! Each turn starts both servers anew, base first and then head, next time the other way round (A B B A): what differs from one
//! start to the next is in the spread, and a machine that drifts hits both alike. The number of turns is set beforehand and not
//! by what was found, for who looks until a difference shows finds one where there is none.

mod build;

use std::{process::ExitCode, time::Instant};

use analyze::{
    compare::{compare, wire_differences},
    measure::{bound_cpus, result::RunResult},
    report, stats,
    store::Store,
};
use anyhow::Context;

use super::{
    cell::Cell,
    diff,
    run::{Bench, open, runtime, unless_stopped},
    signals::{INTERRUPTED, stop_on_signal},
};
use crate::{
    cli::{AbArgs, DiffArgs, Format},
    peers::Peers,
    plan::{Source, Trial, UsageError},
    progress::Progress,
    terminal,
};

/// Builds, measures, saves, and prints the verdicts.
pub(crate) fn ab(args: AbArgs) -> anyhow::Result<ExitCode> {
    let allowed = bound_cpus().context("reading which CPUs may be used")?;
    let format = args.run.output.format;
    if format == Format::Csv {
        return Err(UsageError("--format csv: a comparison is a table, json or markdown".to_owned()).into());
    }
    let mut trial = Trial::of(args, &allowed)?;
    for plan in [&trial.base.plan, &trial.head.plan] {
        if Store::has_plan(&plan.out, &plan.label) {
            return Err(UsageError(format!("--label: {} is a suite: must be another name", plan.label)).into());
        }
    }
    for side in [&mut trial.base, &mut trial.head] {
        if let Source::Revision(revision) = &side.source {
            let program = build::build(side.name, revision)?;
            side.serve_with(&program);
        }
    }
    let stores = [open(&trial.base.plan)?, open(&trial.head.plan)?];
    let mut measured = Measured::default();
    let peers = Peers::of(&trial.base.plan);
    let outcome = runtime(&trial.base.plan)?.block_on(async {
        let stop = stop_on_signal().context("listening for signals")?;
        let plans = [&trial.base.plan, &trial.head.plan];
        let benches = [0, 1].map(|side| Bench { plan: plans[side], store: &stores[side], stop: &stop, peers: &peers });
        let outcome = measure(&trial, benches, "", &mut measured).await;
        let interrupted = *stop.borrow();
        outcome.map(|()| match (interrupted, measured.failed) {
            (true, _) => ExitCode::from(INTERRUPTED),
            (false, true) => ExitCode::FAILURE,
            (false, false) => ExitCode::SUCCESS,
        })
    });
    if !trial.force {
        measured.base.iter().zip(&measured.head).try_for_each(|(base, head)| same_wire(base, head))?;
    }
    print(&measured, &trial, &stores, format)?;
    outcome
}

/// Refuses sides that speak different wires: what compression or a stream for each call costs would pass for the change.
fn same_wire(base: &RunResult, head: &RunResult) -> Result<(), UsageError> {
    let unlike: Vec<String> = wire_differences(base, head).iter().map(ToString::to_string).collect();
    if unlike.is_empty() {
        return Ok(());
    }
    Err(UsageError(format!(
        "{} {}: base and head speak different wires, so that a difference is not the server's alone (--force compares them all the \
         same): {}",
        base.framework,
        base.scenario,
        unlike.join("; ")
    )))
}

/// What there is of both sides.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) base: Vec<RunResult>,
    pub(super) head: Vec<RunResult>,
    pub(super) failed: bool,
}

/// Measures both sides in turn and saves them; `at` stands before their names.
pub(super) async fn measure(
    trial: &Trial,
    benches: [Bench<'_>; 2],
    at: &str,
    measured: &mut Measured,
) -> anyhow::Result<()> {
    let subjects = trial.base.plan.subjects().zip(trial.head.plan.subjects());
    let name = |side: &str| format!("{at}{side} ");
    let mut pairs: Vec<[Cell; 2]> = subjects
        .map(|(base, head)| [Cell::of(base, name("base"), benches[0]), Cell::of(head, name("head"), benches[1])])
        .collect();
    let mut progress = Progress::new(trial.base.plan.length() + trial.head.plan.length());
    let outcome = turns(trial, benches, &mut pairs, &mut progress, &mut measured.failed).await;
    for cell in pairs.iter_mut().flatten() {
        // Also after an error: nobody else would stop it.
        cell.stop_server().await;
    }
    let mut saved = Ok(());
    for [base, head] in pairs.iter_mut().filter(|pair| pair.iter().all(Cell::has_result)) {
        saved = saved.and(base.save(benches[0].store)).and(head.save(benches[1].store));
        measured.base.push(base.result.clone());
        measured.head.push(head.result.clone());
    }
    outcome.and(saved)
}

async fn turns(
    trial: &Trial,
    benches: [Bench<'_>; 2],
    pairs: &mut [[Cell; 2]],
    progress: &mut Progress,
    failed: &mut bool,
) -> anyhow::Result<()> {
    let (began, needed) = (Instant::now(), stats::values_needed(trial.criteria.alpha) as u32);
    let rounds = trial.base.plan.subjects().map(|subject| subject.rounds).max().unwrap_or(0);
    for turn in 1..=rounds {
        if turn > needed && began.elapsed() >= trial.max_time {
            progress.say(&format!("note: --max-time is over: {} of {rounds} turns were measured", turn - 1));
            break;
        }
        for pair in pairs.iter_mut() {
            for side in if turn % 2 == 1 { [0, 1] } else { [1, 0] } {
                // A side alone would be compared with nothing.
                if !pair.iter().all(|cell| cell.is_due(turn)) {
                    continue;
                }
                let (cell, bench) = (&mut pair[side], benches[side]);
                if unless_stopped(bench.stop, cell.start_server(bench)).await.is_none() {
                    return Ok(());
                }
                let Some(done) = unless_stopped(bench.stop, cell.round(turn, bench, progress)).await else {
                    return Ok(());
                };
                done?;
                cell.stop_server().await;
                if let Some(failure) = cell.take_news_of_failure() {
                    *failed = true;
                    progress.say(&format!("error: {}: {failure}", cell.name()));
                }
            }
            // At once: the other turns would be for nothing.
            if turn == 1 && !trial.force {
                same_wire(&pair[0].result, &pair[1].result)?;
            }
        }
    }
    for (side, bench) in benches.into_iter().enumerate() {
        for cell in pairs.iter_mut().map(|pair| &mut pair[side]).filter(|cell| cell.wants_profiles()) {
            match unless_stopped(bench.stop, cell.profiles(bench, progress)).await {
                Some(Ok(())) => {}
                Some(Err(error)) => cell.warn(format!("no profiles: {error:#}")),
                None => return Ok(()),
            }
        }
    }
    Ok(())
}

fn print(measured: &Measured, trial: &Trial, stores: &[Store; 2], format: Format) -> anyhow::Result<()> {
    if measured.base.is_empty() {
        return Ok(());
    }
    let comparison = compare(&measured.base, &measured.head, &trial.criteria);
    let style = terminal::style();
    let sides = [(&measured.base, &stores[0]), (&measured.head, &stores[1])];
    let text = match format {
        Format::Json => report::comparison_json(&comparison)?,
        Format::Markdown => report::comparison_markdown(&comparison),
        Format::Table | Format::Csv => {
            let mut text = report::comparison(&comparison, style);
            for (results, store) in sides {
                let parts = [report::warnings(results, style), report::folders(results, &store.data_dir(), style)];
                parts.into_iter().filter(|part| !part.is_empty()).for_each(|part| text += &format!("\n{part}"));
            }
            text
        }
    };
    terminal::print(&text).context("writing to stdout")?;
    draw(measured, trial, stores);
    stores[1].link_latest().unwrap_or_else(|error| {
        terminal::say(&format!("warning: latest still leads to an earlier run: {error}"));
    });
    Ok(())
}

/// Draws what each load allocates otherwise, where both sides have a profile of it.
fn draw(measured: &Measured, trial: &Trial, stores: &[Store; 2]) {
    let pairs = measured.base.iter().zip(&measured.head);
    let profiled = pairs.filter(|(base, head)| [base, head].iter().all(|side| side.files.allocs_profile.is_some()));
    for (base, head) in profiled {
        let file = |store: &Store, result: &RunResult| store.data_dir().join(result.file_name());
        let (base, head) = (file(&stores[0], base), file(&stores[1], head));
        let drawn = diff::picture(&DiffArgs::between(base, head, trial.head.plan.out.clone()));
        terminal::say(&drawn.unwrap_or_else(|error| format!("warning: no flamegraph of the difference: {error:#}")));
    }
}
