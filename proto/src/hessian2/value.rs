//! A value of any kind.

use std::sync::Arc;

use bytes::Buf;
use bytestring::ByteString;

use crate::pieces::{Pieces, Reader};

/// A Hessian value. Strings and binaries share memory with the input they were read from where the wire allows.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, and a method without a result.
    Null,
    /// A boolean.
    Bool(bool),
    /// 32 bits; Java's `byte` and `short` too.
    Int(i32),
    /// 64 bits.
    Long(i64),
    /// 64 bits; Java's `float` too.
    Double(f64),
    /// Milliseconds since 1970-01-01T00:00Z.
    Date(i64),
    /// A string, Java's `char` too. A slice of the input if it was one chunk without surrogates.
    String(ByteString),
    /// A byte array.
    Binary(Binary),
    /// A list, set or array.
    List(List),
    /// A map.
    Map(Map),
    /// An object of a class that was defined.
    Object(Object),
    /// The list, map or object of that number again: they count from 0 in the order in which they begin.
    Reference(u32),
}

/// A byte array, in the slices of the input it came in. Two are equal if their bytes are, however they are cut.
#[derive(Debug, Clone, Default)]
pub struct Binary(pub Pieces);

impl PartialEq for Binary {
    fn eq(&self, other: &Self) -> bool {
        let (mut a, mut b) = (Reader::new(&self.0), Reader::new(&other.0));
        while a.has_remaining() && b.has_remaining() {
            let count = a.chunk().len().min(b.chunk().len());
            if a.chunk()[..count] != b.chunk()[..count] {
                return false;
            }
            a.advance(count);
            b.advance(count);
        }
        a.remaining() == b.remaining()
    }
}

/// A list, set or array.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List {
    /// `[int` and the like for arrays, a class for what is no `ArrayList`.
    pub type_name: Option<ByteString>,
    /// The elements in order.
    pub values: Vec<Value>,
}

/// A map; its entries stay in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The class, for what is no `HashMap`.
    pub type_name: Option<ByteString>,
    /// Keys and values.
    pub entries: Vec<(Value, Value)>,
}

/// What the objects of a class have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Class {
    /// The name, with its package.
    pub name: ByteString,
    /// Names of the fields, in the order of the objects' values.
    pub fields: Vec<ByteString>,
}

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Its class, shared by all objects of the input that have it.
    pub class: Arc<Class>,
    /// The values of the fields, as many as the class has.
    pub values: Vec<Value>,
}

impl Object {
    /// The value of a field; none if the class has no such field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let position = self.class.fields.iter().position(|field| **field == *name)?;
        self.values.get(position)
    }
}

impl Map {
    /// The value of a key that is a string; none if there is no such key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let is_key = |it: &Value| matches!(it, Value::String(text) if **text == *key);
        self.entries.iter().find(|(it, _)| is_key(it)).map(|(_, value)| value)
    }
}
