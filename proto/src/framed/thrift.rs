//! Framed Thrift, strict binary, of the service
//!
//! ```thrift
//! struct BenchmarkRequest { 1: binary payload }
//! struct BenchmarkResponse { 1: binary payload }
//! service BenchmarkService { BenchmarkResponse UnaryCall(1: BenchmarkRequest request) }
//! ```
//!
//! By [the binary protocol](https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md).

use bytes::BufMut;

use super::{Chunk, Cursor, Found, FrameError, Head, HeadStop, Kind, METHOD, Request, Stop, joined, text, unlike};

pub(super) const MAGIC: u16 = 0x8001;
/// The longest name of a method that is read.
const MAX_NAME: usize = 1024;
/// Structs and containers may lie this deep in each other.
const MAX_DEPTH: usize = 64;

const CALL: u8 = 1;
const REPLY: u8 = 2;
const EXCEPTION: u8 = 3;

const STOP: u8 = 0;
const I32: u8 = 8;
const STRING: u8 = 11;
const STRUCT: u8 = 12;

pub(super) fn request(payload: &[u8]) -> Request {
    const ENDS: [u8; 2] = [STOP; 2];
    let mut args = vec![STRUCT, 0, 1, STRING, 0, 1];
    args.put_u32(payload.len() as u32);
    let rest_len = payload.len() + ENDS.len();
    let (head, id_at) = call_head(MAGIC, &args, rest_len);
    Request::new(head, id_at, joined(&[payload, &ENDS]))
}

/// A frame up to and with `begin`, behind which `rest` bytes follow, and where its number lies.
pub(super) fn call_head(magic: u16, begin: &[u8], rest: usize) -> (Vec<u8>, usize) {
    let mut head = Vec::with_capacity(64);
    head.put_u32(0);
    head.put_u16(magic);
    head.put_slice(&[0, CALL]);
    head.put_u32(METHOD.len() as u32);
    head.put_slice(METHOD.as_bytes());
    let id_at = head.len();
    head.put_u32(0);
    head.put_slice(begin);
    let len = (head.len() - size_of::<u32>() + rest) as u32;
    head[..size_of::<u32>()].copy_from_slice(&len.to_be_bytes());
    (head, id_at)
}

/// The head of a message: length, magic, kind, name and number.
pub(super) fn head(input: &mut Cursor<'_>, limit: usize, magic: u16) -> Result<Head, HeadStop> {
    let len = input.u32()? as usize;
    let begin = input.at();
    let [m0, m1, _, kind] = input.array()?;
    // Before the length, which means nothing where another protocol is spoken.
    let found = u16::from_be_bytes([m0, m1]);
    if found != magic {
        return Err(unlike(format!("{found:#06x} where a message has {magic:#06x}")));
    }
    if len > limit {
        return Err(HeadStop::Wrong(FrameError::TooLong { len, limit }));
    }
    let kind = match kind {
        REPLY => Kind::Reply,
        EXCEPTION => Kind::Failure(0),
        other => return Err(unlike(format!("a message of type {other}, which is no reply"))),
    };
    let name = input.u32()? as usize;
    // With what is around it.
    if name > MAX_NAME || name + input.at() - begin + size_of::<u32>() > len {
        return Err(unlike(format!("a name of {name} bytes in a message of {len}")));
    }
    input.take(name)?;
    let id = u64::from(input.u32()?);
    Ok(Head { len: input.at(), id, body: len - (input.at() - begin), kind })
}

/// The payload in a result: its field 0 is the response, any other an exception that the service declares.
pub(super) fn find(mut body: Cursor<'_>) -> Result<Found, Stop> {
    let response = match field(&mut body)? {
        None => return Err(Stop::Wrong("a reply without a result".to_owned())),
        Some((STRUCT, 0)) => &mut body,
        Some((kind, 0)) => return Err(Stop::Wrong(format!("a result of type {kind}, no struct"))),
        Some(_) => return Ok(Found::Failure),
    };
    loop {
        match field(response)? {
            Some((STRING, 1)) => {
                let len = response.u32()? as usize;
                return Ok(Found::Payload(Chunk { skip: response.at(), len, last: true }));
            }
            Some((kind, _)) => skip(kind, response, 0)?,
            // A field that isn't written has no value, which for us is the empty one.
            None => return Ok(Found::Payload(Chunk { skip: response.at(), len: 0, last: true })),
        }
    }
}

/// Reads a `TApplicationException`: 1 is its message, 2 its type. A declared exception is another struct, in the result's field.
pub(super) fn failure(mut body: Cursor<'_>) -> String {
    if let Ok(Some((STRUCT, id))) = field(&mut body.clone()) {
        return format!("exception of the service, its field {id}");
    }
    let (mut message, mut kind) = (String::new(), None);
    // What can't be read, or hasn't been kept, isn't told.
    while let Ok(Some(field)) = field(&mut body) {
        let read = match field {
            (STRING, 1) => body.u32().map(|len| message = text(body.take_some(len as usize))),
            (I32, 2) => body.u32().map(|value| kind = Some(value as i32)),
            (other, _) => skip(other, &mut body, 0),
        };
        if read.is_err() {
            break;
        }
    }
    match kind {
        Some(kind) => format!("exception {kind}: {message}"),
        None => format!("exception: {message}"),
    }
}

/// Type and number of the next field; `None` at the end of the struct.
fn field(input: &mut Cursor<'_>) -> Result<Option<(u8, i16)>, Stop> {
    match input.u8()? {
        STOP => Ok(None),
        kind => Ok(Some((kind, input.i16()?))),
    }
}

fn skip(kind: u8, input: &mut Cursor<'_>, depth: usize) -> Result<(), Stop> {
    if depth == MAX_DEPTH {
        return Err(Stop::Wrong(format!("values deeper than {MAX_DEPTH} in each other")));
    }
    let fixed = |kind| match kind {
        2 | 3 => Some(1),
        6 => Some(2),
        I32 => Some(4),
        4 | 10 => Some(8),
        16 => Some(16),
        _ => None,
    };
    if let Some(len) = fixed(kind) {
        return input.take(len).map(drop);
    }
    match kind {
        STRING => {
            let len = input.u32()? as usize;
            input.take(len).map(drop)
        }
        STRUCT => {
            while let Some((kind, _)) = field(input)? {
                skip(kind, input, depth + 1)?;
            }
            Ok(())
        }
        13 => {
            let [key, value] = input.array()?;
            for _ in 0..input.u32()? {
                skip(key, input, depth + 1)?;
                skip(value, input, depth + 1)?;
            }
            Ok(())
        }
        14 | 15 => {
            let element = input.u8()?;
            for _ in 0..input.u32()? {
                skip(element, input, depth + 1)?;
            }
            Ok(())
        }
        _ => Err(Stop::Wrong(format!("a field of type {kind}, which Thrift doesn't have"))),
    }
}
