//! Windows of every kind over real sockets: what was asked for is what the server sees.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use analyze::{
    load::{Driver, LoadSample, LoadSpec, Window},
    scenario::Framework,
};
use load_support::{echo, http2, listen, requests, spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECOND: Duration = Duration::from_secs(1);

async fn run(driver: &mut Driver, window: &Window) -> LoadSample {
    let sample = load_support::run(driver, window).await;
    assert_eq!((sample.error, sample.unfinished), (0, 0), "{:?}", sample.errors);
    sample
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_sees_exactly_the_requests_asked_for() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = seen.clone();
    let addr = http2(h2::server::Builder::new(), move |request, respond| {
        count.fetch_add(1, Ordering::Relaxed);
        echo(request, respond)
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Triple, addr, "128B-20")).await.unwrap();
    for (window, expected) in [
        (requests(1), 1),
        (requests(1_000), 1_000),
        (Window { rate: Some(5_000.0), ..requests(500) }, 500),
        (Window { think: Duration::from_millis(1), ..requests(100) }, 100),
    ] {
        let before = seen.load(Ordering::Relaxed);
        let sample = run(&mut driver, &window).await;
        assert_eq!(seen.load(Ordering::Relaxed) - before, expected, "{window:?}");
        assert_eq!((sample.started, sample.ok_in_window), (expected, expected), "{window:?}");
        assert_eq!(sample.scheduled, window.rate.map(|_| expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_is_kept_and_each_response_takes_at_least_its_service() {
    let triple = http2(h2::server::Builder::new(), echo).await;
    let raw = listen(|socket| async move {
        let (mut read, mut write) = socket.into_split();
        let _ = tokio::io::copy(&mut read, &mut write).await;
    })
    .await;
    for (framework, addr) in [(Framework::Triple, triple), (Framework::Raw, raw)] {
        let mut driver = Driver::connect(spec(framework, addr, "128B-64")).await.unwrap();
        let window = Window { rate: Some(400.0), ..Window::lasting(SECOND) };
        let sample = run(&mut driver, &window).await;
        assert_eq!(sample.scheduled, Some(400), "{framework}");
        assert!(sample.started > 0 && sample.window >= SECOND);
        let response = sample.response.unwrap();
        assert!(response.min() >= sample.latency.min() && response.max() >= sample.latency.max(), "{framework}");
        assert!(response.mean() >= sample.latency.mean(), "{framework}");
    }
}

/// A server that counts what it reads and writes is the reference.
#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_a_window_are_those_the_server_read_and_wrote() {
    for framework in [Framework::Grpc, Framework::Raw] {
        let traffic = Arc::<[AtomicU64; 2]>::default();
        let server = traffic.clone();
        let addr = listen(move |mut socket| {
            let traffic = server.clone();
            async move {
                // Between the client and an echo that knows nothing of it.
                let (near, far) = tokio::io::duplex(1 << 20);
                tokio::spawn(async move {
                    match framework {
                        Framework::Raw => {
                            let (mut read, mut write) = tokio::io::split(far);
                            let _ = tokio::io::copy(&mut read, &mut write).await;
                        }
                        _ => {
                            let mut connection = h2::server::handshake(far).await.unwrap();
                            while let Some(Ok((request, respond))) = connection.accept().await {
                                tokio::spawn(echo(request, respond));
                            }
                        }
                    }
                });
                let (mut from_echo, mut to_echo) = tokio::io::split(near);
                let (mut from_client, mut to_client) = socket.split();
                let requests = pass_on(&mut from_client, &mut to_echo, &traffic[0]);
                let replies = pass_on(&mut from_echo, &mut to_client, &traffic[1]);
                tokio::join!(requests, replies);
            }
        })
        .await;
        let mut spec = spec(framework, addr, "1KiB-8");
        spec.case.connections = 2;
        let mut driver = Driver::connect(spec).await.unwrap();
        driver.preflight().await.unwrap();
        let read = |i: usize| traffic[i].load(Ordering::Relaxed);
        let before = [read(0), read(1)];
        let sample = run(&mut driver, &requests(500)).await;
        if framework == Framework::Raw {
            assert_eq!((sample.sent_bytes, sample.received_bytes), (500 * 1028, 500 * 1028));
            assert_eq!([read(0) - before[0], read(1) - before[1]], [500 * 1028; 2]);
        } else {
            // HTTP/2 may have window updates and acknowledgements underway at either end: together less than one call.
            assert!(sample.sent_bytes.abs_diff(read(0) - before[0]) < 1024, "{sample:?}");
            assert!(sample.received_bytes.abs_diff(read(1) - before[1]) < 1024, "{sample:?}");
            assert!(sample.sent_bytes > 500 * 1024 && sample.received_bytes > 500 * 1024);
        }
    }
}

async fn pass_on(from: &mut (impl AsyncReadExt + Unpin), to: &mut (impl AsyncWriteExt + Unpin), count: &AtomicU64) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        count.fetch_add(n as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn windows_out_of_range_are_refused() {
    let good = spec(Framework::Triple, "127.0.0.1:1".parse().unwrap(), "128B-1");
    for (window, text) in [
        (Window { rate: Some(0.0), ..requests(1) }, "rate 0: must be 0.001 to 1000000 calls a second"),
        (Window { rate: Some(f64::NAN), ..requests(1) }, "rate NaN: must be 0.001 to 1000000 calls a second"),
        (Window { rate: Some(2e6), ..requests(1) }, "rate 2000000: must be 0.001 to 1000000 calls a second"),
        (requests(0), "requests 0: must be 1 or more"),
        (
            Window { think: Duration::MAX, ..requests(1) },
            "think time in ns 18446744073709551615: must be 0 to 86400000000000 (a day)",
        ),
    ] {
        let mut spec = LoadSpec::clone(&good);
        spec.case.window = window;
        assert_eq!(Driver::connect(spec).await.unwrap_err().to_string(), text);
    }
}
