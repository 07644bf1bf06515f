//! The driver of framed calls against servers that do right and wrong.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use analyze::{
    load::{CallError, Driver, LoadError, LoadSpec, Sharing, Window},
    scenario::{Framework, Serialization},
};
use load_support::{listen, requests, run, spec};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::Notify,
};

const FRAMEWORKS: [&str; 3] = ["kitex-thrift", "kitex-protobuf", "dubbo-go-dubbo"];

fn framed(framework: &str, sharing: Sharing, addr: SocketAddr, scenario: &str) -> LoadSpec {
    let framework: Framework = framework.parse().unwrap();
    let mut spec = spec(framework, addr, scenario);
    spec.case.serialization = framework.protocol().serialization();
    spec.case.sharing = sharing;
    spec
}

/// The next frame, or `None` where the client has gone.
async fn read_frame(socket: &mut (impl AsyncReadExt + Unpin)) -> Option<Vec<u8>> {
    let first = socket.read_u32().await.ok()?;
    let mut frame = first.to_be_bytes().to_vec();
    let mut len = first as usize;
    if is_dubbo(&frame) {
        frame.resize(16, 0);
        socket.read_exact(&mut frame[4..]).await.ok()?;
        len = u32::from_be_bytes(frame[12..].try_into().unwrap()) as usize;
    }
    let head = frame.len();
    frame.resize(head + len, 0);
    socket.read_exact(&mut frame[head..]).await.ok()?;
    Some(frame)
}

fn is_dubbo(frame: &[u8]) -> bool {
    frame[..2] == [0xda, 0xbb]
}

/// Where a message of Thrift or Kitex Protobuf begins: behind the TTHeader, if there is one.
fn message_at(frame: &[u8]) -> usize {
    if frame[4..6] == [0x10, 0] { 18 } else { 0 }
}

/// The echo of a request: the same message as a reply, and in Thrift the result's field 0 where the argument's is 1. Of Dubbo the
/// argument, with the attachments behind it.
fn echo_of(mut frame: Vec<u8>) -> Vec<u8> {
    if is_dubbo(&frame) {
        let argument = position(&frame, b"C0+org");
        let body = [&[0x94], &frame[argument..]].concat();
        let head = [&[0xda, 0xbb, 2, 20], &frame[4..12], &(body.len() as u32).to_be_bytes()].concat();
        return [head, body].concat();
    }
    let message = message_at(&frame);
    frame[message + 7] = 2;
    if frame[message + 4] == 0x80 {
        let name = frame[message + 11] as usize;
        frame[message + 18 + name] = 0;
    }
    frame
}

/// A reply that says that the server failed.
fn failed(mut frame: Vec<u8>) -> Vec<u8> {
    let at = if is_dubbo(&frame) { 3 } else { message_at(&frame) + 7 };
    frame[at] = 3;
    frame
}

/// Where the payload of a hundred bytes begins.
fn payload_at(frame: &[u8]) -> usize {
    if is_dubbo(frame) {
        return position(frame, b"payload`") + 10;
    }
    let message = message_at(frame);
    let body = message + 16 + frame[message + 11] as usize;
    body + if frame[message + 4] == 0x80 { 10 } else { 2 }
}

fn position(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|window| window == part).unwrap()
}

/// Answers so many requests at a time, the last one first.
async fn backwards(socket: TcpStream, batch: usize) {
    let mut socket = BufReader::new(socket);
    loop {
        let mut frames = Vec::new();
        for _ in 0..batch {
            match read_frame(&mut socket).await {
                Some(frame) => frames.push(echo_of(frame)),
                None => return,
            }
        }
        frames.reverse();
        if socket.write_all(&frames.concat()).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn every_call_of_a_good_server_is_ok_whatever_the_order() {
    for framework in FRAMEWORKS {
        for (sharing, scenario, connections, batch) in
            [(Sharing::Mux, "300B-20", 1, 5), (Sharing::Mux, "1B-6", 3, 1), (Sharing::Pool, "16KiB-4", 2, 1)]
        {
            let addr = listen(move |socket| async move {
                let mut socket = BufReader::new(socket);
                // Those of the preflight come one by one.
                for _ in 0..2 {
                    let Some(frame) = read_frame(&mut socket).await else { return };
                    socket.write_all(&echo_of(frame)).await.unwrap();
                    if batch == 1 {
                        break;
                    }
                }
                backwards(socket.into_inner(), batch).await;
            })
            .await;
            let mut spec = framed(framework, sharing, addr, scenario);
            spec.case.connections = connections;
            let mut driver = Driver::connect(spec).await.unwrap();
            let wire = driver.preflight().await.unwrap();
            let name = match (framework, sharing) {
                ("kitex-thrift", Sharing::Pool) => "Thrift framed",
                ("kitex-thrift", Sharing::Mux) => "Thrift framed in TTHeader",
                ("dubbo-go-dubbo", _) => "Dubbo",
                (_, Sharing::Pool) => "Kitex Protobuf",
                (_, Sharing::Mux) => "Kitex Protobuf in TTHeader",
            };
            assert_eq!((wire.http_version.as_str(), wire.connections), (name, connections));
            assert_eq!(wire.request_bytes == wire.response_bytes, framework != "dubbo-go-dubbo");
            let sample = run(&mut driver, &requests(500)).await;
            assert_eq!((sample.started, sample.ok), (500, 500), "{framework} {scenario}: {sample:?}");
        }
    }
}

/// A hundred MiB in flight fill every buffer in both directions; a client that wrote first and read then would never end.
#[tokio::test]
async fn a_hundred_mebibytes_in_flight_do_not_lock_up() {
    let addr = listen(|socket| backwards(socket, 1)).await;
    for framework in FRAMEWORKS {
        let mut driver = Driver::connect(framed(framework, Sharing::Mux, addr, "1MiB-100")).await.unwrap();
        let sample = run(&mut driver, &requests(150)).await;
        assert_eq!((sample.started, sample.ok), (150, 150), "{sample:?}");
    }
}

#[tokio::test]
async fn wrong_replies_are_errors_and_the_next_reply_is_right() {
    let addr = listen(|socket| async move {
        let mut socket = BufReader::new(socket);
        let mut turn = 0;
        while let Some(frame) = read_frame(&mut socket).await {
            let mut frame = echo_of(frame);
            turn += 1;
            match turn % 4 {
                1 => {
                    let at = payload_at(&frame) + 17;
                    frame[at] ^= 1;
                }
                2 => frame = failed(frame),
                _ => {}
            }
            if socket.write_all(&frame).await.is_err() {
                return;
            }
        }
    })
    .await;
    for framework in FRAMEWORKS {
        let mut driver = Driver::connect(framed(framework, Sharing::Mux, addr, "100B-4")).await.unwrap();
        let error = driver.preflight().await.unwrap_err();
        assert!(matches!(error, LoadError::Preflight { source: CallError::Mismatch(17), .. }), "{error}");
        let sample = run(&mut driver, &requests(400)).await;
        assert!(sample.ok >= 200 && sample.error >= 100 && sample.lost == 0, "{sample:?}");
        assert!(sample.errors.iter().any(|error| error.message.starts_with("the server failed: ")), "{sample:?}");
    }
}

#[tokio::test]
async fn a_server_that_ends_breaks_off_or_makes_things_up_ends_the_window() {
    for (last_words, cause) in [
        (&[][..], "connection lost: closed by the server"),
        (&[0, 0, 0, 30, 0x80, 1], "connection lost: closed by the server"),
        (b"HTTP/1.1 400 Bad Request", "connection lost: the server sent 0x2f31 where a message has 0x8001"),
        (
            &[1, 1, 0, 1, 0x80, 1, 0, 2],
            "connection lost: the server sent a length of 16842753, over the limit of 16842752",
        ),
        (
            &[0, 0, 0, 12, 0x80, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0],
            "connection lost: the server sent a reply with the number 0, which no call that awaits one has",
        ),
    ] {
        let addr = listen(move |socket| async move {
            let mut socket = BufReader::new(socket);
            for _ in 0..100 {
                let frame = read_frame(&mut socket).await.unwrap();
                socket.write_all(&echo_of(frame)).await.unwrap();
            }
            // What comes after has to be read, or closing would reset the connection and lose the last words.
            socket.write_all(last_words).await.unwrap();
            socket.shutdown().await.unwrap();
            while read_frame(&mut socket).await.is_some() {}
        })
        .await;
        let mut driver = Driver::connect(framed("kitex-thrift", Sharing::Pool, addr, "128B-1")).await.unwrap();
        let sample = run(&mut driver, &Window::lasting(Duration::from_secs(3600))).await;
        assert_eq!((sample.ok, sample.error, sample.unfinished), (100, 1, 0), "{sample:?}");
        assert_eq!(sample.errors[0].message, cause);
    }
}

/// The reply to a call that nobody waits for any more is read, and is no other call's.
#[tokio::test]
async fn a_late_reply_is_thrown_away() {
    let come = Arc::<Notify>::default();
    let first_has_come = come.clone();
    let addr = listen(move |socket| {
        let come = come.clone();
        async move {
            let mut socket = BufReader::new(socket);
            let first = read_frame(&mut socket).await.unwrap();
            come.notify_one();
            let second = read_frame(&mut socket).await.unwrap();
            socket.write_all(&[echo_of(first), echo_of(second)].concat()).await.unwrap();
            backwards(socket.into_inner(), 1).await;
        }
    })
    .await;
    let mut driver = Driver::connect(framed("kitex-thrift", Sharing::Mux, addr, "128B-1")).await.unwrap();
    let one = requests(1);
    tokio::select! {
        sample = run(&mut driver, &one) => panic!("{sample:?}"),
        () = first_has_come.notified() => {}
    }
    let sample = run(&mut driver, &requests(10)).await;
    assert_eq!((sample.ok, sample.error), (10, 0), "{sample:?}");
}

#[tokio::test]
async fn what_frames_cannot_carry_is_refused() {
    let addr = "127.0.0.1:1".parse().unwrap();
    let refused = |change: fn(&mut LoadSpec)| async move {
        let mut spec = framed("kitex-thrift", Sharing::Mux, addr, "128B-1");
        change(&mut spec);
        Driver::connect(spec).await.unwrap_err().to_string()
    };
    assert_eq!(
        refused(|spec| spec.case.serialization = Serialization::Protobuf).await,
        "serialization protobuf: not for kitex-thrift: Thrift has an encoding of its own: thrift"
    );
    assert_eq!(
        refused(|spec| spec.case.accept_gzip = true).await,
        "accept gzip true: not for kitex-thrift: its frames are calls, and say nothing of how their messages are compressed"
    );
    assert_eq!(
        refused(|spec| spec.case.mode = analyze::load::CallMode::Streaming).await,
        "mode streaming: not for kitex-thrift: its protocol has calls of one message, no streams"
    );
}

/// Dubbo's servers ask whether a client is there, and close the connection of one that doesn't answer.
#[tokio::test]
async fn a_server_that_asks_is_answered() {
    let addr = listen(|socket| async move {
        let mut socket = BufReader::new(socket);
        let mut id = 0_u64;
        while let Some(call) = read_frame(&mut socket).await {
            id += 1;
            let asks = [&[0xda, 0xbb, 0xe2, 0][..], &id.to_be_bytes(), &[0, 0, 0, 1, b'N']].concat();
            socket.write_all(&asks).await.unwrap();
            let answer = read_frame(&mut socket).await.unwrap();
            assert_eq!(answer, [&[0xda, 0xbb, 0x22, 20][..], &id.to_be_bytes(), &[0, 0, 0, 1, b'N']].concat());
            // One that answers itself, and tells that it will close: nothing is to be done about these.
            let tells =
                [0x22, 0xa2].map(|flags| [&[0xda, 0xbb, flags, 20][..], &[0; 8], &[0, 0, 0, 2, 1, b'R']].concat());
            socket.write_all(&[tells.concat(), echo_of(call)].concat()).await.unwrap();
        }
    })
    .await;
    let mut driver = Driver::connect(framed("dubbo-java-dubbo", Sharing::Mux, addr, "128B-1")).await.unwrap();
    driver.preflight().await.unwrap();
    let sample = run(&mut driver, &requests(20)).await;
    assert_eq!((sample.ok, sample.error), (20, 0), "{sample:?}");
}

/// One that asks and asks without reading must not fill our memory.
#[tokio::test]
async fn a_server_that_only_asks_loses_its_connection() {
    let addr = listen(|mut socket| async move {
        let asks = [&[0xda, 0xbb, 0xe2, 0][..], &[0; 8], &[0, 0, 0, 1, b'N']].concat().repeat(10_000);
        while socket.write_all(&asks).await.is_ok() {}
    })
    .await;
    let mut driver = Driver::connect(framed("dubbo-java-dubbo", Sharing::Mux, addr, "128B-1")).await.unwrap();
    let refused = driver.preflight().await.unwrap_err();
    let LoadError::Preflight { source, .. } = refused else { panic!("{refused:?}") };
    assert!(source.to_string().contains("more questions than it reads answers to"), "{source}");
}
