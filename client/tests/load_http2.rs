//! The HTTP/2 driver against servers that do as they should.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::time::Duration;

use analyze::{
    load::{CallMode, Case, Driver, Live, LoadError, LoadSpec, PeerSettings, Window},
    scenario::Framework,
};
use load_support::{WINDOW, assert_closed, echo, http2, read_all, reply, requests, run, spec};
use tokio::sync::{mpsc, oneshot, watch};

#[tokio::test]
async fn every_call_of_a_good_server_is_ok() {
    let addr = http2(h2::server::Builder::new(), echo).await;
    for (framework, mode, scenario) in [
        (Framework::Triple, CallMode::Unary, "128B-50"),
        (Framework::Grpc, CallMode::Unary, "128B-1"),
        (Framework::Triple, CallMode::Streaming, "16KiB-10"),
        (Framework::Grpc, CallMode::Streaming, "1B-3"),
    ] {
        let mut spec = spec(framework, addr, scenario);
        spec.case.mode = mode;
        let mut driver = Driver::connect(spec).await.unwrap();
        driver.preflight().await.unwrap();
        let sample = run(&mut driver, &Window::lasting(WINDOW)).await;
        assert_eq!((sample.error, sample.unfinished), (0, 0), "{scenario}: {:?}", sample.errors);
        assert!(sample.ok > 0 && sample.window >= WINDOW);
        assert!(sample.latency.min() > Some(0) && sample.latency.p50() <= sample.latency.max());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_sees_exactly_the_calls_that_were_started() {
    let (seen, mut calls) = mpsc::unbounded_channel();
    let addr = http2(h2::server::Builder::new(), move |request, respond| {
        seen.send(request.uri().path().to_owned()).unwrap();
        echo(request, respond)
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Triple, addr, "1KiB-20")).await.unwrap();
    let live = Live::default();
    let mut started = 0;
    for _ in 0..2 {
        let sample = driver.run(&requests(500), &live).await;
        assert_closed(&sample);
        started += sample.started;
        assert_eq!(sample.ok, sample.started);
    }
    assert_eq!(live.ok(), started);
    let mut answered = 0;
    while let Ok(path) = calls.try_recv() {
        assert_eq!(path, echo_proto::UNARY_PATH);
        answered += 1;
    }
    assert_eq!(answered, started);
}

#[tokio::test]
async fn large_messages_pass_windows_smaller_than_they_are() {
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(16 << 10).initial_connection_window_size(64 << 10);
    let addr = http2(builder, echo).await;
    let mut spec = spec(Framework::Grpc, addr, "1MiB-20");
    spec.stream_window = 65_535;
    spec.connection_window = 65_535;
    spec.max_frame = 16_384;
    spec.case.connections = 2;
    let mut driver = Driver::connect(spec).await.unwrap();
    driver.preflight().await.unwrap();
    let sample = run(&mut driver, &requests(40)).await;
    assert_eq!((sample.started, sample.ok), (40, 40), "{sample:?}");
}

#[tokio::test]
async fn the_wire_is_what_was_really_used() {
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(1 << 20)
        .initial_connection_window_size(2 << 20)
        .max_frame_size(1 << 18)
        .max_concurrent_streams(77);
    let addr = http2(builder, |request: http::Request<h2::RecvStream>, respond| async move {
        assert_eq!(request.headers().len(), 3);
        echo(request, respond).await;
    })
    .await;
    let mut spec = spec(Framework::Triple, addr, "128B-10");
    spec.case.connections = 3;
    let wire = Driver::connect(spec).await.unwrap().preflight().await.unwrap();

    assert_eq!((wire.http_version.as_str(), wire.connections), ("HTTP/2", 3));
    assert_eq!(wire.content_type.as_deref(), Some("application/grpc+proto"));
    assert_eq!(wire.response_content_type.as_deref(), Some("application/grpc+proto"));
    assert_eq!((wire.request_encoding.as_str(), wire.response_encoding.as_str()), ("identity", "identity"));
    assert_eq!(
        wire.request_header_names,
        [":method", ":scheme", ":authority", ":path", "content-type", "te", "user-agent"]
    );
    assert_eq!(wire.response_header_names, [":status", "content-type", "grpc-status", "grpc-message"]);
    let server = PeerSettings {
        max_frame_size: 1 << 18,
        stream_window: 1 << 20,
        connection_window: 2 << 20,
        max_concurrent_streams: Some(77),
    };
    assert_eq!(wire.server_settings, Some(server));
    assert_eq!(wire.client_settings.unwrap().max_frame_size, 1 << 20);
    // Two frame headers, the message with its two prefixes, and a header block in which every field is an index.
    assert!((18 + 135 + 7..=200).contains(&wire.request_bytes), "{wire:?}");
    assert!((27 + 135 + 4..=220).contains(&wire.response_bytes), "{wire:?}");
}

#[tokio::test]
async fn no_more_connections_are_opened_than_calls_are_in_flight() {
    let addr = http2(h2::server::Builder::new(), echo).await;
    let mut spec = spec(Framework::Grpc, addr, "128B-2");
    spec.case.connections = 8;
    let wire = Driver::connect(spec).await.unwrap().preflight().await.unwrap();
    assert_eq!(wire.connections, 2);
}

#[tokio::test]
async fn a_server_that_takes_one_stream_at_a_time_is_not_overrun() {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(1);
    for scenario in ["128B-50", "1MiB-8"] {
        let addr = http2(builder.clone(), echo).await;
        let mut driver = Driver::connect(spec(Framework::Triple, addr, scenario)).await.unwrap();
        let wire = driver.preflight().await.unwrap();
        assert_eq!(wire.server_settings.unwrap().max_concurrent_streams, Some(1));
        let sample = run(&mut driver, &requests(100)).await;
        assert_eq!((sample.started, sample.ok), (100, 100), "{scenario}: {sample:?}");
    }
}

#[tokio::test]
async fn the_stop_signal_ends_the_window_and_calls_in_flight_are_waited_for() {
    let (seen, mut calls) = mpsc::unbounded_channel();
    let (release, released) = watch::channel(false);
    let addr = http2(h2::server::Builder::new(), move |request, respond| {
        let (seen, mut released) = (seen.clone(), released.clone());
        async move {
            let body = read_all(request.into_body()).await;
            seen.send(()).unwrap();
            released.wait_for(|&r| r).await.unwrap();
            reply(respond, body, "0");
        }
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Triple, addr, "128B-5")).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let live = Live::default();
    let stopping = async {
        for _ in 0..5 {
            calls.recv().await.unwrap();
        }
        stop.send(()).unwrap();
        // The window has ended once the runtime has been through its tasks; only then do replies come.
        tokio::task::yield_now().await;
        release.send(true).unwrap();
    };
    let hour = Window::lasting(Duration::from_secs(3600));
    let enough = async { drop(stopped.await) };
    let (sample, ()) = tokio::join!(driver.run_until(&hour, &live, enough), stopping);
    assert_closed(&sample);
    assert_eq!((sample.started, sample.ok), (5, 5));
    assert!(sample.window < Duration::from_secs(3600));
}

#[tokio::test]
async fn what_cannot_be_connected_to_is_named() {
    // Bound, so that it is nobody else's, but nothing listens there.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = socket.local_addr().unwrap();
    let error = Driver::connect(spec(Framework::Grpc, addr, "128B-1")).await.unwrap_err();
    assert!(matches!(error, LoadError::Connect { .. }));
    assert!(error.to_string().starts_with(&format!("grpc server {addr}: can't connect: ")), "{error}");
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_takes_the_connect_timeout() {
    use std::os::fd::AsRawFd;
    // A backlog of none that is full: the kernel drops further SYNs, and the client would retry for two minutes.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    // SAFETY: `listen` on a socket that lives until the end of this function.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let _fills_the_backlog = std::net::TcpStream::connect(addr).unwrap();

    let mut spec = spec(Framework::Raw, addr, "128B-1");
    spec.connect_timeout = Duration::from_millis(50);
    let error = Driver::connect(spec).await.unwrap_err();
    assert_eq!(error.to_string(), format!("raw server {addr}: no connection within 50ms"));
}

#[tokio::test]
async fn a_spec_out_of_range_is_refused_before_anything_is_opened() {
    let addr = "127.0.0.1:1".parse().unwrap();
    let good = || spec(Framework::Triple, addr, "128B-1");
    let refusals = [
        (LoadSpec { case: Case { connections: 0, ..good().case }, ..good() }, "connections 0: must be 1 to 10000"),
        (LoadSpec { max_frame: 1, ..good() }, "max frame 1: must be 16384 to 16777215 bytes"),
        (LoadSpec { stream_window: 1 << 31, ..good() }, "stream window 2147483648: must be 65535 to 2147483647 bytes"),
        (
            LoadSpec { request_timeout: Duration::ZERO, ..good() },
            "request timeout in ns 0: must be 1 to 86400000000000 (a day)",
        ),
    ];
    for (spec, text) in refusals {
        assert_eq!(Driver::connect(spec).await.unwrap_err().to_string(), text);
    }
}
