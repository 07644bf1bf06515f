//! Which method a request is for, and whether HTTP lets it through.

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode, Version,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
};

use super::{
    body::ReplyBody,
    content_type::{ACCEPT_POST, ACCEPT_POST_GRPC, ACCEPT_POST_HEALTH, Codec, ContentType, Framing},
    message::{Enclosure, Message},
};

const BENCHMARK: &str = "/benchmark.BenchmarkService/";
const HEALTH: &str = "/grpc.health.v1.Health/";

/// The methods served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Unary,
    Stream,
    HealthCheck,
    HealthWatch,
}

/// Why a request gets a plain HTTP answer instead of an RPC's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotFound,
    /// Streaming needs HTTP/2.
    HttpVersion,
    MethodNotAllowed,
    UnsupportedMediaType(Route),
}

/// Finds the method and checks, in dubbo-go's order, path, HTTP version, HTTP method and content-type.
///
/// # Errors
/// What is wrong first.
pub(crate) fn admit<B>(request: &Request<B>) -> Result<(Route, ContentType), Refusal> {
    let route = Route::of(request.uri().path()).ok_or(Refusal::NotFound)?;
    if route.streams() && request.version() < Version::HTTP_2 {
        return Err(Refusal::HttpVersion);
    }
    if request.method() != Method::POST {
        return Err(Refusal::MethodNotAllowed);
    }
    match ContentType::of(request.headers()) {
        Some(content_type) if route.takes(content_type) => Ok((route, content_type)),
        _ => Err(Refusal::UnsupportedMediaType(route)),
    }
}

impl Route {
    fn of(path: &str) -> Option<Self> {
        if let Some(method) = path.strip_prefix(BENCHMARK) {
            let is = |name: &str| is_method(method, name);
            return if is("UnaryCall") {
                Some(Route::Unary)
            } else if is("StreamCall") {
                Some(Route::Stream)
            } else {
                None
            };
        }
        match path.strip_prefix(HEALTH)? {
            "Check" => Some(Route::HealthCheck),
            "Watch" => Some(Route::HealthWatch),
            _ => None,
        }
    }

    fn streams(self) -> bool {
        matches!(self, Route::Stream | Route::HealthWatch)
    }

    fn takes(self, content_type: ContentType) -> bool {
        match self {
            Route::Unary => true,
            Route::Stream => content_type.framing == Framing::Grpc,
            Route::HealthCheck | Route::HealthWatch => {
                content_type.framing == Framing::Grpc && content_type.codec == Codec::Proto
            }
        }
    }

    fn accept_post(self) -> HeaderValue {
        match self {
            Route::Unary => ACCEPT_POST,
            Route::Stream => ACCEPT_POST_GRPC,
            Route::HealthCheck | Route::HealthWatch => ACCEPT_POST_HEALTH,
        }
    }
}

/// Like dubbo-go, takes either case of the first letter: Java and JavaScript callers write `unaryCall`.
fn is_method(given: &str, name: &str) -> bool {
    match (given.split_at_checked(1), name.split_at_checked(1)) {
        (Some((first, rest)), Some((name_first, name_rest))) => {
            first.eq_ignore_ascii_case(name_first) && rest == name_rest
        }
        _ => false,
    }
}

impl Refusal {
    /// The bare HTTP answer; nothing in it says gRPC, as in dubbo-go's.
    pub(crate) fn response(&self) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody::Empty);
        let headers = response.headers_mut();
        let status = match self {
            Refusal::NotFound => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
                headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
                let text = Bytes::from_static(b"404 page not found\n");
                *response.body_mut() = ReplyBody::Whole(Some(Message::encoded(text, Enclosure::Bare)));
                StatusCode::NOT_FOUND
            }
            Refusal::HttpVersion => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
                StatusCode::HTTP_VERSION_NOT_SUPPORTED
            }
            Refusal::MethodNotAllowed => {
                headers.insert(ALLOW, HeaderValue::from_static("POST"));
                StatusCode::METHOD_NOT_ALLOWED
            }
            Refusal::UnsupportedMediaType(route) => {
                headers.insert("accept-post", route.accept_post());
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
        };
        *response.status_mut() = status;
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, route) in [
            ("/benchmark.BenchmarkService/UnaryCall", Some(Route::Unary)),
            ("/benchmark.BenchmarkService/unaryCall", Some(Route::Unary)),
            ("/benchmark.BenchmarkService/streamCall", Some(Route::Stream)),
            ("/benchmark.BenchmarkService/unarycall", None),
            ("/benchmark.BenchmarkService/", None),
            ("/benchmark.BenchmarkService/äUnaryCall", None),
            ("/prefix/benchmark.BenchmarkService/UnaryCall", None),
            ("/grpc.health.v1.Health/Check", Some(Route::HealthCheck)),
            ("/grpc.health.v1.Health/Watch", Some(Route::HealthWatch)),
            ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", None),
            ("/", None),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }
}
