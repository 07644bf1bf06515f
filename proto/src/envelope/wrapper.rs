//! The envelope itself. Its fields are read by hand, because prost would copy an argument that lies in several pieces.

use bytes::{Buf, BufMut, Bytes};
use prost::encoding::{WireType, decode_varint, encode_key, encode_varint, encoded_len_varint};

use super::{EnvelopeError, NAMES, Serialization};
use crate::pieces::Reader;

const SERIALIZE_TYPE: u32 = 1;
const ARGUMENT: u32 = 2;
const ARGUMENT_TYPE: u32 = 3;
/// Each of the fields above has a key of one byte.
const KEY_LEN: usize = 1;
/// A `serializeType` of this length or more is quoted in part.
const LONGEST_QUOTE: usize = 64;

/// An envelope with one argument.
#[derive(Debug, Clone)]
pub(super) struct Wrapper<'a> {
    pub(super) serialization: Serialization,
    pub(super) serialize_type: &'static str,
    pub(super) argument: Reader<'a>,
    pub(super) argument_type: Option<Reader<'a>>,
}

/// Whether a message begins as an envelope and no other message does.
pub(super) fn begins(mut message: Reader<'_>) -> bool {
    let named = delimited(&mut message, SERIALIZE_TYPE).and_then(name).is_some();
    let next = message.chunk().first().copied();
    named && (next == Some(key(ARGUMENT)) || next == Some(key(ARGUMENT_TYPE)))
}

/// Reads the fields. Unknown ones are passed over; of a field that may stand once, the last counts.
pub(super) fn decode(mut message: Reader<'_>) -> Result<Wrapper<'_>, EnvelopeError> {
    let (mut serialize_type, mut argument, mut argument_type, mut arguments) = (None, None, None, 0);
    while message.has_remaining() {
        let offset = message.offset();
        match field(&mut message).ok_or(EnvelopeError::Protobuf { offset })? {
            (SERIALIZE_TYPE, Some(bytes)) => serialize_type = Some(bytes),
            (ARGUMENT, Some(bytes)) => {
                argument = Some(bytes);
                arguments += 1;
            }
            (ARGUMENT_TYPE, Some(bytes)) => argument_type = Some(bytes),
            _ => {}
        }
    }
    let (serialize_type, serialization) = match serialize_type {
        Some(bytes) => name(bytes.clone()).ok_or_else(|| EnvelopeError::SerializeType(quote(bytes)))?,
        None => return Err(EnvelopeError::SerializeType(String::new())),
    };
    match argument {
        Some(argument) if arguments == 1 && argument.has_remaining() => {
            Ok(Wrapper { serialization, serialize_type, argument, argument_type })
        }
        _ if arguments > 1 => Err(EnvelopeError::Arguments(arguments)),
        _ => Err(EnvelopeError::NoArgument),
    }
}

/// The next field: its number, and its bytes if it is length-delimited.
fn field<'a>(message: &mut Reader<'a>) -> Option<(u32, Option<Reader<'a>>)> {
    let key = u32::try_from(decode_varint(message).ok()?).ok()?;
    let number = key >> 3;
    let passed = match WireType::try_from(u64::from(key & 7)).ok()? {
        WireType::LengthDelimited => {
            let len = usize::try_from(decode_varint(message).ok()?).ok()?;
            return message.split(len).map(|bytes| (number, Some(bytes)));
        }
        WireType::Varint => decode_varint(message).ok().map(drop),
        WireType::SixtyFourBit => message.split(8).map(drop),
        WireType::ThirtyTwoBit => message.split(4).map(drop),
        WireType::StartGroup | WireType::EndGroup => None,
    };
    passed.map(|()| (number, None))
}

/// The next field's bytes, if it is this one.
fn delimited<'a>(message: &mut Reader<'a>, number: u32) -> Option<Reader<'a>> {
    if message.chunk().first() != Some(&key(number)) {
        return None;
    }
    field(message)?.1
}

fn name(bytes: Reader<'_>) -> Option<(&'static str, Serialization)> {
    let is = |name: &str| bytes.remaining() == name.len() && bytes.clone().copy_to_bytes(name.len()) == name.as_bytes();
    NAMES.into_iter().find(|(name, _)| is(name))
}

fn quote(mut bytes: Reader<'_>) -> String {
    let shown = bytes.remaining().min(LONGEST_QUOTE);
    String::from_utf8_lossy(&bytes.copy_to_bytes(shown)).into_owned()
}

/// The key of a length-delimited field.
const fn key(number: u32) -> u8 {
    (number << 3) as u8 | WireType::LengthDelimited as u8
}

/// A message whose argument is written by `encode_argument`, in `argument_len` bytes.
pub(super) fn encode(
    serialize_type: &str,
    argument_type: Option<impl Buf>,
    argument_len: usize,
    encode_argument: impl FnOnce(&mut Vec<u8>),
) -> Bytes {
    let type_len = argument_type.as_ref().map_or(0, |it| field_len(it.remaining()));
    let len = field_len(serialize_type.len()) + field_len(argument_len) + type_len;
    let mut out = Vec::with_capacity(len);
    put_head(SERIALIZE_TYPE, serialize_type.len(), &mut out);
    out.put_slice(serialize_type.as_bytes());
    put_head(ARGUMENT, argument_len, &mut out);
    encode_argument(&mut out);
    if let Some(name) = argument_type {
        put_head(ARGUMENT_TYPE, name.remaining(), &mut out);
        out.put(name);
    }
    debug_assert_eq!(out.len(), len, "the length is known beforehand");
    out.into()
}

fn field_len(len: usize) -> usize {
    KEY_LEN + encoded_len_varint(len as u64) + len
}

fn put_head(number: u32, len: usize, out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(len as u64, out);
}
