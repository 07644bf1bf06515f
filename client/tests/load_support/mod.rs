//! Servers that do right and wrong on purpose, in this process, and specs that suit them.
#![allow(dead_code, reason = "each test program uses its share")]

pub(crate) mod greeter;

use std::{future::Future, net::SocketAddr, time::Duration};

use analyze::{
    load::{Case, Driver, End, Live, LoadSample, LoadSpec, Window},
    scenario::Framework,
};
use bytes::Bytes;
use h2::{
    RecvStream,
    server::{Builder, SendResponse},
};
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::net::{TcpListener, TcpStream};

/// For tests of windows that last for a time; how many calls fit into it is the machine's affair.
pub(crate) const WINDOW: Duration = Duration::from_millis(200);

/// Longer than a good server takes on any machine.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn spec(framework: Framework, addr: SocketAddr, scenario: &str) -> LoadSpec {
    let case = Case::new(scenario.parse().unwrap(), WINDOW);
    LoadSpec { connect_timeout: PATIENCE, request_timeout: PATIENCE, ..LoadSpec::new(framework, addr, case) }
}

/// A closed loop of so many calls.
pub(crate) fn requests(count: u64) -> Window {
    Window { end: End::Requests(count), rate: None, think: Duration::ZERO }
}

/// One window with nobody watching.
pub(crate) async fn run(driver: &mut Driver, window: &Window) -> LoadSample {
    let sample = driver.run(window, &Live::default()).await;
    assert_closed(&sample);
    sample
}

/// What holds of every sample, however the server behaves.
pub(crate) fn assert_closed(sample: &LoadSample) {
    assert_eq!(sample.started, sample.ok + sample.error + sample.unfinished, "{sample:?}");
    assert_eq!(sample.errors.iter().map(|e| e.count).sum::<u64>(), sample.error, "{sample:?}");
    assert_eq!(sample.latency.count(), sample.ok, "{sample:?}");
    assert!(sample.ok_in_window <= sample.ok, "{sample:?}");
}

/// Accepts connections for the rest of the test and gives each to `serve`.
pub(crate) async fn listen<F: Future<Output = ()> + Send + 'static>(
    mut serve: impl FnMut(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            tokio::spawn(serve(socket));
        }
    });
    addr
}

/// An HTTP/2 server that gives each request to `answer`, on a task of its own.
pub(crate) async fn http2<F: Future<Output = ()> + Send + 'static>(
    builder: Builder,
    answer: impl Fn(Request<RecvStream>, SendResponse<Bytes>) -> F + Clone + Send + 'static,
) -> SocketAddr {
    listen(move |socket| {
        let (builder, answer) = (builder.clone(), answer.clone());
        async move {
            let Ok(mut connection) = builder.handshake(socket).await else { return };
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::spawn(answer(request, respond));
            }
        }
    })
    .await
}

/// The message of a request with its prefix, or what came of it before the stream ended.
pub(crate) async fn read_all(mut body: RecvStream) -> Bytes {
    let mut all = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        body.flow_control().release_capacity(piece.len()).unwrap();
        all.extend_from_slice(&piece);
    }
    all.into()
}

/// Answers as a gRPC server does: headers, `body`, trailers with `status`. A client that went away meanwhile is no failure.
pub(crate) fn reply(mut respond: SendResponse<Bytes>, body: Bytes, status: &'static str) {
    let head = Response::builder().header("content-type", "application/grpc+proto").body(()).unwrap();
    if let Ok(mut stream) = respond.send_response(head, false) {
        let _ = stream.send_data(body, false);
        let _ = stream.send_trailers(trailers(status));
    }
}

pub(crate) fn trailers(status: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(status));
    trailers.insert("grpc-message", HeaderValue::from_static("as%20told"));
    trailers
}

pub(crate) async fn echo(request: Request<RecvStream>, respond: SendResponse<Bytes>) {
    reply(respond, read_all(request.into_body()).await, "0");
}
