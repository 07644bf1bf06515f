//! Triple's envelopes: a call whose arguments are no protobuf messages carries them as bytes of another serialization in
//! `TripleRequestWrapper { serializeType = 1, args = 2, argTypes = 3 }`, and the answer comes in
//! `TripleResponseWrapper { serializeType = 1, data = 2, type = 3 }`. With one argument the two are the same on the wire;
//! dubbo-go answers with the former.
//!
//! This is the envelope of an echo: one argument that is or holds a payload, answered in the shape it was asked in. On the way
//! in no payload is copied, unless it comes in many short pieces; on the way out it is written once, into one buffer of the message's exact length.

mod error;
mod form;
mod hessian;
mod msgpack;
mod wrapper;

use bytes::{Buf, BufMut, Bytes};
use bytestring::ByteString;

pub use error::EnvelopeError;

use self::{
    form::{BytesForm, Form, Found},
    wrapper::Wrapper,
};
use crate::{
    hessian2::{encode_str, encoded_str_len},
    pieces::{Pieces, Reader},
};

/// The type of a byte array, in Java's words.
const BYTE_ARRAY: &[u8] = b"[B";

/// How an argument is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serialization {
    /// Hessian 2.0.
    Hessian2,
    /// MessagePack.
    Msgpack,
}

/// The names of `serializeType`. dubbo-java writes `hessian4` for Hessian 2.0, and answers with the request's name.
const NAMES: [(&str, Serialization); 3] =
    [("hessian2", Serialization::Hessian2), ("hessian4", Serialization::Hessian2), ("msgpack", Serialization::Msgpack)];

impl Serialization {
    /// What a `serializeType` names; none if it is unknown.
    pub fn of(serialize_type: &str) -> Option<Self> {
        NAMES.iter().find(|(name, _)| *name == serialize_type).map(|(_, serialization)| *serialization)
    }

    /// The `serializeType` of our requests, which is dubbo-go's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hessian2 => "hessian2",
            Self::Msgpack => "msgpack",
        }
    }
}

/// Whether a message is an envelope: field 1 is the name of a serialization, and field 2 or 3 follows. A `BenchmarkRequest`
/// has field 1 only, so that none is mistaken for an envelope, whatever its payload.
pub fn is_envelope(message: &[Bytes]) -> bool {
    wrapper::begins(Reader::new(message))
}

/// A request with one argument, a byte array.
pub fn encode_request(serialization: Serialization, payload: impl Buf) -> Bytes {
    let form = match serialization {
        Serialization::Hessian2 => BytesForm::HessianBinary,
        Serialization::Msgpack => BytesForm::MsgpackBin,
    };
    let len = form.encoded_len(payload.remaining());
    wrapper::encode(serialization.name(), Some(BYTE_ARRAY), len, |out| form.encode(payload, out))
}

/// The payload of an answer of any shape that a request may have, in slices of the message.
///
/// # Errors
/// As [`decode_request`].
pub fn decode_response(message: &[Bytes]) -> Result<Pieces, EnvelopeError> {
    decode_request(message).map(|answer| answer.payload)
}

/// Reads a request whose one argument is a byte array or string, or an object or map with either as its `payload`.
///
/// # Errors
/// The message is no envelope, has not one argument, or one that is something else.
pub fn decode_request(message: &[Bytes]) -> Result<EnvelopeRequest<'_>, EnvelopeError> {
    let mut wrapper = wrapper::decode(Reader::new(message))?;
    let Found { form, payload, start, end } = match wrapper.serialization {
        Serialization::Hessian2 => hessian::find(wrapper.argument.clone())?,
        Serialization::Msgpack => msgpack::find(wrapper.argument.clone())?,
    };
    let around = wrapper.argument.split(start).zip(wrapper.argument.split(end - start));
    let (before, _) = around.ok_or(EnvelopeError::NoArgument)?;
    Ok(EnvelopeRequest { wrapper, form, payload, before })
}

/// A request, which borrows the message it was read from.
#[derive(Debug, Clone)]
pub struct EnvelopeRequest<'a> {
    /// Of its argument, only what follows the payload is left.
    wrapper: Wrapper<'a>,
    form: Form,
    payload: Pieces,
    /// What precedes the payload: the class, and the fields before it.
    before: Reader<'a>,
}

impl EnvelopeRequest<'_> {
    /// How the argument is written.
    pub fn serialization(&self) -> Serialization {
        self.wrapper.serialization
    }

    /// The name the request gives that.
    pub fn serialize_type(&self) -> &'static str {
        self.wrapper.serialize_type
    }

    /// The payload, in slices of the message. A string is given in UTF-8.
    pub fn payload(&self) -> &[Bytes] {
        &self.payload
    }

    /// An answer with that payload in the shape of the request, with the request's `serializeType` and type.
    ///
    /// # Errors
    /// The request's payload is a Hessian string and this one is no UTF-8.
    pub fn encode_response(&self, mut payload: impl Buf) -> Result<Bytes, EnvelopeError> {
        match self.form {
            Form::Bytes(form) => {
                Ok(self.encode(form.encoded_len(payload.remaining()), |out| form.encode(payload, out)))
            }
            Form::HessianString => {
                let text = payload.copy_to_bytes(payload.remaining());
                let text = ByteString::try_from(text).map_err(|_| EnvelopeError::NoText)?;
                Ok(self.encode(encoded_str_len(&text), |out| encode_str(&text, out)))
            }
        }
    }

    /// The answer with the request's own payload.
    ///
    /// # Errors
    /// None that a request read by [`decode_request`] gives.
    pub fn encode_echo(&self) -> Result<Bytes, EnvelopeError> {
        self.encode_response(Reader::new(self.payload()))
    }

    fn encode(&self, payload_len: usize, encode_payload: impl FnOnce(&mut Vec<u8>)) -> Bytes {
        let Wrapper { serialize_type, argument: after, argument_type, .. } = self.wrapper.clone();
        let before = self.before.clone();
        let len = before.remaining() + payload_len + after.remaining();
        wrapper::encode(serialize_type, argument_type, len, |out| {
            out.put(before);
            encode_payload(out);
            out.put(after);
        })
    }
}
