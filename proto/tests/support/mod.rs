//! What several tests share.

#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod hessian;
pub(crate) mod memory;
pub(crate) mod replies;

use bytes::Bytes;

/// The bytes of hex digits.
///
/// # Panics
/// If they are something else.
pub(crate) fn hex(digits: &str) -> Bytes {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("two hex digits")).collect::<Vec<_>>().into()
}

/// The bytes in pieces of that length.
pub(crate) fn cut(bytes: &Bytes, piece: usize) -> Vec<Bytes> {
    (0..bytes.len()).step_by(piece).map(|at| bytes.slice(at..bytes.len().min(at.saturating_add(piece)))).collect()
}
