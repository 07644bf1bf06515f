//! Short ways to write values, and an encoder that shares no line with the one under test.

use std::sync::Arc;

use bytes::Bytes;
use echo_proto::hessian2::{Binary, Class, List, Map, Object, Value};

pub(crate) fn string(text: &str) -> Value {
    Value::String(text.into())
}

/// A byte array in one piece.
pub(crate) fn binary(bytes: &[u8]) -> Value {
    let whole = (!bytes.is_empty()).then(|| Bytes::copy_from_slice(bytes));
    Value::Binary(Binary(whole.into_iter().collect()))
}

pub(crate) fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::List(List { type_name: None, values: values.into_iter().collect() })
}

pub(crate) fn typed_list(type_name: &str, values: impl IntoIterator<Item = Value>) -> Value {
    Value::List(List { type_name: Some(type_name.into()), values: values.into_iter().collect() })
}

pub(crate) fn map(entries: impl IntoIterator<Item = (Value, Value)>) -> Value {
    Value::Map(Map { type_name: None, entries: entries.into_iter().collect() })
}

pub(crate) fn class<'a>(name: &str, fields: impl IntoIterator<Item = &'a str>) -> Arc<Class> {
    Arc::new(Class { name: name.into(), fields: fields.into_iter().map(Into::into).collect() })
}

pub(crate) fn object(class: &Arc<Class>, values: impl IntoIterator<Item = Value>) -> Value {
    Value::Object(Object { class: Arc::clone(class), values: values.into_iter().collect() })
}

/// A byte array in chunks: `chunk` is told what is left and says how much of it comes next; the last chunk comes when it says
/// all. Forms as the specification's, the shortest for the last one.
pub(crate) fn reference_binary(mut bytes: &[u8], mut chunk: impl FnMut(&[u8]) -> usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let (now, later) = bytes.split_at(chunk(bytes));
        match (later, now.len()) {
            ([], len @ 0..=15) => out.push(0x20 | len as u8),
            ([], len @ 16..=1023) => out.extend([0x34 | (len >> 8) as u8, len as u8]),
            ([], len) => out.extend([b'B', (len >> 8) as u8, len as u8]),
            (_, len) => out.extend([b'A', (len >> 8) as u8, len as u8]),
        }
        out.extend(now);
        if later.is_empty() {
            return out;
        }
        bytes = later;
    }
}

/// A string of UTF-16 units in chunks, as [`reference_binary`]. A unit is 1 to 3 bytes, whatever stands beside it. Java and Go
/// let no chunk end within a surrogate pair; `chunk` may.
pub(crate) fn reference_string(mut units: &[u16], mut chunk: impl FnMut(&[u16]) -> usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let (now, later) = units.split_at(chunk(units));
        match (later, now.len()) {
            ([], len @ 0..=31) => out.push(len as u8),
            ([], len @ 32..=1023) => out.extend([0x30 | (len >> 8) as u8, len as u8]),
            ([], len) => out.extend([b'S', (len >> 8) as u8, len as u8]),
            (_, len) => out.extend([b'R', (len >> 8) as u8, len as u8]),
        }
        for &unit in now {
            let low = |shift: u16| 0x80 | (unit >> shift & 0x3f) as u8;
            match unit {
                0..=0x7f => out.push(unit as u8),
                0x80..=0x7ff => out.extend([0xc0 | (unit >> 6) as u8, low(0)]),
                _ => out.extend([0xe0 | (unit >> 12) as u8, low(6), low(0)]),
            }
        }
        if later.is_empty() {
            return out;
        }
        units = later;
    }
}

/// Where Java and Go end a chunk of at most `most` units: not within a surrogate pair.
pub(crate) fn before_pair(units: &[u16], most: usize) -> usize {
    match units.get(most.wrapping_sub(1)) {
        Some(0xd800..=0xdbff) if units.len() > most => most - 1,
        _ => most.min(units.len()),
    }
}
