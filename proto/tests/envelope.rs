//! Triple's envelopes against captured calls, and round trips of every shape.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use bytes::{Buf, Bytes};
use echo_proto::{
    benchmark::BenchmarkRequest,
    envelope::{EnvelopeError, Serialization, decode_request, decode_response, encode_request, is_envelope},
    hessian2::{self, Value},
    pieces::Reader,
    triple::{TripleRequestWrapper, TripleResponseWrapper},
};
use prost::Message;
use serde::{Deserialize, Serialize};
use support::{cut, hex};

/// The boundaries of Hessian's and MessagePack's heads and of Java's chunks.
const LENGTHS: [usize; 17] =
    [0, 1, 15, 16, 31, 32, 255, 256, 1023, 1024, 8189, 8190, 16_378, 16_379, 65_535, 65_536, 1 << 20];
const SERIALIZATIONS: [Serialization; 2] = [Serialization::Hessian2, Serialization::Msgpack];

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
}

fn joined(pieces: &[Bytes]) -> Vec<u8> {
    pieces.concat()
}

fn wrapped(serialize_type: &str, argument: impl Into<Bytes>, argument_type: &str) -> Bytes {
    let wrapper = TripleRequestWrapper {
        serialize_type: serialize_type.into(),
        args: vec![argument.into()],
        arg_types: vec![argument_type.into()],
    };
    wrapper.encode_to_vec().into()
}

/// The echo is the request again, however the message is cut.
fn assert_echoed(message: &Bytes, payload: &[u8], serialize_type: &str) {
    for piece in [1, 2, 3, 7, 64, 1000, usize::MAX / 2] {
        if message.len() / piece > 10_000 {
            continue;
        }
        let pieces = cut(message, piece);
        assert!(is_envelope(&pieces));
        let request = decode_request(&pieces).unwrap();
        assert_eq!(request.serialize_type(), serialize_type);
        assert_eq!(Some(request.serialization()), Serialization::of(serialize_type));
        assert!(joined(request.payload()) == payload, "payload, in pieces of {piece}");
        assert!(request.encode_echo().unwrap() == *message, "echo, in pieces of {piece}");
        assert!(joined(&decode_response(&pieces).unwrap()) == payload);
    }
}

#[test]
fn captured_calls() {
    // dubbo-go's Triple client, a service without IDL: SayHello("bob").
    let hello = hex("0a086865737369616e32120403626f621a106a6176612e6c616e672e537472696e67");
    assert_echoed(&hello, b"bob", "hessian2");
    // The same, for which the handler fails: SayHello("err").
    let fails = hex("0a086865737369616e321204036572721a106a6176612e6c616e672e537472696e67");
    assert_echoed(&fails, b"err", "hessian2");
    // dubbo-go's answer, which came gzipped.
    let answer = hex("0a086865737369616e32120a0968656c6c6f20626f621a106a6176612e6c616e672e537472696e67");
    assert_eq!(joined(&decode_response(std::slice::from_ref(&answer)).unwrap()), b"hello bob");
    let request = decode_request(std::slice::from_ref(&hello)).unwrap();
    assert_eq!(request.encode_response(&b"hello bob"[..]).unwrap(), answer);
    // With MessagePack, whose strings dubbo-go also uses for byte arrays.
    let hello = hex("0a076d73677061636b1204a3626f621a106a6176612e6c616e672e537472696e67");
    assert_echoed(&hello, b"bob", "msgpack");
    let benchmark =
        hex("0a076d73677061636b121781a77061796c6f6164ad68656c6c6f2d7061796c6f61641a106a6176612e6c616e672e4f626a656374");
    assert_echoed(&benchmark, b"hello-payload", "msgpack");
    // What a server that takes the envelope for a BenchmarkRequest answers: field 1 alone.
    let mistaken = [hex("0a076d73677061636b")];
    assert!(!is_envelope(&mistaken));
    assert_eq!(decode_response(&mistaken), Err(EnvelopeError::NoArgument));
}

#[test]
fn a_byte_array_there_and_back() {
    for serialization in SERIALIZATIONS {
        for len in LENGTHS {
            let payload = payload(len);
            // What is asked for in one piece or several is the same request.
            let message = encode_request(serialization, &payload[..]);
            let halves = payload[..len / 2].chain(&payload[len / 2..]);
            assert_eq!(encode_request(serialization, halves), message);
            assert_echoed(&message, &payload, serialization.name());
            // prost reads the same, as a request and as a response.
            let request = TripleRequestWrapper::decode(message.clone()).unwrap();
            let response = TripleResponseWrapper::decode(message.clone()).unwrap();
            assert_eq!((&*request.serialize_type, request.arg_types), (serialization.name(), vec!["[B".to_owned()]));
            assert!(request.args == [response.data.clone()]);
            assert_eq!((response.serialize_type, &*response.r#type), (request.serialize_type, "[B"));
            // And the argument is what other codecs make of it.
            let argument = match serialization {
                Serialization::Hessian2 => match hessian2::decode(&[response.data]).unwrap() {
                    Value::Binary(binary) => joined(&binary.0),
                    other => panic!("{other:?}"),
                },
                Serialization::Msgpack => {
                    rmp_serde::from_slice::<serde_bytes::ByteBuf>(&response.data).unwrap().into_vec()
                }
            };
            assert!(argument == payload, "{serialization:?}, {len} bytes");
        }
    }
}

#[test]
fn a_message_is_written_into_one_buffer_of_its_length() {
    for serialization in SERIALIZATIONS {
        for len in LENGTHS {
            let message = encode_request(serialization, &payload(len)[..]);
            let expected = message.len();
            let vec = Vec::from(message);
            assert_eq!((vec.len(), vec.capacity()), (expected, expected), "{serialization:?}, {len} bytes");
        }
    }
}

#[test]
fn a_payload_is_not_copied_on_the_way_in() {
    for serialization in SERIALIZATIONS {
        let message = encode_request(serialization, &payload(20_000)[..]);
        let pieces = cut(&message, 5000);
        let slices = decode_response(&pieces).unwrap();
        let within = |slice: &Bytes| message.as_ptr_range().contains(&slice.as_ptr());
        assert!(slices.len() > 3 && slices.iter().all(within));
    }
}

#[derive(Serialize, Deserialize)]
struct Pojo {
    before: Vec<Option<u64>>,
    #[serde(with = "serde_bytes")]
    payload: Vec<u8>,
    after: String,
}

#[test]
fn a_payload_within_an_object_or_map() {
    let binary = |len| {
        let mut out = Vec::new();
        hessian2::encode_binary(&payload(len)[..], &mut out);
        out
    };
    let name = b"org.apache.dubbo.benchmark.BenchmarkRequest";
    let class = [&b"C0"[..], &[name.len() as u8], name, b"\x91\x07payload\x60"].concat();
    // An object in front, and one behind that refers to it.
    let fields = b"C\x01c\x93\x01a\x07payload\x01b\x60C\x01e\x90\x61";
    for len in LENGTHS {
        let shapes: [(&str, Vec<u8>); 8] = [
            ("hessian2", [&class[..], &binary(len)].concat()),
            ("hessian4", [&fields[..], &binary(len), b"Q\x91"].concat()),
            ("hessian4", [&b"H\x07payload"[..], &binary(len), b"Z"].concat()),
            ("hessian2", [&b"M\x01tN\x91\x91N\x07payload"[..], &binary(len), b"\x01xNZ"].concat()),
            ("msgpack", raw(len)),
            ("msgpack", [&b"\x81\xa7payload"[..], &raw(len)].concat()),
            ("msgpack", rmp_serde::to_vec_named(&serde_bytes_map(len)).unwrap()),
            ("msgpack", rmp_serde::to_vec_named(&pojo(len)).unwrap()),
        ];
        for (serialize_type, argument) in shapes {
            let message = wrapped(serialize_type, argument, "a.B");
            assert_echoed(&message, &payload(len), serialize_type);
        }
        // Another payload comes back between the same fields.
        let request = [wrapped("msgpack", rmp_serde::to_vec_named(&pojo(len)).unwrap(), "a.B")];
        let answer = decode_request(&request).unwrap().encode_response(&b"other"[..]).unwrap();
        let answer = TripleResponseWrapper::decode(answer).unwrap();
        let answer: Pojo = rmp_serde::from_slice(&answer.data).unwrap();
        assert_eq!((answer.before.len(), &answer.payload[..], &*answer.after), (2, &b"other"[..], "end"));
    }
}

#[test]
fn classes_defined_before_the_payload_stay_defined() {
    for argument in [
        // An object whose payload a definition stands before, and behind it an object of that class.
        &b"C\x01R\x92\x07payload\x01x\x60C\x01S\x90\x21\xaa\x61"[..],
        b"H\x07payloadC\x01S\x90C\x01T\x90\x21\xaa\x01x\x61Z",
        b"C\x01S\x90\x21\xaa",
    ] {
        assert_echoed(&wrapped("hessian2", argument, "R"), b"\xaa", "hessian2");
    }
}

fn pojo(len: usize) -> Pojo {
    Pojo { before: vec![None, Some(1 << 40)], payload: payload(len), after: "end".into() }
}

/// A byte array as MessagePack wrote it before it had a type for them, and as dubbo-go does.
fn raw(len: usize) -> Vec<u8> {
    let head = match len {
        0..=31 => vec![0xa0 | len as u8],
        32..=0xffff => [&[0xda], &(len as u16).to_be_bytes()[..]].concat(),
        _ => [&[0xdb], &(len as u32).to_be_bytes()[..]].concat(),
    };
    [head, payload(len)].concat()
}

fn serde_bytes_map(len: usize) -> std::collections::BTreeMap<&'static str, serde_bytes::ByteBuf> {
    [("payload", serde_bytes::ByteBuf::from(payload(len)))].into()
}

#[test]
fn a_string_is_answered_with_text() {
    let text = "aé中😀".repeat(10_000);
    let mut argument = Vec::new();
    hessian2::encode_str(&text, &mut argument);
    let message = wrapped("hessian4", argument, "java.lang.String");
    assert_echoed(&message, text.as_bytes(), "hessian4");
    let message = [message];
    let request = decode_request(&message).unwrap();
    assert_eq!(request.encode_response(&b"\xff"[..]), Err(EnvelopeError::NoText));
    let response = request.encode_response("é".as_bytes()).unwrap();
    assert_eq!(TripleResponseWrapper::decode(response).unwrap().data, "\u{1}é");
}

#[test]
fn a_null_payload_is_an_empty_one() {
    for (serialize_type, argument, answer) in [
        ("hessian2", &b"H\x07payloadNZ"[..], &b"H\x07payload\x20Z"[..]),
        ("msgpack", b"\x81\xa7payload\xc0", b"\x81\xa7payload\xc4\x00"),
    ] {
        let message = [wrapped(serialize_type, argument, "")];
        let request = decode_request(&message).unwrap();
        assert!(request.payload().is_empty());
        let response = TripleResponseWrapper::decode(request.encode_echo().unwrap()).unwrap();
        assert_eq!(response.data, answer);
    }
}

#[test]
fn no_benchmark_request_is_taken_for_an_envelope() {
    let mut payloads = vec![vec![], b"hessian2".to_vec(), b"msgpack".to_vec(), b"hessian2\x12\x01a".to_vec()];
    payloads.push(encode_request(Serialization::Hessian2, &b"in"[..]).to_vec());
    for payload in payloads {
        let message = Bytes::from(BenchmarkRequest { payload: payload.into() }.encode_to_vec());
        for piece in 1..=message.len() + 1 {
            assert!(!is_envelope(&cut(&message, piece)), "{message:?}");
        }
    }
    // Unknown serializations, and other fields behind a known one.
    for message in
        [&b"\x0a\x08fastjson\x12\x01a"[..], b"\x0a\x07msgpack\x22\x01a", b"\x12\x01a\x0a\x07msgpack", b"\x0a"]
    {
        assert!(!is_envelope(&[Bytes::copy_from_slice(message)]));
    }
    assert!(is_envelope(&[Bytes::from_static(b"\x0a\x07msgpack\x1a\x01V")]), "no argument is still an envelope");
}

#[test]
fn what_is_no_envelope_of_one_payload() {
    let error = |message: &[u8]| decode_request(&[Bytes::copy_from_slice(message)]).unwrap_err();
    assert_eq!(error(b""), EnvelopeError::SerializeType(String::new()));
    assert_eq!(error(b"\x0a\x08fastjson\x12\x01a"), EnvelopeError::SerializeType("fastjson".into()));
    assert_eq!(error(b"\x0a\x07msgpack\x12"), EnvelopeError::Protobuf { offset: 9 });
    assert_eq!(error(b"\x0a\x07msgpack\x12\x02a"), EnvelopeError::Protobuf { offset: 9 });
    assert_eq!(error(b"\x0a\x07msgpack\x13"), EnvelopeError::Protobuf { offset: 9 });
    assert_eq!(error(b"\x0a\x07msgpack\x1a\x01V"), EnvelopeError::NoArgument);
    assert_eq!(error(b"\x0a\x07msgpack\x12\x00"), EnvelopeError::NoArgument);
    assert_eq!(error(b"\x0a\x07msgpack\x12\x01\x01\x12\x01\x01"), EnvelopeError::Arguments(2));
    let of = |serialize_type, argument: &'static [u8]| error(&wrapped(serialize_type, argument, "t")).to_string();
    assert_eq!(of("hessian2", b"\x23ab"), "envelope, argument: hessian2, byte 3: the input ends within a value");
    assert_eq!(of("hessian2", b"\x20N"), "envelope, argument: hessian2, byte 1: 1 bytes follow the value");
    assert_eq!(of("msgpack", b"\xc4\x03ab"), "envelope, argument: msgpack: byte 0: the input ends within a value");
    assert_eq!(of("msgpack", b"\xc4\x00\xc0"), "envelope, argument: msgpack: byte 2: 1 bytes follow the value");
    let expected = |what| {
        format!(
            "envelope: the argument is {what}; a byte array, a string, or an object or map with either as its \
             \"payload\" is expected"
        )
    };
    assert_eq!(of("hessian2", b"\x90"), expected("a number"));
    assert_eq!(of("hessian2", b"N"), expected("null"));
    assert_eq!(of("hessian2", b"HZ"), expected("a map without a \"payload\""));
    assert_eq!(of("hessian2", b"C\x01c\x90\x60"), expected("an object without a \"payload\""));
    assert_eq!(of("msgpack", b"\x01"), expected("no byte array, string or map"));
    assert_eq!(of("msgpack", b"\x80"), expected("a map without a \"payload\""));
    assert_eq!(of("msgpack", b"\xc0"), expected("null"));
    assert!(of("msgpack", b"\xdf\xff\xff\xff\xff\x01\x01").contains("byte 7"), "a length that is only claimed");
}

#[test]
fn an_envelope_may_have_other_fields_and_any_order() {
    let message = hex("1a025b42" /* type */)
        .chain(&b"\x20\x05\x29aaaaaaaa\x35bbbb\x12\x03\x22hi\x0a\x08hessian2"[..])
        .copy_to_bytes(4 + 2 + 9 + 5 + 5 + 10);
    let message = [message];
    let request = decode_request(&message).unwrap();
    assert_eq!(joined(request.payload()), b"hi");
    let response = request.encode_response(Reader::new(request.payload())).unwrap();
    assert_eq!(response, encode_request(Serialization::Hessian2, &b"hi"[..]));
}
