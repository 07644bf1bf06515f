//! Frames of Dubbo's own protocol: against what other programs wrote, and whatever pieces they come in.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use echo_proto::{
    framed::{Framing, ReplyError},
    hessian2::{Decoder, Value, encode_binary},
};
use proptest::{collection::vec, prelude::*};
use support::{
    hex,
    replies::{Read, frame, read, read_all},
};

const FRAMES: &str = include_str!("vectors/framed/dubbo-frames.tsv");
const CAPTURES: &str = include_str!("vectors/framed/dubbo-captures.tsv");
/// What Java's hessian-lite writes for the argument, of three bytes.
const ARGUMENT: &str = "43302b6f72672e6170616368652e647562626f2e62656e63686d61726b2e42656e63686d61726b5265717565737491077061796c6f61646023010203";
const PIECES: [usize; 5] = [1, 2, 16, 100, 1 << 20];

fn reply(id: u64, status: u8, body: &[u8]) -> Vec<u8> {
    let head = [&[0xda, 0xbb, 2, status][..], &id.to_be_bytes(), &(body.len() as u32).to_be_bytes()].concat();
    [&head, body].concat()
}

/// An object with the payload in it, cut into chunks of that length as Go and Java do.
fn object(id: u64, payload: &[u8], chunk: usize) -> Vec<u8> {
    let mut body = hex("9443302c6f72672e6170616368652e647562626f2e62656e63686d61726b2e42656e63686d61726b526573706f6e736591077061796c6f616460").to_vec();
    let full = payload.len().saturating_sub(1) / chunk;
    for part in payload.chunks(chunk).take(full) {
        body.extend([b'A', (part.len() >> 8) as u8, part.len() as u8]);
        body.extend(part);
    }
    encode_binary(&payload[full * chunk..], &mut body);
    body.extend(&hex("4805647562626f05322e302e325a4e")[..]);
    reply(id, 20, &body)
}

/// What must come of a vector, by its name.
fn expected(name: &str) -> Result<Vec<u8>, ReplyError> {
    let failure = |text: &str| Err(ReplyError::Failure(text.to_owned()));
    let malformed = |text: &str| Err(ReplyError::Malformed(text.to_owned()));
    match name {
        "resp type4 bytes" => Ok(vec![1, 2, 3]),
        "resp status 70" => failure("status 70, service error: svc error"),
        "resp status 40" => failure("status 40, bad request: bad request"),
        "dubj-dubbo2js-err-remoting" => failure("status 80, server error: boom"),
        _ if name.contains("null") || name.contains("none") => malformed("null, and no response"),
        _ if name.contains("exc") || name.contains("err") => failure("java.lang.Throwable: boom"),
        _ if name.contains("users") => malformed("0x56 where a byte array is"),
        _ if name.contains("ser") => malformed("an object without a \"payload\""),
        _ if name.contains("zh") => {
            malformed(if name.contains("py") { "0x03 where a byte array is" } else { "0x04 where a byte array is" })
        }
        _ if name.contains("hello-remoting") => malformed("0x09 where a byte array is"),
        _ => malformed("0x05 where a byte array is"),
    }
}

#[test]
fn every_frame_of_other_programs_is_read() {
    let (mut replies, mut calls) = (0, 0);
    for line in FRAMES.lines().chain(CAPTURES.lines()) {
        let [name, len, bytes] = *line.split('\t').take(3).collect::<Vec<_>>() else { panic!("{line}") };
        let bytes = hex(bytes);
        assert_eq!(bytes.len().to_string(), len, "{name}");
        for piece in PIECES {
            let read = read_all(Framing::Dubbo, &bytes, piece);
            match name {
                "heartbeat req" => {
                    assert_eq!(read, Ok(vec![Read::Answer(hex("dabb22140000000000000009000000014e").to_vec())]))
                }
                "heartbeat resp" => assert_eq!(read, Ok(Vec::new())),
                _ if name.starts_with("req ") => {
                    assert_eq!(read.unwrap_err().to_string(), "the server sent a call of its own", "{name}");
                    calls += 1;
                }
                _ => {
                    let id = u64::from_be_bytes(bytes[4..12].try_into().unwrap());
                    assert_eq!(read, Ok(vec![Read::Reply(id, expected(name))]), "{name}");
                    replies += 1;
                }
            }
        }
    }
    assert_eq!((replies / PIECES.len(), calls / PIECES.len()), (10 + 14, 10));
}

#[test]
fn a_request_is_what_dubbo_reads() {
    let frame = frame(&Framing::Dubbo.request(&[1, 2, 3]), 0x0102_0304);
    assert_eq!(frame[..12], *hex("dabbc2000000000001020304"));
    assert_eq!(u32::from_be_bytes(frame[12..16].try_into().unwrap()) as usize, frame.len() - 16);
    let body = [frame[16..].to_vec().into()];
    let mut decoder = Decoder::new(&body);
    let words: Vec<Value> = (0..5).map(|_| decoder.value().unwrap()).collect();
    let interface = "org.apache.dubbo.benchmark.BenchmarkService";
    let descriptor = "Lorg/apache/dubbo/benchmark/BenchmarkRequest;";
    assert_eq!(words, ["2.0.2", interface, "0.0.0", "unaryCall", descriptor].map(|word| Value::String(word.into())));
    let begin = decoder.offset();
    decoder.value().unwrap();
    assert_eq!(body[0][begin..decoder.offset()], hex(ARGUMENT));
    let Value::Map(attachments) = decoder.value().unwrap() else { panic!("no map") };
    assert_eq!(attachments.get("interface"), Some(&Value::String(interface.into())));
    assert_eq!(decoder.remaining(), 0);
}

#[test]
fn a_payload_is_found_wherever_it_is() {
    let class = "43 01 78 92 01 61 07 7061796c6f6164";
    for (body, payload) in [
        ("91 23 616263 4e", &b"abc"[..]),
        ("94 20 485a", b""),
        ("91 41 0002 6162 34 01 63", b"abc"),
        // Behind another field: a string, a list, a map, a date.
        (&format!("94 {class} 60 02 6869 23 616263 485a"), b"abc"),
        (&format!("94 {class} 60 79 91 42 0003 616263"), b"abc"),
        (&format!("94 {class} 60 48 91 92 5a 23 616263"), b"abc"),
        (&format!("94 {class} 60 4a0000000000000000 23 616263"), b"abc"),
        // Of the second class; a field that is null.
        (&format!("94 43 01 79 90 {class} 61 4e 23 616263"), b"abc"),
        (&format!("94 {class} 4f 90 90 4e 485a"), b""),
        // A name beyond ASCII: a euro sign, and a pair as some write it.
        ("91 43 03 e282ac f09f9880 91 07 7061796c6f6164 60 23 616263", b"abc"),
    ] {
        let stream = reply(5, 20, &hex(&body.replace(' ', "")));
        for piece in 1..40 {
            assert_eq!(read(Framing::Dubbo, &stream, piece), Ok(vec![(5, Ok(payload.to_vec()))]), "{body}");
        }
    }
}

#[test]
fn what_went_wrong_is_told_and_the_next_reply_is_read() {
    let malformed = |text: &str| ReplyError::Malformed(text.to_owned());
    let failure = |text: &str| ReplyError::Failure(text.to_owned());
    let long = [&hex("90430178910d64657461696c4d6573736167656053")[..], &[0xff, 0xff], &[b'm'; 0xffff]].concat();
    for (status, body, error) in [
        (20, hex("96").to_vec(), malformed("0x96 where a response says what it is")),
        (20, hex("").to_vec(), malformed("the frame ends before its content does")),
        (20, hex("9161").to_vec(), malformed("an object of class 1, which isn't defined")),
        (20, hex("914120004141").to_vec(), malformed("a payload of 8192 bytes in a frame with 2")),
        (20, hex("91410002414154").to_vec(), malformed("0x54 where a byte array is")),
        (20, hex("9141000241").to_vec(), malformed("a payload of 2 bytes in a frame with 1")),
        (20, hex("91410002414142").to_vec(), malformed("the frame ends before its content does")),
        (20, hex("9143017891016160").to_vec(), malformed("the frame ends before its content does")),
        (20, hex("90").to_vec(), failure("an exception that can't be read")),
        (20, hex("9005").to_vec(), failure("an exception that can't be read")),
        (20, long, failure("x: ")),
        (100, hex("").to_vec(), failure("status 100, server's thread pool exhausted: ")),
        (33, hex("03616263").to_vec(), failure("status 33, unknown to Dubbo: abc")),
    ] {
        let stream = [reply(1, status, &body), object(2, b"next", 4096)].concat();
        for piece in PIECES {
            let expected = vec![(1, Err(error.clone())), (2, Ok(b"next".to_vec()))];
            assert_eq!(read(Framing::Dubbo, &stream, piece), Ok(expected), "{body:02x?}");
        }
    }
}

#[test]
fn what_is_no_frame_is_told() {
    for (bytes, text) in [
        (&b"HTTP/1.1 400"[..], "the server sent 0x4854 where a frame has 0xdabb"),
        (&hex("dabb0214000000000000000100100001"), "the server sent a length of 1048577, over the limit of 1048576"),
        (
            &hex("dabb1714000000000000000100000000"),
            "the server sent a reply in serialization 23, which isn't that of the request",
        ),
    ] {
        for piece in PIECES {
            assert_eq!(read(Framing::Dubbo, bytes, piece).unwrap_err().to_string(), text);
        }
    }
}

proptest! {
    #[test]
    fn echoes_are_read_in_any_pieces_and_chunks(
        calls in vec((any::<u64>(), vec(any::<u8>(), 0..20_000), prop::sample::select(&[1000_usize, 4096, 8189][..])), 0..5),
        piece in 1..5000_usize,
    ) {
        let stream: Vec<u8> = calls.iter().flat_map(|(id, payload, chunk)| object(*id, payload, *chunk)).collect();
        let expected: Vec<_> = calls.into_iter().map(|(id, payload, _)| (id, Ok(payload))).collect();
        prop_assert_eq!(read(Framing::Dubbo, &stream, piece), Ok(expected));
    }

    #[test]
    fn nothing_that_a_server_sends_panics(flags in any::<u8>(), status in any::<u8>(), body in vec(any::<u8>(), 0..300), piece in 1..300_usize) {
        let mut stream = reply(1, status, &body);
        stream[2] = flags;
        let _ = read_all(Framing::Dubbo, &stream, piece);
        let _ = read_all(Framing::Dubbo, &body, piece);
    }

    #[test]
    fn nor_does_what_is_almost_right(
        payload in vec(any::<u8>(), 0..3000),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        piece in 1..300_usize,
    ) {
        let mut stream = [object(1, &payload, 1000), object(2, &payload, 4096)].concat();
        for (at, byte) in changes {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let _ = read_all(Framing::Dubbo, &stream, piece);
    }
}
