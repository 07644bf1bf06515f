//! The forms a payload can have in an argument.

use bytes::{Buf, BufMut};

use super::msgpack;
use crate::{
    hessian2::{encode_binary, encoded_binary_len},
    pieces::Pieces,
};

/// Name of the field or key that holds the payload of an object or map, as in `BenchmarkRequest`.
pub(super) const PAYLOAD: &str = "payload";

/// A payload found in an argument.
pub(super) struct Found {
    pub(super) form: Form,
    pub(super) payload: Pieces,
    /// Its first encoded byte, and the one behind its last, counted from the argument's first.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How a payload is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Bytes(BytesForm),
    /// Text: no other payload can be encoded so.
    HessianString,
}

/// How a payload of any bytes is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BytesForm {
    HessianBinary,
    MsgpackBin,
    /// What MessagePack called raw before it had a type for bytes; dubbo-go still writes byte arrays so.
    MsgpackStr,
}

impl BytesForm {
    /// Encoded length of a payload of `len` bytes.
    pub(super) fn encoded_len(self, len: usize) -> usize {
        match self {
            Self::HessianBinary => encoded_binary_len(len),
            Self::MsgpackBin => msgpack::bin_head_len(len) + len,
            Self::MsgpackStr => msgpack::str_head_len(len) + len,
        }
    }

    pub(super) fn encode(self, payload: impl Buf, out: &mut Vec<u8>) {
        match self {
            Self::HessianBinary => encode_binary(payload, out),
            Self::MsgpackBin => {
                msgpack::put_bin_head(payload.remaining(), out);
                out.put(payload);
            }
            Self::MsgpackStr => {
                msgpack::put_str_head(payload.remaining(), out);
                out.put(payload);
            }
        }
    }
}
