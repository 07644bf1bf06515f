//! One call, ready to be sent any number of times: nothing in it is built or copied per call.

use std::sync::Arc;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version,
    header::{CONTENT_TYPE, TE, USER_AGENT},
    uri::PathAndQuery,
};

use crate::{
    load::{AGENT, CallError, LoadSpec, MessagesPerStream, message::Message},
    scenario::{Compression, Payload, Protocol},
};

pub(super) const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// What every task of a driver sends.
#[derive(Debug)]
pub(in crate::load) struct Template {
    uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) payload: Payload,
    /// One for each share of the payload.
    pub(super) messages: Vec<Message>,
    /// `None` for unary calls.
    pub(super) stream_length: Option<MessagesPerStream>,
    offers_gzip: bool,
}

impl Template {
    pub(in crate::load) fn new(spec: &LoadSpec) -> Arc<Self> {
        let case = &spec.case;
        let path = match case.stream_length() {
            None => echo_proto::UNARY_PATH,
            Some(_) => echo_proto::STREAM_PATH,
        };
        let content_type = match spec.framework.protocol() {
            Protocol::Triple => "application/grpc+proto",
            _ => "application/grpc",
        };
        let compresses = case.compression != Compression::None;
        let offers_gzip = compresses || case.accept_gzip;
        let mut headers = HeaderMap::with_capacity(5);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if compresses {
            headers.insert(GRPC_ENCODING, GZIP);
        }
        if offers_gzip {
            headers.insert(GRPC_ACCEPT_ENCODING, GZIP);
        }
        let (uri, messages) = match &spec.call {
            None => (uri("http", &spec.addr.authority(), PathAndQuery::from_static(path)), Message::of(case)),
            Some(call) => {
                replace(&mut headers, &call.metadata);
                (
                    uri(if call.tls.is_some() { "https" } else { "http" }, &call.authority, call.path.clone()),
                    vec![Message::of_call(call, case.compression)],
                )
            }
        };
        Arc::new(Self {
            uri,
            headers,
            payload: case.scenario.payload,
            messages,
            stream_length: case.stream_length(),
            offers_gzip,
        })
    }

    pub(super) fn request(&self) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Whether a call may have any number of replies.
    pub(super) fn has_streams_of_replies(&self) -> bool {
        self.messages.iter().any(Message::has_stream_of_replies)
    }

    /// What is wrong with a compressed reply behind these headers.
    pub(super) fn decompress(&self, head: &HeaderMap) -> Result<(), CallError> {
        if !self.offers_gzip {
            return Err(CallError::Compressed);
        }
        match head.get(GRPC_ENCODING) {
            Some(encoding) if encoding == GZIP => Ok(()),
            encoding => Err(CallError::Encoding(encoding.map(super::text).unwrap_or_default())),
        }
    }
}

/// Puts headers in the place of those of the same name.
fn replace(headers: &mut HeaderMap, others: &HeaderMap) {
    others.keys().for_each(|name| drop(headers.remove(name)));
    for (name, value) in others {
        headers.append(name, value.clone());
    }
}

fn uri(scheme: &str, authority: &str, path: PathAndQuery) -> Uri {
    Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(path)
        .build()
        .expect("a socket address is an authority, and a call's is one as well")
}
