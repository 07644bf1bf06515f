//! Calls that succeed, in every framing, codec and encoding, and what they count as.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::time::Duration;

use echo_proto::health::HealthCheckRequest;
use echo_server::triple;
use prost::Message;
use support::{
    CHECK, STREAM, Server, UNARY, WATCH, benchmark, framed,
    gzip::{gunzip, gzip, gzip_at},
    http1,
    http2::Client,
};
use tokio::time;

const GRPC: (&str, &str) = ("content-type", "application/grpc+proto");

#[tokio::test]
async fn every_content_type_is_echoed_with_its_message() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let proto = benchmark(b"hi");
    let json = br#"{"payload":"aGk="}"#;
    for (content_type, message) in [
        ("application/grpc", framed(0, &proto)),
        ("application/grpc+proto", framed(0, &proto)),
        ("Application/GRPC+Proto", framed(0, &proto)),
        ("application/grpc+data", framed(0, &proto)),
        ("application/grpc+json", framed(0, json)),
        ("application/grpc+json; charset=utf-8", framed(0, json)),
        ("application/proto", proto.clone()),
        ("application/json", json.to_vec()),
        ("application/json; charset=UTF-8", json.to_vec()),
    ] {
        for path in [UNARY, "/benchmark.BenchmarkService/unaryCall"] {
            let reply = client.call(path, &[("content-type", content_type)], &[&message]).await;
            assert_eq!((reply.status.as_u16(), &reply.body), (200, &message), "{content_type}");
            assert_eq!(reply.header("content-type"), Some(content_type));
            let grpc = content_type.to_lowercase().starts_with("application/grpc");
            assert_eq!(reply.grpc_status(), grpc.then_some(0), "{content_type}");
        }
        let request = http1::request("POST", UNARY, &[("content-type", content_type), ("te", "trailers")], &message);
        let reply = http1::exchange(server.addr, &request).await;
        assert_eq!((reply.status, &reply.body), (200, &message), "{content_type}");
    }
}

#[tokio::test]
async fn messages_cut_byte_by_byte_and_of_any_size() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for payload in [0, 1, 127, 128, 300] {
        let message = framed(0, &benchmark(&vec![3; payload]));
        let bytes: Vec<&[u8]> = message.chunks(1).collect();
        let reply = client.call(UNARY, &[GRPC], &bytes).await;
        assert_eq!((reply.grpc_status(), reply.body), (Some(0), message), "{payload}");
    }
    let large = framed(0, &benchmark(&vec![3; 16 << 20]));
    let reply = client.call(UNARY, &[GRPC], &[&large]).await;
    assert_eq!(reply.grpc_status(), Some(0));
    assert!(reply.body == large);
}

#[tokio::test]
async fn gzip_comes_back_when_sent_or_when_offered_and_asked_for() {
    let message = benchmark(&[5; 500]);
    for (accept_gzip, request_gzip, offered, reply_gzip) in [
        (false, false, true, false),
        (false, true, false, true),
        (true, false, true, true),
        (true, false, false, false),
    ] {
        let case = format!("accept_gzip {accept_gzip}, request {request_gzip}, offered {offered}");
        let server = Server::start(triple::Options { accept_gzip, ..triple::Options::default() }).await;
        let client = Client::connect(server.addr).await;

        let mut headers = vec![GRPC];
        headers.extend(request_gzip.then_some(("grpc-encoding", "gzip")));
        headers.extend(offered.then_some(("grpc-accept-encoding", "gzip,br")));
        let body = if request_gzip { framed(1, &gzip(&message)) } else { framed(0, &message) };
        for path in [UNARY, STREAM] {
            let reply = client.call(path, &headers, &[&body]).await;
            assert_eq!(reply.grpc_status(), Some(0), "{case}");
            assert_eq!(reply.header("grpc-encoding"), reply_gzip.then_some("gzip"), "{case}");
            assert_eq!(reply.body[0], u8::from(reply_gzip), "{case}");
            let plain = if reply_gzip { gunzip(&reply.body[5..]) } else { reply.body[5..].to_vec() };
            assert_eq!(plain, message, "{case}");
        }

        let mut headers = vec![("content-type", "application/proto")];
        headers.extend(request_gzip.then_some(("content-encoding", "gzip")));
        headers.extend(offered.then_some(("accept-encoding", "gzip")));
        let body = if request_gzip { gzip(&message) } else { message.clone() };
        let reply = client.call(UNARY, &headers, &[&body]).await;
        assert_eq!(reply.header("content-encoding"), reply_gzip.then_some("gzip"), "{case}");
        assert_eq!(if reply_gzip { gunzip(&reply.body) } else { reply.body }, message, "{case}");
    }
}

#[tokio::test]
async fn replies_are_compressed_at_the_level_asked_for() {
    let payload: Vec<u8> = (0..20_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
    let message = framed(0, &benchmark(&payload));
    // Levels between these come out alike.
    let levels = [0, 1, 6, 9];
    let lengths = levels.map(|level| 5 + gzip_at(level, &message[5..]).len());
    for gzip_level in levels {
        let options = triple::Options { accept_gzip: true, gzip_level, ..triple::Options::default() };
        let server = Server::start(options).await;
        let client = Client::connect(server.addr).await;
        for path in [UNARY, STREAM] {
            let reply = client.call(path, &[GRPC, ("grpc-accept-encoding", "gzip")], &[&message]).await;
            // How the message was cut into writes shows in a few bytes, the level in hundreds.
            let len = reply.body.len();
            let nearest = levels.into_iter().zip(lengths).min_by_key(|(_, of_level)| of_level.abs_diff(len));
            assert_eq!(nearest.map(|(level, _)| level), Some(gzip_level), "{path}: {len} B, by level {lengths:?}");
            assert!(gunzip(&reply.body[5..]) == message[5..], "{path} at {gzip_level}");
            assert_eq!(len > message.len(), gzip_level == 0, "{path} at {gzip_level}");
        }
    }
}

#[tokio::test]
async fn a_stream_answers_each_message_before_the_next_is_sent() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let mut call = client.open(STREAM, &[GRPC]).await;
    assert_eq!(call.headers().await.status(), 200);
    for payload in [&b"one"[..], b"", b"three"] {
        let message = framed(0, &benchmark(payload));
        call.send(&message, false);
        let mut reply = Vec::new();
        while reply.len() < message.len() {
            reply.extend_from_slice(&call.data().await.unwrap());
        }
        assert_eq!(reply, message);
    }
    call.send(&[], true);
    assert_eq!(call.data().await, None);
    assert_eq!(call.trailers().await["grpc-status"], "0");
}

#[tokio::test]
async fn the_empty_message_behind_apache_dubbo_s_calls_is_no_message() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let message = framed(0, &benchmark(b"hi"));
    let padded = [&message[..], &framed(0, b"")].concat();
    let apache_dubbo = ("content-type", "application/grpc+data");
    for path in [UNARY, STREAM] {
        assert_eq!(client.call(path, &[apache_dubbo], &[&padded]).await.body, message, "{path}");
    }
    // Anyone else's last message may be empty and is answered.
    assert_eq!(client.call(STREAM, &[GRPC], &[&padded]).await.body, padded);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_in_time_is_given_up() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for path in [UNARY, STREAM] {
        let mut call = client.open(path, &[GRPC, ("grpc-timeout", "500m")]).await;
        call.send(b"\0\0", false);
        let reply = call.reply().await;
        assert_eq!((reply.status.as_u16(), reply.grpc_status()), (200, Some(4)), "{path}");
    }
    for timeout in ["triple-timeout-ms", "tri-service-timeout"] {
        let mut call = client.open(UNARY, &[("content-type", "application/json"), (timeout, "500")]).await;
        call.send(b"{", false);
        assert_eq!(call.reply().await.status, 408, "{timeout}");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_wait_are_not_answered_after_the_deadline() {
    let server = Server::start(triple::Options::default()).await;
    let message = framed(0, &benchmark(&[7; 100]));
    // The client takes one reply at a time: the others wait, and so do their requests.
    let mut settings = h2::client::Builder::new();
    settings.initial_window_size(message.len() as u32);
    let client = Client::with(server.addr, &mut settings).await;
    let mut call = client.open(STREAM, &[GRPC, ("grpc-timeout", "100m")]).await;
    (0..5).for_each(|_| call.send(&message, false));
    call.headers().await;
    let body = call.body.as_mut().unwrap();
    assert_eq!(body.data().await.unwrap().unwrap(), message);
    time::advance(Duration::from_secs(1)).await;
    body.flow_control().release_capacity(message.len()).unwrap();
    let mut late = 0;
    while let Some(reply) = call.data().await {
        assert_eq!(reply, message);
        late += 1;
    }
    assert!(late <= 1, "{late}: the one that hyper held is no more than that");
    assert_eq!(call.trailers().await["grpc-status"], "4");
}

#[tokio::test]
async fn health_is_told_and_watched_until_the_drain() {
    let mut server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let ask = |service: &str| framed(0, &HealthCheckRequest { service: service.to_owned() }.encode_to_vec());
    let (serving, not_serving, unknown) =
        (framed(0, &[0x08, 0x01]), framed(0, &[0x08, 0x02]), framed(0, &[0x08, 0x03]));

    for service in ["", "benchmark.BenchmarkService", "g1/benchmark.BenchmarkService:1.0.0"] {
        let reply = client.call(CHECK, &[GRPC], &[&ask(service)]).await;
        assert_eq!((reply.grpc_status(), reply.body), (Some(0), serving.clone()), "{service}");
    }
    assert_eq!(client.call(CHECK, &[GRPC], &[&ask("other")]).await.grpc_status(), Some(5));
    // What is quoted of a name is no longer than headers may be.
    let reply = client.call(CHECK, &[GRPC], &[&ask(&"x".repeat(1 << 20))]).await;
    let said = reply.trailers["grpc-message"].to_str().unwrap();
    assert_eq!((reply.grpc_status(), said.len() < 2000), (Some(5), true), "{} bytes", said.len());
    assert!(said.starts_with("unknown service xxx"), "{said}");

    let mut other = client.open(WATCH, &[GRPC]).await;
    other.send(&ask("other"), true);
    other.headers().await;
    assert_eq!(other.data().await.unwrap(), unknown);

    let mut watch = client.open(WATCH, &[GRPC]).await;
    watch.send(&ask(""), true);
    watch.headers().await;
    assert_eq!(watch.data().await.unwrap(), serving);
    server.stop();
    assert_eq!(watch.data().await.unwrap(), not_serving);
    assert_eq!(watch.data().await, None);
    assert_eq!(watch.trailers().await["grpc-status"], "0");
    drop(other);
    server.serving.await.unwrap().unwrap();
}
