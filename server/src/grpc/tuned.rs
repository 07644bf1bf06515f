//! What tonic generates for the service, but with a codec whose buffer has the size asked for.
//!
//! The generated server makes its codec by `Default`, which leaves no way in for a size known at run time.

use std::{
    convert::Infallible,
    marker::PhantomData,
    sync::Arc,
    task::{Context, Poll},
};

use echo_proto::{
    STREAM_PATH, UNARY_PATH,
    benchmark::{
        BenchmarkRequest, BenchmarkResponse,
        benchmark_service_server::{BenchmarkService, SERVICE_NAME},
    },
};
use prost::Message;
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    codec::{BufferSettings, Codec, CompressionEncoding},
    codegen::{BoxFuture, Service},
    server::{Grpc, NamedService, StreamingService, UnaryService},
};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use super::{Echo, Options, Replies};

/// From how many buffered bytes on tonic passes a frame to HTTP/2: tonic's own default.
const YIELD_THRESHOLD: usize = 32 << 10;

#[derive(Debug, Clone)]
pub(super) struct TunedServer {
    echo: SharedEcho,
    codec_buffer: usize,
    message_limit: usize,
    accept_gzip: bool,
}

/// What a call holds of the service, as in tonic's own servers.
#[derive(Debug, Clone)]
struct SharedEcho(Arc<Echo>);

impl TunedServer {
    pub(super) fn new(echo: Echo, options: Options) -> Self {
        let Options { codec_buffer, message_limit, accept_gzip, .. } = options;
        Self { echo: SharedEcho(Arc::new(echo)), codec_buffer, message_limit, accept_gzip }
    }

    fn grpc(&self) -> Grpc<TunedCodec<BenchmarkResponse, BenchmarkRequest>> {
        let buffer = BufferSettings::new(self.codec_buffer, YIELD_THRESHOLD);
        let grpc = Grpc::new(TunedCodec { buffer, messages: PhantomData })
            .max_decoding_message_size(self.message_limit)
            .max_encoding_message_size(self.message_limit);
        if self.accept_gzip {
            grpc.accept_compressed(CompressionEncoding::Gzip).send_compressed(CompressionEncoding::Gzip)
        } else {
            grpc
        }
    }
}

impl NamedService for TunedServer {
    const NAME: &'static str = SERVICE_NAME;
}

impl Service<http::Request<Body>> for TunedServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            Ok(match request.uri().path() {
                UNARY_PATH => server.grpc().unary(server.echo, request).await,
                STREAM_PATH => server.grpc().streaming(server.echo, request).await,
                path => Status::unimplemented(format!("no method {path}")).into_http(),
            })
        })
    }
}

impl UnaryService<BenchmarkRequest> for SharedEcho {
    type Response = BenchmarkResponse;
    type Future = BoxFuture<Response<BenchmarkResponse>, Status>;

    fn call(&mut self, request: Request<BenchmarkRequest>) -> Self::Future {
        let echo = Arc::clone(&self.0);
        Box::pin(async move { echo.unary_call(request).await })
    }
}

impl StreamingService<BenchmarkRequest> for SharedEcho {
    type Response = BenchmarkResponse;
    type ResponseStream = Replies;
    type Future = BoxFuture<Response<Replies>, Status>;

    fn call(&mut self, request: Request<Streaming<BenchmarkRequest>>) -> Self::Future {
        let echo = Arc::clone(&self.0);
        Box::pin(async move { echo.stream_call(request).await })
    }
}

/// tonic's protobuf codec with a buffer of another size.
#[derive(Debug)]
struct TunedCodec<T, U> {
    buffer: BufferSettings,
    messages: PhantomData<(T, U)>,
}

impl<T, U> Codec for TunedCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(self.buffer)
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<T, U>::raw_decoder(self.buffer)
    }
}
