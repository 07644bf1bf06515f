//! The raw driver against length-prefixed echoes that do right and wrong.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::time::Duration;

use analyze::{
    load::{CallError, Driver, LoadError, Window},
    scenario::Framework,
};
use load_support::{listen, requests, run, spec};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// The next message, or `None` where the client has gone.
async fn read_message(socket: &mut (impl AsyncReadExt + Unpin)) -> Option<Vec<u8>> {
    let len = socket.read_u32().await.ok()?;
    let mut message = vec![0; len as usize];
    socket.read_exact(&mut message).await.ok()?;
    Some(message)
}

async fn write_message(socket: &mut (impl AsyncWriteExt + Unpin), message: &[u8]) -> Option<()> {
    let frame = [&(message.len() as u32).to_be_bytes(), message].concat();
    socket.write_all(&frame).await.ok()
}

/// Reads nothing while it writes, as the simplest echo does.
async fn echo(socket: TcpStream) {
    let mut socket = BufReader::new(socket);
    while let Some(message) = read_message(&mut socket).await {
        if write_message(&mut socket, &message).await.is_none() {
            return;
        }
    }
}

#[tokio::test]
async fn every_call_of_a_good_server_is_ok() {
    let addr = listen(echo).await;
    for (scenario, connections) in [("128B-50", 1), ("1B-1", 1), ("16KiB-10", 3)] {
        let mut spec = spec(Framework::Raw, addr, scenario);
        spec.case.connections = connections;
        let mut driver = Driver::connect(spec).await.unwrap();
        let wire = driver.preflight().await.unwrap();
        assert_eq!((wire.http_version.as_str(), wire.connections), ("TCP", connections));
        let sample = run(&mut driver, &requests(500)).await;
        assert_eq!((sample.started, sample.ok), (500, 500), "{scenario}: {sample:?}");
    }
}

/// A hundred MiB in flight fill every buffer in both directions; a client that wrote first and read then would never end.
#[tokio::test]
async fn a_hundred_mebibytes_in_flight_do_not_lock_up() {
    let addr = listen(echo).await;
    let mut driver = Driver::connect(spec(Framework::Raw, addr, "1MiB-100")).await.unwrap();
    let sample = run(&mut driver, &requests(150)).await;
    assert_eq!((sample.started, sample.ok), (150, 150), "{sample:?}");
}

#[tokio::test]
async fn wrong_replies_are_errors_and_the_next_reply_is_right() {
    let addr = listen(|socket| async move {
        let mut socket = BufReader::new(socket);
        let mut turn = 0;
        while let Some(mut message) = read_message(&mut socket).await {
            turn += 1;
            match turn % 4 {
                1 => message.truncate(100),
                2 => message.push(0),
                _ => {}
            }
            if write_message(&mut socket, &message).await.is_none() {
                return;
            }
        }
    })
    .await;
    let mut driver = Driver::connect(spec(Framework::Raw, addr, "128B-4")).await.unwrap();
    let error = driver.preflight().await.unwrap_err();
    assert!(
        matches!(error, LoadError::Preflight { source: CallError::Length { got: 100, expected: 128 }, .. }),
        "{error}"
    );
    let sample = run(&mut driver, &requests(400)).await;
    assert_eq!((sample.ok, sample.error, sample.errors.len()), (200, 200, 2), "{sample:?}");
}

#[tokio::test]
async fn a_reply_with_other_bytes_fails_the_preflight() {
    let addr = listen(|socket| async move {
        let mut socket = BufReader::new(socket);
        while let Some(mut message) = read_message(&mut socket).await {
            message[17] ^= 1;
            write_message(&mut socket, &message).await;
        }
    })
    .await;
    let error = Driver::connect(spec(Framework::Raw, addr, "128B-1")).await.unwrap().preflight().await.unwrap_err();
    assert!(matches!(error, LoadError::Preflight { source: CallError::Mismatch(17), .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_ends_breaks_off_or_makes_things_up_ends_the_window() {
    for (last_words, cause) in [
        (&[][..], "connection lost: closed by the server"),
        (&[0, 0, 0, 128, 1, 2, 3], "connection lost: closed by the server"),
        (&[0xff; 4], "connection lost: the server sent a length of 4294967295, over the limit of 16777216"),
    ] {
        let addr = listen(move |socket| async move {
            let mut socket = BufReader::new(socket);
            for _ in 0..100 {
                let message = read_message(&mut socket).await.unwrap();
                write_message(&mut socket, &message).await.unwrap();
            }
            // What comes after has to be read, or closing would reset the connection and lose the last words.
            socket.write_all(last_words).await.unwrap();
            socket.shutdown().await.unwrap();
            while read_message(&mut socket).await.is_some() {}
        })
        .await;
        let mut driver = Driver::connect(spec(Framework::Raw, addr, "128B-8")).await.unwrap();
        let sample = run(&mut driver, &Window::lasting(Duration::from_secs(3600))).await;
        assert_eq!((sample.ok, sample.error, sample.unfinished), (100, 8, 0), "{sample:?}");
        assert_eq!(sample.errors[0].message, cause);
        assert!(sample.window < Duration::from_secs(3600));
    }
}

#[tokio::test]
async fn a_reply_to_no_request_ends_the_connection() {
    let addr = listen(|mut socket| async move {
        socket.write_all(&[0, 0, 0, 1, 7]).await.unwrap();
        while read_message(&mut socket).await.is_some() {}
    })
    .await;
    let error = Driver::connect(spec(Framework::Raw, addr, "1B-1")).await.unwrap().preflight().await.unwrap_err();
    assert!(matches!(error, LoadError::Preflight { .. }), "{error}");
}
