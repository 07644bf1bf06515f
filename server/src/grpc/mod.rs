//! The gRPC echo on tonic, written as tonic's users write it, so that what it costs is what tonic costs.

mod tuned;

use std::{future::Future, pin::Pin};

use debug_pprof::{
    connections,
    ops::{self, Method, Op},
};
use echo_proto::benchmark::{
    BenchmarkRequest, BenchmarkResponse,
    benchmark_service_server::{BenchmarkService, BenchmarkServiceServer},
};
use serde::Serialize;
use tokio::{net::TcpListener, sync::oneshot, time};
use tonic::{
    Request, Response, Status, Streaming,
    codec::CompressionEncoding,
    codegen::tokio_stream::{Stream, StreamExt},
    transport::{Server, server::TcpIncoming},
};

use crate::{DEFAULT_MESSAGE_LIMIT, DRAIN_LIMIT, Handler, Http2Settings, ServeError, handler, methods};

/// tonic's own codec buffer, in bytes; it allocates one to decode and one to encode with, each call.
pub const TONIC_CODEC_BUFFER: usize = 8 << 10;

/// What the server announces and allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Options {
    /// HTTP/2 settings.
    #[serde(flatten)]
    pub http2: Http2Settings,
    /// The largest message in bytes, both ways. As tonic has it, a larger one ends in `OUT_OF_RANGE`, and in
    /// `RESOURCE_EXHAUSTED` if it is larger only once it is decompressed.
    pub message_limit: usize,
    /// Codec buffer in bytes. Another than [`TONIC_CODEC_BUFFER`] puts our own codec in the place of tonic's.
    pub codec_buffer: usize,
    /// Take compressed requests, and compress every reply whose client offers gzip: tonic's `accept_compressed` and
    /// `send_compressed`. tonic compresses at level 6 and cannot be told another. Without this it refuses compressed
    /// requests with `UNIMPLEMENTED`.
    pub accept_gzip: bool,
    /// What is done to a request before it is answered.
    #[serde(flatten)]
    pub handler: Handler,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            http2: Http2Settings::default(),
            message_limit: DEFAULT_MESSAGE_LIMIT,
            codec_buffer: TONIC_CODEC_BUFFER,
            accept_gzip: false,
            handler: Handler::default(),
        }
    }
}

/// Serves until `shutdown` completes, then until every call in flight has ended.
///
/// # Errors
/// [`ServeError::DrainTimeout`] when calls took longer than [`DRAIN_LIMIT`] to end; tonic does not say how many.
/// [`ServeError::Grpc`] when tonic's server fails.
pub async fn run(
    listener: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let (stopping, stopped) = oneshot::channel();
    let signal = async move {
        shutdown.await;
        let _ = stopping.send(());
    };
    let drain_limit = async move {
        let _ = stopped.await;
        time::sleep(DRAIN_LIMIT).await;
    };
    tokio::select! {
        served = serve(listener, options, signal) => served.map_err(ServeError::Grpc),
        () = drain_limit => Err(ServeError::DrainTimeout { connections: None, limit: DRAIN_LIMIT }),
    }
}

async fn serve(
    listener: TcpListener,
    options: Options,
    signal: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let Options { http2, message_limit, codec_buffer, accept_gzip, handler } = options;
    let mut server = Server::builder()
        .max_frame_size(http2.max_frame_size)
        .initial_stream_window_size(http2.stream_window)
        .initial_connection_window_size(http2.connection_window)
        .max_concurrent_streams(http2.max_concurrent_streams);
    let echo = Echo { unary: ops::method(methods::UNARY), stream: ops::method(methods::STREAM), handler };
    let router = if codec_buffer == TONIC_CODEC_BUFFER {
        let service = BenchmarkServiceServer::new(echo)
            .max_decoding_message_size(message_limit)
            .max_encoding_message_size(message_limit);
        server.add_service(if accept_gzip {
            service.accept_compressed(CompressionEncoding::Gzip).send_compressed(CompressionEncoding::Gzip)
        } else {
            service
        })
    } else {
        server.add_service(tuned::TunedServer::new(echo, options))
    };
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let incoming = incoming.map(|accepted| accepted.inspect(|_| connections::count()));
    router.serve_with_incoming_shutdown(incoming, signal).await
}

/// The service: answers with what it was sent.
#[derive(Debug)]
struct Echo {
    unary: &'static Method,
    stream: &'static Method,
    handler: Handler,
}

type Replies = Pin<Box<dyn Stream<Item = Result<BenchmarkResponse, Status>> + Send>>;

#[tonic::async_trait]
impl BenchmarkService for Echo {
    type StreamCallStream = Replies;

    async fn unary_call(&self, request: Request<BenchmarkRequest>) -> Result<Response<BenchmarkResponse>, Status> {
        let (op, request, size) = (self.unary.start(), request.into_inner(), self.handler.response_size);
        Ok(Response::new(match self.handler.sleep {
            None => answer(op, request, size),
            // tonic's box for this future has room, in every call, for what lives across an await: a pointer.
            Some(time) => {
                Box::pin(async move {
                    time::sleep(time).await;
                    answer(op, request, size)
                })
                .await
            }
        }))
    }

    async fn stream_call(&self, request: Request<Streaming<BenchmarkRequest>>) -> Result<Response<Replies>, Status> {
        let (method, size) = (self.stream, self.handler.response_size);
        let requests = request.into_inner();
        Ok(Response::new(match self.handler.sleep {
            None => Box::pin(requests.map(move |request| {
                let op = method.start();
                Ok(answer(op, request?, size))
            })),
            Some(time) => Box::pin(requests.then(move |request| async move {
                let op = method.start();
                let request = request?;
                time::sleep(time).await;
                Ok(answer(op, request, size))
            })),
        }))
    }
}

/// The reply to a request, which is counted as answered.
fn answer(op: Op, BenchmarkRequest { payload }: BenchmarkRequest, size: Option<u32>) -> BenchmarkResponse {
    let payload = match size.map(|size| size as usize) {
        None => payload,
        Some(size) if size <= payload.len() => payload.slice(..size),
        Some(size) => handler::repeated(&payload, size),
    };
    op.ok();
    BenchmarkResponse { payload }
}
