//! `analyze`: drives RPC servers with load and says what each request allocates, and where.

mod cli;
mod command;
mod plan;
mod progress;
mod terminal;

use std::process::ExitCode;

use debug_pprof::{CountingAlloc, Jemalloc};

use cli::Chosen;

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

// For `analyze serve`, as echo-server has it; every other command switches the profiler off.
debug_pprof::jemalloc_conf!(c"prof:true,prof_active:true,lg_prof_sample:19,prof_accum:true,prof_unbias:false");

fn main() -> ExitCode {
    let chosen = match cli::parse() {
        Ok(Chosen::Serve(serve)) => return echo_server::cli::serve(serve),
        Ok(chosen) => chosen,
        Err(code) => return code,
    };
    debug_pprof::set_heap_profiling(false);
    debug_pprof::set_sample_rate(0);
    match command::execute(chosen) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(error.downcast_ref::<plan::UsageError>().map_or(1, |_| 2))
        }
    }
}
