//! Requests of the user's own to plain HTTP servers, of both versions.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use analyze::{
    load::{Call, CallInfo, Case, Driver, LoadError, LoadSample, LoadSpec, Sharing, Wire, headers},
    scenario::{Framework, Payload, PayloadPattern, Scenario},
};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use load_support::{listen, requests, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const BOTH: [Framework; 2] = [Framework::Http1, Framework::H2];

/// Answers by path; says on `connection: close` what it does.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let seen: Vec<String> =
        head.headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
    let host = head.uri.authority().map(ToString::to_string).unwrap_or_default();
    let response = Response::builder().header("content-type", "text/plain");
    let (response, text) = match head.uri.path() {
        "/echo" => (response, body),
        "/headers" => (response, format!("{} {} authority={host}", head.method, seen.join(" ")).into()),
        "/created" => (response.status(201), Bytes::new()),
        "/close" => (response.header("connection", "close"), "bye".into()),
        "/moved" => (response.status(302).header("location", "/echo"), Bytes::new()),
        _ => (response.status(404), "not here".into()),
    };
    Ok(response.body(text.into()).unwrap())
}

/// A server of one version, and how many connections it had.
async fn serve(framework: Framework) -> (SocketAddr, Arc<AtomicU64>) {
    let connections = Arc::<AtomicU64>::default();
    let counted = connections.clone();
    let addr = listen(move |socket| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let socket = TokioIo::new(socket);
            let _ = match framework {
                Framework::Http1 => http1::Builder::new().serve_connection(socket, service_fn(answer)).await,
                _ => http2::Builder::new(TokioExecutor::new()).serve_connection(socket, service_fn(answer)).await,
            };
        }
    })
    .await;
    (addr, connections)
}

fn call(path: &str, body: Option<&str>, expect: Option<&str>, headers: HeaderMap) -> Call {
    let bytes = |text: Option<&str>| text.map(|text| Bytes::copy_from_slice(text.as_bytes()));
    Call::plain(path.parse().unwrap(), bytes(body), bytes(expect), headers, "server.test:80".to_owned())
}

fn get(path: &str) -> Call {
    call(path, None, None, HeaderMap::new())
}

async fn connect(framework: Framework, addr: SocketAddr, call: Call) -> Result<Driver, LoadError> {
    let payload = Payload::given(call.size() as u64).unwrap();
    let sharing = if framework == Framework::Http1 { Sharing::Pool } else { Sharing::Mux };
    let connections = if framework == Framework::Http1 { 2 } else { 1 };
    let case = Case {
        pattern: PayloadPattern::Given,
        sharing,
        connections,
        ..Case::new(Scenario { payload, concurrency: 4 }, Duration::from_secs(1))
    };
    Driver::connect(LoadSpec { call: Some(Arc::new(call)), ..LoadSpec::new(framework, addr, case) }).await
}

async fn measured(
    framework: Framework,
    addr: SocketAddr,
    call: Call,
) -> Result<(Wire, CallInfo, LoadSample), LoadError> {
    let mut driver = connect(framework, addr, call).await?;
    let wire = driver.preflight().await?;
    let sample = run(&mut driver, &requests(200)).await;
    Ok((wire, driver.call_info().unwrap(), sample))
}

#[tokio::test]
async fn a_get_and_a_post_are_measured_over_either_version() {
    for framework in BOTH {
        let (addr, _) = serve(framework).await;
        let posted = call("/echo?x=1", Some("hello"), Some("hello"), HeaderMap::new());
        let (wire, info, sample) = measured(framework, addr, posted).await.unwrap();
        assert_eq!((sample.ok, sample.error, sample.payload_bytes), (200, 0, 1_000), "{:?}", sample.errors);
        assert_eq!((info.method.as_str(), info.request.as_str()), ("POST /echo?…", "hello"));
        assert_eq!(info.reply.as_deref(), Some("hello"));
        assert_eq!(wire.http_version, if framework == Framework::H2 { "HTTP/2" } else { "HTTP/1.1" });
        assert_eq!(wire.server_settings.is_some(), framework == Framework::H2);
        assert!(wire.request_bytes > 5 && wire.response_bytes > 5, "{wire:?}");
        let (_, info, sample) = measured(framework, addr, get("/created")).await.unwrap();
        assert_eq!((info.method.as_str(), info.reply.as_deref(), sample.ok), ("GET /created", Some(""), 200));
    }
}

#[tokio::test]
async fn the_headers_recorded_are_those_that_the_server_sees() {
    for framework in BOTH {
        let (addr, _) = serve(framework).await;
        let own = headers(["x-a: 1", "user-agent: me", "content-type: text/plain"]).unwrap();
        let (wire, info, _) = measured(framework, addr, call("/headers", Some("hello"), None, own)).await.unwrap();
        let reply = info.reply.unwrap();
        let host = if framework == Framework::H2 { "authority=server.test:80" } else { "host=server.test:80" };
        for part in ["POST ", "x-a=1", "user-agent=me", "content-type=text/plain", "content-length=5", host] {
            assert!(reply.contains(part), "{part} in {reply}");
        }
        let mut names = wire.request_header_names.iter().filter(|name| !name.starts_with(':'));
        assert!(names.all(|name| reply.contains(&format!("{name}="))), "{:?}: {reply}", wire.request_header_names);
    }
}

#[tokio::test]
async fn a_status_beyond_2xx_and_another_body_are_no_success() {
    for framework in BOTH {
        let (addr, _) = serve(framework).await;
        for (path, status) in [("/nowhere", 404), ("/moved", 302)] {
            let error = measured(framework, addr, get(path)).await.unwrap_err().to_string();
            assert!(error.ends_with(&format!("HTTP status {status}")), "{error}");
            let mut driver = connect(framework, addr, get(path)).await.unwrap();
            let sample = run(&mut driver, &requests(100)).await;
            assert_eq!((sample.ok, sample.error, sample.qps()), (0, 100, Some(0.0)));
        }
        let other = call("/echo", Some("hello"), Some("hullo"), HeaderMap::new());
        let error = measured(framework, addr, other).await.unwrap_err().to_string();
        assert!(error.ends_with("reply is not the one expected: hello"), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_opened_again() {
    let (addr, connections) = serve(Framework::Http1).await;
    let (_, _, sample) = measured(Framework::Http1, addr, get("/close")).await.unwrap();
    assert_eq!((sample.ok, sample.error), (200, 0), "{:?}", sample.errors);
    // One a call, with the three of the preflight.
    assert_eq!(connections.load(Ordering::Relaxed), 203);
}

#[tokio::test]
async fn a_connection_that_stays_open_is_used_again() {
    let (addr, connections) = serve(Framework::Http1).await;
    let (wire, _, sample) = measured(Framework::Http1, addr, get("/created")).await.unwrap();
    assert_eq!((sample.ok, wire.connections, connections.load(Ordering::Relaxed)), (200, 2, 2));
}

#[tokio::test]
async fn a_body_that_is_cut_short_is_an_error() {
    let addr = listen(|mut socket| async move {
        let mut request = [0; 1024];
        let _ = socket.read(&mut request).await;
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort").await;
    })
    .await;
    let mut driver = connect(Framework::Http1, addr, get("/")).await.unwrap();
    let sample = run(&mut driver, &requests(20)).await;
    assert_eq!((sample.ok, sample.error), (0, 20));
    assert!(sample.errors[0].message.starts_with("connection broke: "), "{:?}", sample.errors);
}
