//! `analyze`: drives RPC servers with load and says what each request allocates, and where.

mod budgets;
mod cache;
mod cli;
mod command;
mod config;
mod gateway;
mod peers;
mod plan;
mod progress;
mod terminal;
mod values;

use std::process::ExitCode;

use analyze::measure::Build;
use debug_pprof::{CountingAlloc, Jemalloc};

use cli::Command;

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

// For `analyze serve`, as echo-server has it, and for --client-debug; everything else switches the profiler off.
debug_pprof::jemalloc_conf!(c"prof:true,prof_active:true,lg_prof_sample:19,prof_accum:true,prof_unbias:false");

/// What this program is built from.
const BUILD: Build = Build {
    commit: env!("BUILD_COMMIT"),
    dirty: env!("BUILD_DIRTY"),
    rustc: env!("BUILD_RUSTC"),
    crates: env!("BUILD_CRATES"),
};

fn main() -> ExitCode {
    let command = match cli::parse() {
        Ok(Command::Serve { serve }) => return echo_server::cli::serve(serve),
        Ok(command) => command,
        Err(code) => return code,
    };
    if !command.is_looked_at() {
        debug_pprof::set_heap_profiling(false);
        debug_pprof::set_sample_rate(0);
    }
    match command::execute(command) {
        Ok(code) => code,
        Err(error) => {
            terminal::say(&format!("error: {}", one_line(&error)));
            ExitCode::from(error.downcast_ref::<plan::UsageError>().map_or(1, |_| 2))
        }
    }
}

/// An error and its causes, without those that are in the line already.
fn one_line(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        line if line.contains(&cause) => line.to_owned(),
        line => format!("{line}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn causes_are_said_once() {
        let error = Err::<(), _>(anyhow!("no such file")).context("a.pb: no such file").context("reading");
        assert_eq!(one_line(&error.expect_err("an error")), "reading: a.pb: no such file");
    }
}
