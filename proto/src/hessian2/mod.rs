//! Hessian 2.0, as much of it as Dubbo's peers write: every value of the
//! [specification](http://hessian.caucho.com/doc/hessian-serialization.html), in any form, is read; what is written takes the
//! forms that Java's hessian-lite takes.
//!
//! Strings are counted in UTF-16 units and written as CESU-8: a character beyond U+FFFF is two surrogates of three bytes each.
//! Java and Go refuse the four bytes of UTF-8, which some Python peers send; here they are read, and never written.

mod binary;
mod decode;
mod encode;
mod error;
mod number;
mod text;
mod value;

pub use binary::{decode_binary, encode_binary, encoded_binary_len};
pub(crate) use decode::Opened;
pub use decode::{Decoder, decode};
pub use encode::{Encoder, encode};
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use number::{encode_bool, encode_date, encode_double, encode_int, encode_long, encode_null};
pub use text::{encode_str, encoded_str_len};
pub use value::{Binary, Class, List, Map, Object, Value};

/// Lists, maps and objects may lie this deep in each other: beyond it, a hostile input would use up the stack.
pub const MAX_DEPTH: usize = 128;

/// The most names of classes, fields and types in an input. Each may be a single byte and takes 32 in memory.
pub const MAX_NAMES: usize = 1 << 16;

/// The bytes that begin a value, where they are no range.
mod code {
    pub(super) const STRING_CHUNK: u8 = b'R';
    pub(super) const STRING: u8 = b'S';
    pub(super) const BINARY_CHUNK: u8 = b'A';
    pub(super) const BINARY: u8 = b'B';
    pub(super) const CLASS: u8 = b'C';
    pub(super) const DOUBLE: u8 = b'D';
    pub(super) const FALSE: u8 = b'F';
    pub(super) const MAP: u8 = b'H';
    pub(super) const INT: u8 = b'I';
    pub(super) const DATE: u8 = 0x4a;
    pub(super) const DATE_MINUTES: u8 = 0x4b;
    pub(super) const LONG: u8 = b'L';
    pub(super) const TYPED_MAP: u8 = b'M';
    pub(super) const NULL: u8 = b'N';
    pub(super) const OBJECT: u8 = b'O';
    pub(super) const REFERENCE: u8 = b'Q';
    pub(super) const TRUE: u8 = b'T';
    pub(super) const TYPED_OPEN_LIST: u8 = b'U';
    pub(super) const TYPED_LIST: u8 = b'V';
    pub(super) const OPEN_LIST: u8 = b'W';
    pub(super) const LIST: u8 = b'X';
    pub(super) const LONG_INT: u8 = b'Y';
    pub(super) const END: u8 = b'Z';
    pub(super) const DOUBLE_ZERO: u8 = 0x5b;
    pub(super) const DOUBLE_ONE: u8 = 0x5c;
    pub(super) const DOUBLE_BYTE: u8 = 0x5d;
    pub(super) const DOUBLE_SHORT: u8 = 0x5e;
    pub(super) const DOUBLE_MILLI: u8 = 0x5f;
    /// An object of the class of that number, below 16.
    pub(super) const SHORT_OBJECT: u8 = 0x60;
    /// A list of that many values, below 8.
    pub(super) const SHORT_TYPED_LIST: u8 = 0x70;
    pub(super) const SHORT_LIST: u8 = 0x78;
}
