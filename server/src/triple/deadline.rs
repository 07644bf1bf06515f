//! How long a caller waits, in each dialect.
//!
//! Limit: a stream's deadline is looked at when a reply is asked for or waited for. While the client's flow-control window is
//! full hyper holds one reply and asks for no other, so that a caller who does not read learns that its time is over once it
//! does.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{HeaderMap, HeaderValue};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    content_type::Framing,
    status::{Code, Fault},
};

/// gRPC: digits and a unit.
const GRPC_TIMEOUT: &str = "grpc-timeout";
/// dubbo-go in Triple's unary mode: milliseconds.
const TRIPLE_TIMEOUT_MS: &str = "triple-timeout-ms";
/// dubbo-java and dubbo-js in Triple's unary mode: milliseconds.
const TRI_SERVICE_TIMEOUT: &str = "tri-service-timeout";

/// Most digits of `grpc-timeout`, by the gRPC specification.
const GRPC_DIGITS: usize = 8;
/// Most digits of a timeout in milliseconds, by dubbo-go.
const MILLISECOND_DIGITS: usize = 10;

/// When the caller stops waiting, if ever.
#[derive(Debug, Default)]
pub(crate) struct Deadline {
    at: Option<Instant>,
    /// Made by the first wait: most calls never wait.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// # Errors
    /// The header is malformed: `invalid_argument`. It leaves no time at all: `deadline_exceeded`.
    pub(crate) fn of(headers: &HeaderMap, framing: Framing) -> Result<Self, Fault> {
        let timeout = match framing {
            Framing::Grpc => headers.get(GRPC_TIMEOUT).map(parse_grpc_timeout),
            Framing::Unary => {
                headers.get(TRIPLE_TIMEOUT_MS).or_else(|| headers.get(TRI_SERVICE_TIMEOUT)).map(parse_milliseconds)
            }
        };
        match timeout.transpose()? {
            Some(Duration::ZERO) => Err(exceeded()),
            // A time too far off to be said is no limit.
            timeout => {
                let at = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                Ok(Self { at, timer: None })
            }
        }
    }

    /// For work that never waits.
    ///
    /// # Errors
    /// The time has come: `deadline_exceeded`.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self.at {
            Some(at) if at <= Instant::now() => Err(exceeded()),
            _ => Ok(()),
        }
    }

    /// Completes with `deadline_exceeded` when the time has come. To be polled whenever the work has to wait.
    pub(crate) fn poll_exceeded(&mut self, cx: &mut Context<'_>) -> Poll<Fault> {
        let Some(at) = self.at else { return Poll::Pending };
        self.timer.get_or_insert_with(|| Box::pin(sleep_until(at))).as_mut().poll(cx).map(|()| exceeded())
    }
}

fn exceeded() -> Fault {
    Fault::new(Code::DeadlineExceeded, "deadline exceeded")
}

fn parse_grpc_timeout(value: &HeaderValue) -> Result<Duration, Fault> {
    let malformed = || malformed(GRPC_TIMEOUT, value, "1 to 8 digits and one of n, u, m, S, M, H");
    let (digits, unit) =
        value.to_str().ok().and_then(|text| text.split_at_checked(text.len().checked_sub(1)?)).ok_or_else(malformed)?;
    let count = parse_digits(digits, GRPC_DIGITS).ok_or_else(malformed)?;
    match unit {
        "n" => Ok(Duration::from_nanos(count)),
        "u" => Ok(Duration::from_micros(count)),
        "m" => Ok(Duration::from_millis(count)),
        "S" => Ok(Duration::from_secs(count)),
        "M" => Ok(Duration::from_secs(count * 60)),
        "H" => Ok(Duration::from_secs(count * 3600)),
        _ => Err(malformed()),
    }
}

fn parse_milliseconds(value: &HeaderValue) -> Result<Duration, Fault> {
    value
        .to_str()
        .ok()
        .and_then(|text| parse_digits(text, MILLISECOND_DIGITS))
        .map(Duration::from_millis)
        .ok_or_else(|| malformed("timeout in milliseconds", value, "1 to 10 digits"))
}

fn parse_digits(text: &str, most: usize) -> Option<u64> {
    let fits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

fn malformed(what: &str, value: &HeaderValue, allowed: &str) -> Fault {
    Fault::new(Code::InvalidArgument, format!("protocol error: invalid {what} {value:?}: must be {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_timeouts() {
        let parse = |text: &'static str| parse_grpc_timeout(&HeaderValue::from_static(text));
        assert_eq!(parse("0n"), Ok(Duration::ZERO));
        assert_eq!(parse("2999883u"), Ok(Duration::from_micros(2_999_883)));
        assert_eq!(parse("3000m"), Ok(Duration::from_secs(3)));
        assert_eq!(parse("99999999H"), Ok(Duration::from_secs(99_999_999 * 3600)));
        for text in ["", "n", "5", "5s", "-5m", "+5m", "123456789m", "1.5S", "5 m"] {
            assert_eq!(parse(text).map_err(|fault| fault.code), Err(Code::InvalidArgument), "{text:?}");
        }
    }

    #[test]
    fn millisecond_timeouts_in_either_dialect() {
        let headers = |name: &'static str, value: &'static str| {
            HeaderMap::from_iter([(http::HeaderName::from_static(name), HeaderValue::from_static(value))])
        };
        for name in [TRIPLE_TIMEOUT_MS, TRI_SERVICE_TIMEOUT] {
            let of = |value| Deadline::of(&headers(name, value), Framing::Unary).map_err(|fault| fault.code);
            assert!(of("2999").unwrap().at.is_some());
            assert_eq!(of("0").unwrap_err(), Code::DeadlineExceeded);
            assert_eq!(of("12345678901").unwrap_err(), Code::InvalidArgument);
            assert_eq!(of("5m").unwrap_err(), Code::InvalidArgument);
            assert!(Deadline::of(&headers(name, "0"), Framing::Grpc).unwrap().at.is_none());
        }
    }
}
