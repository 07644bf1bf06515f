//! Byte arrays: a final chunk, after as many others as it takes.

use bytes::{Buf, BufMut, Bytes};

use super::{
    code::*,
    error::{DecodeError, DecodeErrorKind},
    number::{array, byte, unexpected},
};
use crate::pieces::{Pieces, Reader};

/// Most slices that are kept as they are, however short.
const MOST_SHORT_SLICES: usize = 16;
/// A slice that is worth keeping, in bytes, on average: one takes 32 bytes itself.
const WORTHY_SLICE: usize = 256;
/// What Java writes as one chunk: its buffer of 8192 bytes less the chunk's head.
const CHUNK: usize = 8192 - CHUNK_HEAD;
/// The code and a 16-bit length.
const CHUNK_HEAD: usize = 3;

/// Bytes that [`encode_binary`] writes for a byte array of `len` bytes.
pub const fn encoded_binary_len(len: usize) -> usize {
    let (full, last) = chunks(len);
    full * (CHUNK_HEAD + CHUNK) + last_head_len(last) + last
}

/// Writes a byte array: chunks of 8189 bytes, and the rest in the shortest form.
pub fn encode_binary(mut bytes: impl Buf, out: &mut impl BufMut) {
    let (full, last) = chunks(bytes.remaining());
    for _ in 0..full {
        out.put_u8(BINARY_CHUNK);
        out.put_u16(CHUNK as u16);
        out.put((&mut bytes).take(CHUNK));
    }
    match last_head_len(last) {
        1 => out.put_u8(0x20 + last as u8),
        2 => out.put_u16(0x3400 + last as u16),
        _ => {
            out.put_u8(BINARY);
            out.put_u16(last as u16);
        }
    }
    out.put(bytes);
}

/// Number of full chunks, and the length of the final one.
const fn chunks(len: usize) -> (usize, usize) {
    let full = len.saturating_sub(1) / CHUNK;
    (full, len - full * CHUNK)
}

const fn last_head_len(last: usize) -> usize {
    match last {
        0..=15 => 1,
        16..=1023 => 2,
        _ => CHUNK_HEAD,
    }
}

/// Reads an input that is one byte array. The slices are those of the input, without a copy, unless they are many and short.
///
/// # Errors
/// The input is something else, or more than that.
pub fn decode_binary(input: &[Bytes]) -> Result<Pieces, DecodeError> {
    let mut input = Reader::new(input);
    let code = byte(&mut input)?;
    let pieces = binary(code, &mut input)?.ok_or_else(|| unexpected(code, "a byte array", &input))?;
    match input.remaining() {
        0 => Ok(pieces),
        rest => Err(DecodeError { offset: input.offset(), kind: DecodeErrorKind::TrailingBytes(rest) }),
    }
}

/// A byte array whose first byte was `code`; none if that begins no byte array.
pub(super) fn binary(code: u8, input: &mut Reader<'_>) -> Result<Option<Pieces>, DecodeError> {
    if !matches!(code, 0x20..=0x2f | 0x34..=0x37 | BINARY_CHUNK | BINARY) {
        return Ok(None);
    }
    // Counted first, so that one allocation holds the slices. What is counted is there: no claim is believed.
    let (mut slices, mut len) = (0, 0);
    for_each_chunk(code, &mut input.clone(), |chunk| {
        len += chunk.remaining();
        slices += chunk.slices();
    })?;
    if slices > MOST_SHORT_SLICES && len / slices < WORTHY_SLICE {
        let mut whole = Vec::with_capacity(len);
        for_each_chunk(code, input, |chunk| whole.put(chunk))?;
        return Ok(Some(Pieces::from_iter([Bytes::from(whole)])));
    }
    let mut pieces = Pieces::with_capacity(slices);
    for_each_chunk(code, input, |chunk| chunk.take_slices(&mut pieces))?;
    Ok(Some(pieces))
}

fn for_each_chunk<'a>(
    mut code: u8,
    input: &mut Reader<'a>,
    mut each: impl FnMut(Reader<'a>),
) -> Result<(), DecodeError> {
    loop {
        let (len, last) = match code {
            0x20..=0x2f => (usize::from(code - 0x20), true),
            0x34..=0x37 => (usize::from(code - 0x34) << 8 | usize::from(byte(input)?), true),
            BINARY | BINARY_CHUNK => (usize::from(u16::from_be_bytes(array(input)?)), code == BINARY),
            _ => return Err(unexpected(code, "the rest of a byte array", input)),
        };
        let end = input.offset() + input.remaining();
        each(input.split(len).ok_or(DecodeError { offset: end, kind: DecodeErrorKind::UnexpectedEnd })?);
        if last {
            return Ok(());
        }
        code = byte(input)?;
    }
}
