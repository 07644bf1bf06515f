//! `echo-server triple|grpc|raw`: one instrumented echo server.

use std::process::ExitCode;

use clap::Parser;
use debug_pprof::{CountingAlloc, Jemalloc};
use echo_server::cli::{self, Serve};

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

// The heap profile is jemalloc's own: sampled every 512 KiB, as Go's is.
debug_pprof::jemalloc_conf!(c"prof:true,prof_active:true,lg_prof_sample:19,prof_accum:true,prof_unbias:false");

#[derive(Debug, Parser)]
#[command(name = "echo-server", version)]
#[command(subcommand_value_name = "triple|grpc|raw", arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    serve: Serve,
}

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => cli::serve(cli.serve),
        Err(error) => cli::explain(&error),
    }
}
