//! What a handler does besides echoing: wait, and answer in another size.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Serialize, Serializer};

/// What every server's handler does with a request before it answers. By default nothing: an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Handler {
    /// Length of each reply's payload, in bytes: the request's payload repeated or cut, zeros where the request has
    /// none. `None` is the request's payload as it is.
    pub response_size: Option<u32>,
    /// How long the handler sleeps before each reply, a real await. tokio's timer ticks in milliseconds and never fires
    /// early: a sleep of 250 µs takes 1 to 2 ms. `None` does not sleep.
    #[serde(rename = "sleep_ms", serialize_with = "in_ms")]
    pub sleep: Option<Duration>,
}

impl Handler {
    /// Whether replies are the requests, at once.
    pub(crate) fn only_echoes(&self) -> bool {
        *self == Self::default()
    }
}

/// `pattern` over and over, or cut, so that there are `len` bytes; zeros if it is empty.
pub(crate) fn repeated(pattern: &[u8], len: usize) -> Bytes {
    let mut out = BytesMut::with_capacity(len);
    repeat_into(&mut out, pattern, len);
    out.freeze()
}

/// Appends what [`repeated`] returns.
pub(crate) fn repeat_into(out: &mut impl BufMut, pattern: &[u8], mut len: usize) {
    if pattern.is_empty() {
        return out.put_bytes(0, len);
    }
    while len > 0 {
        let count = len.min(pattern.len());
        out.put_slice(&pattern[..count]);
        len -= count;
    }
}

fn in_ms<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64() * 1e3).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_repeated_and_cut() {
        assert_eq!(repeated(b"abc", 8), "abcabcab");
        assert_eq!(repeated(b"abc", 3), "abc");
        assert_eq!(repeated(b"abc", 2), "ab");
        assert_eq!(repeated(b"abc", 0), "");
        assert_eq!(repeated(b"", 3), "\0\0\0");
    }

    #[test]
    fn the_sleep_is_told_in_milliseconds() {
        let json = |handler| serde_json::to_string(&handler).unwrap();
        assert_eq!(json(Handler::default()), r#"{"response_size":null,"sleep_ms":null}"#);
        let handler = Handler { response_size: Some(7), sleep: Some(Duration::from_micros(250)) };
        assert_eq!(json(handler), r#"{"response_size":7,"sleep_ms":0.25}"#);
    }
}
