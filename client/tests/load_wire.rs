//! What a driver says of the wire, against counts made by hand and by another reader of the same bytes.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{
    collections::BTreeMap,
    future::pending,
    net::SocketAddr,
    num::NonZeroU64,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use analyze::{
    load::{CallMode, Driver, FrameCount, FrameCounts, FrameType, MessagesPerStream, WireUse},
    scenario::{Compression, Framework, PayloadPattern, Protocol},
};
use echo_server::{grpc, triple};
use http::Request;
use load_support::{http2, listen, read_all, reply, requests, run, spec};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const SERVERS: [Framework; 2] = [Framework::Triple, Framework::Grpc];

/// One of this project's own servers.
async fn server(framework: Framework) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        match framework.protocol() {
            Protocol::Triple => triple::run(listener, Default::default(), pending()).await,
            _ => grpc::run(listener, Default::default(), pending()).await,
        }
    });
    addr
}

fn frames(counts: &FrameCounts, kind: FrameType) -> u64 {
    counts.of(kind).frames
}

#[tokio::test]
async fn one_unary_call_is_the_frames_that_a_hand_counts() {
    for framework in SERVERS {
        let addr = server(framework).await;
        let mut driver = Driver::connect(spec(framework, addr, "128B-1")).await.unwrap();
        let wire = driver.preflight().await.unwrap();
        let sample = run(&mut driver, &requests(1)).await;
        let used = sample.wire_use.unwrap();
        let http2 = used.http2.unwrap();
        // A request's header block, and its message with the end of the stream. The message is a prefix of five bytes, and the payload
        // behind its tag and a length of two bytes.
        let message = FrameCount { frames: 1, bytes: 9 + 5 + 1 + 2 + 128 };
        assert_eq!(
            (frames(&http2.frames.sent, FrameType::Headers), http2.frames.sent.of(FrameType::Data)),
            (1, message)
        );
        // The reply's header block, its message, and its trailers.
        let received = &http2.frames.received;
        assert_eq!((frames(received, FrameType::Headers), received.of(FrameType::Data)), (2, message), "{framework}");
        for kind in [FrameType::Settings, FrameType::RstStream, FrameType::Goaway, FrameType::Continuation] {
            assert_eq!((frames(&http2.frames.sent, kind), frames(received, kind)), (0, 0), "{framework} {kind:?}");
        }
        // Whatever else passed, pings and window updates, is in both counts.
        assert_eq!(
            (http2.frames.sent.total().bytes, received.total().bytes),
            (sample.sent_bytes, sample.received_bytes)
        );
        assert_eq!((http2.streams_opened, used.connections_opened), (1, 0));
        assert_eq!((used.plain_replies, used.compressed_replies), (1, 0));

        // Before it the connection was opened: settings of both sides, and an acknowledgement of each; and two calls, as the preflight
        // calls once on each connection and then once more.
        let opening = wire.opening_frames.unwrap();
        assert_eq!(
            (frames(&opening.sent, FrameType::Settings), frames(&opening.received, FrameType::Settings)),
            (2, 2)
        );
        assert_eq!((frames(&opening.sent, FrameType::Headers), frames(&opening.received, FrameType::Headers)), (2, 4));
        assert_eq!((opening.sent.of(FrameType::Data).frames, opening.received.of(FrameType::Data).frames), (2, 2));
    }
}

/// What both sides of a connection said.
type Tapped = Arc<Mutex<[Vec<u8>; 2]>>;

/// Hands on what comes for a server, and keeps a copy.
async fn tap(server: SocketAddr) -> (SocketAddr, Tapped) {
    let tapped = Tapped::default();
    let kept = tapped.clone();
    let addr = listen(move |client| {
        let kept = kept.clone();
        async move {
            let server = TcpStream::connect(server).await.unwrap();
            server.set_nodelay(true).unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::join!(copy(from_client, to_server, &kept, 0), copy(from_server, to_client, &kept, 1));
        }
    })
    .await;
    (addr, tapped)
}

async fn copy(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, kept: &Tapped, at: usize) {
    // Of a length that no frame has, so that these come in all kinds of pieces.
    let mut buffer = vec![0; 7001];
    while let Ok(n) = from.read(&mut buffer).await
        && n > 0
    {
        kept.lock().unwrap()[at].extend_from_slice(&buffer[..n]);
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

/// Frames and bytes by number of type, read from all bytes at once.
fn read_frames(mut bytes: &[u8]) -> BTreeMap<u8, (u64, u64)> {
    let mut counts = BTreeMap::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<9>() {
        let len = usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        let count: &mut (u64, u64) = counts.entry(header[3]).or_default();
        (count.0, count.1) = (count.0 + 1, count.1 + 9 + len as u64);
        bytes = rest.get(len..).unwrap_or_default();
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_is_what_passed_on_the_wire() {
    for framework in SERVERS {
        let (addr, tapped) = tap(server(framework).await).await;
        let mut spec = spec(framework, addr, "1MiB-4");
        (spec.max_frame, spec.stream_window, spec.connection_window) = (16_384, 65_535, 70_000);
        let mut driver = Driver::connect(spec).await.unwrap();
        let wire = driver.preflight().await.unwrap();
        let sample = run(&mut driver, &requests(12)).await;
        assert_eq!(sample.ok, 12, "{:?}", sample.errors);
        let opening = wire.opening_frames.unwrap();
        let all = opening.plus(&sample.wire_use.unwrap().http2.unwrap().frames);
        let [client, server] = tapped.lock().unwrap().clone();
        assert!(client.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        for (counted, bytes) in [(all.sent, &client[24..]), (all.received, &server)] {
            let passed = read_frames(bytes);
            for (number, kind) in (0..).zip(FrameType::ALL) {
                let FrameCount { frames, bytes } = counted.of(kind);
                let (passed_frames, passed_bytes) = passed.get(&number).copied().unwrap_or_default();
                match kind {
                    // All of them belong to a call.
                    FrameType::Data | FrameType::Headers => {
                        assert_eq!((frames, bytes), (passed_frames, passed_bytes), "{framework} {kind:?}");
                    }
                    // The last may pass after the last reply, and some between the preflight and the window.
                    _ => assert!(frames <= passed_frames && bytes <= passed_bytes, "{framework} {kind:?}"),
                }
            }
        }
        // 14 replies, each of 65 frames of 16 KiB.
        assert!(frames(&all.received, FrameType::Data) >= 14 * 65, "{all:?}");
        assert!(frames(&all.sent, FrameType::WindowUpdate) > 100, "{all:?}");
    }
}

#[tokio::test]
async fn streams_and_compressed_replies_are_those_of_the_load() {
    let addr = server(Framework::Triple).await;
    let used = async |mode, messages: Option<u64>, compression| -> WireUse {
        let mut spec = spec(Framework::Triple, addr, "16KiB-2");
        spec.case.mode = mode;
        spec.case.pattern = PayloadPattern::Text;
        spec.case.compression = compression;
        if let Some(messages) = messages.and_then(NonZeroU64::new) {
            spec.case.messages_per_stream = MessagesPerStream::Count(messages);
        }
        let mut driver = Driver::connect(spec).await.unwrap();
        driver.preflight().await.unwrap();
        let sample = run(&mut driver, &requests(20)).await;
        assert_eq!(sample.ok, 20, "{:?}", sample.errors);
        sample.wire_use.unwrap()
    };
    let streams = |used: &WireUse| used.http2.unwrap().streams_opened;
    let unary = used(CallMode::Unary, None, Compression::None).await;
    assert_eq!((streams(&unary), unary.plain_replies, unary.compressed_replies), (20, 20, 0));
    let gzipped = used(CallMode::Unary, None, Compression::Fastest).await;
    assert_eq!((gzipped.plain_replies, gzipped.compressed_replies), (0, 20));
    // Whoever of the two takes how many of them, with 20 messages a stream each needs one.
    let kept = used(CallMode::Streaming, Some(20), Compression::None).await;
    assert!(streams(&kept) <= 2 && kept.plain_replies == 20, "{kept:?}");
}

/// Errors cost a server next to nothing: a rate that counted them would praise it for them.
#[tokio::test]
async fn fast_errors_are_no_replies_a_second() {
    let calls = Arc::<AtomicU64>::default();
    let addr = http2(h2::server::Builder::new(), move |request: Request<h2::RecvStream>, respond| {
        let is_right = calls.fetch_add(1, Ordering::Relaxed) % 5 == 0;
        async move {
            let body = read_all(request.into_body()).await;
            reply(respond, body, if is_right { "0" } else { "8" });
        }
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Grpc, addr, "128B-4")).await.unwrap();
    let sample = run(&mut driver, &requests(500)).await;
    assert_eq!((sample.started, sample.ok, sample.error), (500, 100, 400), "{:?}", sample.errors);
    let (qps, seconds) = (sample.qps().unwrap(), sample.window.as_secs_f64());
    assert!(qps > 0.0 && qps * seconds < 100.5, "{qps} 1/s in {seconds} s");
    assert_eq!(sample.wire_use.map(|used| used.plain_replies), Some(100));
}
