//! Flags of `analyze peers`.

use clap::{Args, Subcommand};

/// List the servers of other frameworks that can be measured, build them, or remove what was built
///
/// A measurement that names one in --framework builds it if it wasn't before. Builds are kept in analyze/peers in the user's
/// cache, or in peers in the folder that ANALYZE_CACHE_DIR names.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    #[command(subcommand)]
    pub(crate) action: Option<PeersAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeersAction {
    /// Build them, but for those that were built before
    Build {
        /// Which [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Remove every build
    Clean,
}
