//! Flags of `analyze suite`. Those that a config has a key for override it.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Flags of a suite.
#[derive(Debug, Clone, Args)]
pub(crate) struct SuiteArgs {
    /// What to measure: dubbo-go's config.yaml, with our keys
    #[arg(long, value_name = "FILE", default_value = "config.yaml")]
    pub(crate) config: PathBuf,
    /// Print the cells that are to be measured and how long they take; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Go on with the suite of this --label, where it was interrupted or cells failed
    #[arg(long)]
    pub(crate) resume: bool,
    /// Servers to measure, of triple, grpc, raw and those of other frameworks that analyze peers lists
    #[arg(long, value_name = "F,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) framework: Vec<String>,
    /// Timed rounds of each cell
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) rounds: Option<String>,
    /// Length of a timed round
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<String>,
    /// Load before each timed round, not counted
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) warmup: Option<String>,
    /// The longest a call may take before it counts as failed
    #[arg(long, visible_alias = "request-timeout", value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Take no profiles
    #[arg(long)]
    pub(crate) no_profiles: bool,
    /// Name of the suite and of its folders [default: the time it starts]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    /// Where data/, profiles/, flamegraphs/ and logs/ go [default: .]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// What is printed at the end: table, json, csv or markdown
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub(crate) format: Format,
}
