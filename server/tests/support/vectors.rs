//! The captured calls.

use std::{fs, path::Path};

/// The bytes of a direction, `c2s` or `s2c`.
pub(crate) fn vector(name: &str, direction: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{name}.{direction}.hex"));
    let digits: Vec<u8> = fs::read(&path).unwrap().into_iter().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
