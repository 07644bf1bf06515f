//! The content-type chooses the framing and the codec, as in dubbo-go; nothing else does.

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};

/// What a body is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `application/grpc…`: prefixed messages, status in trailers.
    Grpc,
    /// `application/<codec>`: the bare message, status in the HTTP status.
    Unary,
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    Proto,
    Json,
    /// Envelopes, which are protobuf around an argument in a serialization that they name. dubbo-go sends them as `Proto`.
    Envelope,
}

/// A content-type this server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub(crate) framing: Framing,
    pub(crate) codec: Codec,
    /// PyPI apache-dubbo, which calls itself `application/grpc+data`, ends each call with an empty message of its own.
    pub(crate) pads_with_empty_message: bool,
}

/// `Accept-Post` where both framings are served.
pub(crate) const ACCEPT_POST: HeaderValue = HeaderValue::from_static(
    "application/grpc, application/grpc+hessian2, application/grpc+json, application/grpc+json; charset=utf-8, \
     application/grpc+msgpack, application/grpc+proto, application/hessian2, application/json, \
     application/json; charset=utf-8, application/msgpack, application/proto",
);
/// `Accept-Post` of methods that stream: gRPC framing only.
pub(crate) const ACCEPT_POST_GRPC: HeaderValue = HeaderValue::from_static(
    "application/grpc, application/grpc+hessian2, application/grpc+json, application/grpc+json; charset=utf-8, \
     application/grpc+msgpack, application/grpc+proto",
);
/// `Accept-Post` of the health service: protobuf in gRPC framing.
pub(crate) const ACCEPT_POST_HEALTH: HeaderValue = HeaderValue::from_static("application/grpc, application/grpc+proto");

impl ContentType {
    /// The content-type of a request; none if it is missing or unknown. Case does not matter.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(CONTENT_TYPE)?.to_str().ok()?)
    }

    fn parse(value: &str) -> Option<Self> {
        let (media_type, charset) = match value.split_once(';') {
            Some((media_type, parameters)) => (media_type.trim_end(), Some(parameters)),
            None => (value, None),
        };
        let subtype = strip_prefix_ignoring_case(media_type, "application/")?;
        let (framing, codec) = match strip_prefix_ignoring_case(subtype, "grpc") {
            Some("") => (Framing::Grpc, "proto"),
            Some(suffix) => (Framing::Grpc, suffix.strip_prefix('+')?),
            None => (Framing::Unary, subtype),
        };
        let is = |name: &str| codec.eq_ignore_ascii_case(name);
        let pads_with_empty_message = framing == Framing::Grpc && is("data");
        let codec = if is("json") {
            Codec::Json
        } else if is("hessian2") || is("msgpack") {
            Codec::Envelope
        } else if is("proto") || (framing == Framing::Grpc && !codec.is_empty()) {
            // gRPC peers name their subtype freely; what they send is protobuf.
            Codec::Proto
        } else {
            return None;
        };
        let charset_fits = charset.is_none_or(|it| codec == Codec::Json && is_utf8_charset(it));
        charset_fits.then_some(Self { framing, codec, pads_with_empty_message })
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn is_utf8_charset(parameters: &str) -> bool {
    parameters.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("charset") && value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_types() {
        use {Codec::*, Framing::*};
        for (value, framing, codec) in [
            ("application/grpc", Grpc, Proto),
            ("application/grpc+proto", Grpc, Proto),
            ("Application/GRPC+Proto", Grpc, Proto),
            ("application/grpc+data", Grpc, Proto),
            ("application/grpc+json", Grpc, Json),
            ("application/grpc+json; charset=utf-8", Grpc, Json),
            ("application/grpc+hessian2", Grpc, Envelope),
            ("application/proto", Unary, Proto),
            ("application/json", Unary, Json),
            ("application/json;charset=UTF-8", Unary, Json),
            ("application/json; charset=\"utf-8\"", Unary, Json),
            ("application/msgpack", Unary, Envelope),
        ] {
            let parsed = ContentType::parse(value).unwrap_or_else(|| panic!("{value} is unknown"));
            assert_eq!((parsed.framing, parsed.codec), (framing, codec), "{value}");
            assert_eq!(parsed.pads_with_empty_message, value.ends_with("+data"), "{value}");
        }
    }

    #[test]
    fn unknown_types() {
        for value in [
            "",
            "application",
            "application/",
            "application/grpc+",
            "application/grpc-web",
            "application/connect+proto",
            "application/xml",
            "text/plain",
            "application/json; charset=latin1",
            "application/proto; charset=utf-8",
            "äpplication/json",
        ] {
            assert_eq!(ContentType::parse(value), None, "{value}");
        }
    }
}
