//! Flags of `analyze report`.

use std::path::PathBuf;

use clap::Args;

use super::CriteriaArgs;

/// Say what a run found, for a pull request or a browser: tables, verdicts, environment, and how to measure it again
///
/// With --against first whether the run is better than another, worse, or within noise, by the rules of analyze compare.
#[derive(Debug, Args)]
#[command(mut_args(|arg| if JUDGING.contains(&arg.get_id().as_str()) { arg.requires("against") } else { arg }))]
pub(crate) struct ReportArgs {
    /// The run: a label of data/ below --out, a folder of results, or a result's JSON file
    pub(crate) run: PathBuf,
    /// The run that it is judged by
    #[arg(long, value_name = "BASE")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) criteria: CriteriaArgs,
    /// Compare also what was measured otherwise: another load, wire, machine or binding to CPUs
    #[arg(long, requires = "against")]
    pub(crate) force: bool,
    /// As GitHub's Markdown, as without the flag
    #[arg(long)]
    pub(crate) markdown: bool,
    /// As one page for a browser, with the curves and every flamegraph
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) html: bool,
    /// Where data/ is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Where the report goes [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Flags of [`CriteriaArgs`], which say nothing where nothing is judged.
const JUDGING: [&str; 3] = ["alpha", "smallest", "noise"];
