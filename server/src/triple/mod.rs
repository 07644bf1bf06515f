//! Triple, Dubbo's RPC over HTTP, with as few allocations a call as hyper allows.
//!
//! HTTP/1.1 and HTTP/2 with prior knowledge on one port; gRPC framing and Triple's own unary framing; protobuf and JSON
//! messages, and envelopes with a Hessian or MessagePack argument; gzip. What is lean about it: the request's header map becomes the reply's, a payload leaves in the pieces
//! it came in, and bodies are an enum, not a box. What remains a call are the request's header map (2 allocations), the
//! trailer map (2) and hyper's task.

mod body;
mod content_type;
mod deadline;
mod echo;
mod encoding;
mod frame;
mod health;
mod held;
mod json;
mod message;
mod receive;
mod reply;
mod rest;
mod route;
mod segments;
mod status;
mod stream;
mod terms;
mod unary;

use std::{
    convert::Infallible,
    future, mem,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use debug_pprof::ops::{self, Method};
use http::{Request, Response, Version};
use http_body::Body;
use hyper::{
    body::Incoming,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tracing::debug;

use crate::{
    DEFAULT_MESSAGE_LIMIT, Handler, Http2Settings, ServeError,
    accept::{self, Draining},
    methods,
};
use body::ReplyBody;
pub(crate) use message::benchmark_response_len;
use rest::ReplyAfterBody;
use route::{Refusal, Route};
use unary::UnaryCall;

/// The level of gzip that Go's and zlib's default is; levels are not on the wire.
pub const DEFAULT_GZIP_LEVEL: u8 = 6;

/// What the server announces and allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Options {
    /// HTTP/2 settings.
    #[serde(flatten)]
    pub http2: Http2Settings,
    /// The largest message in bytes, both ways, compressed or not; a larger one ends in `resource_exhausted`.
    pub message_limit: usize,
    /// Answer with gzip whenever the client offers it, as dubbo-go does. Otherwise only a compressed request gets a
    /// compressed reply.
    pub accept_gzip: bool,
    /// How hard compressed replies are compressed: 0 (stored) to 9 (smallest).
    pub gzip_level: u8,
    /// What is done to a request before it is answered.
    #[serde(flatten)]
    pub handler: Handler,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            http2: Http2Settings::default(),
            message_limit: DEFAULT_MESSAGE_LIMIT,
            accept_gzip: false,
            gzip_level: DEFAULT_GZIP_LEVEL,
            handler: Handler::default(),
        }
    }
}

/// Serves until `shutdown` completes, then until every call in flight has ended.
///
/// # Errors
/// [`ServeError::DrainTimeout`] when calls took longer than [`crate::DRAIN_LIMIT`] to end.
pub async fn run(
    listener: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let http = http_builder(options.http2);
    let (unary, stream) = (ops::method(methods::UNARY), ops::method(methods::STREAM));
    accept::accept(listener, shutdown, |socket, draining| {
        let connection = Connection { options, unary, stream, draining };
        serve_connection(http.clone(), socket, connection)
    })
    .await
}

/// The answers alone, for a program that accepts connections itself or does more than answer. HTTP/2 settings are its own then.
pub fn service(
    options: Options,
) -> impl Service<
    Request<Incoming>,
    Response = Response<impl Body<Data = impl Buf + Send + 'static, Error = Infallible> + Send + 'static>,
    Error = Infallible,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    let (unary, stream) = (ops::method(methods::UNARY), ops::method(methods::STREAM));
    let (never, draining) = Draining::idle();
    let connection = Arc::new(Connection { options, unary, stream, draining });
    let never = Arc::new(never);
    service_fn(move |request| {
        // Dropped, it would begin the drain.
        let _held = &never;
        Call::new(request, &connection)
    })
}

/// What the calls of a connection share.
#[derive(Debug)]
struct Connection {
    options: Options,
    unary: &'static Method,
    stream: &'static Method,
    draining: Draining,
}

/// Tells HTTP/2 by its preface, anything else is HTTP/1. A client that asks for `Upgrade: h2c` is answered in HTTP/1.1,
/// which RFC 9110 section 7.8 allows.
fn http_builder(settings: Http2Settings) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http2()
        .max_frame_size(settings.max_frame_size)
        .initial_stream_window_size(settings.stream_window)
        .initial_connection_window_size(settings.connection_window)
        .max_concurrent_streams(settings.max_concurrent_streams);
    http
}

async fn serve_connection(http: auto::Builder<TokioExecutor>, socket: TcpStream, connection: Connection) {
    let mut draining = connection.draining.clone();
    let connection = Arc::new(connection);
    let service = service_fn(move |request| Call::new(request, &connection));
    let mut serving = pin!(http.serve_connection(TokioIo::new(socket), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = draining.begun() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "connection ended");
    }
}

/// A request on its way to its reply. The common call is held inline: a box would be an allocation.
enum Call {
    Refused(Refusal),
    Unary(UnaryCall),
    AfterBody(ReplyAfterBody),
    Other(Pin<Box<dyn Future<Output = Response<ReplyBody>> + Send>>),
}

impl Call {
    fn new(request: Request<Incoming>, connection: &Arc<Connection>) -> Self {
        let (route, content_type) = match route::admit(&request) {
            Ok(admitted) => admitted,
            Err(refusal) if request.version() < Version::HTTP_2 => {
                return Call::AfterBody(ReplyAfterBody::new(refusal.response(), request.into_body()));
            }
            Err(refusal) => return Call::Refused(refusal),
        };
        let shared = || Arc::clone(connection);
        match route {
            Route::Unary => Call::Unary(UnaryCall::new(request, content_type, connection)),
            Route::Stream => Call::Other(Box::pin(future::ready(stream::answer(request, content_type, connection)))),
            Route::HealthCheck => Call::Other(Box::pin(health::check(request, content_type, shared()))),
            Route::HealthWatch => Call::Other(Box::pin(health::watch(request, content_type, shared()))),
        }
    }
}

impl Future for Call {
    type Output = Result<Response<ReplyBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let call = self.get_mut();
        if let Call::Unary(unary) = call {
            let response = ready!(unary.poll_reply(cx));
            if !unary.owes_body() {
                return Poll::Ready(Ok(response));
            }
            // Any other variant would do in its place for a moment.
            if let Call::Unary(unary) = mem::replace(call, Call::Refused(Refusal::NotFound)) {
                *call = Call::AfterBody(ReplyAfterBody::new(response, unary.into_body()));
            }
        }
        match call {
            Call::Refused(refusal) => Poll::Ready(refusal.response()),
            Call::Unary(unary) => unary.poll_reply(cx),
            Call::AfterBody(reply) => reply.poll(cx),
            Call::Other(reply) => reply.as_mut().poll(cx),
        }
        .map(Ok)
    }
}
