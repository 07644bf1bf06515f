//! Calls whose argument is in Hessian or MessagePack, in Triple's envelopes.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::time::Duration;

use bytes::Bytes;
use echo_proto::{
    envelope::{Serialization, decode_response, encode_request},
    triple::{TripleRequestWrapper, TripleResponseWrapper},
};
use echo_server::{Handler, triple};
use prost::Message;
use support::{
    STREAM, Server, UNARY, benchmark, framed, frames,
    gzip::{gunzip, gzip},
    http1,
    http2::Client,
    vectors::vector,
};

const SERIALIZATIONS: [Serialization; 2] = [Serialization::Hessian2, Serialization::Msgpack];
const GRPC: (&str, &str) = ("content-type", "application/grpc+proto");

fn envelope(serialize_type: &str, argument: &[u8], argument_type: &str) -> Vec<u8> {
    TripleRequestWrapper {
        serialize_type: serialize_type.to_owned(),
        args: vec![Bytes::copy_from_slice(argument)],
        arg_types: vec![argument_type.to_owned()],
    }
    .encode_to_vec()
}

/// The payload of an answer, which must be in the same serialization and of the same type as a request of ours.
fn payload(answer: &[u8], serialization: Serialization) -> Vec<u8> {
    let wrapper = TripleResponseWrapper::decode(answer).unwrap();
    assert_eq!((wrapper.serialize_type.as_str(), wrapper.r#type.as_str()), (serialization.name(), "[B"));
    decode_response(&[Bytes::copy_from_slice(answer)]).unwrap().concat()
}

/// The service that was captured greets; ours echoes. All else must be as it was.
#[tokio::test]
async fn captured_calls_are_answered_in_an_envelope_of_their_own_kind() {
    for accept_gzip in [false, true] {
        let server = Server::start(triple::Options { accept_gzip, ..triple::Options::default() }).await;
        let client = Client::connect(server.addr).await;
        // dubbo-go's server broke down over dg-msg-hello and lost the payload of dg-msg-bench.
        for name in ["dg-hes-hello", "dg-msg-hello", "dg-msg-bench"] {
            let request = frames::Request::parse(&vector(name, "c2s"));
            let headers: Vec<_> = request.headers().collect();
            let reply = client.call(UNARY, &headers, &[&request.body]).await;
            assert_eq!(reply.grpc_status(), Some(0), "{name}");
            assert_eq!(reply.header("content-type"), Some("application/grpc+proto"), "{name}");
            assert_eq!(reply.header("grpc-encoding"), accept_gzip.then_some("gzip"), "{name}");
            let answer = if accept_gzip { gunzip(&reply.body[5..]) } else { reply.body[5..].to_vec() };
            assert_eq!(answer, request.body[5..], "{name}: an echo is the same envelope");

            let captured = frames::Reply::parse(&vector(name, "s2c"));
            if name == "dg-hes-hello" {
                let greeting = TripleRequestWrapper::decode(&gunzip(&captured.body[5..])[..]).unwrap();
                let answer = TripleRequestWrapper::decode(&answer[..]).unwrap();
                assert_eq!(reply.header("content-type"), captured.headers.get("content-type").map(String::as_str));
                assert_eq!(
                    (&greeting.serialize_type, &greeting.arg_types),
                    (&answer.serialize_type, &answer.arg_types)
                );
                assert_eq!((&greeting.args[0][..], &answer.args[0][..]), (&b"\x09hello bob"[..], &b"\x03bob"[..]));
            }
        }
    }
}

#[tokio::test]
async fn a_captured_call_over_http1() {
    let server = Server::start(triple::Options { accept_gzip: true, ..triple::Options::default() }).await;
    let request = String::from_utf8(vector("dg-hes-hello-h1", "c2s")).unwrap();
    let ours = request.replacen("/com.example.GreetService/SayHello", UNARY, 1);
    let reply = http1::exchange(server.addr, ours.as_bytes()).await;
    let captured = http1::parse(&vector("dg-hes-hello-h1", "s2c")).unwrap();
    let essence = |reply: &http1::Reply| {
        let header = |name: &str| reply.headers.get(name).cloned();
        (reply.status, header("content-type"), header("content-encoding"), header("accept-encoding"))
    };
    assert_eq!(essence(&reply), essence(&captured));
    assert_eq!(gunzip(&reply.body), envelope("hessian2", b"\x03bob", "java.lang.String"));
    assert_eq!(gunzip(&captured.body), envelope("hessian2", b"\x09hello bob", "java.lang.String"));
}

#[tokio::test]
async fn every_content_type_takes_envelopes_of_either_serialization() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for serialization in SERIALIZATIONS {
        let message = encode_request(serialization, &b"hi"[..]);
        for content_type in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc+hessian2",
            "application/grpc+msgpack",
            "application/proto",
            "application/hessian2",
            "application/msgpack",
        ] {
            let grpc = content_type.starts_with("application/grpc");
            let body = if grpc { framed(0, &message) } else { message.to_vec() };
            for path in [UNARY, STREAM] {
                if path == STREAM && !grpc {
                    continue;
                }
                let reply = client.call(path, &[("content-type", content_type)], &[&body]).await;
                assert_eq!((reply.status.as_u16(), &reply.body), (200, &body), "{path} {content_type}");
                assert_eq!(reply.header("content-type"), Some(content_type));
                assert_eq!(reply.grpc_status(), grpc.then_some(0), "{path} {content_type}");
            }
            let request = http1::request("POST", UNARY, &[("content-type", content_type), ("te", "trailers")], &body);
            let reply = http1::exchange(server.addr, &request).await;
            assert_eq!((reply.status, &reply.body), (200, &body), "{content_type}");
        }
    }
}

#[tokio::test]
async fn an_argument_is_answered_in_its_own_shape() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for (message, what) in [
        (envelope("hessian4", b"\x22hi", "[B"), "dubbo-java's name for Hessian 2.0"),
        (envelope("hessian2", b"\x02\xe4\xb8\xad\xe6\x96\x87", "java.lang.String"), "a string"),
        (envelope("hessian2", b"H\x07payload\x22hiZ", "java.util.Map"), "a map"),
        (envelope("hessian2", b"C\x10BenchmarkRequest\x91\x07payload\x60\x22hi", "BenchmarkRequest"), "an object"),
        (envelope("msgpack", b"\xc4\x02hi", "[B"), "a byte array"),
        (envelope("msgpack", b"\x81\xa7payload\xc4\x02hi", "java.util.Map"), "a map"),
    ] {
        for path in [UNARY, STREAM] {
            let reply = client.call(path, &[GRPC], &[&framed(0, &message)]).await;
            assert_eq!((reply.grpc_status(), &reply.body[5..]), (Some(0), &message[..]), "{path}: {what}");
        }
    }
}

/// dubbo-go's Hessian cuts byte arrays at 4,096, Java's at 8,189: an answer that is cut as ours is was encoded anew.
#[tokio::test]
async fn the_argument_is_decoded_and_not_passed_through() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let bytes = vec![7; 10_000];
    let mut argument = Vec::new();
    for chunk in bytes[..8192].chunks(4096) {
        argument.extend(b"A\x10\x00");
        argument.extend(chunk);
    }
    argument.extend(b"B\x07\x10");
    argument.extend(&bytes[8192..]);
    let request = envelope("hessian2", &argument, "[B");
    let reply = client.call(UNARY, &[GRPC], &[&framed(0, &request)]).await;
    assert_ne!(reply.body[5..], request);
    assert_eq!(reply.body[5..], encode_request(Serialization::Hessian2, &bytes[..]));
}

#[tokio::test]
async fn messages_cut_anywhere_and_of_any_size() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    for serialization in SERIALIZATIONS {
        for length in [0, 1, 15, 16, 300] {
            let message = framed(0, &encode_request(serialization, &vec![3; length][..]));
            let bytes: Vec<&[u8]> = message.chunks(1).collect();
            let reply = client.call(UNARY, &[GRPC], &bytes).await;
            assert_eq!((reply.grpc_status(), reply.body), (Some(0), message), "{serialization:?} {length}");
        }
        for length in [20_000, 1 << 20, 16 << 20] {
            let message = framed(0, &encode_request(serialization, &vec![3; length][..]));
            for path in [UNARY, STREAM] {
                let reply = client.call(path, &[GRPC], &[&message]).await;
                assert_eq!(reply.grpc_status(), Some(0), "{path} {serialization:?} {length}");
                assert!(reply.body == message, "{path} {serialization:?} {length}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn gzip_sizes_and_sleeps_apply_to_envelopes() {
    let handler = Handler { response_size: Some(1000), sleep: Some(Duration::from_secs(1)) };
    let server = Server::start(triple::Options { handler, ..triple::Options::default() }).await;
    let client = Client::connect(server.addr).await;
    for serialization in SERIALIZATIONS {
        for request in [&b""[..], b"abc", &[5; 3000]] {
            let expected: Vec<u8> = match request {
                [] => vec![0; 1000],
                _ => request.iter().copied().cycle().take(1000).collect(),
            };
            let message = framed(1, &gzip(&encode_request(serialization, request)));
            for path in [UNARY, STREAM] {
                let start = tokio::time::Instant::now();
                let reply = client.call(path, &[GRPC, ("grpc-encoding", "gzip")], &[&message]).await;
                assert_eq!((reply.grpc_status(), reply.body[0]), (Some(0), 1), "{path}");
                assert_eq!(payload(&gunzip(&reply.body[5..]), serialization), expected, "{path}");
                assert!(start.elapsed() >= Duration::from_secs(1), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn a_benchmark_request_is_no_envelope_whatever_its_payload() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let inner = encode_request(Serialization::Hessian2, &b"hi"[..]);
    for payload in [&b"hessian2"[..], b"msgpack", &inner] {
        let message = framed(0, &benchmark(payload));
        assert_eq!(client.call(UNARY, &[GRPC], &[&message]).await.body, message);
    }
    // Under the type of an envelope it is none.
    let alias = ("content-type", "application/grpc+hessian2");
    assert_eq!(client.call(UNARY, &[alias], &[&framed(0, &benchmark(b"hi"))]).await.grpc_status(), Some(3));
}

#[tokio::test]
async fn what_is_wrong_with_an_envelope_is_said_and_where() {
    let server = Server::start(triple::Options { message_limit: 1000, ..triple::Options::default() }).await;
    let client = Client::connect(server.addr).await;
    let with_two = TripleRequestWrapper {
        serialize_type: "hessian2".to_owned(),
        args: vec![Bytes::from_static(b"\x22hi"), Bytes::from_static(b"\x90")],
        arg_types: vec!["[B".to_owned(), "int".to_owned()],
    };
    let cut = envelope("hessian2", b"\x22hi", "[B");
    let expected = "a byte array, a string, or an object or map with either as its \"payload\" is expected";
    let number = format!("envelope: the argument is a number; {expected}");
    let other = format!("envelope: the argument is no byte array, string or map; {expected}");
    for (content_type, message, text) in [
        (
            "proto",
            envelope("hessian2", b"\x22h", "[B"),
            "envelope, argument: hessian2, byte 2: the input ends within a value",
        ),
        (
            "proto",
            envelope("hessian2", b"\x22hi\x90", "[B"),
            "envelope, argument: hessian2, byte 3: 1 bytes follow the value",
        ),
        ("proto", envelope("hessian2", b"\x90", "int"), &number),
        (
            "proto",
            envelope("hessian2", b"\x40", "[B"),
            "envelope, argument: hessian2, byte 0: 0x40 cannot begin a value",
        ),
        ("proto", envelope("hessian2", b"H\x07payload\x90Z", "java.util.Map"), &number),
        (
            "proto",
            envelope("hessian2", b"", "[B"),
            "envelope: there is no argument; one that is or holds a byte array is expected",
        ),
        (
            "proto",
            with_two.encode_to_vec(),
            "envelope: there are 2 arguments; one that is or holds a byte array is expected",
        ),
        ("proto", cut[..cut.len() - 1].to_vec(), "envelope, byte 15: no protobuf"),
        (
            "proto",
            envelope("msgpack", b"\xc4\x03hi", "[B"),
            "envelope, argument: msgpack: byte 0: the input ends within a value",
        ),
        (
            "proto",
            envelope("msgpack", b"\xc4\x02hi\xc0", "[B"),
            "envelope, argument: msgpack: byte 4: 1 bytes follow the value",
        ),
        ("proto", envelope("msgpack", b"\x07", "int"), &other),
        (
            "hessian2",
            envelope("kryo", b"hi", "[B"),
            "envelope: serializeType is \"kryo\"; hessian2, hessian4 and msgpack are known",
        ),
        ("msgpack", b"\xc4\x02hi".to_vec(), "envelope, byte 0: no protobuf"),
        ("hessian2", Vec::new(), "envelope: serializeType is \"\"; hessian2, hessian4 and msgpack are known"),
    ] {
        for path in [UNARY, STREAM] {
            let grpc = format!("application/grpc+{content_type}");
            let reply = client.call(path, &[("content-type", &grpc)], &[&framed(0, &message)]).await;
            let said = reply.trailers["grpc-message"].to_str().unwrap();
            assert_eq!((reply.grpc_status(), said), (Some(3), text), "{path} {message:02x?}");
            assert!(reply.body.is_empty());
        }
        let bare = format!("application/{content_type}");
        let reply = client.call(UNARY, &[("content-type", &bare)], &[&message]).await;
        assert_eq!((reply.status.as_u16(), reply.header("content-type")), (400, Some("application/json")));
        let json: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!((json["code"].as_str(), json["message"].as_str()), (Some("invalid_argument"), Some(text)));
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused() {
    let handler = Handler { response_size: Some(1000), ..Handler::default() };
    let server = Server::start(triple::Options { message_limit: 1000, handler, ..triple::Options::default() }).await;
    let client = Client::connect(server.addr).await;
    for serialization in SERIALIZATIONS {
        let message = framed(0, &encode_request(serialization, &b"hi"[..]));
        let reply = client.call(UNARY, &[GRPC], &[&message]).await;
        assert_eq!((reply.grpc_status(), reply.body), (Some(8), Vec::new()), "{serialization:?}");
    }
}
