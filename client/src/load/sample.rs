//! What one window of load gave.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Latency, WireUse};

/// One timed window, raw. The ledger closes: `started = ok + error + unfinished`.
#[derive(Debug, Clone)]
pub struct LoadSample {
    /// How long the window really was: shorter than asked when every connection was lost.
    pub window: Duration,
    /// Calls started, all of them within the window.
    pub started: u64,
    /// Calls answered as they should be, some of them after the window.
    pub ok: u64,
    /// Calls that failed.
    pub error: u64,
    /// Those of `error` that ended with their connection. Each ended its task: from then on one call fewer was in flight.
    pub lost: u64,
    /// Calls still without a reply when draining was given up.
    pub unfinished: u64,
    /// Those of `ok` that were answered within the window.
    pub ok_in_window: u64,
    /// Service times of all `ok` calls: from sending to the reply.
    pub latency: Latency,
    /// Response times of all `ok` calls, from the moment a call was to start to its reply; `None` without a rate.
    pub response: Option<Latency>,
    /// Calls that were to start within the window; `None` without a rate. Those beyond `started` never were, because every
    /// call in flight was still waiting.
    pub scheduled: Option<u64>,
    /// When the last call was started, from the begin of the window. `None` when none was.
    pub last_start: Option<Duration>,
    /// What the `error` calls failed of, most frequent first; the counts add up to `error`.
    pub errors: Vec<ErrorCount>,
    /// Messages in the replies of calls that ended with a good status; `None` where each has one.
    pub replies: Option<u64>,
    /// Bytes of payload that the calls were to carry, not compressed.
    pub payload_bytes: u64,
    /// Bytes written to the sockets from the first call to the last reply, framing included.
    pub sent_bytes: u64,
    /// Bytes read from them.
    pub received_bytes: u64,
    /// How the same calls used the wire; `None` of what isn't HTTP.
    pub wire_use: Option<WireUse>,
}

impl LoadSample {
    /// Replies within the window by its length, per second; `None` for a window of no length.
    pub fn qps(&self) -> Option<f64> {
        let seconds = self.window.as_secs_f64();
        (seconds > 0.0).then(|| self.ok_in_window as f64 / seconds)
    }
}

/// How often calls failed alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// What was wrong.
    pub message: String,
    /// Calls it was wrong with.
    pub count: u64,
}
