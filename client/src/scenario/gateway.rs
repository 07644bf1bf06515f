//! What calls go through on their way to a server.

use super::named;

/// A kind of gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GatewayKind {
    /// nginx, started with a configuration of ours.
    Nginx,
    /// Envoy, started with a configuration of ours.
    Envoy,
    /// One that runs already, whatever it is.
    Running,
}

named!(GatewayKind, "gateway", [Nginx = "nginx", Envoy = "envoy", Running = "running"]);
