//! Finds the payload in a Hessian argument.

use super::{
    EnvelopeError,
    form::{BytesForm, Form, Found, PAYLOAD},
};
use crate::{
    hessian2::{DecodeError, DecodeErrorKind, Decoder, Opened, Value},
    pieces::{Pieces, Reader},
};

/// Reads the argument to its end. What is no payload is checked and thrown away: it may be millions of values.
pub(super) fn find(argument: Reader<'_>) -> Result<Found, EnvelopeError> {
    let mut decoder = Decoder::from(argument).discarding();
    decoder.definitions()?;
    let begin = decoder.offset();
    let found = match decoder.open()? {
        Opened::Object(class) => {
            let mut found = None;
            for field in &class.fields {
                let (value, start) = value(&mut decoder)?;
                if *field == *PAYLOAD {
                    found = Some(payload(value, start, decoder.offset())?);
                }
            }
            found.ok_or(EnvelopeError::Shape("an object without a \"payload\""))?
        }
        Opened::Map => {
            let mut found = None;
            while !decoder.at_end()? {
                let key = decoder.value()?;
                let (value, start) = value(&mut decoder)?;
                if matches!(key, Value::String(key) if *key == *PAYLOAD) {
                    found = Some(payload(value, start, decoder.offset())?);
                }
            }
            found.ok_or(EnvelopeError::Shape("a map without a \"payload\""))?
        }
        Opened::Value(Value::Null) => return Err(EnvelopeError::Shape("null")),
        Opened::Value(value) => payload(value, begin, decoder.offset())?,
    };
    match decoder.remaining() {
        0 => Ok(found),
        rest => Err(DecodeError { offset: decoder.offset(), kind: DecodeErrorKind::TrailingBytes(rest) }.into()),
    }
}

/// The next value and where it begins: behind the definitions before it, which what follows may need.
fn value(decoder: &mut Decoder<'_>) -> Result<(Value, usize), DecodeError> {
    decoder.definitions()?;
    let start = decoder.offset();
    Ok((decoder.value()?, start))
}

/// The payload that a value is; a null is an empty one.
fn payload(value: Value, start: usize, end: usize) -> Result<Found, EnvelopeError> {
    let (form, payload) = match value {
        Value::Binary(binary) => (Form::Bytes(BytesForm::HessianBinary), binary.0),
        Value::Null => (Form::Bytes(BytesForm::HessianBinary), Pieces::new()),
        Value::String(text) if text.is_empty() => (Form::HessianString, Pieces::new()),
        Value::String(text) => (Form::HessianString, Pieces::from_iter([text.into_bytes()])),
        Value::Bool(_) => return Err(EnvelopeError::Shape("a boolean")),
        Value::Int(_) | Value::Long(_) | Value::Double(_) => return Err(EnvelopeError::Shape("a number")),
        Value::Date(_) => return Err(EnvelopeError::Shape("a date")),
        Value::List(_) => return Err(EnvelopeError::Shape("a list")),
        Value::Map(_) | Value::Object(_) | Value::Reference(_) => {
            return Err(EnvelopeError::Shape("an object or map within another"));
        }
    };
    Ok(Found { form, payload, start, end })
}
