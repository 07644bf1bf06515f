//! The commands, one a file. Each returns its exit code; an error is printed by `main`.

mod aa;
mod ab;
mod cell;
mod columns;
mod compare;
mod diff;
mod doctor;
mod dry_run;
mod flamegraph;
mod gate;
mod gateways;
mod group;
mod open_files;
mod peers;
mod plot;
mod report;
mod rooflines;
mod run;
mod runs;
mod servers;
mod signals;
mod suite;
mod top;
mod trace;

use std::{path::Path, process::ExitCode};

use analyze::{
    measure::bound_cpus,
    profile::{FileError, ProfileError},
};
use anyhow::Context;

use crate::{
    cli::{self, Command},
    plan::{Plan, TracePlan, UsageError},
};

pub(crate) fn execute(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => {
            let allowed = bound_cpus().context("reading which CPUs may be used")?;
            run::run(&Plan::of_run(*args, &allowed)?)
        }
        Command::Suite(args) => suite::suite(&args),
        Command::Serve { serve } => Ok(echo_server::cli::serve(serve)),
        Command::Top(args) => top::top(&args),
        Command::Flamegraph(args) => flamegraph::flamegraph(&args),
        Command::Ab(args) => ab::ab(*args),
        Command::Aa(args) => aa::aa(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Gate(args) => gate::gate(&args),
        Command::Peers(args) => peers::peers(&args),
        Command::Plot(args) => plot::plot(&args.runs, &args.out, args.output.as_deref()),
        Command::Report(args) => report::report(&args),
        Command::Trace(args) => {
            let allowed = bound_cpus().context("reading which CPUs may be used")?;
            trace::trace(&TracePlan::of(*args, &allowed)?)
        }
        Command::Doctor => doctor::doctor(),
        Command::Completions { shell } => {
            cli::print_completions(shell);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Why a sound profile has no answer; that it has no values of the `--type` asked for is wrong usage.
fn unanswered(file: &Path, problem: ProfileError) -> anyhow::Error {
    match problem {
        ProfileError::NoSuchType { wanted, present } => {
            UsageError(format!("--type {wanted}: {} has {}", file.display(), present.join(", "))).into()
        }
        problem => FileError { path: file.to_owned(), problem }.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_not_there_is_wrong_usage() {
        let problem = ProfileError::NoSuchType { wanted: "foo".to_owned(), present: vec!["cpu".to_owned()] };
        let error = unanswered(Path::new("a.pb"), problem);
        assert_eq!(
            error.downcast_ref::<UsageError>().map(ToString::to_string).as_deref(),
            Some("--type foo: a.pb has cpu")
        );
        let error = unanswered(Path::new("a.pb"), ProfileError::NoSamples("cpu".to_owned()));
        assert_eq!((error.is::<UsageError>(), error.to_string()), (false, "a.pb: has no samples of cpu".to_owned()));
    }
}
