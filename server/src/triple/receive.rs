//! Reading request messages off a body.

use bytes::{Buf, Bytes};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{
    content_type::Framing,
    encoding::{self, Encoding},
    frame::{FrameDecoder, FramedMessage},
    segments::Segments,
    status::{Code, Fault},
};

/// The one message of a unary call, uncompressed.
///
/// # Errors
/// A body that is broken, too large, or holds another number of messages than one.
pub(crate) async fn only_message(
    body: &mut Incoming,
    framing: Framing,
    encoding: Encoding,
    limit: usize,
) -> Result<Segments, Fault> {
    let message = match framing {
        Framing::Grpc => only_framed(body, limit).await?,
        Framing::Unary => FramedMessage { compressed: encoding == Encoding::Gzip, bytes: whole(body, limit).await? },
    };
    plain(message, encoding, limit)
}

/// Undoes the compression of a message.
///
/// # Errors
/// It is compressed though the call names no encoding, is no gzip, or is longer than `limit` once decompressed.
pub(crate) fn plain(message: FramedMessage, encoding: Encoding, limit: usize) -> Result<Segments, Fault> {
    match encoding {
        _ if !message.compressed || message.bytes.is_empty() => Ok(message.bytes),
        Encoding::Gzip => encoding::gunzip(message.bytes, limit).map(Segments::from),
        Encoding::Identity => {
            Err(Fault::new(Code::Internal, "protocol error: sent compressed message without compression support"))
        }
    }
}

/// The fault of a caller who left, or whose body broke off.
pub(crate) fn broken_off(error: &hyper::Error) -> Fault {
    Fault::new(Code::Canceled, format!("request body: {error}"))
}

/// Empty messages behind the first one are let pass: PyPI apache-dubbo sends one at the end of each call.
async fn only_framed(body: &mut Incoming, limit: usize) -> Result<FramedMessage, Fault> {
    let mut decoder = FrameDecoder::new(limit);
    let mut only = None;
    while let Some(mut data) = next_data(body).await? {
        while let Some(message) = decoder.next(&mut data)? {
            if only.is_none() {
                only = Some(message);
            } else if !message.bytes.is_empty() {
                return Err(wrong_count("more than one"));
            }
        }
    }
    decoder.finish()?;
    only.ok_or_else(|| wrong_count("none"))
}

/// The code is the one of gRPC's status code table for a request cardinality violation.
fn wrong_count(got: &str) -> Fault {
    Fault::new(Code::Unimplemented, format!("a unary call takes one request message: got {got}"))
}

async fn whole(body: &mut Incoming, limit: usize) -> Result<Segments, Fault> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(Fault::too_large(announced, limit));
    }
    let mut bytes = Segments::default();
    while let Some(data) = next_data(body).await? {
        bytes.push(data);
        if bytes.remaining() > limit {
            return Err(Fault::too_large(bytes.remaining(), limit));
        }
    }
    Ok(bytes)
}

async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, Fault> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| broken_off(&error))?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
