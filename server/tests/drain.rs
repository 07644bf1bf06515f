//! A drain: what is in flight finishes, nothing new begins.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::{future::Future, net::SocketAddr, pin::Pin};

use echo_server::{ServeError, grpc, raw, triple};
use support::{Server, UNARY, benchmark, framed, http1, http2::Client};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

const GRPC: (&str, &str) = ("content-type", "application/grpc+proto");

type Stopped = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A server on a port of its own, what stops it, and its end.
async fn start<S>(
    run: impl FnOnce(TcpListener, Stopped) -> S,
) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<Result<(), ServeError>>)
where
    S: Future<Output = Result<(), ServeError>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = Box::pin(async {
        let _ = stopped.await;
    });
    (addr, stop, tokio::spawn(run(listener, stopped)))
}

#[tokio::test]
async fn a_call_in_flight_finishes_and_new_connections_are_refused() {
    let mut server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let message = framed(0, &benchmark(b"hi"));
    // A whole call first, so that the connection is known to be served.
    client.call(UNARY, &[GRPC], &[&message]).await;
    let mut in_flight = client.open(UNARY, &[GRPC]).await;
    in_flight.send(&message[..3], false);
    let mut idle = TcpStream::connect(server.addr).await.unwrap();
    idle.write_all(&http1::request("POST", UNARY, &[("content-type", "application/json")], b"{}")).await.unwrap();
    assert_eq!(http1::read_reply(&mut idle).await.status, 200);

    server.stop();
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0, "an idle connection is closed");
    assert!(TcpStream::connect(server.addr).await.is_err());
    in_flight.send(&message[3..], true);
    let reply = in_flight.reply().await;
    assert_eq!((reply.grpc_status(), reply.body), (Some(0), message));
    server.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_does_not_finish_is_cut_off() {
    let mut server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    client.call(UNARY, &[GRPC], &[&framed(0, b"")]).await;
    let mut stuck = client.open(UNARY, &[GRPC]).await;
    stuck.send(b"\0", false);
    tokio::time::pause();
    server.stop();
    match server.serving.await.unwrap() {
        Err(ServeError::DrainTimeout { connections, .. }) => assert_eq!(connections, Some(1)),
        other => panic!("drained with a call in flight: {other:?}"),
    }
}

#[tokio::test]
async fn grpc_cuts_off_too_and_does_not_know_how_many() {
    let (addr, stop, serving) = start(|listener, stopped| grpc::run(listener, grpc::Options::default(), stopped)).await;
    let client = Client::connect(addr).await;
    client.call(UNARY, &[GRPC], &[&framed(0, b"")]).await;
    let mut stuck = client.open(UNARY, &[GRPC]).await;
    stuck.send(b"\0", false);
    tokio::time::pause();
    stop.send(()).unwrap();
    match serving.await.unwrap() {
        Err(ServeError::DrainTimeout { connections, .. }) => assert_eq!(connections, None),
        other => panic!("drained with a call in flight: {other:?}"),
    }
}

#[tokio::test]
async fn grpc_drains() {
    let (addr, stop, serving) = start(|listener, stopped| grpc::run(listener, grpc::Options::default(), stopped)).await;
    let client = Client::connect(addr).await;
    let message = framed(0, &benchmark(b"hi"));
    client.call(UNARY, &[GRPC], &[&message]).await;
    let mut in_flight = client.open(UNARY, &[GRPC]).await;
    in_flight.send(&message[..3], false);
    stop.send(()).unwrap();
    in_flight.send(&message[3..], true);
    assert_eq!(in_flight.reply().await.body, message);
    drop(client);
    serving.await.unwrap().unwrap();
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn raw_drains() {
    let (addr, stop, serving) = start(|listener, stopped| raw::run(listener, raw::Options::default(), stopped)).await;
    let mut busy = TcpStream::connect(addr).await.unwrap();
    // The echo of the first message tells that the beginning of the second has been read with it.
    busy.write_all(b"\0\0\0\x01a\0\0\0\x02b").await.unwrap();
    busy.read_exact(&mut [0; 5]).await.unwrap();
    let mut idle = TcpStream::connect(addr).await.unwrap();
    stop.send(()).unwrap();
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap_or(0), 0);
    busy.write_all(b"c").await.unwrap();
    let mut echo = [0; 6];
    busy.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"\0\0\0\x02bc");
    serving.await.unwrap().unwrap();
}
