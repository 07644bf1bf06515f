//! What can be wrong with an envelope.

use crate::hessian2::DecodeError;

/// Why a message is no envelope that can be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The message is not even protobuf.
    #[error("envelope, byte {offset}: no protobuf")]
    Protobuf {
        /// Position of the field that cannot be read.
        offset: usize,
    },
    /// The message names no serialization, or an unknown one.
    #[error("envelope: serializeType is {0:?}; hessian2, hessian4 and msgpack are known")]
    SerializeType(String),
    /// There is no argument or answer, or an empty one, as for a call without a result.
    #[error("envelope: there is no argument; one that is or holds a byte array is expected")]
    NoArgument,
    /// More than one argument.
    #[error("envelope: there are {0} arguments; one that is or holds a byte array is expected")]
    Arguments(usize),
    /// The argument is no Hessian 2.0. The position is counted from the argument's first byte.
    #[error("envelope, argument: {0}")]
    Hessian2(#[from] DecodeError),
    /// The argument is no MessagePack.
    #[error("envelope, argument: msgpack: {0}")]
    Msgpack(String),
    /// The argument is another value.
    #[error(
        "envelope: the argument is {0}; a byte array, a string, or an object or map with either as its \"payload\" is \
         expected"
    )]
    Shape(&'static str),
    /// A string was asked for and bytes are to be answered.
    #[error("envelope: a string can only be answered with UTF-8")]
    NoText,
}
