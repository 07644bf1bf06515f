//! The HTTP/2 driver against servers that do wrong: the ledger closes, the cause is named, nothing hangs.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use analyze::{
    load::{CallError, Driver, LoadError, Window},
    scenario::Framework,
};
use bytes::Bytes;
use h2::{Reason, RecvStream, server::SendResponse};
use http::{Request, Response};
use load_support::{WINDOW, echo, http2, listen, read_all, reply, requests, run, spec, trailers};

type Answer = (&'static str, fn(Bytes, SendResponse<Bytes>), &'static str);

fn flipped(body: Bytes) -> Bytes {
    let mut body = body.to_vec();
    body[100] ^= 1;
    body.into()
}

/// What a server may do wrong in one reply, and what the preflight says of it. A client that went away meanwhile is no
/// failure of the server's.
const WRONGS: [Answer; 9] = [
    (
        "other bytes",
        |body, respond| reply(respond, flipped(body), "0"),
        "reply differs from what was expected at byte 100",
    ),
    ("too short", |body, respond| reply(respond, body.slice(..50), "0"), "reply of 50 bytes and not the 136 expected"),
    (
        "too long",
        |body, respond| reply(respond, [body, Bytes::from_static(b"more")].concat().into(), "0"),
        "reply of 140 bytes and not the 136 expected",
    ),
    (
        "compressed",
        |_, respond| reply(respond, Bytes::from_static(b"\x01\0\0\0\x02zz"), "0"),
        "reply is compressed, which was not offered",
    ),
    ("a status", |_, respond| reply(respond, Bytes::new(), "8"), "grpc-status 8: as%20told"),
    ("a status after the echo", |body, respond| reply(respond, body, "13"), "grpc-status 13: as%20told"),
    (
        "trailers only",
        |_, mut respond| {
            let mut head = Response::new(());
            *head.headers_mut() = trailers("12");
            let _ = respond.send_response(head, true);
        },
        "grpc-status 12: as%20told",
    ),
    (
        "no status",
        |body, mut respond| {
            let _ = respond.send_response(Response::new(()), false).and_then(|mut stream| stream.send_data(body, true));
        },
        "reply without grpc-status",
    ),
    (
        "plain HTTP",
        |_, mut respond| {
            let _ = respond.send_response(Response::builder().status(404).body(()).unwrap(), true);
        },
        "HTTP status 404",
    ),
];

#[tokio::test]
async fn the_preflight_names_what_is_wrong_with_a_reply() {
    for (name, wrong, text) in WRONGS {
        let addr = http2(h2::server::Builder::new(), move |request: Request<RecvStream>, respond| async move {
            wrong(read_all(request.into_body()).await, respond);
        })
        .await;
        let mut driver = Driver::connect(spec(Framework::Triple, addr, "128B-4")).await.unwrap();
        let error = driver.preflight().await.unwrap_err();
        assert_eq!(error.to_string(), format!("triple server {addr}: preflight call: {text}"), "{name}");
    }
}

#[tokio::test]
async fn a_run_without_one_success_has_figures_of_nothing() {
    let addr = http2(h2::server::Builder::new(), |request: Request<RecvStream>, respond| async move {
        reply(respond, read_all(request.into_body()).await, "14");
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Grpc, addr, "128B-4")).await.unwrap();
    let sample = run(&mut driver, &requests(50)).await;
    assert_eq!((sample.started, sample.ok, sample.error), (50, 0, 50));
    assert_eq!((sample.latency.p50(), sample.latency.mean(), sample.qps()), (None, None, Some(0.0)));
    assert_eq!(sample.errors[0].message, "grpc-status 14: as%20told");
}

/// Every third reply is one of the wrongs in turn, or a reset, or none for a while; the rest are right.
#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_closes_over_every_wrong_at_once() {
    let turn = Arc::new(AtomicU32::new(0));
    let addr =
        http2(h2::server::Builder::new(), move |request: Request<RecvStream>, mut respond: SendResponse<Bytes>| {
            let turn = turn.fetch_add(1, Ordering::Relaxed);
            async move {
                let body = read_all(request.into_body()).await;
                match (turn % 3, turn / 3 % 11) {
                    (0, 9) => respond.send_reset(Reason::REFUSED_STREAM),
                    (0, 10) => std::future::pending().await,
                    (0, wrong) => WRONGS[wrong as usize].1(body, respond),
                    _ => reply(respond, body, "0"),
                }
            }
        })
        .await;
    let mut spec = spec(Framework::Triple, addr, "128B-30");
    spec.case.connections = 4;
    // Long enough for most of the calls that are answered.
    spec.request_timeout = Duration::from_secs(2);
    let mut driver = Driver::connect(spec).await.unwrap();
    // Ten times everything. Other bytes are found only where all of them are compared.
    let sample = run(&mut driver, &requests(330)).await;
    assert!(sample.ok > 0 && sample.error >= 100, "{sample:?}");
    let named = |text: &str| sample.errors.iter().any(|e| e.message.contains(text));
    assert!(named("bytes and not the 136"), "{:?}", sample.errors);
    assert!(named("refused"), "{:?}", sample.errors);
    assert!(named("no reply within 2s"), "{:?}", sample.errors);
    assert!(named("grpc-status 12"), "{:?}", sample.errors);

    let again = run(&mut driver, &requests(33)).await;
    assert!(again.ok > 0, "the connections have outlived it: {again:?}");
}

#[tokio::test]
async fn silence_is_an_error_of_each_call_after_the_request_timeout() {
    let addr = listen(|socket| async move {
        let _held_open = socket;
        std::future::pending().await
    })
    .await;
    for framework in [Framework::Triple, Framework::Raw] {
        let mut spec = spec(framework, addr, "128B-10");
        spec.request_timeout = Duration::from_millis(50);
        let mut driver = Driver::connect(spec).await.unwrap();
        let error = driver.preflight().await.unwrap_err();
        assert!(matches!(error, LoadError::Preflight { source: CallError::TimedOut(_), .. }), "{error}");
        let sample = run(&mut driver, &requests(30)).await;
        // Replies of the raw echo have no name: its connection was lost with the call of the preflight, for each of the ten tasks.
        let (errors, cause) = match framework {
            Framework::Raw => (10, "connection lost: a call of it was given up"),
            _ => (30, "no reply within 50ms"),
        };
        assert_eq!((sample.ok, sample.error), (0, errors), "{sample:?}");
        assert!(sample.errors[0].message.starts_with(cause), "{:?}", sample.errors);
    }
}

/// The first sixty replies stop halfway. What of them was received and not read has to be given back to the connection's
/// window, which would otherwise be used up after 32 of them.
#[tokio::test]
async fn calls_given_up_midway_leave_the_connection_usable() {
    let turn = Arc::new(AtomicU32::new(0));
    let addr =
        http2(h2::server::Builder::new(), move |request: Request<RecvStream>, mut respond: SendResponse<Bytes>| {
            let stalls = turn.fetch_add(1, Ordering::Relaxed) < 60;
            async move {
                let body = read_all(request.into_body()).await;
                if stalls {
                    // Of a call that was given up before it came here there is less to send.
                    let Ok(mut stream) = respond.send_response(Response::new(()), false) else { return };
                    let _ = stream.send_data(body.slice(..body.len().min(8 << 10)), false);
                    let _given_up = std::future::poll_fn(|cx| stream.poll_reset(cx)).await;
                } else {
                    reply(respond, body, "0");
                }
            }
        })
        .await;
    let mut spec = spec(Framework::Triple, addr, "16KiB-20");
    spec.connection_window = 1 << 18;
    spec.request_timeout = Duration::from_secs(1);
    let mut driver = Driver::connect(spec).await.unwrap();
    let sample = run(&mut driver, &requests(60)).await;
    assert_eq!((sample.ok, sample.error, sample.errors.len()), (0, 60, 1), "{:?}", sample.errors);
    assert_eq!(sample.errors[0].message, "no reply within 1s");
    let sample = run(&mut driver, &requests(100)).await;
    assert!(sample.ok > 0 && sample.lost == 0, "{sample:?}");
}

#[tokio::test]
async fn a_server_that_dies_costs_each_task_one_error_and_ends_the_window() {
    for abrupt in [true, false] {
        let addr = listen(move |socket| async move {
            let mut connection = h2::server::handshake(socket).await.unwrap();
            for _ in 0..100 {
                let Some(Ok((request, respond))) = connection.accept().await else { return };
                tokio::spawn(echo(request, respond));
            }
            if !abrupt {
                connection.graceful_shutdown();
                while let Some(Ok((request, respond))) = connection.accept().await {
                    tokio::spawn(echo(request, respond));
                }
            }
        })
        .await;
        let mut driver = Driver::connect(spec(Framework::Grpc, addr, "128B-8")).await.unwrap();
        let sample = run(&mut driver, &Window::lasting(Duration::from_secs(3600))).await;
        assert_eq!((sample.error, sample.unfinished), (8, 0), "{sample:?}");
        assert!(sample.ok > 0 && (!abrupt || sample.ok <= 100), "{sample:?}");
        assert!(sample.window < Duration::from_secs(3600));
        let cause = if abrupt { "connection lost: " } else { "connection lost: the server sent GOAWAY, NO_ERROR" };
        assert!(sample.errors.iter().all(|e| e.message.starts_with(cause)), "{:?}", sample.errors);

        let after = run(&mut driver, &Window::lasting(Duration::from_secs(3600))).await;
        assert_eq!((after.started, after.error), (8, 8), "a lost connection stays lost, and costs no time");
    }
}

#[tokio::test]
async fn connections_that_are_lost_leave_the_others_running() {
    let accepted = Arc::new(AtomicU32::new(0));
    let addr = listen(move |socket| {
        let bad = accepted.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            let mut connection = h2::server::handshake(socket).await.unwrap();
            while let Some(Ok((request, respond))) = connection.accept().await {
                if bad {
                    return;
                }
                tokio::spawn(echo(request, respond));
            }
        }
    })
    .await;
    let mut spec = spec(Framework::Triple, addr, "128B-8");
    spec.case.connections = 4;
    let mut driver = Driver::connect(spec).await.unwrap();
    let sample = run(&mut driver, &Window::lasting(WINDOW)).await;
    assert_eq!((sample.error, sample.lost, sample.unfinished), (2, 2, 0), "two of eight tasks were on it: {sample:?}");
    assert!(sample.ok > 0 && sample.window >= WINDOW);
}

#[tokio::test]
async fn what_does_not_speak_http2_is_an_error_and_no_hang() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let addr = listen(|mut socket| async move {
        let _ = socket.read(&mut [0; 16]).await;
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Triple, addr, "128B-1")).await.unwrap();
    let error = driver.preflight().await.unwrap_err();
    assert!(matches!(error, LoadError::Preflight { source: CallError::ConnectionLost(_), .. }), "{error}");
}

/// The server lowers its limit to one stream while fifty calls are in flight.
#[tokio::test]
async fn a_limit_lowered_midway_is_respected() {
    let addr = listen(|socket| async move {
        limit_midway::serve(socket).await;
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Triple, addr, "128B-50")).await.unwrap();
    driver.preflight().await.unwrap();
    let sample = run(&mut driver, &requests(300)).await;
    assert_eq!((sample.started, sample.ok), (300, 300), "{sample:?}");
}

/// An HTTP/2 server in as few frames as it takes: h2's own can't change its stream limit. It echoes DATA, and asserts that
/// streams beyond the limit it has lowered to do not come once the client has acknowledged it.
mod limit_midway {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const WINDOW_UPDATE: u8 = 8;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    const ACK: u8 = 1;

    fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
        let mut frame = (body.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend_from_slice(body);
        frame
    }

    fn max_concurrent_streams(limit: u32) -> Vec<u8> {
        frame(SETTINGS, 0, 0, &[&[0, 3], limit.to_be_bytes().as_slice()].concat())
    }

    /// `:status 200` by its index in HPACK's static table, and `grpc-status: 0` as a literal that is not indexed.
    const HEAD: &[u8] = &[0x88];
    const TRAILERS: &[u8] = b"\x00\x0bgrpc-status\x010";

    pub(super) async fn serve(mut socket: TcpStream) {
        let mut preface = [0; PREFACE.len()];
        socket.read_exact(&mut preface).await.unwrap();
        socket.write_all(&max_concurrent_streams(100)).await.unwrap();
        let (mut open, mut answered, mut acks) = (0u32, 0u32, 0u32);
        loop {
            let mut header = [0; 9];
            if socket.read_exact(&mut header).await.is_err() {
                return;
            }
            let [a, b, c, kind, flags, s0, s1, s2, s3] = header;
            let mut body = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            socket.read_exact(&mut body).await.unwrap();
            let stream = u32::from_be_bytes([s0, s1, s2, s3]);
            match kind {
                SETTINGS if flags & ACK == 0 => socket.write_all(&frame(SETTINGS, ACK, 0, &[])).await.unwrap(),
                SETTINGS => acks += 1,
                HEADERS => {
                    open += 1;
                    assert!(acks < 2 || open == 1, "{open} streams open after the limit of one was acknowledged");
                }
                DATA if flags & END_STREAM != 0 => {
                    let mut reply = frame(HEADERS, END_HEADERS, stream, HEAD);
                    reply.extend(frame(DATA, 0, stream, &body));
                    reply.extend(frame(HEADERS, END_HEADERS | END_STREAM, stream, TRAILERS));
                    reply.extend(frame(WINDOW_UPDATE, 0, 0, &(body.len() as u32).to_be_bytes()));
                    open -= 1;
                    answered += 1;
                    if answered == 50 {
                        reply.extend(max_concurrent_streams(1));
                    }
                    socket.write_all(&reply).await.unwrap();
                }
                _ => {}
            }
        }
    }
}
