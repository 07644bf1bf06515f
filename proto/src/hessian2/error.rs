//! What can be wrong with an input, and with a value to be written.

/// Why an input is no Hessian 2.0, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hessian2, byte {offset}: {kind}")]
pub struct DecodeError {
    /// Position of the offending byte, or of the last one where there are several, counted from the input's first byte.
    pub offset: usize,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeErrorKind {
    /// A value goes on where the input ends.
    #[error("the input ends within a value")]
    UnexpectedEnd,
    /// A byte that cannot begin what must stand there.
    #[error("{code:#04x} cannot begin {expected}")]
    UnexpectedCode {
        /// The byte.
        code: u8,
        /// What must stand there.
        expected: &'static str,
    },
    /// A length below zero.
    #[error("the length {0} is negative")]
    NegativeLength(i32),
    /// A string whose bytes are neither UTF-8 nor CESU-8, or whose length cuts a character.
    #[error("the string is no UTF-8")]
    InvalidUtf8,
    /// Half a surrogate pair: Java can hold it, UTF-8 cannot.
    #[error("the string has half a surrogate pair")]
    UnpairedSurrogate,
    /// A number of a class, type or value that has not been given out.
    #[error("there is no {what} {index}: there are {known} so far")]
    UnknownIndex {
        /// `class`, `type` or `reference`.
        what: &'static str,
        /// The number, from 0.
        index: i32,
        /// How many have been given out.
        known: usize,
    },
    /// More than [`MAX_DEPTH`](super::MAX_DEPTH) lists, maps and objects within each other.
    #[error("values lie deeper than {} in each other", super::MAX_DEPTH)]
    TooDeep,
    /// More than [`MAX_NAMES`](super::MAX_NAMES) classes, fields and types.
    #[error("there are more than {} names of classes, fields and types", super::MAX_NAMES)]
    TooManyNames,
    /// More than one value.
    #[error("{0} bytes follow the value")]
    TrailingBytes(usize),
}

/// Why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// More than [`MAX_DEPTH`](super::MAX_DEPTH) lists, maps and objects within each other.
    #[error("hessian2: values lie deeper than {} in each other", super::MAX_DEPTH)]
    TooDeep,
    /// A reference to a list, map or object that has not begun.
    #[error("hessian2: there is no reference {index}: there are {known} so far")]
    UnknownReference {
        /// The reference, from 0.
        index: u32,
        /// How many lists, maps and objects have begun.
        known: u32,
    },
    /// An object with more or fewer values than its class has fields.
    #[error("hessian2: class {class} has {fields} fields, its object {values} values")]
    FieldCount {
        /// Name of the class.
        class: String,
        /// Fields of the class.
        fields: usize,
        /// Values of the object.
        values: usize,
    },
    /// A list, class table or type table longer than its 32-bit length can say.
    #[error("hessian2: the length {0} is more than 2147483647")]
    TooLong(usize),
}
