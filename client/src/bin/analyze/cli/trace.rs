//! Flags of `analyze trace`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{MachineArgs, SentArgs, ServerArgs};

/// In what form traces are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    Table,
    Json,
}

/// List every allocation, growth and free of one request, in order, and say what becomes of what requests allocate
///
/// Requests are sent one at a time with a pause behind each, by which they are told apart in the server's log. Shown is one that did
/// what most did, with its sites and lifetimes, and marked is what the next one did otherwise; then what became of each site's
/// blocks, and which were made larger step by step. The list must add up to the server's counters.
///
/// The server must have /debug/allocations, as ours and those with the crate debug-pprof have. Exit code 1 says that a trace
/// failed, or that a list isn't whole.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) sent: SentArgs,
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Requests in the log
    #[arg(long, value_name = "N", default_value = "200", help_heading = TRACE, allow_hyphen_values = true)]
    pub(crate) requests: String,
    /// How long nothing is sent after each reply: longer than anything that a request is held up by
    #[arg(long, value_name = "TIME", default_value = "5ms", help_heading = TRACE, allow_hyphen_values = true)]
    pub(crate) pause: String,
    /// Requests without pauses before the log begins
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = TRACE, allow_hyphen_values = true)]
    pub(crate) warmup: String,
    /// Name of the folders [default: the time it starts]
    #[arg(long, value_name = "NAME", help_heading = OUTPUT, allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    /// Where data/, flamegraphs/ and logs/ go
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = OUTPUT)]
    pub(crate) out: PathBuf,
    /// What is printed on standard output
    #[arg(long, value_enum, default_value_t = TraceFormat::Table, help_heading = OUTPUT)]
    pub(crate) format: TraceFormat,
}

const TRACE: &str = "How it is traced";
const OUTPUT: &str = "Output";
