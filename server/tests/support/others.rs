//! The gRPC and raw servers, each on a free port of the loopback until its test ends.

use std::{future, net::SocketAddr};

use echo_server::{grpc, raw};
use tokio::net::TcpListener;

pub(crate) async fn start_grpc(options: grpc::Options) -> SocketAddr {
    let (listener, addr) = listen().await;
    tokio::spawn(grpc::run(listener, options, future::pending()));
    addr
}

pub(crate) async fn start_raw(options: raw::Options) -> SocketAddr {
    let (listener, addr) = listen().await;
    tokio::spawn(raw::run(listener, options, future::pending()));
    addr
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}
