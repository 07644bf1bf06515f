//! Dubbo's own protocol, with Hessian 2, of the service that Dubbo's benchmark has:
//!
//! ```java
//! package org.apache.dubbo.benchmark;
//! interface BenchmarkService { BenchmarkResponse unaryCall(BenchmarkRequest request); }
//! class BenchmarkRequest implements Serializable { byte[] payload; }    // BenchmarkResponse likewise
//! ```
//!
//! By [its header](https://cn.dubbo.apache.org/en/overview/reference/protocols/tcp/) and by what dubbo-go and Java's Dubbo write. A reply
//! may be a byte array without an object around it, too.

use bytes::{BufMut, Bytes};

use super::{Chunk, Cursor, Found, FrameError, Head, HeadStop, Kind, Request, Stop, text, unlike};
use crate::hessian2::{DecodeErrorKind, Decoder, Opened, Value, encode_binary, encode_int, encode_str};

const MAGIC: u16 = 0xdabb;
const HEADER: usize = 16;
/// Where the last four bytes of the number lie.
const ID_AT: usize = 8;

const REQUEST: u8 = 0x80;
const TWO_WAY: u8 = 0x40;
const EVENT: u8 = 0x20;
const SERIALIZATION: u8 = 0x1f;
const HESSIAN2: u8 = 2;
pub(super) const OK: u8 = 20;

/// From which on replies have attachments.
const PROTOCOL_VERSION: &str = "2.0.2";
const INTERFACE: &str = "org.apache.dubbo.benchmark.BenchmarkService";
const ARGUMENT: &str = "org.apache.dubbo.benchmark.BenchmarkRequest";
/// What stands for none.
const NO_VERSION: &str = "0.0.0";
const METHOD: &str = "unaryCall";
const PAYLOAD: &str = "payload";

// Hessian's codes, where they are needed.
const NULL: u8 = b'N';
const CLASS: u8 = b'C';
const OBJECT: u8 = b'O';

pub(super) fn request(payload: &[u8]) -> Request {
    let mut body = Vec::with_capacity(payload.len() + payload.len() / 2048 + 512);
    for word in [PROTOCOL_VERSION, INTERFACE, NO_VERSION, METHOD] {
        encode_str(word, &mut body);
    }
    encode_str(&format!("L{};", ARGUMENT.replace('.', "/")), &mut body);
    body.put_u8(CLASS);
    encode_str(ARGUMENT, &mut body);
    encode_int(1, &mut body);
    encode_str(PAYLOAD, &mut body);
    body.put_u8(b'`');
    encode_binary(payload, &mut body);
    body.put_u8(b'H');
    for (key, value) in [("path", INTERFACE), ("interface", INTERFACE), ("version", NO_VERSION)] {
        encode_str(key, &mut body);
        encode_str(value, &mut body);
    }
    body.put_u8(b'Z');
    Request::new(header(REQUEST | TWO_WAY | HESSIAN2, 0, 0, body.len()), ID_AT, body.into())
}

/// The answer to an event that asks for one: a heartbeat.
pub(super) fn answer(id: u64) -> Bytes {
    let mut frame = header(EVENT | HESSIAN2, OK, id, 1);
    frame.put_u8(NULL);
    frame.into()
}

fn header(flags: u8, status: u8, id: u64, len: usize) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER + 1);
    header.put_u16(MAGIC);
    header.put_slice(&[flags, status]);
    header.put_u64(id);
    header.put_u32(len as u32);
    header
}

pub(super) fn head(input: &mut Cursor<'_>, limit: usize) -> Result<Head, HeadStop> {
    let found = u16::from_be_bytes(input.array()?);
    if found != MAGIC {
        return Err(unlike(format!("{found:#06x} where a frame has {MAGIC:#06x}")));
    }
    let [flags, status] = input.array()?;
    let id = u64::from_be_bytes(input.array()?);
    let body = input.u32()? as usize;
    if body > limit {
        return Err(HeadStop::Wrong(FrameError::TooLong { len: body, limit }));
    }
    let kind = match (flags & EVENT != 0, flags & REQUEST != 0) {
        (true, true) if flags & TWO_WAY != 0 => Kind::Asks,
        (true, _) => Kind::Aside,
        (false, true) => return Err(unlike("a call of its own".to_owned())),
        (false, false) if status != OK => Kind::Failure(status),
        (false, false) if flags & SERIALIZATION != HESSIAN2 => {
            return Err(unlike(format!(
                "a reply in serialization {}, which isn't that of the request",
                flags & SERIALIZATION
            )));
        }
        (false, false) => Kind::Reply,
    };
    Ok(Head { len: input.at(), id, body, kind })
}

/// The payload in a reply: behind a number that says what follows, in an object's field, or alone.
pub(super) fn find(mut body: Cursor<'_>) -> Result<Found, Stop> {
    match body.u8()? {
        0x90 | 0x93 => return Ok(Found::Failure),
        0x91 | 0x94 => {}
        0x92 | 0x95 => return Err(Stop::Wrong("null, and no response".to_owned())),
        code => return Err(Stop::Wrong(format!("{code:#04x} where a response says what it is"))),
    }
    let mut classes = Vec::new();
    while body.peek()? == CLASS {
        body.u8()?;
        string(&mut body)?;
        let count = small_int(&mut body)?;
        let fields = (0..count).map(|_| string(&mut body)).collect::<Result<Vec<_>, _>>()?;
        classes.push(fields);
    }
    let class = match body.peek()? {
        code @ 0x60..=0x6f => {
            body.u8()?;
            usize::from(code - 0x60)
        }
        OBJECT => {
            body.u8()?;
            small_int(&mut body)?
        }
        NULL => return Err(Stop::Wrong("null, and no response".to_owned())),
        _ => return chunk(body).map(Found::Payload),
    };
    let fields =
        classes.get(class).ok_or_else(|| Stop::Wrong(format!("an object of class {class}, which isn't defined")))?;
    for field in fields {
        match (*field == PAYLOAD.as_bytes(), body.peek()?) {
            (true, NULL) => return Ok(Found::Payload(Chunk { skip: body.at() + 1, len: 0, last: true })),
            (true, _) => return chunk(body).map(Found::Payload),
            (false, _) => skip(&mut body)?,
        }
    }
    Err(Stop::Wrong("an object without a \"payload\"".to_owned()))
}

/// The next chunk of a byte array.
pub(super) fn chunk(mut body: Cursor<'_>) -> Result<Chunk, Stop> {
    let (len, last) = match body.u8()? {
        code @ 0x20..=0x2f => (usize::from(code - 0x20), true),
        code @ 0x34..=0x37 => (usize::from(code - 0x34) << 8 | usize::from(body.u8()?), true),
        code @ (b'A' | b'B') => (usize::from(u16::from_be_bytes(body.array()?)), code == b'B'),
        code => return Err(Stop::Wrong(format!("{code:#04x} where a byte array is"))),
    };
    Ok(Chunk { skip: body.at(), len, last })
}

/// What went wrong: of another status than 20 a string says it, of 20 an exception.
pub(super) fn failure(status: u8, mut body: Cursor<'_>) -> String {
    let input = [Bytes::copy_from_slice(body.take_some(usize::MAX))];
    // What can't be read, or hasn't been kept, isn't told. Only strings are wanted of what may be large.
    let mut decoder = Decoder::shallow(&input);
    if status != OK {
        let said = match decoder.value() {
            Ok(Value::String(said)) => text(said.as_bytes()),
            _ => String::new(),
        };
        return format!("status {status}, {}: {said}", status_name(status));
    }
    // The number before the exception.
    let _ = decoder.value();
    let Ok(Opened::Object(class)) = decoder.open() else { return "an exception that can't be read".to_owned() };
    let mut message = String::new();
    for field in &class.fields {
        match decoder.value() {
            Ok(Value::String(said)) if **field == *"detailMessage" => {
                message = text(said.as_bytes());
                break;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    format!("{}: {message}", text(class.name.as_bytes()))
}

fn status_name(status: u8) -> &'static str {
    match status {
        25 => "serialization error",
        30 => "client timeout",
        31 => "server timeout",
        35 => "channel inactive",
        40 => "bad request",
        50 => "bad response",
        60 => "service not found",
        70 => "service error",
        80 => "server error",
        90 => "client error",
        100 => "server's thread pool exhausted",
        _ => "unknown to Dubbo",
    }
}

/// The bytes of a string, of one chunk as names have it. Its length counts UTF-16 units.
fn string<'a>(body: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let mut units = match body.u8()? {
        code @ 0..=0x1f => usize::from(code),
        code @ 0x30..=0x33 => usize::from(code - 0x30) << 8 | usize::from(body.u8()?),
        code => return Err(Stop::Wrong(format!("{code:#04x} where a name is"))),
    };
    let mut ahead = body.clone();
    while units > 0 {
        let (bytes, wide) = match ahead.u8()? {
            0..=0x7f => (1, 1),
            0x80..=0xdf => (2, 1),
            0xe0..=0xef => (3, 1),
            // As some write it, in place of two surrogates.
            0xf0..=0xff => (4, 2),
        };
        ahead.take(bytes - 1)?;
        units = units.saturating_sub(wide);
    }
    body.take(ahead.at() - body.at())
}

/// A number of one or two bytes that isn't negative.
fn small_int(body: &mut Cursor<'_>) -> Result<usize, Stop> {
    match body.u8()? {
        code @ 0x90..=0xbf => Ok(usize::from(code - 0x90)),
        code @ 0xc8..=0xcf => Ok(usize::from(code - 0xc8) << 8 | usize::from(body.u8()?)),
        code => Err(Stop::Wrong(format!("{code:#04x} where a small number is"))),
    }
}

/// Any value. One that refers to what was before it can't be read.
fn skip(body: &mut Cursor<'_>) -> Result<(), Stop> {
    let input = [Bytes::copy_from_slice(body.clone().take_some(usize::MAX))];
    let mut decoder = Decoder::shallow(&input);
    match decoder.value() {
        Ok(_) => body.take(decoder.offset()).map(drop),
        Err(error) if error.kind == DecodeErrorKind::UnexpectedEnd => Err(Stop::Short),
        Err(error) => Err(Stop::Wrong(error.to_string())),
    }
}
