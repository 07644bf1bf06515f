//! The gRPC and raw servers, on the wire.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use debug_pprof::ops::method;
use echo_server::{grpc, methods, raw};
use support::{
    STREAM, UNARY, benchmark, framed,
    gzip::{gunzip, gzip},
    http2::Client,
    others::{start_grpc, start_raw},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const GRPC: (&str, &str) = ("content-type", "application/grpc");

#[tokio::test]
async fn grpc_echoes_with_either_codec() {
    for codec_buffer in [grpc::TONIC_CODEC_BUFFER, 512, 64 << 10] {
        let options = grpc::Options { codec_buffer, ..grpc::Options::default() };
        let client = Client::connect(start_grpc(options).await).await;
        for payload in [0, 128, 1 << 20, 16 << 20] {
            let message = framed(0, &benchmark(&vec![1; payload]));
            for path in [UNARY, STREAM] {
                let reply = client.call(path, &[GRPC], &[&message]).await;
                assert_eq!(reply.grpc_status(), Some(0), "{path} {payload} {codec_buffer}");
                assert!(reply.body == message, "{path} {payload} {codec_buffer}");
            }
        }
        let over = framed(0, &benchmark(&vec![1; options.message_limit]));
        assert_eq!(client.call(UNARY, &[GRPC], &[&over]).await.grpc_status(), Some(11), "{codec_buffer}");
        let nope = client.call("/benchmark.BenchmarkService/Nope", &[GRPC], &[]).await;
        assert_eq!(nope.grpc_status(), Some(12), "{codec_buffer}");
    }
}

#[tokio::test]
async fn grpc_compresses_only_when_told_and_what_the_client_takes() {
    let message = benchmark(&[5; 500]);
    let (plain, zipped) = (framed(0, &message), framed(1, &gzip(&message)));
    let offer = ("grpc-accept-encoding", "identity,gzip");
    let compressed = ("grpc-encoding", "gzip");
    for codec_buffer in [grpc::TONIC_CODEC_BUFFER, 512] {
        for accept_gzip in [false, true] {
            let options = grpc::Options { codec_buffer, accept_gzip, ..grpc::Options::default() };
            let client = Client::connect(start_grpc(options).await).await;
            for path in [UNARY, STREAM] {
                let case = format!("{path}, buffer {codec_buffer}, accept_gzip {accept_gzip}");
                let silent = client.call(path, &[GRPC], &[&plain]).await;
                assert_eq!((silent.header("grpc-encoding"), &silent.body), (None, &plain), "{case}");

                let offering = client.call(path, &[GRPC, offer], &[&plain]).await;
                assert_eq!(offering.grpc_status(), Some(0), "{case}");
                assert_eq!(offering.header("grpc-encoding"), accept_gzip.then_some("gzip"), "{case}");
                assert_eq!(offering.body[0], u8::from(accept_gzip), "{case}");
                let read = if accept_gzip { gunzip(&offering.body[5..]) } else { offering.body[5..].to_vec() };
                assert_eq!(read, message, "{case}");

                // Compressed, but without an offer: tonic's answer is plain, where Triple's is compressed.
                let sending = client.call(path, &[GRPC, compressed], &[&zipped]).await;
                let expected = if accept_gzip { (Some(0), plain.clone()) } else { (Some(12), Vec::new()) };
                assert_eq!((sending.grpc_status(), sending.body), expected, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn grpc_says_by_its_code_whether_a_message_was_too_large_before_or_after_decompression() {
    for codec_buffer in [grpc::TONIC_CODEC_BUFFER, 512] {
        let options =
            grpc::Options { codec_buffer, accept_gzip: true, message_limit: 1000, ..grpc::Options::default() };
        let client = Client::connect(start_grpc(options).await).await;
        let headers = [GRPC, ("grpc-encoding", "gzip")];
        for (message, code) in [(framed(0, &benchmark(&[5; 1000])), 11), (framed(1, &gzip(&benchmark(&[5; 1000]))), 8)]
        {
            let reply = client.call(UNARY, &headers, &[&message]).await;
            assert_eq!(reply.grpc_status(), Some(code), "{codec_buffer}, {} bytes", message.len());
        }
    }
}

#[tokio::test]
async fn raw_echoes_messages_of_any_size_however_they_arrive() {
    let addr = start_raw(raw::Options::default()).await;
    let mut socket = TcpStream::connect(addr).await.unwrap();
    let (mut read, mut write) = socket.split();
    for length in [0_usize, 1, 128, 16_384, 1 << 20, 16 << 20] {
        let message = [&(length as u32).to_be_bytes()[..], &vec![7; length]].concat();
        let mut echo = vec![0; message.len()];
        let (written, read) = tokio::join!(write.write_all(&message), read.read_exact(&mut echo));
        written.unwrap();
        read.unwrap();
        assert!(echo == message, "{length}");
    }
    // Three at once and a piece of the fourth.
    let four = b"\0\0\0\x01a\0\0\0\0\0\0\0\x02bc\0\0\0\x03def";
    write.write_all(&four[..17]).await.unwrap();
    let mut echo = [0; 15];
    read.read_exact(&mut echo).await.unwrap();
    assert_eq!(echo, four[..15]);
    for byte in &four[17..] {
        write.write_all(&[*byte]).await.unwrap();
    }
    let mut echo = [0; 7];
    read.read_exact(&mut echo).await.unwrap();
    assert_eq!(echo, four[15..]);
}

#[tokio::test]
async fn raw_closes_on_a_length_over_the_limit_and_counts_an_error() {
    let addr = start_raw(raw::Options { message_limit: 8, ..raw::Options::default() }).await;
    let before = method(methods::RAW).counts();
    let mut socket = TcpStream::connect(addr).await.unwrap();
    socket.write_all(b"\0\0\0\x09").await.unwrap();
    assert_eq!(socket.read(&mut [0; 1]).await.unwrap(), 0);
    assert_eq!(method(methods::RAW).counts().error - before.error, 1);
}
