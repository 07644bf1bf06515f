//! One call, ready to be sent any number of times: nothing in it is built or copied per call.

use std::{net::SocketAddr, sync::Arc};

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version,
    header::{CONTENT_TYPE, TE, USER_AGENT},
};

use crate::{
    load::{CallError, LoadSpec, MessagesPerStream, message::Message},
    scenario::{Compression, Payload, Protocol},
};

pub(super) const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");

const AGENT: &str = concat!("analyze/", env!("CARGO_PKG_VERSION"));

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
        Arc::new(Self {
            uri: uri(spec.addr, path),
            headers,
            payload: case.scenario.payload,
            messages: Message::of(case),
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

fn uri(addr: SocketAddr, path: &'static str) -> Uri {
    Uri::builder()
        .scheme("http")
        .authority(addr.to_string())
        .path_and_query(path)
        .build()
        .expect("a socket address is an authority, and the paths are constants")
}
