//! Flags of a gateway.

use clap::Args;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Through a gateway")]
pub(crate) struct ViaArgs {
    /// Measure each server through a gateway, too, in turn with it directly: nginx or envoy, started with a configuration of
    /// ours; or HOST:PORT of one that runs already and leads to the server at --addr
    #[arg(long, value_name = "GATEWAY", allow_hyphen_values = true)]
    pub(crate) via: Option<String>,
    /// CPUs of a gateway that we start, one worker for each [default: the server's]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) via_cpus: Option<String>,
}
