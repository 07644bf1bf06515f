//! Which replies of a call are right.

use bytes::Bytes;
use prost_reflect::{DynamicMessage, MessageDescriptor, prost::Message as _};

use super::{CallKind, Method, schema::json, shortened};
use crate::load::CallError;

/// What is known of the replies.
#[derive(Debug)]
pub(in crate::load) enum Answer {
    /// A message, or a stream of them.
    Message { message: MessageDescriptor, expect: Option<DynamicMessage>, kind: CallKind },
    /// A body of plain HTTP.
    Body { expect: Option<Bytes> },
}

impl Answer {
    pub(super) fn message(method: &Method, expect: Option<DynamicMessage>) -> Self {
        Self::Message { message: method.output(), expect, kind: method.kind() }
    }

    /// Whether a call may have more than one reply, or none.
    pub(in crate::load) fn is_stream(&self) -> bool {
        matches!(self, Self::Message { kind: CallKind::ServerStreaming, .. })
    }

    /// Whether replies must equal something.
    pub(in crate::load) fn is_compared(&self) -> bool {
        matches!(self, Self::Message { expect: Some(_), .. } | Self::Body { expect: Some(_) })
    }

    /// Compares a reply with the expected one, if there is one: a message field by field, in whatever order they were written, a body
    /// byte by byte.
    ///
    /// # Errors
    /// [`CallError::Decode`] and [`CallError::Unexpected`].
    pub(in crate::load) fn compare(&self, reply: &[u8]) -> Result<(), CallError> {
        let right = match self {
            Self::Message { expect: None, .. } | Self::Body { expect: None } => true,
            Self::Message { message, expect: Some(expect), .. } => {
                // As the expected one was read: a field that has its default isn't there, though some servers write it.
                let plain = decode(message, reply)?.encode_to_vec();
                decode(message, &plain)? == *expect
            }
            Self::Body { expect: Some(expect) } => reply == *expect,
        };
        if right { Ok(()) } else { Err(CallError::Unexpected(self.text(reply)?)) }
    }

    /// A reply as people read it.
    ///
    /// # Errors
    /// [`CallError::Decode`].
    pub(in crate::load) fn text(&self, reply: &[u8]) -> Result<String, CallError> {
        match self {
            Self::Message { message, .. } => decode(message, reply).map(|message| shortened(json(&message))),
            Self::Body { .. } => Ok(shortened(String::from_utf8_lossy(reply).into_owned())),
        }
    }
}

fn decode(message: &MessageDescriptor, reply: &[u8]) -> Result<DynamicMessage, CallError> {
    let name = message.full_name();
    DynamicMessage::decode(message.clone(), reply).map_err(|error| CallError::Decode(format!("no {name}: {error}")))
}
