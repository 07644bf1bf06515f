//! Writes values in the forms that Java's hessian-lite takes.

use std::{collections::HashMap, sync::Arc};

use bytes::{BufMut, Bytes};
use bytestring::ByteString;

use super::{
    MAX_DEPTH,
    binary::encode_binary,
    code::*,
    error::EncodeError,
    number::{encode_bool, encode_date, encode_double, encode_int, encode_long, encode_null},
    text::encode_str,
    value::{Class, List, Map, Object, Value},
};
use crate::pieces::Reader;

/// The most elements that the codes of short lists can say.
const SHORT_LIST_MAX: usize = 7;
/// The last class that has a code of its own.
const SHORT_OBJECT_MAX: i32 = 15;

/// The bytes of one value.
///
/// # Errors
/// As [`Encoder::value`].
pub fn encode(value: &Value) -> Result<Bytes, EncodeError> {
    let mut encoder = Encoder::default();
    encoder.value(value)?;
    Ok(encoder.finish())
}

/// Writes values one after the other. Classes, types and references count through all of them, as in one message of Dubbo.
#[derive(Debug, Default)]
pub struct Encoder {
    out: Vec<u8>,
    classes: HashMap<Arc<Class>, i32>,
    types: HashMap<ByteString, i32>,
    /// Lists, maps and objects begun so far.
    begun: u32,
    depth: usize,
}

impl Encoder {
    /// Writes a value. After an error what was written is of no use.
    ///
    /// # Errors
    /// The value cannot be written: see [`EncodeError`].
    pub fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        let out = &mut self.out;
        match value {
            Value::Null => encode_null(out),
            Value::Bool(value) => encode_bool(*value, out),
            Value::Int(value) => encode_int(*value, out),
            Value::Long(value) => encode_long(*value, out),
            Value::Double(value) => encode_double(*value, out),
            Value::Date(ms) => encode_date(*ms, out),
            Value::String(text) => encode_str(text, out),
            Value::Binary(binary) => encode_binary(Reader::new(&binary.0), out),
            Value::List(list) => self.nested(|it| it.list(list))?,
            Value::Map(map) => self.nested(|it| it.map(map))?,
            Value::Object(object) => self.object(object)?,
            Value::Reference(index) => self.reference(*index)?,
        }
        Ok(())
    }

    /// All that was written.
    pub fn finish(self) -> Bytes {
        self.out.into()
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        if self.depth == MAX_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        self.begun += 1;
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn list(&mut self, List { type_name, values }: &List) -> Result<(), EncodeError> {
        let short = (values.len() <= SHORT_LIST_MAX).then_some(values.len() as u8);
        match (type_name, short) {
            (None, Some(len)) => self.out.put_u8(SHORT_LIST + len),
            (None, None) => self.out.put_u8(LIST),
            (Some(_), Some(len)) => self.out.put_u8(SHORT_TYPED_LIST + len),
            (Some(_), None) => self.out.put_u8(TYPED_LIST),
        }
        if let Some(name) = type_name {
            self.type_name(name)?;
        }
        if short.is_none() {
            encode_int(index(values.len())?, &mut self.out);
        }
        self.values(values)
    }

    fn map(&mut self, Map { type_name, entries }: &Map) -> Result<(), EncodeError> {
        match type_name {
            None => self.out.put_u8(MAP),
            Some(name) => {
                self.out.put_u8(TYPED_MAP);
                self.type_name(name)?;
            }
        }
        for (key, value) in entries {
            self.value(key)?;
            self.value(value)?;
        }
        self.out.put_u8(END);
        Ok(())
    }

    fn object(&mut self, Object { class, values }: &Object) -> Result<(), EncodeError> {
        if values.len() != class.fields.len() {
            let (fields, values) = (class.fields.len(), values.len());
            return Err(EncodeError::FieldCount { class: class.name.to_string(), fields, values });
        }
        let number = match self.classes.get(class) {
            Some(number) => *number,
            None => self.class_definition(class)?,
        };
        if number <= SHORT_OBJECT_MAX {
            self.out.put_u8(SHORT_OBJECT + number as u8);
        } else {
            self.out.put_u8(OBJECT);
            encode_int(number, &mut self.out);
        }
        self.nested(|it| it.values(values))
    }

    fn class_definition(&mut self, class: &Arc<Class>) -> Result<i32, EncodeError> {
        self.out.put_u8(CLASS);
        encode_str(&class.name, &mut self.out);
        encode_int(index(class.fields.len())?, &mut self.out);
        class.fields.iter().for_each(|field| encode_str(field, &mut self.out));
        let number = index(self.classes.len())?;
        self.classes.insert(Arc::clone(class), number);
        Ok(number)
    }

    fn values(&mut self, values: &[Value]) -> Result<(), EncodeError> {
        values.iter().try_for_each(|value| self.value(value))
    }

    fn type_name(&mut self, name: &ByteString) -> Result<(), EncodeError> {
        if let Some(number) = self.types.get(name) {
            encode_int(*number, &mut self.out);
        } else {
            encode_str(name, &mut self.out);
            self.types.insert(name.clone(), index(self.types.len())?);
        }
        Ok(())
    }

    fn reference(&mut self, index: u32) -> Result<(), EncodeError> {
        match i32::try_from(index) {
            Ok(number) if index < self.begun => {
                self.out.put_u8(REFERENCE);
                encode_int(number, &mut self.out);
                Ok(())
            }
            _ => Err(EncodeError::UnknownReference { index, known: self.begun }),
        }
    }
}

fn index(len: usize) -> Result<i32, EncodeError> {
    i32::try_from(len).map_err(|_| EncodeError::TooLong(len))
}
