//! What a handler does besides echoing: it sleeps and answers in another size, on every server.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::time::Duration;

use echo_server::{Handler, grpc, raw, triple};
use support::{
    CHECK, STREAM, Server, UNARY, benchmark, framed,
    gzip::{gunzip, gzip},
    http1,
    http2::{Client, Reply},
    others::{start_grpc, start_raw},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::Instant,
};

const GRPC: (&str, &str) = ("content-type", "application/grpc");
const SECOND: Duration = Duration::from_secs(1);

fn answering(response_size: u32) -> Handler {
    Handler { response_size: Some(response_size), ..Handler::default() }
}

fn sleeping(sleep: Duration) -> Handler {
    Handler { sleep: Some(sleep), ..Handler::default() }
}

/// The payloads of a request and of its reply.
const SIZES: [(&[u8], u32, &[u8]); 5] =
    [(b"abc", 0, b""), (b"abc", 2, b"ab"), (b"abc", 3, b"abc"), (b"abc", 7, b"abcabca"), (b"", 3, b"\0\0\0")];

#[tokio::test]
async fn triple_answers_in_the_size_asked_for() {
    for (request, size, reply) in SIZES {
        let case = format!("{request:?} to {size}");
        let server = Server::start(triple::Options { handler: answering(size), ..triple::Options::default() }).await;
        let client = Client::connect(server.addr).await;
        let (message, expected) = (benchmark(request), benchmark(reply));
        for path in [UNARY, STREAM] {
            let plain = client.call(path, &[GRPC], &[&framed(0, &message)]).await;
            assert_eq!((plain.grpc_status(), plain.body), (Some(0), framed(0, &expected)), "{path} {case}");
            let zipped = client.call(path, &[GRPC, ("grpc-encoding", "gzip")], &[&framed(1, &gzip(&message))]).await;
            assert_eq!((zipped.body[0], gunzip(&zipped.body[5..])), (1, expected.clone()), "{path} {case}");
        }
        let bare = client.call(UNARY, &[("content-type", "application/proto")], &[&message]).await;
        assert_eq!(bare.body, expected, "{case}");
        let json = |payload| format!(r#"{{"payload":"{}"}}"#, base64(payload)).replace(r#""payload":"""#, "");
        let request = http1::request("POST", UNARY, &[("content-type", "application/json")], json(request).as_bytes());
        let answered = http1::exchange(server.addr, &request).await;
        assert_eq!(String::from_utf8(answered.body).unwrap(), json(reply), "{case}");
    }
}

#[tokio::test]
async fn grpc_answers_in_the_size_asked_for_with_either_codec() {
    for (request, size, reply) in SIZES {
        for codec_buffer in [grpc::TONIC_CODEC_BUFFER, 512] {
            let options = grpc::Options { handler: answering(size), codec_buffer, ..grpc::Options::default() };
            let client = Client::connect(start_grpc(options).await).await;
            for path in [UNARY, STREAM] {
                let answered = client.call(path, &[GRPC], &[&framed(0, &benchmark(request))]).await;
                let expected = (Some(0), framed(0, &benchmark(reply)));
                assert_eq!((answered.grpc_status(), answered.body), expected, "{path} {request:?} to {size}");
            }
        }
    }
}

#[tokio::test]
async fn raw_answers_in_the_size_asked_for() {
    for (request, size, reply) in SIZES {
        let addr = start_raw(raw::Options { handler: answering(size), ..raw::Options::default() }).await;
        let mut socket = TcpStream::connect(addr).await.unwrap();
        // Two that come together and a piece of a third.
        let message = raw_message(request);
        socket.write_all(&[&message[..], &message, &message[..2]].concat()).await.unwrap();
        let mut answered = vec![0; 2 * (4 + reply.len())];
        socket.read_exact(&mut answered).await.unwrap();
        assert_eq!(answered, [raw_message(reply), raw_message(reply)].concat(), "{request:?} to {size}");
        socket.write_all(&message[2..]).await.unwrap();
        let mut answered = vec![0; 4 + reply.len()];
        socket.read_exact(&mut answered).await.unwrap();
        assert_eq!(answered, raw_message(reply), "{request:?} to {size}");
    }
}

#[tokio::test]
async fn a_large_reply_to_a_small_request_is_whole() {
    let size = 5 << 20;
    let request = b"0123456789";
    let expected: Vec<u8> = request.iter().copied().cycle().take(size).collect();
    let handler = answering(size as u32);
    let server = Server::start(triple::Options { handler, ..triple::Options::default() }).await;
    let grpc = start_grpc(grpc::Options { handler, ..grpc::Options::default() }).await;
    for addr in [server.addr, grpc] {
        let client = Client::connect(addr).await;
        for path in [UNARY, STREAM] {
            let reply = client.call(path, &[GRPC], &[&framed(0, &benchmark(request))]).await;
            assert_eq!(reply.grpc_status(), Some(0));
            assert!(reply.body == framed(0, &benchmark(&expected)));
        }
    }
}

#[tokio::test]
async fn a_reply_over_the_message_limit_is_refused() {
    let (handler, message_limit) = (answering(1000), 100);
    let server = Server::start(triple::Options { handler, message_limit, ..triple::Options::default() }).await;
    let grpc = start_grpc(grpc::Options { handler, message_limit, ..grpc::Options::default() }).await;
    for (addr, code) in [(server.addr, 8), (grpc, 11)] {
        let client = Client::connect(addr).await;
        for path in [UNARY, STREAM] {
            let reply = client.call(path, &[GRPC], &[&framed(0, b"")]).await;
            assert_eq!((reply.grpc_status(), reply.body), (Some(code), Vec::new()), "{path}");
        }
    }
}

/// The clock of these tests stands still while anything can run, and jumps to the next timer when nothing can.
async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let done = call.await;
    (done, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn every_reply_waits_for_the_sleep() {
    let handler = sleeping(SECOND);
    let server = Server::start(triple::Options { handler, ..triple::Options::default() }).await;
    let grpc = start_grpc(grpc::Options { handler, ..grpc::Options::default() }).await;
    let message = framed(0, &benchmark(b"hi"));
    let three = [&message[..], &message, &message].concat();
    for addr in [server.addr, grpc] {
        let client = Client::connect(addr).await;
        for (path, request, sleeps) in [(UNARY, &message, 1), (STREAM, &message, 1), (STREAM, &three, 3)] {
            let (reply, took) = timed(client.call(path, &[GRPC], &[request])).await;
            assert_eq!((reply.grpc_status(), &reply.body), (Some(0), request), "{path}");
            assert!(took >= sleeps * SECOND, "{path}: {sleeps} in {took:?}");
        }
    }
    let request = http1::request("POST", UNARY, &[("content-type", "application/json")], b"{}");
    let (reply, took) = timed(http1::exchange(server.addr, &request)).await;
    assert_eq!((reply.status, reply.body), (200, b"{}".to_vec()));
    assert!(took >= SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn raw_sleeps_before_each_of_its_replies() {
    let addr = start_raw(raw::Options { handler: sleeping(SECOND), ..raw::Options::default() }).await;
    let mut socket = TcpStream::connect(addr).await.unwrap();
    let three = [raw_message(b"one"), raw_message(b""), raw_message(b"three")].concat();
    socket.write_all(&three).await.unwrap();
    let mut echo = vec![0; three.len()];
    let (read, took) = timed(socket.read_exact(&mut echo)).await;
    read.unwrap();
    assert_eq!(echo, three);
    assert!(took >= 3 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn sleeping_calls_do_not_wait_for_each_other() {
    let handler = sleeping(SECOND);
    let server = Server::start(triple::Options { handler, ..triple::Options::default() }).await;
    let grpc = start_grpc(grpc::Options { handler, ..grpc::Options::default() }).await;
    let message = framed(0, &benchmark(b"hi"));
    for addr in [server.addr, grpc] {
        let client = Client::connect(addr).await;
        let mut calls = Vec::new();
        for _ in 0..10 {
            let mut call = client.open(UNARY, &[GRPC]).await;
            call.send(&message, true);
            calls.push(call);
        }
        let all = async {
            for call in calls {
                assert_eq!(call.reply().await.grpc_status(), Some(0));
            }
        };
        let ((), took) = timed(all).await;
        assert!((SECOND..10 * SECOND).contains(&took), "{took:?} of the stopped clock");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_sleep() {
    let handler = sleeping(10 * SECOND);
    let server = Server::start(triple::Options { handler, ..triple::Options::default() }).await;
    let client = Client::connect(server.addr).await;
    let message = framed(0, &benchmark(b"hi"));
    for path in [UNARY, STREAM] {
        let reply = ended_early(client.call(path, &[GRPC, ("grpc-timeout", "1S")], &[&message])).await;
        assert_eq!((reply.grpc_status(), reply.body), (Some(4), Vec::new()), "{path}");
    }
    let headers = [("content-type", "application/json"), ("triple-timeout-ms", "1000")];
    assert_eq!(ended_early(client.call(UNARY, &headers, &[b"{}"])).await.status, 408);

    // tonic keeps deadlines, by CANCELLED, until its reply headers are out: not those of streams, which callers end.
    let client = Client::connect(start_grpc(grpc::Options { handler, ..grpc::Options::default() }).await).await;
    let reply = ended_early(client.call(UNARY, &[GRPC, ("grpc-timeout", "1S")], &[&message])).await;
    assert_eq!(reply.grpc_status(), Some(1));
}

async fn ended_early(call: impl Future<Output = Reply>) -> Reply {
    let (reply, took) = timed(call).await;
    assert!((SECOND..10 * SECOND).contains(&took), "{took:?} of the stopped clock");
    reply
}

/// By the clock of the wall: a stopped one could jump to the limit of the drain while a reply is on its way.
#[tokio::test]
async fn a_drain_waits_for_sleeping_calls() {
    let mut server = Server::start(triple::Options { handler: sleeping(SECOND), ..triple::Options::default() }).await;
    let client = Client::connect(server.addr).await;
    let message = framed(0, &benchmark(b"hi"));
    let mut unary = client.open(UNARY, &[GRPC]).await;
    unary.send(&message, true);
    let mut stream = client.open(STREAM, &[GRPC]).await;
    stream.send(&message, true);
    // Its reply tells that the server has read what came before.
    client.call(CHECK, &[GRPC], &[&framed(0, b"")]).await;
    server.stop();
    for call in [unary, stream] {
        let reply = call.reply().await;
        assert_eq!((reply.grpc_status(), &reply.body), (Some(0), &message));
    }
    server.serving.await.unwrap().unwrap();
}

fn raw_message(payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[..], payload].concat()
}

fn base64(bytes: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(bytes)
}
