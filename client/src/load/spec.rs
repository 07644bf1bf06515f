//! What a driver is asked to do.

use std::{net::SocketAddr, time::Duration};

use super::{CallMode, Case, End, LoadError};
use crate::scenario::{Compression, Framework, MAX_CONCURRENCY, MAX_PAYLOAD};

/// Which server, which load, over which connections.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// What speaks at `addr`.
    pub framework: Framework,
    /// Where the server listens.
    pub addr: SocketAddr,
    /// What is sent.
    pub case: Case,
    /// The longest a TCP connection may take, up to a day.
    pub connect_timeout: Duration,
    /// The longest a call may take before it counts as an error, up to a day.
    pub request_timeout: Duration,
    /// HTTP/2 receive window of each stream in bytes, 65,535 to 2³¹-1.
    pub stream_window: u32,
    /// HTTP/2 receive window of each connection in bytes, 65,535 to 2³¹-1.
    pub connection_window: u32,
    /// Largest HTTP/2 frame the client takes in bytes, 16,384 to 2²⁴-1. With 16,384 a reply of 1 MiB costs the client
    /// twice the CPU time it costs with 1 MiB, and 200 allocations instead of 12.
    pub max_frame: u32,
}

impl LoadSpec {
    /// 5 s to connect, 30 s a call, and the window and frame sizes of our own servers: stream 4 MiB, connection 16 MiB, frame
    /// 1 MiB. Larger windows and frames made no difference beyond noise at 100 calls of 1 MiB in flight.
    pub fn new(framework: Framework, addr: SocketAddr, case: Case) -> Self {
        Self {
            framework,
            addr,
            case,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(30),
            stream_window: 4 << 20,
            connection_window: 16 << 20,
            max_frame: 1 << 20,
        }
    }

    /// What the framework can do, and the limits of HTTP/2 (RFC 9113, 6.5.2 and 6.9.1), of a scenario and of a window.
    pub(super) fn validate(&self) -> Result<(), LoadError> {
        self.validate_encodings()?;
        if let Some(rate) = self.case.window.rate
            && !(MIN_RATE..=MAX_RATE).contains(&rate)
        {
            return Err(LoadError::Spec {
                field: "rate",
                value: rate.to_string(),
                allowed: "0.001 to 1000000 calls a second",
            });
        }
        let window = 65_535..=(1u64 << 31) - 1;
        let timeout = 1..=DAY;
        let requests = match self.case.window.end {
            End::After(_) => 1,
            End::Requests(count) => count,
        };
        let checks = [
            ("requests", requests, 1..=u64::MAX, "1 or more"),
            ("payload", self.case.scenario.payload.largest(), 1..=MAX_PAYLOAD, "1 to 16777216 bytes"),
            ("response size", self.case.response_size.unwrap_or(0), 0..=MAX_PAYLOAD, "0 to 16777216 bytes"),
            ("concurrency", self.case.scenario.concurrency.into(), 1..=MAX_CONCURRENCY.into(), "1 to 10000"),
            ("connections", self.case.connections as u64, 1..=MAX_CONCURRENCY.into(), "1 to 10000"),
            ("stream window", self.stream_window.into(), window.clone(), "65535 to 2147483647 bytes"),
            ("connection window", self.connection_window.into(), window, "65535 to 2147483647 bytes"),
            ("max frame", self.max_frame.into(), 16_384..=(1 << 24) - 1, "16384 to 16777215 bytes"),
            ("think time in ns", nanos(self.case.window.think), 0..=DAY, "0 to 86400000000000 (a day)"),
            ("connect timeout in ns", nanos(self.connect_timeout), timeout.clone(), "1 to 86400000000000 (a day)"),
            ("request timeout in ns", nanos(self.request_timeout), timeout, "1 to 86400000000000 (a day)"),
        ];
        match checks.into_iter().find(|(_, value, range, _)| !range.contains(value)) {
            Some((field, value, _, allowed)) => Err(LoadError::Spec { field, value: value.to_string(), allowed }),
            None => Ok(()),
        }
    }

    fn validate_encodings(&self) -> Result<(), LoadError> {
        let &Self { framework, case: Case { serialization, compression, accept_gzip, mode, .. }, .. } = self;
        let unable = |field, value: &str, why| LoadError::Unable { field, value: value.to_owned(), framework, why };
        framework.speaks(serialization).map_err(|why| unable("serialization", serialization.name(), why))?;
        if framework.protocol().is_framed() {
            let why = match framework {
                Framework::Raw => "the raw echo carries bytes, no messages",
                _ => "its frames are calls, and say nothing of how their messages are compressed",
            };
            if compression != Compression::None {
                return Err(unable("compression", compression.name(), why));
            }
            if accept_gzip {
                return Err(unable("accept gzip", "true", why));
            }
            // The raw echo knows no calls, and a stream's messages are the same to it.
            if framework != Framework::Raw && mode == CallMode::Streaming {
                return Err(unable("mode", mode.name(), "its protocol has calls of one message, no streams"));
            }
        }
        Ok(())
    }
}

/// In nanoseconds.
const DAY: u64 = 86_400_000_000_000;

/// Calls a second, of an open loop.
pub(super) const MIN_RATE: f64 = 0.001;
/// Calls a second, of an open loop: a few times what one client can send.
pub const MAX_RATE: f64 = 1e6;

/// Saturating at 584 years.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
