//! Everything a case may ask for, against this project's own servers, and the same asked of servers that do it wrong.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{future::pending, io::Write, net::SocketAddr, num::NonZeroU64, time::Duration};

use analyze::{
    load::{CallMode, Case, Driver, LoadError, LoadSample, MessagesPerStream, Sharing, Wire},
    scenario::{Compression, Framework, PayloadPattern, Serialization},
};
use bytes::Bytes;
use echo_server::{Handler, grpc, raw, triple};
use h2::RecvStream;
use http::{HeaderMap, Request, Response};
use load_support::{http2, listen, read_all, requests, run, spec, trailers};
use tokio::net::TcpListener;

async fn serve_triple(options: triple::Options) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(triple::run(listener, options, pending()));
    addr
}

async fn serve_grpc(options: grpc::Options) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(grpc::run(listener, options, pending()));
    addr
}

async fn serve_raw(options: raw::Options) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(raw::run(listener, options, pending()));
    addr
}

/// A driver whose case is `scenario`'s plainest but for what `change` makes of it.
async fn driver(
    framework: Framework,
    addr: SocketAddr,
    scenario: &str,
    change: impl FnOnce(&mut Case),
) -> Result<Driver, LoadError> {
    let mut spec = spec(framework, addr, scenario);
    change(&mut spec.case);
    Driver::connect(spec).await
}

/// A preflight and a hundred calls, all of which are right.
async fn good(
    framework: Framework,
    addr: SocketAddr,
    scenario: &str,
    change: impl FnOnce(&mut Case),
) -> (Wire, LoadSample) {
    let mut driver = driver(framework, addr, scenario, change).await.unwrap();
    let wire = driver.preflight().await.unwrap();
    let sample = run(&mut driver, &requests(100)).await;
    assert_eq!((sample.ok, sample.error), (100, 0), "{framework} {scenario} {:?}", sample.errors);
    (wire, sample)
}

fn streaming(case: &mut Case, messages: MessagesPerStream) {
    case.mode = CallMode::Streaming;
    case.messages_per_stream = messages;
}

const SEVEN: MessagesPerStream = MessagesPerStream::Count(NonZeroU64::new(7).unwrap());

/// Unary calls, streams of one message, of seven, and without bound.
const MODES: [fn(&mut Case); 4] = [
    |_| {},
    |case| streaming(case, MessagesPerStream::default()),
    |case| streaming(case, SEVEN),
    |case| streaming(case, MessagesPerStream::Unbounded),
];

#[tokio::test(flavor = "multi_thread")]
async fn gzip_is_applied_both_ways_and_said() {
    let triple = serve_triple(triple::Options::default()).await;
    let grpc = serve_grpc(grpc::Options { accept_gzip: true, ..Default::default() }).await;
    for (framework, addr) in [(Framework::Triple, triple), (Framework::Grpc, grpc)] {
        for mode in MODES {
            let (wire, plain) = good(framework, addr, "16KiB-8", |case| {
                case.pattern = PayloadPattern::Text;
                mode(case);
            })
            .await;
            assert_eq!([wire.request_encoding, wire.response_encoding], ["identity"; 2]);
            assert!(plain.sent_bytes > 100 * 16384 && plain.received_bytes > 100 * 16384);
            for compression in [Compression::Fastest, Compression::Default, Compression::Best] {
                let (wire, sample) = good(framework, addr, "16KiB-8", |case| {
                    case.pattern = PayloadPattern::Text;
                    case.compression = compression;
                    mode(case);
                })
                .await;
                assert_eq!([&wire.request_encoding, &wire.response_encoding], ["gzip"; 2], "{framework} {compression}");
                // Of the text's quarters so many are left at most.
                let quarters = if compression == Compression::Fastest { 3 } else { 2 };
                assert!(wire.request_bytes.max(wire.response_bytes) < quarters * 4096, "{wire:?}");
                assert!(sample.sent_bytes < plain.sent_bytes / 4 * quarters, "{framework} {compression}");
                assert!(sample.received_bytes < plain.received_bytes / 4 * quarters, "{framework} {compression}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_replies_alone_are_accepted_and_said() {
    let triple = |accept_gzip| serve_triple(triple::Options { accept_gzip, ..Default::default() });
    for (addr, encoding) in [(triple(true).await, "gzip"), (triple(false).await, "identity")] {
        for mode in MODES {
            let (wire, _) = good(Framework::Triple, addr, "16KiB-8", |case| {
                case.pattern = PayloadPattern::Zeros;
                case.accept_gzip = true;
                mode(case);
            })
            .await;
            assert_eq!((wire.request_encoding.as_str(), wire.response_encoding.as_str()), ("identity", encoding));
            assert!(wire.request_bytes > 16384 && (wire.response_bytes < 1024) == (encoding == "gzip"), "{wire:?}");
            assert!(wire.request_header_names.contains(&"grpc-accept-encoding".to_owned()));
            assert!(!wire.request_header_names.contains(&"grpc-encoding".to_owned()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_of_another_size_are_the_payload_repeated_or_cut() {
    for (size, payload) in [(0, "128B-8"), (100, "128B-8"), (1000, "128B-8"), (1 << 20, "1KiB-4")] {
        let handler = Handler { response_size: Some(size), ..Default::default() };
        let triple = serve_triple(triple::Options { handler, ..Default::default() }).await;
        let grpc = serve_grpc(grpc::Options { handler, ..Default::default() }).await;
        let raw = serve_raw(raw::Options { handler, ..Default::default() }).await;
        for (framework, addr) in [(Framework::Triple, triple), (Framework::Grpc, grpc), (Framework::Raw, raw)] {
            let (wire, sample) = good(framework, addr, payload, |case| case.response_size = Some(size.into())).await;
            assert!(wire.response_bytes >= u64::from(size), "{wire:?}");
            assert!(sample.received_bytes >= 100 * u64::from(size));
            let mut unaware = driver(framework, addr, payload, |_| {}).await.unwrap();
            assert!(unaware.preflight().await.is_err(), "{framework} answers with {size} bytes");
        }
        let (_, _) = good(Framework::Triple, triple, payload, |case| {
            case.response_size = Some(size.into());
            case.compression = Compression::Fastest;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mixes_of_sizes_are_sent_as_their_percents_say() {
    let triple = serve_triple(Default::default()).await;
    let grpc = serve_grpc(Default::default()).await;
    let raw = serve_raw(Default::default()).await;
    for (framework, addr) in [(Framework::Triple, triple), (Framework::Grpc, grpc), (Framework::Raw, raw)] {
        for mode in MODES {
            let mut driver = driver(framework, addr, "128B:80%+100KiB:20%-10", mode).await.unwrap();
            let wire = driver.preflight().await.unwrap();
            assert!(wire.request_bytes > 100 << 10, "of the largest");
            let sample = run(&mut driver, &requests(1000)).await;
            assert_eq!((sample.ok, sample.error), (1000, 0), "{framework} {:?}", sample.errors);
            // Five standard deviations of a binomial distribution, √(1000·0.2·0.8) = 12.6 each.
            let large = sample.sent_bytes / (100 << 10);
            assert!((137..=263).contains(&large), "{framework}: {large} of 1000");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn envelopes_are_encoded_and_decoded_at_both_ends() {
    let addr = serve_triple(Default::default()).await;
    for serialization in [Serialization::Hessian2, Serialization::Msgpack] {
        for mode in MODES {
            for pattern in [PayloadPattern::Random, PayloadPattern::Text] {
                for compression in [Compression::None, Compression::Default] {
                    let (wire, _) = good(Framework::Triple, addr, "1B:50%+40KiB:50%-4", |case| {
                        case.serialization = serialization;
                        case.compression = compression;
                        case.pattern = pattern;
                        mode(case);
                    })
                    .await;
                    assert_eq!(wire.content_type.as_deref(), Some("application/grpc+proto"));
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pooled_connections_carry_every_call() {
    let triple = serve_triple(Default::default()).await;
    let raw = serve_raw(Default::default()).await;
    for (framework, addr) in [(Framework::Triple, triple), (Framework::Raw, raw)] {
        for connections in [1, 3, 50] {
            let (wire, _) = good(framework, addr, "1KiB-20", |case| {
                case.sharing = Sharing::Pool;
                case.connections = connections;
            })
            .await;
            assert_eq!(wire.connections, connections.min(20));
        }
    }
}

/// A server that has two requests of a connection at a time says so with a status.
#[tokio::test(flavor = "multi_thread")]
async fn a_pooled_connection_has_one_call_at_a_time() {
    let serial = || {
        listen(|socket| async move {
            let Ok(mut connection) = h2::server::handshake(socket).await else { return };
            let busy = std::sync::Arc::new(tokio::sync::Mutex::new(()));
            while let Some(Ok((request, respond))) = connection.accept().await {
                let status = if busy.try_lock().is_ok() { "0" } else { "8" };
                let busy = busy.clone();
                tokio::spawn(async move {
                    let _busy = busy.lock_owned().await;
                    let body = read_all(request.into_body()).await;
                    tokio::task::yield_now().await;
                    drop(_busy);
                    load_support::reply(respond, body, status);
                });
            }
        })
    };
    let (_, sample) = good(Framework::Triple, serial().await, "128B-12", |case| {
        case.sharing = Sharing::Pool;
        case.connections = 3;
    })
    .await;
    assert_eq!(sample.error, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_in_flight_work_over_few_connections_and_many() {
    let triple = serve_triple(Default::default()).await;
    let raw = serve_raw(Default::default()).await;
    for (framework, addr, connections, sharing) in [
        (Framework::Triple, triple, 2, Sharing::Mux),
        (Framework::Triple, triple, 2, Sharing::Pool),
        (Framework::Raw, raw, 2, Sharing::Pool),
        (Framework::Raw, raw, 200, Sharing::Mux),
    ] {
        let mut driver = driver(framework, addr, "128B-10000", |case| {
            case.connections = connections;
            case.sharing = sharing;
        })
        .await
        .unwrap();
        let sample = run(&mut driver, &requests(10_000)).await;
        assert_eq!((sample.started, sample.ok), (10_000, 10_000), "{framework} {:?}", sample.errors);
    }
}

/// What is asked of a framework, and the answer.
type Refusal = (Framework, fn(&mut Case), &'static str);

#[tokio::test]
async fn what_a_framework_cannot_do_is_refused_before_anything_is_opened() {
    let addr = "127.0.0.1:1".parse().unwrap();
    let refusals: [Refusal; 5] = [
        (
            Framework::Grpc,
            |case| case.serialization = Serialization::Hessian2,
            "serialization hessian2: not for grpc: gRPC carries protobuf only: hessian2 and msgpack are arguments in Triple's \
             envelopes",
        ),
        (
            Framework::Raw,
            |case| case.serialization = Serialization::Msgpack,
            "serialization msgpack: not for raw: the raw echo carries bytes, no messages",
        ),
        (
            Framework::Raw,
            |case| case.compression = Compression::Best,
            "compression best: not for raw: the raw echo carries bytes, no messages",
        ),
        (
            Framework::Raw,
            |case| case.accept_gzip = true,
            "accept gzip true: not for raw: the raw echo carries bytes, no messages",
        ),
        (
            Framework::Triple,
            |case| case.response_size = Some(20 << 20),
            "response size 20971520: must be 0 to 16777216 bytes",
        ),
    ];
    for (framework, change, text) in refusals {
        assert_eq!(driver(framework, addr, "128B-1", change).await.unwrap_err().to_string(), text);
    }
}

fn gzip(message: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(message).unwrap();
    encoder.finish().unwrap()
}

fn framed(flag: u8, message: &[u8]) -> Bytes {
    [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat().into()
}

/// What a server makes of a request's message, sent with this `grpc-encoding`.
type Wrong = (&'static str, Option<&'static str>, fn(&[u8]) -> Bytes, &'static str);

/// A server that answers so.
async fn wrong((_, encoding, answer, _): Wrong) -> SocketAddr {
    http2(h2::server::Builder::new(), move |request: Request<RecvStream>, mut respond| async move {
        let body = read_all(request.into_body()).await;
        let mut headers = HeaderMap::new();
        if let Some(encoding) = encoding {
            headers.insert("grpc-encoding", encoding.parse().unwrap());
        }
        let mut head = Response::new(());
        *head.headers_mut() = headers;
        if let Ok(mut stream) = respond.send_response(head, false) {
            let _ = stream.send_data(answer(&body[5..]), false);
            let _ = stream.send_trailers(trailers("0"));
        }
    })
    .await
}

#[tokio::test]
async fn replies_compressed_wrongly_are_named() {
    let wrongs: [Wrong; 8] = [
        ("right", Some("gzip"), |m| framed(1, &gzip(m)), ""),
        ("not compressed at all", Some("gzip"), |m| framed(0, m), ""),
        ("unnamed", None, |m| framed(1, &gzip(m)), "reply is compressed with \"\", and only gzip was offered"),
        ("another", Some("snappy"), |m| framed(1, m), "reply is compressed with \"snappy\", and only gzip was offered"),
        ("no gzip", Some("gzip"), |m| framed(1, m), "reply can't be decoded: gzip: invalid gzip header"),
        ("half", Some("gzip"), |m| framed(1, &gzip(&m[..64])), "reply of 69 bytes and not the 136 expected"),
        (
            "other bytes",
            Some("gzip"),
            |m| framed(1, &gzip(&vec![0; m.len()])),
            "reply differs from what was expected at byte 5",
        ),
        (
            "a bomb",
            Some("gzip"),
            |_| framed(1, &gzip(&[0; 200_000])),
            "reply can't be decoded: gzip: more than 131 bytes come out of it",
        ),
    ];
    for case in wrongs {
        let (name, _, _, text) = case;
        let addr = wrong(case).await;
        let mut driver = driver(Framework::Triple, addr, "128B-2", |case| case.accept_gzip = true).await.unwrap();
        match driver.preflight().await {
            Ok(_) => assert_eq!(text, "", "{name}"),
            Err(error) => {
                assert_eq!(error.to_string(), format!("triple server {addr}: preflight call: {text}"), "{name}")
            }
        }
        // The first reply of each task is compared, and then none is right that any other could be like.
        let sample = run(&mut driver, &requests(50)).await;
        let (ok, error) = if text.is_empty() { (50, 0) } else { (0, 50) };
        assert_eq!((sample.ok, sample.error, sample.lost), (ok, error, 0), "{name}: {:?}", sample.errors);
    }
}

#[tokio::test]
async fn envelopes_that_are_wrong_are_named() {
    let answers: [Wrong; 4] = [
        ("an echo", None, |m| framed(0, m), ""),
        ("no envelope", None, |_| framed(0, b"\x0a\x03abc"), "reply can't be decoded: "),
        (
            "another payload",
            None,
            |m| {
                let mut message = m.to_vec();
                let at = message.windows(4).rposition(|w| w != [0; 4]).unwrap_or(0);
                message[at.min(60)] ^= 1;
                framed(0, &message)
            },
            "reply differs from what was expected at byte ",
        ),
        ("too long", None, |m| framed(0, &m.repeat(40)), "reply of "),
    ];
    for case in answers {
        let (name, _, _, text) = case;
        let addr = wrong(case).await;
        let mut driver = driver(Framework::Triple, addr, "128B-2", |case| case.serialization = Serialization::Hessian2)
            .await
            .unwrap();
        match driver.preflight().await {
            Ok(_) => assert_eq!(text, "", "{name}"),
            Err(error) => {
                let error = error.to_string();
                let cause = error.strip_prefix(&format!("triple server {addr}: preflight call: ")).unwrap();
                assert!(!text.is_empty() && cause.starts_with(text), "{name}: {error}");
            }
        }
    }
}

/// A handler that sleeps really waits: calls take at least as long.
#[tokio::test(flavor = "multi_thread")]
async fn a_sleeping_handler_is_seen_in_latency() {
    let handler = Handler { sleep: Some(Duration::from_millis(20)), ..Default::default() };
    let addr = serve_triple(triple::Options { handler, ..Default::default() }).await;
    let mut driver =
        driver(Framework::Triple, addr, "128B-5", |case| case.sleep = Duration::from_millis(20)).await.unwrap();
    driver.preflight().await.unwrap();
    let sample = run(&mut driver, &requests(25)).await;
    assert!(sample.ok == 25 && sample.latency.min() >= Some(20_000_000), "{:?}", sample.latency.min());
}
