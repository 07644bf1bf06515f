//! A live server and the smallest clients that show everything it sends.

#![allow(dead_code, reason = "each test program uses its own part")]

pub(crate) mod frames;
pub(crate) mod gzip;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod others;
pub(crate) mod vectors;

use std::net::SocketAddr;

use echo_server::{ServeError, triple};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

pub(crate) const UNARY: &str = "/benchmark.BenchmarkService/UnaryCall";
pub(crate) const STREAM: &str = "/benchmark.BenchmarkService/StreamCall";
pub(crate) const CHECK: &str = "/grpc.health.v1.Health/Check";
pub(crate) const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// A Triple server on a free port of the loopback.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) serving: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    pub(crate) async fn start(options: triple::Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(triple::run(listener, options, async {
            let _ = stopped.await;
        }));
        Self { addr, stop: Some(stop), serving }
    }

    /// Begins the drain.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// One gRPC message with its prefix.
pub(crate) fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![flag];
    bytes.extend((message.len() as u32).to_be_bytes());
    bytes.extend(message);
    bytes
}

/// A `BenchmarkRequest`, or response, encoded.
pub(crate) fn benchmark(payload: &[u8]) -> Vec<u8> {
    use echo_proto::benchmark::BenchmarkRequest;
    use prost::Message;
    BenchmarkRequest { payload: payload.to_vec().into() }.encode_to_vec()
}
