//! What most likely lies behind a call that fails through a gateway.

use analyze::load::CallError;

/// The status of gRPC for what is too large.
const RESOURCE_EXHAUSTED: &str = "8";
/// The status of gRPC that gateways answer with when they don't reach the server.
const UNAVAILABLE: &str = "14";

/// Of a preflight call. `None` where the server itself says what is wrong.
pub(crate) fn likely_cause(error: &CallError) -> Option<&'static str> {
    Some(match error {
        CallError::Http(413) => {
            "the gateway refuses bodies of this size: in nginx it is client_max_body_size, 1m unless set"
        }
        CallError::Http(502..=504) => {
            "the gateway gets no answer from the server: it must lead to the server at --addr, in HTTP/2 without TLS (in nginx \
             grpc_pass grpc://HOST:PORT)"
        }
        CallError::Http(_) => {
            "it is the gateway that answers: it has no route to the server for this path, or takes no gRPC"
        }
        CallError::Status { code, .. } if code == RESOURCE_EXHAUSTED => {
            "a message is larger than the gateway, or the server behind it, allows"
        }
        CallError::Status { code, .. } if code == UNAVAILABLE => {
            "the gateway doesn't reach the server: it must lead to the server at --addr, in HTTP/2 without TLS"
        }
        CallError::Reset(_) => {
            "the gateway gave the call up: most often for its limit on bodies (in nginx client_max_body_size, 1m unless set)"
        }
        CallError::ConnectionLost(_) => "the gateway closed the connection: it must take HTTP/2 without TLS",
        CallError::NoStatus => {
            "the gateway drops trailers, in which gRPC has its status: in nginx it needs grpc_pass, not proxy_pass"
        }
        CallError::TimedOut(_) => "the gateway may not reach the server, or hold bodies back until they end",
        _ => return None,
    })
}

/// Of connections that were lost in a round.
pub(crate) const fn lost_cause() -> &'static str {
    "a gateway may end connections after so many requests (in nginx keepalive_requests, 1000 unless set) or when they are idle"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_on_bodies_are_named() {
        for error in [CallError::Http(413), CallError::Reset(h2::Reason::CANCEL)] {
            assert!(likely_cause(&error).is_some_and(|cause| cause.contains("client_max_body_size")), "{error}");
        }
        let status = |code: &str| CallError::Status { code: code.to_owned(), message: String::new() };
        assert!(likely_cause(&status("8")).is_some_and(|cause| cause.contains("larger")));
        assert!(likely_cause(&status("14")).is_some_and(|cause| cause.contains("--addr")));
        assert_eq!(likely_cause(&status("12")), None);
        assert_eq!(likely_cause(&CallError::Mismatch(7)), None);
    }
}
