//! Numbers, dates and the constants: each has forms of several lengths, and the shortest that fits is written.

use bytes::BufMut;

use super::{
    code::*,
    error::{DecodeError, DecodeErrorKind},
};
use crate::pieces::Reader;

const MS_PER_MINUTE: i64 = 60_000;

/// `null`.
pub fn encode_null(out: &mut impl BufMut) {
    out.put_u8(NULL);
}

/// A boolean: one byte.
pub fn encode_bool(value: bool, out: &mut impl BufMut) {
    out.put_u8(if value { TRUE } else { FALSE });
}

/// An int: 1, 2, 3 or 5 bytes.
pub fn encode_int(value: i32, out: &mut impl BufMut) {
    match value {
        -0x10..=0x2f => out.put_u8((0x90 + value) as u8),
        -0x800..=0x7ff => out.put_u16((0xc800 + value) as u16),
        -0x4_0000..=0x3_ffff => out.put_uint((0xd4_0000 + value) as u64, 3),
        _ => {
            out.put_u8(INT);
            out.put_i32(value);
        }
    }
}

/// A long: 1, 2, 3, 5 or 9 bytes.
pub fn encode_long(value: i64, out: &mut impl BufMut) {
    match value {
        -8..=15 => out.put_u8((0xe0 + value) as u8),
        -0x800..=0x7ff => out.put_u16((0xf800 + value) as u16),
        -0x4_0000..=0x3_ffff => out.put_uint((0x3c_0000 + value) as u64, 3),
        _ => match i32::try_from(value) {
            Ok(value) => {
                out.put_u8(LONG_INT);
                out.put_i32(value);
            }
            Err(_) => {
                out.put_u8(LONG);
                out.put_i64(value);
            }
        },
    }
}

/// A double: 1, 2, 3, 5 or 9 bytes. Java drops the sign of -0.0; here it is kept, in 9 bytes.
pub fn encode_double(value: f64, out: &mut impl BufMut) {
    let whole = value as i16;
    if value.to_bits() == f64::from(whole).to_bits() {
        match (whole, i8::try_from(whole)) {
            (0, _) => out.put_u8(DOUBLE_ZERO),
            (1, _) => out.put_u8(DOUBLE_ONE),
            (_, Ok(byte)) => out.put_slice(&[DOUBLE_BYTE, byte as u8]),
            _ => {
                out.put_u8(DOUBLE_SHORT);
                out.put_i16(whole);
            }
        }
        return;
    }
    let thousandths = (value * 1000.0) as i32;
    let is_read_so = |read: f64| read.to_bits() == value.to_bits();
    if is_read_so(from_thousandths(thousandths)) && is_read_so(f64::from(thousandths) / 1000.0) {
        out.put_u8(DOUBLE_MILLI);
        out.put_i32(thousandths);
    } else {
        out.put_u8(DOUBLE);
        out.put_f64(value);
    }
}

/// As Java reads them; Go divides by 1000, which differs in the last bit for some: 1001 are 1.0010000000000001 here and 1.001
/// there. Of a double, Java writes them where this gives it exactly, and Go never does.
fn from_thousandths(thousandths: i32) -> f64 {
    f64::from(thousandths) * 0.001
}

/// A date in milliseconds since 1970-01-01T00:00Z: 5 bytes for whole minutes, 9 otherwise.
pub fn encode_date(ms: i64, out: &mut impl BufMut) {
    match i32::try_from(ms / MS_PER_MINUTE) {
        Ok(minutes) if ms % MS_PER_MINUTE == 0 => {
            out.put_u8(DATE_MINUTES);
            out.put_i32(minutes);
        }
        _ => {
            out.put_u8(DATE);
            out.put_i64(ms);
        }
    }
}

/// The next bytes, which must be there.
pub(super) fn array<const N: usize>(input: &mut Reader<'_>) -> Result<[u8; N], DecodeError> {
    let end = input.offset() + bytes::Buf::remaining(input);
    input.array().ok_or(DecodeError { offset: end, kind: DecodeErrorKind::UnexpectedEnd })
}

/// The next byte, which must be there.
pub(super) fn byte(input: &mut Reader<'_>) -> Result<u8, DecodeError> {
    array(input).map(|[byte]| byte)
}

/// A byte just read that cannot stand where it was.
pub(super) fn unexpected(code: u8, expected: &'static str, input: &Reader<'_>) -> DecodeError {
    DecodeError { offset: input.offset() - 1, kind: DecodeErrorKind::UnexpectedCode { code, expected } }
}

/// An int whose first byte was `code`; none if that begins no int.
pub(super) fn int(code: u8, input: &mut Reader<'_>) -> Result<Option<i32>, DecodeError> {
    let first = i32::from(code);
    Ok(Some(match code {
        0x80..=0xbf => first - 0x90,
        0xc0..=0xcf => ((first - 0xc8) << 8) | i32::from(byte(input)?),
        0xd0..=0xd7 => ((first - 0xd4) << 16) | i32::from(u16::from_be_bytes(array(input)?)),
        INT => i32::from_be_bytes(array(input)?),
        _ => return Ok(None),
    }))
}

/// A long whose first byte was `code`; none if that begins no long.
pub(super) fn long(code: u8, input: &mut Reader<'_>) -> Result<Option<i64>, DecodeError> {
    let first = i64::from(code);
    Ok(Some(match code {
        0xd8..=0xef => first - 0xe0,
        0xf0..=0xff => ((first - 0xf8) << 8) | i64::from(byte(input)?),
        0x38..=0x3f => ((first - 0x3c) << 16) | i64::from(u16::from_be_bytes(array(input)?)),
        LONG_INT => i32::from_be_bytes(array(input)?).into(),
        LONG => i64::from_be_bytes(array(input)?),
        _ => return Ok(None),
    }))
}

/// A double whose first byte was `code`; none if that begins no double.
pub(super) fn double(code: u8, input: &mut Reader<'_>) -> Result<Option<f64>, DecodeError> {
    Ok(Some(match code {
        DOUBLE_ZERO => 0.0,
        DOUBLE_ONE => 1.0,
        DOUBLE_BYTE => i8::from_be_bytes(array(input)?).into(),
        DOUBLE_SHORT => i16::from_be_bytes(array(input)?).into(),
        DOUBLE_MILLI => from_thousandths(i32::from_be_bytes(array(input)?)),
        DOUBLE => f64::from_be_bytes(array(input)?),
        _ => return Ok(None),
    }))
}

/// A date whose first byte was `code`; none if that begins no date.
pub(super) fn date(code: u8, input: &mut Reader<'_>) -> Result<Option<i64>, DecodeError> {
    Ok(Some(match code {
        DATE => i64::from_be_bytes(array(input)?),
        DATE_MINUTES => i64::from(i32::from_be_bytes(array(input)?)) * MS_PER_MINUTE,
        _ => return Ok(None),
    }))
}
