//! One window of load: until when, and how fast.

use std::time::Duration;

/// What [`Driver::run`](super::Driver::run) sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// When it is over.
    pub end: End,
    /// Calls a second, whatever the server does (an open loop); `None` sends the next call when the one before is answered
    /// (a closed loop).
    pub rate: Option<f64>,
    /// How long each of the calls in flight waits after a reply. The runtime's clock ticks once a millisecond. Zero at a rate.
    pub think: Duration,
}

/// When a window is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After a time: no call starts later.
    After(Duration),
    /// After so many calls were started.
    Requests(u64),
}

impl Window {
    /// A closed loop for a time.
    pub fn lasting(time: Duration) -> Self {
        Self { end: End::After(time), rate: None, think: Duration::ZERO }
    }

    /// The same load for a time.
    pub fn with_length(self, time: Duration) -> Self {
        Self { end: End::After(time), ..self }
    }
}
