//! What the headers of a request settle about the call.

use super::{
    Options,
    content_type::{ContentType, Framing},
    deadline::Deadline,
    echo::Answer,
    encoding::Encoding,
    status::{Code, Fault},
};
use http::{
    HeaderMap,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING},
};

const TRIPLE_PROTOCOL_VERSION: &str = "triple-protocol-version";
const SUPPORTED_PROTOCOL_VERSION: &str = "0.1.0";

/// How a call is to be read and answered.
///
/// `tri-service-group` and `tri-service-version` select no other service: an echo is the same in every group. dubbo-js's
/// `tri-protocol-version` means nothing to dubbo-go either.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) request_encoding: Encoding,
    pub(crate) deadline: Deadline,
    pub(crate) answer: Answer,
}

impl Terms {
    /// # Errors
    /// A wrong protocol version, an unknown compression or timeout, or a deadline that has passed.
    pub(crate) fn of(headers: &HeaderMap, content_type: ContentType, options: &Options) -> Result<Self, Fault> {
        let ContentType { framing, codec, .. } = content_type;
        let (request_encoding, offered) = match framing {
            Framing::Grpc => (headers.get("grpc-encoding"), headers.get("grpc-accept-encoding")),
            Framing::Unary => {
                check_protocol_version(headers)?;
                (headers.get(CONTENT_ENCODING), headers.get(ACCEPT_ENCODING))
            }
        };
        let request_encoding = Encoding::of_request(request_encoding)?;
        let gzip = request_encoding == Encoding::Gzip || options.accept_gzip && Encoding::gzip_is_offered(offered);
        let deadline = Deadline::of(headers, framing)?;
        let answer = Answer {
            codec,
            prefixed: framing == Framing::Grpc,
            gzip_level: gzip.then_some(options.gzip_level),
            limit: options.message_limit,
            handler: options.handler,
        };
        Ok(Self { request_encoding, deadline, answer })
    }
}

fn check_protocol_version(headers: &HeaderMap) -> Result<(), Fault> {
    match headers.get(TRIPLE_PROTOCOL_VERSION) {
        Some(version) if version != SUPPORTED_PROTOCOL_VERSION => Err(Fault::new(
            Code::InvalidArgument,
            format!("Triple-Protocol-Version must be {SUPPORTED_PROTOCOL_VERSION:?}: got {version:?}"),
        )),
        _ => Ok(()),
    }
}
