//! `analyze suite`: the cells of a config, measured, or only listed; or those that are left of an earlier suite.

use std::{env, process::ExitCode};

use analyze::{
    measure::{bound_cpus, result::RunResult},
    report,
    store::{Store, StoreError},
};
use anyhow::Context;

use super::{
    dry_run,
    run::{Reports, Session, open},
};
use crate::{
    cli::SuiteArgs,
    config::Config,
    peers,
    plan::{self, Origin, Plan, PlanRecord, Refused, Subject, UsageError, cells},
    terminal,
};

pub(super) fn suite(args: &SuiteArgs) -> anyhow::Result<ExitCode> {
    let frameworks = plan::frameworks(args)?;
    let config = Config::open(&args.config, frameworks).map_err(|error| UsageError(error.to_string()))?;
    let allowed = bound_cpus().context("reading which CPUs may be used")?;
    let plan = Plan::of_suite(args, config, &allowed)?;
    let Begun { record, done } = if args.resume { go_on(&plan)? } else { begin(&plan)? };
    if args.dry_run {
        plan.notes.iter().for_each(|note| terminal::say(&format!("note: {note}")));
        let stems = done.iter().map(RunResult::file_stem).collect();
        terminal::print(&dry_run::text(&plan.without(&stems))).context("writing to stdout")?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = open(&plan)?;
    let words = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let goes_on_with = Some(resume_command(words, plan.label.as_str()));
    let session = Session { plan: &plan, store: &store, record: Some(record), earlier: done, goes_on_with };
    let refused: Vec<report::Refused> = plan.refused.iter().map(Refused::in_report).collect();
    let reports = Reports {
        text: &|results, style| report::suite(results, &refused, &store.data_dir(), style),
        markdown: &|results| report::matrix_markdown(results, &refused),
    };
    let outcome = session.carry_out(reports);
    plan.refused.iter().for_each(|refused| terminal::say(&format!("not measured: {}", refused.say())));
    outcome
}

/// A suite as it is recorded, and the results of it that need not be measured again.
struct Begun {
    record: PlanRecord,
    done: Vec<RunResult>,
}

fn record_of(plan: &Plan) -> PlanRecord {
    PlanRecord::of(plan).with_peers(peers::builds(plan))
}

/// A new suite.
fn begin(plan: &Plan) -> Result<Begun, UsageError> {
    if Store::has_plan(&plan.out, &plan.label) {
        let problem = "there is a suite of this name: --resume goes on with it, another --label begins a new one";
        return Err(UsageError(format!("--label {}: {problem}", plan.label)));
    }
    Ok(Begun { record: record_of(plan), done: Vec::new() })
}

/// An earlier suite, whose plan must be the same.
fn go_on(plan: &Plan) -> anyhow::Result<Begun> {
    if !Store::has_plan(&plan.out, &plan.label) {
        let (label, out) = (&plan.label, plan.out.display());
        return Err(UsageError(format!("--resume: there is no suite {label} in {out}")).into());
    }
    let store = Store::at(&plan.out, plan.label.clone());
    let earlier: PlanRecord =
        store.load_plan().map_err(|error: StoreError| UsageError(format!("--resume: {error}")))?;
    let record = record_of(plan);
    let differences = record.differences(&earlier);
    if !differences.is_empty() {
        let differences = differences.join("; ");
        return Err(UsageError(format!("--resume: the plan of {} is another: {differences}", plan.label)).into());
    }
    let mut done = Vec::new();
    for subject in plan.subjects() {
        let result = store.load(&subject.file_stem(&plan.label))?;
        done.extend(result.filter(|result| earlier.took(result) && is_whole(result, subject)));
    }
    terminal::say(&format!("{} of {} were measured before", done.len(), cells(plan.subjects().count())));
    Ok(Begun { record: record.resuming(earlier), done })
}

/// Whether a cell has everything that was asked for.
fn is_whole(result: &RunResult, subject: &Subject) -> bool {
    let can_be_profiled = !matches!(subject.origin, Origin::Attach { debug: None, .. });
    let files = &result.files;
    let profiles = [&files.cpu_profile, &files.allocs_profile, &files.heap_profile];
    let profiled = !subject.profiled || !can_be_profiled || profiles.iter().all(|file| file.is_some());
    subject.is_measured(result) && profiled
}

/// The command line that goes on with the suite of a command line.
fn resume_command(mut args: Vec<String>, label: &str) -> String {
    if !args.iter().any(|arg| arg == "--label" || arg.starts_with("--label=")) {
        args.extend(["--label".to_owned(), label.to_owned()]);
    }
    if !args.iter().any(|arg| arg == "--resume") {
        args.push("--resume".to_owned());
    }
    args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" ")
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+,./:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_resumed_by_the_same_command_with_its_label() {
        let command = |words: &str| resume_command(words.split(' ').map(str::to_owned).collect(), "x");
        assert_eq!(command("analyze suite --config a.yaml"), "analyze suite --config a.yaml --label x --resume");
        assert_eq!(command("analyze suite --label=x --resume"), "analyze suite --label=x --resume");
        assert_eq!(quoted("it's mine"), r"'it'\''s mine'");
    }
}
