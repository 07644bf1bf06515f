//! Finds the payload in a MessagePack argument, and writes the heads of payloads.

use bytes::{Buf, BufMut};
use rmp::Marker;
use serde::{Deserialize, de::IgnoredAny};

use super::{
    EnvelopeError,
    form::{BytesForm, Form, Found, PAYLOAD},
};
use crate::pieces::{Pieces, Reader};

/// Reads the argument to its end.
pub(super) fn find(mut argument: Reader<'_>) -> Result<Found, EnvelopeError> {
    let input = &mut argument;
    let found = match open(input)? {
        Opened::Map(len) => find_in_map(len, input)?.ok_or(EnvelopeError::Shape("a map without a \"payload\""))?,
        Opened::Null => return Err(EnvelopeError::Shape("null")),
        other => payload(other, 0, input.offset())?,
    };
    match input.remaining() {
        0 => Ok(found),
        rest => Err(EnvelopeError::Msgpack(format!("byte {}: {rest} bytes follow the value", input.offset()))),
    }
}

fn find_in_map(len: u32, input: &mut Reader<'_>) -> Result<Option<Found>, EnvelopeError> {
    let mut found = None;
    for _ in 0..len {
        if is_payload_key(input)? {
            let start = input.offset();
            found = Some(payload(open(input)?, start, input.offset())?);
        } else {
            pass(input)?;
        }
    }
    Ok(found)
}

/// The payload that a value is; a null is an empty one.
fn payload(value: Opened<'_>, start: usize, end: usize) -> Result<Found, EnvelopeError> {
    let (form, payload) = match value {
        Opened::Bytes(form, bytes) => (form, bytes.into_pieces()),
        Opened::Null => (BytesForm::MsgpackBin, Pieces::new()),
        Opened::Map(_) => return Err(EnvelopeError::Shape("a map within another")),
        Opened::Other => return Err(EnvelopeError::Shape("no byte array, string or map")),
    };
    Ok(Found { form: Form::Bytes(form), payload, start, end })
}

/// Reads a key of any kind.
fn is_payload_key(input: &mut Reader<'_>) -> Result<bool, EnvelopeError> {
    let mut ahead = input.clone();
    let Opened::Bytes(_, mut key) = open(&mut ahead)? else {
        return pass(input).map(|()| false);
    };
    *input = ahead;
    Ok(key.remaining() == PAYLOAD.len() && key.copy_to_bytes(PAYLOAD.len()) == PAYLOAD)
}

/// Passes over a value of any kind.
fn pass(input: &mut Reader<'_>) -> Result<(), EnvelopeError> {
    let offset = input.offset();
    IgnoredAny::deserialize(&mut rmp_serde::Deserializer::new(input.reader()))
        .map(drop)
        .map_err(|error| EnvelopeError::Msgpack(format!("byte {offset}: {error}")))
}

/// A value of which perhaps only the head has been read.
enum Opened<'a> {
    Null,
    Bytes(BytesForm, Reader<'a>),
    /// So many keys and values follow.
    Map(u32),
    Other,
}

fn open<'a>(input: &mut Reader<'a>) -> Result<Opened<'a>, EnvelopeError> {
    let offset = input.offset();
    opened(input).ok_or_else(|| EnvelopeError::Msgpack(format!("byte {offset}: the input ends within a value")))
}

/// None if the input ends first.
fn opened<'a>(input: &mut Reader<'a>) -> Option<Opened<'a>> {
    let [code] = input.array()?;
    let (form, len) = match Marker::from_u8(code) {
        Marker::Null => return Some(Opened::Null),
        Marker::FixMap(len) => return Some(Opened::Map(len.into())),
        Marker::Map16 => return input.array().map(|len| Opened::Map(u16::from_be_bytes(len).into())),
        Marker::Map32 => return input.array().map(|len| Opened::Map(u32::from_be_bytes(len))),
        Marker::Bin8 => (BytesForm::MsgpackBin, u8::from_be_bytes(input.array()?).into()),
        Marker::Bin16 => (BytesForm::MsgpackBin, u16::from_be_bytes(input.array()?).into()),
        Marker::Bin32 => (BytesForm::MsgpackBin, u32::from_be_bytes(input.array()?)),
        Marker::FixStr(len) => (BytesForm::MsgpackStr, len.into()),
        Marker::Str8 => (BytesForm::MsgpackStr, u8::from_be_bytes(input.array()?).into()),
        Marker::Str16 => (BytesForm::MsgpackStr, u16::from_be_bytes(input.array()?).into()),
        Marker::Str32 => (BytesForm::MsgpackStr, u32::from_be_bytes(input.array()?)),
        _ => return Some(Opened::Other),
    };
    input.split(usize::try_from(len).ok()?).map(|bytes| Opened::Bytes(form, bytes))
}

/// Length of the head of `len` bytes.
pub(super) fn bin_head_len(len: usize) -> usize {
    match len {
        0..=0xff => 2,
        0x100..=0xffff => 3,
        _ => 5,
    }
}

pub(super) fn put_bin_head(len: usize, out: &mut Vec<u8>) {
    match len {
        0..=0xff => out.put_slice(&[Marker::Bin8.to_u8(), len as u8]),
        0x100..=0xffff => {
            out.put_u8(Marker::Bin16.to_u8());
            out.put_u16(len as u16);
        }
        _ => {
            out.put_u8(Marker::Bin32.to_u8());
            out.put_u32(len as u32);
        }
    }
}

/// Length of the head of `len` bytes as a string. The 8-bit length came late to MessagePack; dubbo-go does not write it.
pub(super) fn str_head_len(len: usize) -> usize {
    match len {
        0..=31 => 1,
        32..=0xffff => 3,
        _ => 5,
    }
}

pub(super) fn put_str_head(len: usize, out: &mut Vec<u8>) {
    match len {
        0..=31 => out.put_u8(Marker::FixStr(len as u8).to_u8()),
        32..=0xffff => {
            out.put_u8(Marker::Str16.to_u8());
            out.put_u16(len as u16);
        }
        _ => {
            out.put_u8(Marker::Str32.to_u8());
            out.put_u32(len as u32);
        }
    }
}
