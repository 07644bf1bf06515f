//! Kitex Protobuf: Thrift's head with a magic of its own, then `BenchmarkRequest` or `BenchmarkResponse` without a wrapper. It is not
//! gRPC. By kitex's codec, `pkg/remote/codec/protobuf`.

use bytes::Bytes;
use prost::Message;

use super::{Chunk, Cursor, Found, Request, Stop, text, thrift::call_head};
use crate::benchmark::BenchmarkRequest;

pub(super) const MAGIC: u16 = 0x9001;

/// Protobuf's wire types.
const VARINT: u64 = 0;
const I64: u64 = 1;
const LEN: u64 = 2;
const I32: u64 = 5;

pub(super) fn request(payload: &[u8]) -> Request {
    let message = BenchmarkRequest { payload: Bytes::copy_from_slice(payload) }.encode_to_vec();
    let (head, id_at) = call_head(MAGIC, &[], message.len());
    Request::new(head, id_at, message.into())
}

/// The payload in a `BenchmarkResponse`. One that isn't written is empty.
pub(super) fn find(mut body: Cursor<'_>, whole: bool) -> Result<Found, Stop> {
    loop {
        if whole && body.is_empty() {
            return Ok(Found::Payload(Chunk { skip: body.at(), len: 0, last: true }));
        }
        match tag(&mut body)? {
            (1, LEN) => {
                let len = len(&mut body)?;
                return Ok(Found::Payload(Chunk { skip: body.at(), len, last: true }));
            }
            (_, kind) => skip(kind, &mut body)?,
        }
    }
}

/// Reads an `ErrorProto`: 1 is its type, 2 its message.
pub(super) fn failure(mut body: Cursor<'_>) -> String {
    let (mut message, mut kind) = (String::new(), 0);
    // What can't be read, or hasn't been kept, isn't told.
    while let Ok(field) = tag(&mut body) {
        let read = match field {
            (1, VARINT) => varint(&mut body).map(|value| kind = value as i32),
            (2, LEN) => len(&mut body).map(|len| message = text(body.take_some(len))),
            (_, kind) => skip(kind, &mut body),
        };
        if read.is_err() {
            break;
        }
    }
    format!("exception {kind}: {message}")
}

/// Number and wire type of the next field.
fn tag(input: &mut Cursor<'_>) -> Result<(u64, u64), Stop> {
    let tag = varint(input)?;
    Ok((tag >> 3, tag & 7))
}

fn len(input: &mut Cursor<'_>) -> Result<usize, Stop> {
    let len = varint(input)?;
    usize::try_from(len).map_err(|_| Stop::Wrong(format!("a field of {len} bytes")))
}

fn varint(input: &mut Cursor<'_>) -> Result<u64, Stop> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = input.u8()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Stop::Wrong("a number of more than ten bytes".to_owned()))
}

fn skip(kind: u64, input: &mut Cursor<'_>) -> Result<(), Stop> {
    match kind {
        VARINT => varint(input).map(drop),
        I64 => input.take(8).map(drop),
        LEN => {
            let len = len(input)?;
            input.take(len).map(drop)
        }
        I32 => input.take(4).map(drop),
        _ => Err(Stop::Wrong(format!("a field of wire type {kind}, which protobuf doesn't have"))),
    }
}
