//! Replies, built on the header map of their request: it is allocated already.

use std::mem;

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, TE, TRAILER},
    request::Parts,
};
use hyper::body::Incoming;

use super::{
    body::ReplyBody,
    content_type::Framing,
    encoding::GZIP,
    message::{Enclosure, Message},
    status::{Fault, TRAILER_NAMES, write_grpc_status},
};

const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a reply takes from its request.
#[derive(Debug)]
pub(crate) struct ReplyTo {
    /// The request's; taken by the reply.
    pub(crate) headers: HeaderMap,
    pub(crate) version: Version,
    pub(crate) framing: Framing,
}

impl ReplyTo {
    /// Takes a request apart.
    pub(crate) fn split(request: Request<Incoming>, framing: Framing) -> (Self, Incoming) {
        let (Parts { headers, version, .. }, body) = request.into_parts();
        (Self { headers, version, framing }, body)
    }

    /// Answers a unary call.
    pub(crate) fn unary(&mut self, gzip: bool, outcome: Result<Message, Fault>) -> Response<ReplyBody> {
        match self.framing {
            Framing::Grpc => self.grpc_unary(gzip, outcome),
            Framing::Unary => self.triple_unary(gzip, outcome),
        }
    }

    /// Answers a streaming call, over HTTP/2 and in gRPC framing.
    pub(crate) fn stream(&mut self, gzip: bool, body: ReplyBody) -> Response<ReplyBody> {
        response(StatusCode::OK, self.grpc_headers(gzip), body)
    }

    fn grpc_unary(&mut self, gzip: bool, outcome: Result<Message, Fault>) -> Response<ReplyBody> {
        let http1 = self.version < Version::HTTP_2;
        let takes_trailers = !http1 || takes_trailers(&self.headers);
        let mut headers = self.grpc_headers(gzip && outcome.is_ok());
        if http1 {
            headers.insert(TRAILER, TRAILER_NAMES);
        }
        if !takes_trailers {
            // RFC 9110 section 6.5.1 withholds trailers from who does not ask for them: then the headers say it.
            write_grpc_status(&mut headers, outcome.as_ref().map(|_| ()));
        }
        let (message, outcome) = match outcome {
            Ok(message) => (Some(message), Ok(())),
            Err(fault) => (None, Err(fault)),
        };
        response(StatusCode::OK, headers, ReplyBody::Grpc { message, outcome: Some(outcome) })
    }

    fn triple_unary(&mut self, gzip: bool, outcome: Result<Message, Fault>) -> Response<ReplyBody> {
        let mut headers = mem::take(&mut self.headers);
        let content_type = headers.remove(CONTENT_TYPE);
        headers.clear();
        headers.insert(ACCEPT_ENCODING, GZIP);
        let (status, content_type, message) = match outcome {
            Ok(message) => {
                if gzip {
                    headers.insert(CONTENT_ENCODING, GZIP);
                }
                (StatusCode::OK, content_type, message)
            }
            Err(fault) => (fault.code.http_status(), Some(JSON), Message::encoded(fault.to_json(), Enclosure::Bare)),
        };
        headers.extend(content_type.map(|value| (CONTENT_TYPE, value)));
        response(status, headers, ReplyBody::Whole(Some(message)))
    }

    fn grpc_headers(&mut self, gzip: bool) -> HeaderMap {
        let mut headers = mem::take(&mut self.headers);
        let content_type = headers.remove(CONTENT_TYPE);
        headers.clear();
        headers.extend(content_type.map(|value| (CONTENT_TYPE, value)));
        headers.insert(GRPC_ACCEPT_ENCODING, GZIP);
        if gzip {
            headers.insert(GRPC_ENCODING, GZIP);
        }
        headers
    }
}

fn takes_trailers(headers: &HeaderMap) -> bool {
    headers
        .get_all(TE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("trailers")))
}

fn response(status: StatusCode, headers: HeaderMap, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
