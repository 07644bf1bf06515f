//! How the load was sent, and which calls of it took long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load::{Case, End, Latency, Sharing};

/// How calls are sent: in a closed loop, each when the one before is answered, or at a rate, whatever the server does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadShape {
    /// `closed` or `rate`.
    pub kind: LoadKind,
    /// Calls a second asked for. `None` in a closed loop.
    pub qps: Option<f64>,
    /// Calls in each round. `None` when a round lasts for a time.
    pub requests: Option<u64>,
    /// How long each call in flight waits after a reply, ms.
    pub think_ms: f64,
    /// Connections asked for.
    pub connections: usize,
    /// How calls share them.
    pub sharing: Sharing,
    /// How long the server's handler was told to wait before each reply, ms.
    pub sleep_ms: f64,
}

/// Who decides when a call starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadKind {
    /// The reply before it.
    Closed,
    /// The clock.
    Rate,
}

impl From<&Case> for LoadShape {
    fn from(case: &Case) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Self {
            kind: if case.window.rate.is_some() { LoadKind::Rate } else { LoadKind::Closed },
            qps: case.window.rate,
            requests: match case.window.end {
                End::Requests(requests) => Some(requests),
                End::After(_) => None,
            },
            think_ms: ms(case.window.think),
            connections: case.connections,
            sharing: case.sharing,
            sleep_ms: ms(case.sleep),
        }
    }
}

/// How many calls of all rounds took longer than some times, in each view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCalls {
    /// By service time: from sending to the reply.
    pub service: Over,
    /// By response time: from the moment the call was to start to its reply. `None` without a rate.
    pub response: Option<Over>,
}

/// Calls that took longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// Than 1 ms.
    pub over_1ms: u64,
    /// Than 10 ms.
    pub over_10ms: u64,
    /// Than 100 ms.
    pub over_100ms: u64,
    /// Than 1 s.
    pub over_1s: u64,
}

impl From<&Latency> for Over {
    fn from(latency: &Latency) -> Self {
        let over = |ms: u64| latency.over(ms * 1_000_000);
        Self { over_1ms: over(1), over_10ms: over(10), over_100ms: over(100), over_1s: over(1000) }
    }
}
