//! Strings: lengths in UTF-16 units, characters in CESU-8, in a final chunk after as many others as it takes.

use bytes::{Buf, BufMut, Bytes};
use bytestring::ByteString;

use super::{
    code::*,
    error::{DecodeError, DecodeErrorKind},
    number::{array, byte, unexpected},
};
use crate::pieces::Reader;

/// Java cuts here, or one unit before where this would cut a surrogate pair.
const CHUNK_UNITS: usize = 0x8000;
/// Bytes of a unit at most.
const UNIT_BYTES: usize = 3;
/// The least first byte of a character beyond U+FFFF: four bytes of UTF-8, six of CESU-8.
const BEYOND_16_BITS: u8 = 0xf0;

/// Bytes that [`encode_str`] writes for `text`.
pub fn encoded_str_len(text: &str) -> usize {
    chunks(text).map(|chunk| chunk.head_len() + cesu8_len(chunk.text)).sum()
}

/// Writes a string: chunks of 32768 units, and the rest in the shortest form.
pub fn encode_str(text: &str, out: &mut impl BufMut) {
    for chunk in chunks(text) {
        match chunk.head_len() {
            1 => out.put_u8(chunk.units as u8),
            2 => out.put_u16(0x3000 + chunk.units as u16),
            _ => {
                out.put_u8(if chunk.last { STRING } else { STRING_CHUNK });
                out.put_u16(chunk.units as u16);
            }
        }
        put_cesu8(chunk.text, out);
    }
}

/// What is written behind one head.
struct Chunk<'a> {
    text: &'a str,
    units: usize,
    last: bool,
}

impl Chunk<'_> {
    fn head_len(&self) -> usize {
        match self.units {
            0..=31 if self.last => 1,
            0..=1023 if self.last => 2,
            _ => 3,
        }
    }
}

/// The chunks of a string: one at least, and exactly one is the last.
fn chunks(text: &str) -> impl Iterator<Item = Chunk<'_>> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let (len, units) = longest_chunk(text);
        let (text, behind) = text.split_at(len);
        rest = (!behind.is_empty()).then_some(behind);
        Some(Chunk { text, units, last: rest.is_none() })
    })
}

/// Bytes and units of the longest beginning of `text` that a chunk may hold.
fn longest_chunk(text: &str) -> (usize, usize) {
    let front = &text.as_bytes()[..text.len().min(CHUNK_UNITS)];
    if front.is_ascii() {
        return (front.len(), front.len());
    }
    let mut units = 0;
    for (at, character) in text.char_indices() {
        if units + character.len_utf16() > CHUNK_UNITS {
            return (at, units);
        }
        units += character.len_utf16();
    }
    (text.len(), units)
}

fn cesu8_len(text: &str) -> usize {
    text.len() + 2 * text.bytes().filter(|&byte| byte >= BEYOND_16_BITS).count()
}

fn put_cesu8(mut text: &str, out: &mut impl BufMut) {
    while let Some(at) = text.bytes().position(|byte| byte >= BEYOND_16_BITS) {
        let (front, back) = text.split_at(at);
        out.put_slice(front.as_bytes());
        let mut back = back.chars();
        if let Some(character) = back.next() {
            character.encode_utf16(&mut [0; 2]).iter().for_each(|&unit| put_unit(unit, out));
        }
        text = back.as_str();
    }
    out.put_slice(text.as_bytes());
}

fn put_unit(unit: u16, out: &mut impl BufMut) {
    out.put_slice(&[0xe0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]);
}

/// A string whose first byte was `code`; none if that begins no string.
pub(super) fn string(code: u8, input: &mut Reader<'_>) -> Result<Option<ByteString>, DecodeError> {
    if !matches!(code, 0x00..=0x1f | 0x30..=0x33 | STRING_CHUNK | STRING) {
        return Ok(None);
    }
    let (offset, bytes, last) = chunk(code, input)?;
    if last && let Ok(text) = ByteString::try_from(bytes.clone()) {
        return Ok(Some(text));
    }
    let mut joined = Joined::default();
    joined.push(offset, &bytes)?;
    let mut done = last;
    while !done {
        let code = byte(input)?;
        let (offset, bytes, last) = chunk(code, input)?;
        joined.push(offset, &bytes)?;
        done = last;
    }
    joined.finish().map(Some)
}

/// A string, which must stand here.
pub(super) fn expect_string(input: &mut Reader<'_>) -> Result<ByteString, DecodeError> {
    let code = byte(input)?;
    string(code, input)?.ok_or_else(|| unexpected(code, "a string", input))
}

/// Position and bytes of a chunk whose first byte was `code`, and whether it is the last.
fn chunk(code: u8, input: &mut Reader<'_>) -> Result<(usize, Bytes, bool), DecodeError> {
    let (units, last) = match code {
        0x00..=0x1f => (usize::from(code), true),
        0x30..=0x33 => (usize::from(code - 0x30) << 8 | usize::from(byte(input)?), true),
        STRING | STRING_CHUNK => (usize::from(u16::from_be_bytes(array(input)?)), code == STRING),
        _ => return Err(unexpected(code, "the rest of a string", input)),
    };
    Ok((input.offset(), take_units(units, input)?, last))
}

/// The bytes of that many units: a slice of the input unless a border of pieces lies within.
fn take_units(units: usize, input: &mut Reader<'_>) -> Result<Bytes, DecodeError> {
    if input.chunk().get(..units).is_some_and(<[u8]>::is_ascii) {
        return Ok(input.copy_to_bytes(units));
    }
    let fault = |offset, kind| Err(DecodeError { offset, kind });
    let offset = input.offset();
    let at_hand = input.remaining().min(units * UNIT_BYTES);
    let ahead = if input.chunk().len() < at_hand { input.clone().copy_to_bytes(at_hand) } else { Bytes::new() };
    match units_len(if ahead.is_empty() { input.chunk() } else { &ahead }, units) {
        Ok(Some(len)) => Ok(input.copy_to_bytes(len)),
        Ok(None) => fault(offset + input.remaining(), DecodeErrorKind::UnexpectedEnd),
        Err(at) => fault(offset + at, DecodeErrorKind::InvalidUtf8),
    }
}

/// How many bytes hold that many units; none if there are fewer.
///
/// # Errors
/// The position of a byte that begins no character, or one too long for the units left.
fn units_len(bytes: &[u8], mut units: usize) -> Result<Option<usize>, usize> {
    let mut at = 0;
    while units > 0 {
        let Some(first) = bytes.get(at) else { return Ok(None) };
        let (len, of_units) = match first {
            0x00..=0x7f => (1, 1),
            0xc0..=0xdf => (2, 1),
            0xe0..=0xef => (3, 1),
            0xf0..=0xf7 if units > 1 => (4, 2),
            _ => return Err(at),
        };
        at += len;
        units -= of_units;
    }
    Ok((at <= bytes.len()).then_some(at))
}

/// A string put together of chunks and of surrogate pairs, which chunks may cut.
#[derive(Default)]
struct Joined {
    text: String,
    /// The first half of a pair, and where it stood.
    high: Option<(u16, usize)>,
}

impl Joined {
    fn push(&mut self, mut offset: usize, mut bytes: &[u8]) -> Result<(), DecodeError> {
        while let Some(chunk) = bytes.utf8_chunks().next() {
            if !chunk.valid().is_empty() {
                self.no_half()?;
                self.text.push_str(chunk.valid());
            }
            bytes = &bytes[chunk.valid().len()..];
            offset += chunk.valid().len();
            match *bytes {
                [] => {}
                [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ref rest @ ..] => {
                    self.surrogate(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f), offset)?;
                    bytes = rest;
                    offset += UNIT_BYTES;
                }
                _ => return Err(DecodeError { offset, kind: DecodeErrorKind::InvalidUtf8 }),
            }
        }
        Ok(())
    }

    fn surrogate(&mut self, unit: u16, offset: usize) -> Result<(), DecodeError> {
        match (self.high.take(), unit) {
            (None, 0xd800..=0xdbff) => self.high = Some((unit, offset)),
            (Some((high, _)), 0xdc00..=0xdfff) => {
                let pair = char::decode_utf16([high, unit]).next();
                self.text.extend(pair.and_then(Result::ok));
            }
            (high, _) => return Err(unpaired(high.map_or(offset, |(_, at)| at))),
        }
        Ok(())
    }

    fn no_half(&self) -> Result<(), DecodeError> {
        self.high.map_or(Ok(()), |(_, offset)| Err(unpaired(offset)))
    }

    fn finish(self) -> Result<ByteString, DecodeError> {
        self.no_half()?;
        Ok(self.text.into())
    }
}

fn unpaired(offset: usize) -> DecodeError {
    DecodeError { offset, kind: DecodeErrorKind::UnpairedSurrogate }
}
