//! What real clients sent, answered as real servers answered it. `vectors/README.md` says who they were.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use echo_server::triple;
use support::{
    Server,
    frames::{self, Fields},
    gzip::gunzip,
    http1,
    vectors::vector,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A reply with all that may differ taken away.
#[derive(Debug, PartialEq, Eq)]
struct Essence {
    status: String,
    content_type: Option<String>,
    accept_post: Option<String>,
    grpc_status: Option<String>,
    grpc_message: String,
    body: Vec<u8>,
}

#[tokio::test]
async fn http2_calls_are_answered_as_captured() {
    for name in [
        "dg-grpc-unary",
        "dg-grpc-gzip",
        "dg-grpc-stream",
        "dg-grpc-json",
        "dg-tri-h2",
        "js-js-dubbogo-grpc",
        "js-js-dubbogo-grpc-stream",
        "js-js-dubbogo-h2-stream",
        "js-js-js-grpc",
        "js-js-js-gv",
        "js-js-js-h2",
        "py-py-py",
        "py-py-py-stream",
    ] {
        for accept_gzip in [false, true] {
            let options = triple::Options { accept_gzip, ..triple::Options::default() };
            let answered = replay_http2(name, options).await;
            let captured = frames::Reply::parse(&vector(name, "s2c"));
            assert_eq!(essence_http2(answered), essence_http2(captured), "{name}, accept_gzip {accept_gzip}");
        }
    }
}

#[tokio::test]
async fn the_content_type_of_the_request_is_echoed() {
    // These servers answered with a type of their own; everything else must be theirs.
    for name in ["js-grpcgo-js", "py-grpcgo-py"] {
        let answered = essence_http2(replay_http2(name, triple::Options::default()).await);
        let captured = essence_http2(frames::Reply::parse(&vector(name, "s2c")));
        assert_eq!(answered.content_type.as_deref(), Some("application/grpc"), "{name}");
        assert_eq!(Essence { content_type: captured.content_type.clone(), ..answered }, captured, "{name}");
    }
}

#[tokio::test]
async fn an_echo_is_in_every_group_and_version() {
    // dubbo-go's server knew no such group and answered with status 12.
    let reply = replay_http2("dg-grpc-gv", triple::Options::default()).await;
    assert_eq!((reply.trailers["grpc-status"].as_str(), &reply.body[..]), ("0", &b"\0\0\0\0\x04\x0a\x02hi"[..]));
}

#[tokio::test]
async fn http1_calls_are_answered_as_captured() {
    for name in [
        "dg-tri-h1",
        "dg-tri-h1-gzip",
        "dg-tri-h1-json",
        "js-js-dubbogo-h1",
        "js-js-dubbogo-h1-json",
        "js-js-js-h1",
        "js-js-js-h1-json",
    ] {
        for accept_gzip in [false, true] {
            let server = Server::start(triple::Options { accept_gzip, ..triple::Options::default() }).await;
            let answered = http1::exchange(server.addr, &vector(name, "c2s")).await;
            let captured = http1::parse(&vector(name, "s2c")).unwrap();
            assert_eq!(essence_http1(answered), essence_http1(captured), "{name}, accept_gzip {accept_gzip}");
        }
    }
}

#[tokio::test]
async fn dubbo_go_gets_the_encoding_it_would_get_from_itself() {
    let dubbo_go_like = triple::Options { accept_gzip: true, ..triple::Options::default() };
    for name in ["dg-grpc-unary", "dg-grpc-gzip", "dg-tri-h2"] {
        let answered = replay_http2(name, dubbo_go_like).await;
        let captured = frames::Reply::parse(&vector(name, "s2c"));
        for header in ["grpc-encoding", "grpc-accept-encoding", "content-encoding", "accept-encoding"] {
            assert_eq!(answered.headers.get(header), captured.headers.get(header), "{name}: {header}");
        }
    }
}

/// Sends the client's bytes, its connection preface among them, and reads until the stream has ended.
async fn replay_http2(name: &str, options: triple::Options) -> frames::Reply {
    let server = Server::start(options).await;
    let mut socket = TcpStream::connect(server.addr).await.unwrap();
    socket.write_all(&vector(name, "c2s")).await.unwrap();
    let mut read = Vec::new();
    loop {
        let reply = frames::Reply::parse(&read);
        if reply.ended {
            return reply;
        }
        assert_ne!(socket.read_buf(&mut read).await.unwrap(), 0, "{name} ended within {reply:?}");
    }
}

fn essence_http2(reply: frames::Reply) -> Essence {
    let frames::Reply { headers, body, trailers, .. } = reply;
    let content_type = headers.get("content-type").cloned();
    let body = match &content_type {
        Some(content_type) if content_type.starts_with("application/grpc") => plain_messages(&body).concat(),
        _ => plain_body(&headers, body),
    };
    Essence {
        status: headers[":status"].clone(),
        content_type,
        accept_post: headers.get("accept-post").cloned(),
        grpc_status: trailers.get("grpc-status").cloned(),
        grpc_message: trailers.get("grpc-message").cloned().unwrap_or_default(),
        body,
    }
}

fn essence_http1(reply: http1::Reply) -> Essence {
    Essence {
        status: reply.status.to_string(),
        content_type: reply.headers.get("content-type").cloned(),
        accept_post: reply.headers.get("accept-post").cloned(),
        grpc_status: None,
        grpc_message: String::new(),
        body: plain_body(&reply.headers, reply.body),
    }
}

fn plain_body(headers: &Fields, body: Vec<u8>) -> Vec<u8> {
    if headers.get("content-encoding").is_some_and(|encoding| encoding == "gzip") { gunzip(&body) } else { body }
}

/// The messages of a gRPC body, each with its prefix as it would be without compression.
fn plain_messages(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = body.split_first_chunk::<5>() {
        let [flag, length @ ..] = *prefix;
        let (message, rest) = rest.split_at(u32::from_be_bytes(length) as usize);
        messages.push(support::framed(0, &if flag == 1 { gunzip(message) } else { message.to_vec() }));
        body = rest;
    }
    messages
}
