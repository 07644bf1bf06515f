//! How long a caller waits, in each dialect, and a future that ends with it.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
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

/// When the caller stops waiting; none if it has set no limit.
///
/// # Errors
/// The header is malformed: `invalid_argument`. It leaves no time at all: `deadline_exceeded`.
pub(crate) fn deadline(headers: &HeaderMap, framing: Framing) -> Result<Option<Instant>, Fault> {
    let timeout = match framing {
        Framing::Grpc => headers.get(GRPC_TIMEOUT).map(parse_grpc_timeout),
        Framing::Unary => {
            headers.get(TRIPLE_TIMEOUT_MS).or_else(|| headers.get(TRI_SERVICE_TIMEOUT)).map(parse_milliseconds)
        }
    };
    match timeout.transpose()? {
        Some(Duration::ZERO) => Err(exceeded()),
        // A time too far off to be said is no limit.
        timeout => Ok(timeout.and_then(|timeout| Instant::now().checked_add(timeout))),
    }
}

/// Runs `work` until the deadline.
///
/// # Errors
/// That of `work`, or `deadline_exceeded`.
pub(crate) async fn until<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let mut work = pin!(work);
    let mut timer = pin!(deadline.map(sleep_until));
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        // Only work that waits registers its timer.
        match timer.as_mut().as_pin_mut().map(|timer: Pin<&mut Sleep>| timer.poll(cx)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(exceeded())),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    })
    .await
}

/// The fault of a call that took too long.
pub(crate) fn exceeded() -> Fault {
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
            assert!(deadline(&headers(name, "2999"), Framing::Unary).unwrap().is_some());
            assert!(deadline(&headers(name, "12345678901"), Framing::Unary).is_err());
            assert!(deadline(&headers(name, "5m"), Framing::Unary).is_err());
            assert_eq!(deadline(&headers(name, "2999"), Framing::Grpc), Ok(None));
        }
    }
}
