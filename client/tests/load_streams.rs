//! Streams of many messages, against servers that do right and wrong.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{net::SocketAddr, num::NonZeroU64, time::Duration};

use analyze::{
    load::{CallMode, Driver, LoadSample, LoadSpec, MessagesPerStream},
    scenario::Framework,
};
use bytes::{Bytes, BytesMut};
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{Request, Response};
use load_support::{http2, requests, spec, trailers};
use tokio::sync::mpsc;

/// How the client ended a stream, and how many messages it had.
#[derive(Debug, PartialEq)]
enum Ended {
    Closed(u64),
    Broken(u64),
}

/// What a server does after it has answered a message.
enum Next {
    Message,
    Status(&'static str),
    Reset,
    Silence,
}

/// Answers the nth message of a stream.
type Answer = fn(u64, Bytes, &mut SendStream<Bytes>) -> Next;

/// A server that answers so, and tells how each stream was ended by the client.
async fn server(answer: Answer) -> (SocketAddr, mpsc::UnboundedReceiver<Ended>) {
    let (told, ends) = mpsc::unbounded_channel();
    let addr =
        http2(h2::server::Builder::new(), move |request, respond| serve(answer, request, respond, told.clone())).await;
    (addr, ends)
}

async fn serve(
    answer: Answer,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    told: mpsc::UnboundedSender<Ended>,
) {
    assert_eq!(request.uri().path(), echo_proto::STREAM_PATH);
    let mut body = request.into_body();
    let Ok(mut replies) = respond.send_response(Response::new(()), false) else { return };
    let (mut buffer, mut count) = (BytesMut::new(), 0);
    loop {
        while let Some(message) = split_message(&mut buffer) {
            count += 1;
            match answer(count, message, &mut replies) {
                Next::Message => {}
                Next::Status(status) => return drop(replies.send_trailers(trailers(status))),
                Next::Reset => return replies.send_reset(Reason::INTERNAL_ERROR),
                Next::Silence => std::future::pending().await,
            }
        }
        match body.data().await {
            Some(Ok(piece)) => {
                body.flow_control().release_capacity(piece.len()).unwrap();
                buffer.extend_from_slice(&piece);
            }
            Some(Err(_)) => return drop(told.send(Ended::Broken(count))),
            None => {
                assert!(buffer.is_empty());
                told.send(Ended::Closed(count)).unwrap();
                return drop(replies.send_trailers(trailers("0")));
            }
        }
    }
}

/// The first message of the buffer with its prefix, once it is whole.
fn split_message(buffer: &mut BytesMut) -> Option<Bytes> {
    let &[_, a, b, c, d] = buffer.first_chunk::<5>()?;
    let len = 5 + u32::from_be_bytes([a, b, c, d]) as usize;
    (buffer.len() >= len).then(|| buffer.split_to(len).freeze())
}

/// The streams that have ended since the last time.
fn ended(ends: &mut mpsc::UnboundedReceiver<Ended>) -> Vec<Ended> {
    std::iter::from_fn(|| ends.try_recv().ok()).collect()
}

fn echo(_: u64, message: Bytes, replies: &mut SendStream<Bytes>) -> Next {
    // A client that went away meanwhile is no failure.
    let _ = replies.send_data(message, false);
    Next::Message
}

fn count(messages: u64) -> MessagesPerStream {
    MessagesPerStream::Count(NonZeroU64::new(messages).unwrap())
}

fn streaming(addr: SocketAddr, scenario: &str, messages_per_stream: MessagesPerStream) -> LoadSpec {
    let mut spec = spec(Framework::Triple, addr, scenario);
    spec.case.mode = CallMode::Streaming;
    spec.case.messages_per_stream = messages_per_stream;
    spec
}

async fn run(driver: &mut Driver, messages: u64) -> LoadSample {
    load_support::run(driver, &requests(messages)).await
}

#[tokio::test]
async fn a_stream_has_as_many_messages_as_it_should_and_is_closed_by_the_client() {
    let (addr, mut ends) = server(echo).await;
    let mut driver = Driver::connect(streaming(addr, "1KiB-1", count(5))).await.unwrap();
    driver.preflight().await.unwrap();
    assert_eq!(ended(&mut ends), [Ended::Closed(1), Ended::Closed(1)], "two calls of a preflight");
    for _ in 0..2 {
        let sample = run(&mut driver, 23).await;
        assert_eq!((sample.ok, sample.error), (23, 0), "{:?}", sample.errors);
        assert_eq!(ended(&mut ends), [5, 5, 5, 5, 3].map(Ended::Closed), "the last at the end of the window");
    }
}

#[tokio::test]
async fn unbounded_streams_last_for_the_window_one_a_task() {
    let (addr, mut ends) = server(echo).await;
    let mut spec = streaming(addr, "128B-6", MessagesPerStream::Unbounded);
    spec.case.connections = 2;
    let mut driver = Driver::connect(spec).await.unwrap();
    for _ in 0..2 {
        let sample = run(&mut driver, 600).await;
        assert_eq!((sample.ok, sample.error), (600, 0), "{:?}", sample.errors);
        let ended = ended(&mut ends);
        assert!(ended.iter().all(|end| matches!(end, Ended::Closed(_))) && ended.len() == 6, "{ended:?}");
        let messages: u64 = ended.iter().map(|(Ended::Closed(n) | Ended::Broken(n))| n).sum();
        assert_eq!(messages, 600);
    }
}

#[tokio::test]
async fn replies_come_in_frames_of_any_size() {
    let bytes: Answer = |n, message, replies| {
        if n == 2 {
            // h2 takes a hundred of them from each connection.
            let _ = replies.send_data(Bytes::new(), false);
        }
        for byte in message.chunks(1) {
            let _ = replies.send_data(Bytes::copy_from_slice(byte), false);
        }
        Next::Message
    };
    let halves: Answer = |n, mut message, replies| {
        let half = message.split_to(n as usize * 7 % message.len());
        let _ = replies.send_data(half, false);
        let _ = replies.send_data(message, false);
        Next::Message
    };
    for answer in [bytes, halves] {
        let (addr, _ends) = server(answer).await;
        for messages in [count(1), count(2), count(50), MessagesPerStream::Unbounded] {
            let mut driver = Driver::connect(streaming(addr, "100B-2", messages)).await.unwrap();
            driver.preflight().await.unwrap();
            let sample = run(&mut driver, 100).await;
            assert_eq!((sample.ok, sample.error), (100, 0), "{messages} {:?}", sample.errors);
        }
    }
}

#[tokio::test]
async fn messages_larger_than_the_windows_pass_on_a_long_stream() {
    let (addr, _ends) = server(echo).await;
    let mut spec = streaming(addr, "1MiB-3", MessagesPerStream::Unbounded);
    spec.stream_window = 65_535;
    spec.connection_window = 65_535;
    spec.max_frame = 16_384;
    let mut driver = Driver::connect(spec).await.unwrap();
    let sample = run(&mut driver, 20).await;
    assert_eq!((sample.ok, sample.error), (20, 0), "{:?}", sample.errors);
}

/// The third message of every stream is answered wrongly: one error, and the next call opens another stream.
#[tokio::test]
async fn a_stream_that_goes_wrong_costs_one_error_and_another_is_opened() {
    let wrongs: [(&str, Answer, &str); 6] = [
        ("a status", |n, m, r| if n == 3 { Next::Status("8") } else { echo(n, m, r) }, "grpc-status 8: as%20told"),
        (
            "an end",
            |n, m, r| if n == 3 { Next::Status("0") } else { echo(n, m, r) },
            "the server ended the stream before its reply",
        ),
        (
            "a reset",
            |n, m, r| if n == 3 { Next::Reset } else { echo(n, m, r) },
            "stream reset: unexpected internal error encountered",
        ),
        ("silence", |n, m, r| if n == 3 { Next::Silence } else { echo(n, m, r) }, "no reply within 1s"),
        (
            "two replies at once",
            |n, m, r| echo(n, if n == 3 { [&m[..], &m].concat().into() } else { m }, r),
            "reply of 272 bytes and not the 136 expected",
        ),
        (
            "another length",
            |n, m, r| {
                let short = Bytes::from_static(b"\0\0\0\0\x05\x0a\x03abc");
                echo(n, if n == 3 { short } else { m }, r)
            },
            "reply of 10 bytes and not the 136 expected",
        ),
    ];
    for (name, answer, text) in wrongs {
        let (addr, _ends) = server(answer).await;
        for messages in [count(50), MessagesPerStream::Unbounded] {
            let mut spec = streaming(addr, "128B-2", messages);
            // Only silence takes as long as that, and few messages.
            let calls = if name == "silence" { 6 } else { 30 };
            if name == "silence" {
                spec.request_timeout = Duration::from_secs(1);
            }
            let mut driver = Driver::connect(spec).await.unwrap();
            driver.preflight().await.unwrap();
            let sample = run(&mut driver, calls).await;
            assert_eq!(sample.lost, 0, "{name}: {:?}", sample.errors);
            // Two streams at a time, each good for two messages.
            assert!((calls / 3 - 1..=calls / 3).contains(&sample.error), "{name}: {sample:?}");
            assert_eq!(sample.errors.len(), 1, "{name}: {:?}", sample.errors);
            assert_eq!(sample.errors[0].message, text, "{name}");
        }
    }
}

/// The last message's reply is not all of it: trailers belong to it.
#[tokio::test]
async fn the_status_of_a_stream_is_its_last_messages() {
    let (addr, _ends) = server(|n, m, r| {
        echo(n, m, r);
        if n == 4 { Next::Status("13") } else { Next::Message }
    })
    .await;
    let mut driver = Driver::connect(streaming(addr, "128B-1", count(4))).await.unwrap();
    let sample = run(&mut driver, 20).await;
    assert_eq!((sample.ok, sample.error), (15, 5), "{:?}", sample.errors);
    assert_eq!(sample.errors[0].message, "grpc-status 13: as%20told");
}

#[tokio::test]
async fn replies_nobody_asked_for_are_errors() {
    let (addr, _ends) = server(|n, m, r| {
        echo(n, m.clone(), r);
        echo(n, m, r)
    })
    .await;
    let mut driver = Driver::connect(streaming(addr, "128B-2", MessagesPerStream::Unbounded)).await.unwrap();
    let sample = run(&mut driver, 100).await;
    // How many of them are found depends on how many had come by then.
    assert!(sample.error > 0 && sample.lost == 0, "{:?}", sample.errors);
    let known = ["the server sent more than one reply to a message", "reply of 272 bytes and not the 136 expected"];
    assert!(sample.errors.iter().all(|e| known.contains(&e.message.as_str())), "{:?}", sample.errors);
}

/// What a call of one message looks like on the wire has to stay as it is: every figure of the past compares with it.
mod one_message {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::oneshot,
    };

    use super::*;
    use crate::load_support::listen;

    const DATA: u8 = 0;
    const HEADERS: u8 = 1;

    /// The frames of the first call: kind, flags and length.
    async fn frames(mode: CallMode) -> Vec<(u8, u8, usize)> {
        let (told, frames) = oneshot::channel();
        let mut told = Some(told);
        let addr = listen(move |mut socket| {
            let told = told.take();
            async move {
                socket.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
                socket.read_exact(&mut [0; 24]).await.unwrap();
                let mut frames = Vec::new();
                while frames.last().is_none_or(|&(_, flags, _)| flags & 1 == 0) {
                    let mut header = [0; 9];
                    socket.read_exact(&mut header).await.unwrap();
                    let [a, b, c, kind, flags, ..] = header;
                    let len = u32::from_be_bytes([0, a, b, c]) as usize;
                    socket.read_exact(&mut vec![0; len]).await.unwrap();
                    if matches!(kind, DATA | HEADERS) {
                        frames.push((kind, flags, len));
                    }
                }
                told.unwrap().send(frames).unwrap();
            }
        })
        .await;
        let mut spec = spec(Framework::Triple, addr, "128B-1");
        spec.case.mode = mode;
        let mut driver = Driver::connect(spec).await.unwrap();
        assert!(driver.preflight().await.is_err(), "the server goes away");
        frames.await.unwrap()
    }

    #[tokio::test]
    async fn is_a_frame_of_headers_one_of_data_and_in_a_stream_an_empty_one() {
        let [(HEADERS, 4, headers), rest @ ..] = &frames(CallMode::Unary).await[..] else { panic!("headers first") };
        assert_eq!(rest, [(DATA, 1, 136)]);
        let [(HEADERS, 4, more), rest @ ..] = &frames(CallMode::Streaming).await[..] else { panic!("headers first") };
        assert_eq!(rest, [(DATA, 0, 136), (DATA, 1, 0)]);
        assert!(more.abs_diff(*headers) <= 8, "the paths differ, and the ports: {headers} {more}");
    }
}
