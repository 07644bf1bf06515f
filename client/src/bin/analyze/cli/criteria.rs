//! Flags that say when a difference is a verdict.

use std::path::PathBuf;

use analyze::compare::ALPHA;
use clap::Args;

use crate::values;

/// Of what judges by the rounds.
#[derive(Debug, Clone, Args)]
pub(crate) struct CriteriaArgs {
    /// The probability of a false alarm that each verdict accepts
    #[arg(long, value_name = "P", default_value_t = ALPHA, value_parser = values::alpha)]
    pub(crate) alpha: f64,
    #[command(flatten)]
    pub(crate) size: SizeArgs,
}

/// How large a difference must be.
#[derive(Debug, Clone, Args)]
pub(crate) struct SizeArgs {
    /// The smallest change that counts, for all figures or for each kind, as 2% or counts=0.5%,times=2%; counts are bytes and
    /// allocations, times are all else [default: counts=0.5%,times=1%]
    #[arg(long, value_name = "PERCENT", value_parser = values::smallest)]
    pub(crate) smallest: Option<(Option<f64>, Option<f64>)>,
    /// Noise floors that aa saved as data/LABEL.noise.json; no smaller change counts
    #[arg(long, value_name = "FILE")]
    pub(crate) noise: Option<PathBuf>,
}
