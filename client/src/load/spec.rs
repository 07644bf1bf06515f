//! What a driver is asked to do.

use std::{sync::Arc, time::Duration};

use super::{Address, Call, CallMode, Case, End, LoadError};
use crate::scenario::{Compression, Framework, MAX_CONCURRENCY, MAX_PAYLOAD, PayloadPattern, Protocol};

/// Which server, which load, over which connections.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// What speaks at `addr`.
    pub framework: Framework,
    /// Where the server listens.
    pub addr: Address,
    /// What is sent.
    pub case: Case,
    /// What is called in place of the echo. There with a framework of the user's own call alone.
    pub call: Option<Arc<Call>>,
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
    pub fn new(framework: Framework, addr: impl Into<Address>, case: Case) -> Self {
        Self {
            framework,
            addr: addr.into(),
            case,
            call: None,
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
        if self.framework.protocol().is_framed() && matches!(self.addr, Address::Unix(_)) {
            let value = self.addr.to_string();
            return Err(LoadError::Spec {
                field: "address",
                value,
                allowed: "HOST:PORT where calls are frames over TCP",
            });
        }
        let window = 65_535..=(1u64 << 31) - 1;
        let timeout = 1..=DAY;
        if self.call.is_some() != self.framework.is_own_call() {
            let value = self.framework.to_string();
            return Err(LoadError::Spec {
                field: "framework",
                value,
                allowed: "call, http1 or h2 with a call, and another without",
            });
        }
        if self.call.is_some() != (self.case.pattern == PayloadPattern::Given) {
            let value = self.case.pattern.to_string();
            return Err(LoadError::Spec {
                field: "payload pattern",
                value,
                allowed: "given with a call, and another without",
            });
        }
        let smallest = u64::from(self.call.is_none());
        let requests = match self.case.window.end {
            End::After(_) => 1,
            End::Requests(count) => count,
        };
        let checks = [
            ("requests", requests, 1..=u64::MAX, "1 or more"),
            ("payload", self.case.scenario.payload.largest(), smallest..=MAX_PAYLOAD, "1 to 16777216 bytes"),
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
        let protocol = framework.protocol();
        if protocol.is_framed() || protocol == Protocol::Http {
            let why = match framework {
                Framework::Raw => "the raw echo carries bytes, no messages",
                Framework::Http1 | Framework::H2 => "a plain request's body is as it is given",
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
