//! Requests that HTTP or the protocol does not let through, and both forms of their errors.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use echo_proto::status::Status;
use echo_server::triple;
use prost::Message;
use support::{CHECK, STREAM, Server, UNARY, WATCH, benchmark, framed, gzip::gzip, http1, http2::Client};
use tokio::{io::AsyncWriteExt, net::TcpStream};

/// dubbo-go's own lists.
const ACCEPT_POST: &str = "application/grpc, application/grpc+hessian2, application/grpc+json, \
     application/grpc+json; charset=utf-8, application/grpc+msgpack, application/grpc+proto, application/hessian2, \
     application/json, application/json; charset=utf-8, application/msgpack, application/proto";
const ACCEPT_POST_GRPC: &str = "application/grpc, application/grpc+hessian2, application/grpc+json, \
     application/grpc+json; charset=utf-8, application/grpc+msgpack, application/grpc+proto";
const ACCEPT_POST_HEALTH: &str = "application/grpc, application/grpc+proto";

const GRPC: (&str, &str) = ("content-type", "application/grpc");
const JSON: (&str, &str) = ("content-type", "application/json");
const TRAILERS: (&str, &str) = ("te", "trailers");

/// Small enough to exceed cheaply.
fn limited() -> triple::Options {
    triple::Options { message_limit: 1000, ..triple::Options::default() }
}

#[tokio::test]
async fn what_http_refuses_is_answered_the_same_in_both_versions() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for (method, path, content_type, status, header) in [
        ("POST", "/benchmark.BenchmarkService/Nope", "application/json", 404, ("x-content-type-options", "nosniff")),
        ("POST", "/prefix/benchmark.BenchmarkService/UnaryCall", "application/grpc", 404, ("content-length", "19")),
        ("POST", "/grpc.health.v1.Health/Nope", "application/grpc", 404, ("content-type", "text/plain; charset=utf-8")),
        ("GET", UNARY, "", 405, ("allow", "POST")),
        ("PUT", UNARY, "application/json", 405, ("allow", "POST")),
        ("POST", UNARY, "", 415, ("accept-post", ACCEPT_POST)),
        ("POST", UNARY, "text/plain", 415, ("accept-post", ACCEPT_POST)),
        ("POST", UNARY, "application/connect+proto", 415, ("accept-post", ACCEPT_POST)),
        ("POST", UNARY, "application/json; charset=latin1", 415, ("accept-post", ACCEPT_POST)),
        ("POST", CHECK, "application/json", 415, ("accept-post", ACCEPT_POST_HEALTH)),
    ] {
        let headers: &[(&str, &str)] = if content_type.is_empty() { &[] } else { &[("content-type", content_type)] };
        let over_1 = http1::exchange(server.addr, &http1::request(method, path, headers, b"{}")).await;
        assert_eq!(over_1.status, status, "{method} {path} {content_type}");
        assert_eq!(over_1.headers.get(header.0).map(String::as_str), Some(header.1), "{method} {path} {content_type}");

        let mut call = client.open_with(method, path, headers).await;
        call.send(b"{}", true);
        let over_2 = call.reply().await;
        assert_eq!(over_2.status, status, "{method} {path} {content_type}");
        assert_eq!(over_2.header(header.0), Some(header.1), "{method} {path} {content_type}");
        assert_eq!(over_2.grpc_status(), None, "{method} {path} {content_type}");
        assert_eq!(over_1.body, over_2.body);
        assert_eq!(over_1.body == b"404 page not found\n", status == 404);
    }
}

#[tokio::test]
async fn streams_take_grpc_framing_only() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for (path, content_type, accept_post) in [
        (STREAM, "application/proto", ACCEPT_POST_GRPC),
        (STREAM, "application/json", ACCEPT_POST_GRPC),
        (STREAM, "application/connect+proto", ACCEPT_POST_GRPC),
        (WATCH, "application/grpc+json", ACCEPT_POST_HEALTH),
    ] {
        let reply = client.call(path, &[("content-type", content_type)], &[]).await;
        assert_eq!((reply.status.as_u16(), reply.header("accept-post")), (415, Some(accept_post)), "{content_type}");
    }
}

#[tokio::test]
async fn streams_need_http2() {
    let server = Server::start(triple::Options::default()).await;
    for (path, content_type) in
        [(STREAM, "application/grpc"), (STREAM, "application/json"), (WATCH, "application/grpc")]
    {
        let request = http1::request("POST", path, &[("content-type", content_type)], b"x");
        let reply = http1::exchange(server.addr, &request).await;
        assert_eq!((reply.status, reply.headers["connection"].as_str()), (505, "close"), "{path} {content_type}");
    }
}

#[tokio::test]
async fn errors_of_unary_framing_are_http_statuses_with_json() {
    let server = Server::start(limited()).await;
    let client = Client::connect(server.addr).await;
    let too_long = format!(r#"{{"payload":"{}"}}"#, "A".repeat(1000));
    let bomb = gzip(&vec![b' '; 5000]);
    let with_json: &[(&str, &str)] = &[JSON];
    for (headers, body, status, json) in [
        (
            &[JSON, ("triple-protocol-version", "9")][..],
            &b"{}"[..],
            400,
            r#"{"code":"invalid_argument","message":"Triple-Protocol-Version must be \"0.1.0\": got \"9\""}"#,
        ),
        (
            &[JSON, ("content-encoding", "br")],
            b"{}",
            404,
            r#"{"code":"unimplemented","message":"unknown compression \"br\": supported encodings are gzip"}"#,
        ),
        (
            with_json,
            b"",
            400,
            r#"{"code":"invalid_argument","message":"zero-length payload is not a valid JSON object"}"#,
        ),
        (
            with_json,
            b"{bad",
            400,
            r#"{"code":"invalid_argument","message":"unmarshal into benchmark.BenchmarkRequest: key must be a string at line 1 column 2"}"#,
        ),
        (
            with_json,
            too_long.as_bytes(),
            429,
            r#"{"code":"resource_exhausted","message":"message size 1014 is larger than configured max 1000"}"#,
        ),
        (
            &[JSON, ("content-encoding", "gzip")],
            &bomb,
            429,
            r#"{"code":"resource_exhausted","message":"decompressed message size is larger than configured max 1000"}"#,
        ),
        (
            &[JSON, ("triple-timeout-ms", "0")],
            b"{}",
            408,
            r#"{"code":"deadline_exceeded","message":"deadline exceeded"}"#,
        ),
    ] {
        let over_1 = http1::exchange(server.addr, &http1::request("POST", UNARY, headers, body)).await;
        let over_2 = client.call(UNARY, headers, &[body]).await;
        let text = String::from_utf8(over_2.body.clone()).unwrap();
        assert_eq!((over_2.status.as_u16(), text.as_str()), (status, json));
        assert_eq!(over_2.header("content-type"), Some("application/json"));
        assert_eq!(over_2.header("content-encoding"), None);
        assert_eq!((over_1.status, String::from_utf8(over_1.body).unwrap().as_str()), (status, json));
        assert_eq!(over_1.headers["content-type"], "application/json");
    }
}

#[tokio::test]
async fn over_http_1_a_refusal_waits_for_the_body_and_keeps_the_connection() {
    let server = Server::start(limited()).await;
    let mut socket = TcpStream::connect(server.addr).await.unwrap();
    let nowhere = http1::request("POST", "/nowhere", &[JSON], b"{}");
    let too_long = http1::request("POST", UNARY, &[JSON], &[b' '; 100_000]);
    for (request, cut, status) in [(nowhere, 2, 404), (too_long, 99_000, 429)] {
        let (first, rest) = request.split_at(request.len() - cut);
        socket.write_all(first).await.unwrap();
        tokio::task::yield_now().await;
        socket.write_all(rest).await.unwrap();
        let refused = http1::read_reply(&mut socket).await;
        assert_eq!((refused.status, refused.headers.get("connection")), (status, None));
        socket.write_all(&http1::request("POST", UNARY, &[JSON], b"{}")).await.unwrap();
        assert_eq!(http1::read_reply(&mut socket).await.status, 200, "after {status}");
    }
}

#[tokio::test(start_paused = true)]
async fn over_http_1_a_caller_who_keeps_the_body_back_is_refused_and_cut_off() {
    let server = Server::start(limited()).await;
    let mut socket = TcpStream::connect(server.addr).await.unwrap();
    let request = http1::request("POST", "/nowhere", &[JSON], b"{}");
    socket.write_all(&request[..request.len() - 2]).await.unwrap();
    let refused = http1::read_reply(&mut socket).await;
    assert_eq!((refused.status, refused.headers.get("connection").map(String::as_str)), (404, Some("close")));
}

#[tokio::test]
async fn a_body_of_unknown_length_is_refused_when_it_grows_too_long() {
    let server = Server::start(limited()).await;
    let client = Client::connect(server.addr).await;
    let pieces: [&[u8]; 3] = [&[b' '; 400]; 3];
    let reply = client.call(UNARY, &[JSON], &pieces).await;
    assert_eq!(reply.status, 429);
}

#[tokio::test]
async fn errors_of_grpc_framing_are_trailers_after_headers() {
    let server = Server::start(limited()).await;
    let client = Client::connect(server.addr).await;
    let message = framed(0, &benchmark(b"hi"));
    let two = [&message[..], &message[..]].concat();
    let bomb = framed(1, &gzip(&benchmark(&[0; 5000])));
    for (headers, body, code, text) in [
        (&[GRPC][..], &b"x"[..], 3, "protocol error: incomplete envelope: unexpected EOF"),
        (&[GRPC], &message[..7], 3, "protocol error: promised 4 bytes in enveloped message, got 2 bytes"),
        (&[GRPC], b"", 12, "a unary call takes one request message: got none"),
        (&[GRPC], &two, 12, "a unary call takes one request message: got more than one"),
        (&[GRPC], b"\x02\0\0\0\0", 13, "protocol error: invalid envelope flags 2: 0 and 1 are allowed"),
        (&[GRPC], b"\x01\0\0\0\x01x", 13, "protocol error: sent compressed message without compression support"),
        (&[GRPC], b"\0\0\0\x03\xe9", 8, "message size 1001 is larger than configured max 1000"),
        (&[GRPC, ("grpc-encoding", "gzip")], &bomb, 8, "decompressed message size is larger than configured max 1000"),
        (
            &[GRPC, ("grpc-encoding", "snappy")],
            &message,
            12,
            "unknown compression \"snappy\": supported encodings are gzip",
        ),
        (&[GRPC, ("grpc-timeout", "0n")], &message, 4, "deadline exceeded"),
        (
            &[GRPC, ("grpc-timeout", "1s")],
            &message,
            3,
            "protocol error: invalid grpc-timeout \"1s\": must be 1 to 8 digits and one of n, u, m, S, M, H",
        ),
        (
            &[("content-type", "application/grpc+json")],
            &framed(0, b"[]"),
            3,
            "unmarshal into benchmark.BenchmarkRequest: a JSON object is expected",
        ),
    ] {
        for path in [UNARY, STREAM] {
            if path == STREAM && (body.is_empty() || body == two) {
                continue;
            }
            let reply = client.call(path, headers, &[body]).await;
            assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some(headers[0].1)));
            assert!(reply.body.is_empty());
            let trailer = |name: &str| reply.trailers[name].to_str().unwrap();
            assert_eq!((trailer("grpc-status"), trailer("grpc-message")), (code.to_string().as_str(), text));
            let details = STANDARD_NO_PAD.decode(trailer("grpc-status-details-bin")).unwrap();
            let expected = Status { code, message: text.to_owned(), details: Vec::new() };
            assert_eq!(Status::decode(&details[..]), Ok(expected));
        }
    }
}

#[tokio::test]
async fn errors_of_grpc_framing_over_http1() {
    let server = Server::start(triple::Options::default()).await;
    let details = "CAMSM3Byb3RvY29sIGVycm9yOiBpbmNvbXBsZXRlIGVudmVsb3BlOiB1bmV4cGVjdGVkIEVPRg";
    let with_trailers = http1::exchange(server.addr, &http1::request("POST", UNARY, &[GRPC, TRAILERS], b"x")).await;
    assert_eq!((with_trailers.status, with_trailers.headers["content-type"].as_str()), (200, "application/grpc"));
    assert_eq!(with_trailers.trailers["grpc-status"], "3");
    assert_eq!(with_trailers.trailers["grpc-status-details-bin"], details);
    assert!(!with_trailers.headers.contains_key("grpc-status"));

    // Who does not ask for trailers finds the status in the headers.
    let without = http1::exchange(server.addr, &http1::request("POST", UNARY, &[GRPC], b"x")).await;
    assert_eq!(without.headers["grpc-status"], "3");
    assert_eq!(without.headers["grpc-status-details-bin"], details);
    assert!(without.trailers.is_empty());
}
