//! The command line. What clap found goes to `plan` as plain text and numbers.

mod ab;
mod call;
mod criteria;
mod diff;
mod peers;
mod report;
mod run;
mod suite;
mod top;
mod trace;
mod via;

use std::{io, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use echo_server::cli::Serve;

pub(crate) use self::{
    ab::{AaArgs, AbArgs},
    call::CallArgs,
    criteria::{CriteriaArgs, SizeArgs},
    diff::{DiffArgs, DiffWidths},
    peers::{PeersAction, PeersArgs},
    report::ReportArgs,
    run::{LoadArgs, MachineArgs, OutputArgs, RunArgs, SentArgs, ServerArgs},
    suite::SuiteArgs,
    top::{TopArgs, TopBy},
    trace::{TraceArgs, TraceFormat},
    via::ViaArgs,
};

/// Drives RPC servers with load and says what each request allocates, and where
///
/// With nothing running it starts its own Triple, gRPC and raw TCP servers, measures them in turn, round by round, and
/// prints a table with a row a framework, then the lines of each that allocate most. Results go to stdout, progress to
/// stderr, and everything into data/, profiles/, flamegraphs/ and logs/ below --out.
///
/// Exit codes: 0 done, 1 the measurement failed, 2 wrong usage, 130 interrupted (what had finished is saved).
#[derive(Debug, Parser)]
#[command(name = "analyze", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  analyze --scenario 1MiB-100
  analyze --scenario 128B-50,1MiB-100 --rounds 3 --duration 3s --label before
  analyze --payload 128B,1MiB --concurrency 50 --framework triple --qps 1000..20000/10
  analyze --scenario 128B-100 --framework grpc-go,grpc
  analyze suite --config config.yaml --dry-run
  analyze --framework grpc --addr grpc=127.0.0.1:50051 --debug grpc=http://127.0.0.1:6060 --scenario 1KiB-50
  analyze --addr 127.0.0.1:50051 --reflection --call my.Greeter/SayHello --data '{\"name\":\"you\"}' --concurrency 50
  analyze serve triple          then: curl localhost:8000/debug/pprof/profile?seconds=5 > cpu.pb.gz
  analyze top cpu.pb.gz
  analyze top before --by crate whose allocations they are, per op, and which layers'
  analyze trace --scenario 128B-1 --framework triple    every allocation of one request, in order
  analyze ab --base main --head HEAD --scenario 128B-50 --rounds 10
  analyze compare before after  is it better, worse, or within noise?
  analyze diff before after     which functions made it so? with a flamegraph: red grew, blue shrank
  analyze gate after            does it stay within budgets.toml?
  analyze plot before after     both runs in each picture, below plots/
  analyze report after --against before --html -o report.html";

/// What was asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure; the same as giving the flags without a command
    Run(Box<RunArgs>),
    /// Measure every cell of the matrix that a config.yaml describes; it can be interrupted and resumed
    Suite(SuiteArgs),
    /// Run an echo server, the same as the program echo-server
    Serve {
        #[command(subcommand)]
        serve: Serve,
    },
    Top(TopArgs),
    /// Draw a profile as a flamegraph
    Flamegraph(FlamegraphArgs),
    Ab(Box<AbArgs>),
    Aa(Box<AaArgs>),
    Compare(CompareArgs),
    Diff(DiffArgs),
    Gate(GateArgs),
    Peers(PeersArgs),
    /// Draw results as pictures, by payload, by concurrency and by rate, as SVG and PNG
    Plot(PlotArgs),
    Report(ReportArgs),
    Trace(Box<TraceArgs>),
    /// Say what this machine will do to the numbers
    Doctor,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// Whether somebody may look at what this very process allocates.
    pub(crate) fn is_looked_at(&self) -> bool {
        match self {
            Self::Run(run) => run.machine.client_debug.is_some(),
            Self::Trace(trace) => trace.machine.client_debug.is_some(),
            _ => false,
        }
    }
}

/// What is printed on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct FlamegraphArgs {
    /// A profile: any profile.proto, gzipped or not; ours, Go's or another's
    pub(crate) file: PathBuf,
    /// The kind of value, as alloc_space or cpu [default: the profile's own]
    #[arg(long = "type", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Requests the profile covers; figures are then per op
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ops: Option<u64>,
    /// The headline [default: the file's name]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Where the SVG goes [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// In what form a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    Table,
    Json,
    Markdown,
    /// Go's benchmark format, for benchstat -col run
    Benchstat,
}

/// Say whether one run is better than another, worse, or within noise
///
/// Each figure of each load that both runs have is judged over their rounds: better or worse by a two-sided Mann-Whitney
/// test, an interval of the difference that leaves out zero, and a difference of --smallest or more; negligible if it, or its
/// whole interval, is smaller; else within noise; cannot judge with too few rounds.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The run to compare with: a label of data/ below --out, a folder of results, or a result's JSON file
    pub(crate) a: PathBuf,
    /// The run that is judged
    pub(crate) b: PathBuf,
    #[command(flatten)]
    pub(crate) criteria: CriteriaArgs,
    /// Compare also what was measured otherwise: another load, wire, machine or binding to CPUs
    #[arg(long)]
    pub(crate) force: bool,
    /// What is printed on stdout
    #[arg(long, value_enum, default_value_t = CompareFormat::Table)]
    pub(crate) format: CompareFormat,
    /// Where data/ is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

/// In what form a gate's checks are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateFormat {
    Table,
    Json,
    Markdown,
}

/// Say whether a run stays within its budgets, for CI
///
/// Each limit of the budgets file is checked against each result it is of. A figure is the median of the rounds. Budgets of
/// allocations are hard: a breach, or a figure that wasn't measured, fails the gate. All others are advisory unless the file
/// says hard = true.
///
/// Exit codes: 0 within all hard budgets, 1 a breach, 2 wrong usage or a wrong budgets file.
#[derive(Debug, Args)]
#[command(after_help = BUDGETS)]
pub(crate) struct GateArgs {
    /// The run: a label of data/ below --out, a folder of results, or a result's JSON file
    pub(crate) run: PathBuf,
    /// What it may cost
    #[arg(long, value_name = "FILE", default_value = "budgets.toml")]
    pub(crate) budgets: PathBuf,
    /// Write the measured medians into the file in place of its absolute limits, and print each old and new one
    #[arg(long, conflicts_with = "format")]
    pub(crate) update: bool,
    /// Hold relative limits also against a baseline that spoke another wire: content-type, encoding, HTTP version, streams
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
    /// What is printed on stdout
    #[arg(long, value_enum, default_value_t = GateFormat::Table)]
    pub(crate) format: GateFormat,
    /// Where data/ is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

const BUDGETS: &str = r#"A budgets file:
  [[budget]]
  framework = "triple"           # also serialization, compression, mode, rate
  scenario = "128B-50"           # what isn't said may be anything
  tolerance = "1%"               # without it: --noise, or half the range of the rounds, or --smallest
  allocs_per_op = 5.06           # at most; each figure that compare judges
  qps = { min = 40_000, tolerance = "5%", hard = true }

  [[budget]]
  baseline = "before"            # results, from the folder of this file
  optional = true                # a run without such results is no error
  bytes_per_op = { max = "+2%", tolerance = 16 }"#;

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Runs to draw together: labels of data/ below --out, folders of results, or results' JSON files
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Where data/ and plots/ are
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Where the pictures go [default: plots/ and the runs' labels, below --out]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Reads the command line. `Err` is the exit code after help, version or a usage error was printed.
pub(crate) fn parse() -> Result<Command, ExitCode> {
    let cli = Cli::try_parse().map_err(|error| echo_server::cli::explain(&error))?;
    Ok(cli.command.unwrap_or_else(|| Command::Run(Box::new(cli.run))))
}

/// The flags of a measurement, as given on a command line.
#[cfg(test)]
pub(crate) fn run_args(flags: &[&str]) -> RunArgs {
    Cli::try_parse_from(["analyze"].iter().chain(flags)).expect("flags").run
}

/// The flags of a suite, as given on a command line.
#[cfg(test)]
pub(crate) fn suite_args(flags: &[&str]) -> SuiteArgs {
    match Cli::try_parse_from(["analyze", "suite"].iter().chain(flags)).expect("flags").command {
        Some(Command::Suite(suite)) => suite,
        _ => unreachable!("the command is suite"),
    }
}

/// The flags of a trace, as given on a command line.
#[cfg(test)]
pub(crate) fn trace_args(flags: &[&str]) -> TraceArgs {
    match Cli::try_parse_from(["analyze", "trace"].iter().chain(flags)).expect("flags").command {
        Some(Command::Trace(trace)) => *trace,
        _ => unreachable!("the command is trace"),
    }
}

/// Prints the completion script of a shell.
pub(crate) fn print_completions(shell: Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "analyze", &mut io::stdout());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_without_a_command_are_a_run() {
        let cli = Cli::try_parse_from(["analyze", "--scenario", "128B-50,1MiB-100", "--rounds", "3"]).expect("a run");
        assert!(cli.command.is_none());
        assert_eq!(cli.run.sent.scenario, ["128B-50", "1MiB-100"]);
        let cli = Cli::try_parse_from(["analyze", "run", "--scenario", "-1"]).expect("a run");
        assert!(matches!(cli.command, Some(Command::Run(run)) if run.sent.scenario == ["-1"]));
    }

    #[test]
    fn criteria_are_of_what_is_judged() {
        for flags in [["--smallest", "2%"], ["--alpha", "0.01"], ["--noise", "a.json"]] {
            let alone = [&["analyze", "report", "a"][..], &flags].concat();
            let error = Cli::try_parse_from(&alone).expect_err("nothing is judged").to_string();
            assert!(error.contains("--against <BASE>"), "{error}");
            assert!(Cli::try_parse_from([&alone[..], &["--against", "b"]].concat()).is_ok(), "{flags:?}");
        }
        assert!(Cli::try_parse_from(["analyze", "report", "a"]).is_ok());
    }

    #[test]
    fn values_with_a_hyphen_reach_the_plan_which_says_what_is_allowed() {
        let command = Cli::command();
        let takes_text =
            |arg: &&clap::Arg| arg.get_action().takes_values() && !matches!(arg.get_id().as_str(), "format" | "out");
        for flag in command.get_arguments().filter(takes_text).filter_map(clap::Arg::get_long) {
            let flag = format!("--{flag}");
            assert!(Cli::try_parse_from(["analyze", "--scenario", "128B-50", &flag, "-1s"]).is_ok(), "{flag}");
        }
    }
}
