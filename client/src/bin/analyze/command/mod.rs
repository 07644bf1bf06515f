//! The commands, one a file. Each returns its exit code; an error is printed by `main`.

mod cell;
mod doctor;
mod flamegraph;
mod run;
mod servers;
mod signals;
mod top;

use std::process::ExitCode;

use crate::{
    cli::{self, Chosen},
    plan::Plan,
};

pub(crate) fn execute(chosen: Chosen) -> anyhow::Result<ExitCode> {
    match chosen {
        Chosen::Run(args) => run::run(Plan::new(args)?),
        Chosen::Serve(serve) => Ok(echo_server::cli::serve(serve)),
        Chosen::Top(args) => top::top(&args),
        Chosen::Flamegraph(args) => flamegraph::flamegraph(&args),
        Chosen::Doctor => doctor::doctor(),
        Chosen::Completions(shell) => {
            cli::print_completions(shell);
            Ok(ExitCode::SUCCESS)
        }
    }
}
