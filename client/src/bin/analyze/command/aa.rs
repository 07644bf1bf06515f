//! `analyze aa`: a server against itself, to see how often a verdict is wrong and how large noise is.

use std::process::ExitCode;

use analyze::{
    compare::{FalseAlarms, compare},
    measure::bound_cpus,
    report,
    store::save_noise,
};
use anyhow::Context;

use super::{
    ab::{Measured, measure},
    run::{Bench, open, runtime},
    signals::{INTERRUPTED, stop_on_signal},
};
use crate::{
    cli::{AaArgs, Format},
    peers::Peers,
    plan::{Trial, UsageError, read},
    terminal, values,
};

/// The most runs: two days of the shortest.
const MOST_RUNS: u64 = 10_000;

/// Measures, counts, prints, and saves the noise floors. Both sides' results of the last run stay.
pub(crate) fn aa(args: &AaArgs) -> anyhow::Result<ExitCode> {
    let allowed = bound_cpus().context("reading which CPUs may be used")?;
    let runs = read("--runs", &args.runs, values::whole(1..=MOST_RUNS))?;
    let format = args.run.output.format;
    if !matches!(format, Format::Table | Format::Json) {
        return Err(UsageError("--format: false alarms are a table or json".to_owned()).into());
    }
    let trial = Trial::against_itself(args, &allowed)?;
    let stores = [open(&trial.base.plan)?, open(&trial.head.plan)?];
    let mut alarms = FalseAlarms::new(trial.criteria.clone());
    let peers = Peers::of(&trial.base.plan);
    let outcome = runtime(&trial.base.plan)?.block_on(async {
        let stop = stop_on_signal().context("listening for signals")?;
        let plans = [&trial.base.plan, &trial.head.plan];
        let benches = [0, 1].map(|side| Bench { plan: plans[side], store: &stores[side], stop: &stop, peers: &peers });
        for run in 1..=runs {
            let mut measured = Measured::default();
            measure(&trial, benches, &format!("[{run}/{runs}] "), &mut measured).await?;
            if *stop.borrow() {
                return Ok(ExitCode::from(INTERRUPTED));
            }
            if measured.failed {
                return Ok(ExitCode::FAILURE);
            }
            alarms.count(&compare(&measured.base, &measured.head, &trial.criteria));
        }
        anyhow::Ok(ExitCode::SUCCESS)
    });
    let text = match format {
        Format::Json => report::false_alarms_json(&alarms)?,
        _ => report::false_alarms(&alarms, terminal::style()),
    };
    terminal::print(&text).context("writing to stdout")?;
    if alarms.runs > 0 {
        let path = save_noise(&trial.base.plan.out, &trial.label, &alarms.noise())?;
        terminal::say(&format!("noise floors, for --noise: {}", path.display()));
    }
    outcome
}
