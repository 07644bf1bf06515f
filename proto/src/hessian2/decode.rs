//! Reads values, whatever peer wrote them.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use bytestring::ByteString;

use super::{
    MAX_DEPTH, MAX_NAMES,
    binary::binary,
    code::*,
    error::{DecodeError, DecodeErrorKind},
    number::{byte, date, double, int, long, unexpected},
    text::{expect_string, string},
    value::{Binary, Class, List, Map, Object, Value},
};
use crate::pieces::Reader;

/// Elements a list has room for before the first is read: a length is only a claim.
const RESERVED: usize = 16;

/// Reads an input that is one value.
///
/// # Errors
/// The input is no value, or more than one.
pub fn decode(input: &[Bytes]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder::new(input);
    let value = decoder.value()?;
    match decoder.remaining() {
        0 => Ok(value),
        rest => Err(decoder.fault(decoder.offset(), DecodeErrorKind::TrailingBytes(rest))),
    }
}

/// A value of which perhaps only the head has been read.
pub(crate) enum Opened {
    /// The values of the fields follow.
    Object(Arc<Class>),
    /// Keys and values follow, until [`Decoder::at_end`].
    Map,
    /// Nothing of it follows.
    Value(Value),
}

/// Reads values one after the other. Classes, types and references count through all of them, as in one message of Dubbo.
#[derive(Debug)]
pub struct Decoder<'a> {
    input: Reader<'a>,
    classes: Vec<Arc<Class>>,
    types: Vec<ByteString>,
    /// Classes, fields and types named so far.
    names: usize,
    /// Lists, maps and objects begun so far.
    begun: usize,
    depth: usize,
    /// Whether lists, maps and objects hold their values.
    keeps: bool,
}

impl<'a> Decoder<'a> {
    /// Reads from the first byte of these pieces on.
    pub fn new(input: &'a [Bytes]) -> Self {
        Self::from(Reader::new(input))
    }

    /// The same, but every list, map and object that is read comes out empty: its values are checked as they would be and
    /// thrown away. A [`Value`] takes about a hundred bytes where the input may have one, so that this is the way to read what
    /// is not trusted and not wanted.
    pub fn shallow(input: &'a [Bytes]) -> Self {
        Self::from(Reader::new(input)).discarding()
    }

    pub(crate) fn discarding(self) -> Self {
        Self { keeps: false, ..self }
    }

    /// Position of the next byte.
    pub fn offset(&self) -> usize {
        self.input.offset()
    }

    /// Bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.input.remaining()
    }

    /// Reads the next value. After an error the decoder is of no more use.
    ///
    /// # Errors
    /// There is no value, not a whole one, or none that this crate can hold: see [`DecodeErrorKind`].
    pub fn value(&mut self) -> Result<Value, DecodeError> {
        let code = self.code()?;
        self.value_of(code)
    }

    /// Reads the head of an object or map, so that its values can be read one by one; whole, if the next value is another.
    pub(crate) fn open(&mut self) -> Result<Opened, DecodeError> {
        let class = match self.code()? {
            OBJECT => self.int()?,
            code @ SHORT_OBJECT..=0x6f => i32::from(code - SHORT_OBJECT),
            code @ (MAP | TYPED_MAP) => {
                if code == TYPED_MAP {
                    self.type_name()?;
                }
                self.begun += 1;
                return Ok(Opened::Map);
            }
            code => return self.value_of(code).map(Opened::Value),
        };
        self.begun += 1;
        self.known("class", class, &self.classes).cloned().map(Opened::Object)
    }

    /// The code of the next value.
    fn code(&mut self) -> Result<u8, DecodeError> {
        self.definitions()?;
        byte(&mut self.input)
    }

    /// Reads the definitions of classes that may stand before a value. They hold for all that follows, and not for that value
    /// alone.
    pub(crate) fn definitions(&mut self) -> Result<(), DecodeError> {
        while self.input.chunk().first() == Some(&CLASS) {
            self.input.advance(1);
            self.class_definition()?;
        }
        Ok(())
    }

    fn value_of(&mut self, code: u8) -> Result<Value, DecodeError> {
        let input = &mut self.input;
        match code {
            NULL => Ok(Value::Null),
            TRUE => Ok(Value::Bool(true)),
            FALSE => Ok(Value::Bool(false)),
            REFERENCE => self.reference(),
            MAP => self.nested(|it| it.map(None)),
            TYPED_MAP => self.nested(|it| {
                let type_name = it.type_name()?;
                it.map(Some(type_name))
            }),
            OPEN_LIST => self.nested(|it| it.open_list(None)),
            TYPED_OPEN_LIST => self.nested(|it| {
                let type_name = it.type_name()?;
                it.open_list(Some(type_name))
            }),
            LIST => self.nested(|it| {
                let len = it.length()?;
                it.list(None, len)
            }),
            TYPED_LIST => self.nested(|it| {
                let type_name = it.type_name()?;
                let len = it.length()?;
                it.list(Some(type_name), len)
            }),
            SHORT_LIST..=0x7f => self.nested(|it| it.list(None, usize::from(code - SHORT_LIST))),
            SHORT_TYPED_LIST..=0x77 => self.nested(|it| {
                let type_name = it.type_name()?;
                it.list(Some(type_name), usize::from(code - SHORT_TYPED_LIST))
            }),
            OBJECT => {
                let class = self.int()?;
                self.nested(|it| it.object(class))
            }
            SHORT_OBJECT..=0x6f => self.nested(|it| it.object(i32::from(code - SHORT_OBJECT))),
            _ => {
                if let Some(value) = int(code, input)? {
                    Ok(Value::Int(value))
                } else if let Some(value) = long(code, input)? {
                    Ok(Value::Long(value))
                } else if let Some(value) = double(code, input)? {
                    Ok(Value::Double(value))
                } else if let Some(ms) = date(code, input)? {
                    Ok(Value::Date(ms))
                } else if let Some(text) = string(code, input)? {
                    Ok(Value::String(text))
                } else if let Some(bytes) = binary(code, input)? {
                    Ok(Value::Binary(Binary(bytes)))
                } else {
                    Err(unexpected(code, "a value", input))
                }
            }
        }
    }

    /// A list, map or object: it takes the next number for references, and lies one deeper.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Value, DecodeError>) -> Result<Value, DecodeError> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault(self.offset() - 1, DecodeErrorKind::TooDeep));
        }
        self.begun += 1;
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self, type_name: Option<ByteString>, len: usize) -> Result<Value, DecodeError> {
        let values = self.values(len)?;
        Ok(Value::List(List { type_name, values }))
    }

    fn open_list(&mut self, type_name: Option<ByteString>) -> Result<Value, DecodeError> {
        let mut values = Vec::new();
        while !self.at_end()? {
            let value = self.value()?;
            if self.keeps {
                values.push(value);
            }
        }
        Ok(Value::List(List { type_name, values }))
    }

    fn map(&mut self, type_name: Option<ByteString>) -> Result<Value, DecodeError> {
        let mut entries = Vec::new();
        while !self.at_end()? {
            let entry = (self.value()?, self.value()?);
            if self.keeps {
                entries.push(entry);
            }
        }
        Ok(Value::Map(Map { type_name, entries }))
    }

    fn object(&mut self, class: i32) -> Result<Value, DecodeError> {
        let class = Arc::clone(self.known("class", class, &self.classes)?);
        let values = self.values(class.fields.len())?;
        Ok(Value::Object(Object { class, values }))
    }

    fn values(&mut self, len: usize) -> Result<Vec<Value>, DecodeError> {
        self.enough_for(len)?;
        let mut values = Vec::with_capacity(if self.keeps { len.min(RESERVED) } else { 0 });
        for _ in 0..len {
            let value = self.value()?;
            if self.keeps {
                values.push(value);
            }
        }
        Ok(values)
    }

    fn class_definition(&mut self) -> Result<(), DecodeError> {
        let name = expect_string(&mut self.input)?;
        let count = self.length()?;
        self.enough_for(count)?;
        self.named(count.saturating_add(1))?;
        let mut fields = Vec::with_capacity(count.min(RESERVED));
        for _ in 0..count {
            fields.push(expect_string(&mut self.input)?);
        }
        self.classes.push(Arc::new(Class { name, fields }));
        Ok(())
    }

    /// A type is written out once, and from then on by its number.
    fn type_name(&mut self) -> Result<ByteString, DecodeError> {
        let code = byte(&mut self.input)?;
        if let Some(index) = int(code, &mut self.input)? {
            return self.known("type", index, &self.types).cloned();
        }
        let name = string(code, &mut self.input)?.ok_or_else(|| unexpected(code, "a type", &self.input))?;
        self.named(1)?;
        self.types.push(name.clone());
        Ok(name)
    }

    /// Counts names that are about to be kept.
    fn named(&mut self, count: usize) -> Result<(), DecodeError> {
        self.names = self.names.saturating_add(count);
        if self.names > MAX_NAMES {
            return Err(self.fault(self.offset() - 1, DecodeErrorKind::TooManyNames));
        }
        Ok(())
    }

    fn reference(&mut self) -> Result<Value, DecodeError> {
        let index = self.int()?;
        match u32::try_from(index) {
            Ok(number) if (number as usize) < self.begun => Ok(Value::Reference(number)),
            _ => Err(self.unknown("reference", index, self.begun)),
        }
    }

    /// Whether the end of an open list or map stands next; if so, it is passed.
    pub(crate) fn at_end(&mut self) -> Result<bool, DecodeError> {
        match self.input.chunk().first() {
            Some(&END) => {
                self.input.advance(1);
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Err(self.fault(self.offset(), DecodeErrorKind::UnexpectedEnd)),
        }
    }

    fn int(&mut self) -> Result<i32, DecodeError> {
        let code = byte(&mut self.input)?;
        int(code, &mut self.input)?.ok_or_else(|| unexpected(code, "an int", &self.input))
    }

    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = self.int()?;
        usize::try_from(length).map_err(|_| self.fault(self.offset() - 1, DecodeErrorKind::NegativeLength(length)))
    }

    /// A value is a byte at least.
    fn enough_for(&self, values: usize) -> Result<(), DecodeError> {
        if values > self.remaining() {
            return Err(self.fault(self.offset() + self.remaining(), DecodeErrorKind::UnexpectedEnd));
        }
        Ok(())
    }

    fn known<'t, T>(&self, what: &'static str, index: i32, table: &'t [T]) -> Result<&'t T, DecodeError> {
        let entry = usize::try_from(index).ok().and_then(|index| table.get(index));
        entry.ok_or_else(|| self.unknown(what, index, table.len()))
    }

    fn unknown(&self, what: &'static str, index: i32, known: usize) -> DecodeError {
        self.fault(self.offset() - 1, DecodeErrorKind::UnknownIndex { what, index, known })
    }

    fn fault(&self, offset: usize, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { offset, kind }
    }
}

impl<'a> From<Reader<'a>> for Decoder<'a> {
    fn from(input: Reader<'a>) -> Self {
        Self { input, classes: Vec::new(), types: Vec::new(), names: 0, begun: 0, depth: 0, keeps: true }
    }
}
