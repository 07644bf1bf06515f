//! Flags of `analyze ab` and `analyze aa`.

use std::path::PathBuf;

use clap::Args;

use super::{CriteriaArgs, RunArgs};

/// Measure two builds or two servers in turn, and say whether the second is better
///
/// With --base and --head, two revisions of a cargo project are built, whose program serves as echo-server does; with
/// --base-cmd and --head-cmd any two commands serve at --addr. In each of --rounds turns both are started anew and
/// measured, base and head, then head and base. Results are kept under the label with -base and -head.
#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// The revision to compare with, as git names it
    #[arg(long, value_name = "REV", requires = "head", conflicts_with_all = ["base_cmd", "head_cmd"])]
    pub(crate) base: Option<String>,
    /// The revision that is judged
    #[arg(long, value_name = "REV", requires = "base")]
    pub(crate) head: Option<String>,
    /// A shell's command that serves at --addr, to compare with
    #[arg(long, value_name = "CMD", requires = "head_cmd")]
    pub(crate) base_cmd: Option<String>,
    /// The command that is judged
    #[arg(long, value_name = "CMD", requires = "base_cmd")]
    pub(crate) head_cmd: Option<String>,
    /// The cargo project of --base and --head
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
    /// The project's program that serves, as echo-server does
    #[arg(long, value_name = "NAME", default_value = "echo-server")]
    pub(crate) bin: String,
    /// Begin no turn after so long, once there are enough for a verdict
    #[arg(long, value_name = "TIME", default_value = "10m", allow_hyphen_values = true)]
    pub(crate) max_time: String,
    /// Go on also where the sides speak different wires: content-type, encoding, HTTP version, streams
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) criteria: CriteriaArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Measure a server against itself, again and again, and say how often compare would be wrong
///
/// Each run measures the same server on both sides as ab does and judges every figure. How often p is at most --alpha should be
/// about --alpha, or less with few rounds; whatever is better or worse then is a false alarm, and fewer are, as small changes
/// don't count. The noise floor of each figure is saved as data/LABEL.noise.json, for --noise of compare, ab and gate.
#[derive(Debug, Args)]
pub(crate) struct AaArgs {
    /// How often
    #[arg(long, value_name = "N", default_value = "25", allow_hyphen_values = true)]
    pub(crate) runs: String,
    #[command(flatten)]
    pub(crate) criteria: CriteriaArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
