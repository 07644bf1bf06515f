//! Frames of Thrift and Kitex Protobuf: against what other programs wrote, and whatever pieces they come in.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use echo_proto::framed::{Framing, ReplyError, Transport};
use proptest::{collection::vec, prelude::*};
use support::{
    hex,
    replies::{Reply, frame, read},
};

const CAPTURES: &str = include_str!("vectors/framed/thrift-captures.tsv");
const TT_HEADERS: &str = include_str!("vectors/framed/tt-header.tsv");
const THRIFT: Framing = Framing::Thrift(Transport::Framed);
const KITEX: Framing = Framing::KitexProtobuf(Transport::Framed);
const FRAMINGS: [Framing; 4] =
    [THRIFT, KITEX, Framing::Thrift(Transport::TtHeader), Framing::KitexProtobuf(Transport::TtHeader)];

/// What an echo answers: the request as a reply, and in Thrift the result's field 0 where the argument's is 1.
fn echo(framing: Framing, payload: &[u8], id: u32) -> Vec<u8> {
    let mut frame = frame(&framing.request(payload), id);
    let (kind, field) = match framing {
        Framing::Thrift(Transport::Framed) => (7, Some(27)),
        Framing::Thrift(Transport::TtHeader) => (25, Some(45)),
        Framing::KitexProtobuf(Transport::Framed) => (7, None),
        Framing::KitexProtobuf(Transport::TtHeader) => (25, None),
        Framing::Dubbo => unreachable!("its echo is in a test of its own"),
    };
    assert_eq!(std::mem::replace(&mut frame[kind], 2), 1);
    if let Some(field) = field {
        assert_eq!(frame[field - 2..=field], [12, 0, 1][..]);
        frame[field] = 0;
    }
    frame
}

fn message(kind: u8, magic: u8, body: &[u8]) -> Vec<u8> {
    let head = [magic, 1, 0, kind, 0, 0, 0, 4, b'E', b'c', b'h', b'o', 0, 0, 0, 9];
    [&((head.len() + body.len()) as u32).to_be_bytes()[..], &head, body].concat()
}

#[test]
fn every_capture_of_other_programs_is_read() {
    let mut replies = 0;
    for line in CAPTURES.lines() {
        let [name, len, bytes] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let bytes = hex(bytes);
        assert_eq!(bytes.len().to_string(), len, "{name}");
        let transport = if name.contains("-tth") { Transport::TtHeader } else { Transport::Framed };
        for piece in [1, 3, 40, 1000] {
            let read = read(Framing::Thrift(transport), &bytes, piece);
            if name.ends_with(".c2s") {
                let error = read.unwrap_err().to_string();
                assert_eq!(error, "the server sent a message of type 1, which is no reply", "{name}");
                continue;
            }
            // The response there has two strings, of which the first is the payload here.
            let expected = match name.contains("-err") {
                true => Err(ReplyError::Failure("exception 6: boom".to_owned())),
                false => Ok(b"a".to_vec()),
            };
            assert_eq!(read, Ok(vec![(0, expected)]), "{name}");
            replies += 1;
        }
    }
    assert_eq!(replies, 7 * 4);
}

#[test]
fn headers_of_cloudwegos_encoder_are_read_whatever_they_tell() {
    let reply = echo(THRIFT, b"payload", 77);
    for line in TT_HEADERS.lines() {
        let [name, len, bytes] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let bytes = hex(bytes);
        assert_eq!(bytes.len().to_string(), len, "{name}");
        let end = 14 + 4 * usize::from(u16::from_be_bytes([bytes[12], bytes[13]]));
        let outer = (end - 4 + reply.len()) as u32;
        let frame = [&outer.to_be_bytes(), &bytes[4..end], &reply].concat();
        for piece in [1, 7, 1000] {
            let read = read(Framing::Thrift(Transport::TtHeader), &frame, piece);
            assert_eq!(read, Ok(vec![(77, Ok(b"payload".to_vec()))]), "{name}");
        }
    }
    assert_eq!(TT_HEADERS.lines().count(), 5);
}

#[test]
fn requests_are_what_the_protocols_say() {
    let thrift = "0000002380010001 00000009 556e61727943616c6c 01020304 0c0001 0b0001 00000002 6869 0000";
    let kitex = "0000001990010001 00000009 556e61727943616c6c 01020304 0a02 6869";
    let header = "1000 0000 01020304 0001 00000000";
    let bytes = |text: &str| hex(&text.replace(' ', "")).to_vec();
    let with_header = |text: &str| {
        let inner = [bytes(header), bytes(text)].concat();
        [&(inner.len() as u32).to_be_bytes()[..], &inner].concat()
    };
    for (framing, expected) in
        FRAMINGS.into_iter().zip([bytes(thrift), bytes(kitex), with_header(thrift), with_header(kitex)])
    {
        assert_eq!(frame(&framing.request(b"hi"), 0x0102_0304), expected, "{framing:?}");
    }
}

#[test]
fn fields_around_the_payload_are_skipped() {
    // bool, i64, double, string, struct, map, list and set, a UUID; then the payload, and more.
    let unknown = "020005 01 0a0006 0000000000000001 040007 3ff0000000000000 0b0008 00000002 6869 \
                   0c0009 0b0001 00000001 61 00 0d000a 0b 08 00000001 00000001 6b 00000007 \
                   0f000b 0c 00000002 00 00 0e000c 03 00000003 010203 10000d 00000000000000000000000000000000";
    let body = |text: &str| hex(&text.replace([' ', '\n'], ""));
    let thrift = message(2, 0x80, &body(&format!("0c0000 {unknown} 0b0001 00000003 616263 0b0002 00000001 78 00 00")));
    // A varint, eight bytes, four bytes, a string; then the payload, and the varint again.
    let kitex = message(2, 0x90, &body("10ac02 190102030405060708 25 01020304 2a0168 0a03616263 10ac02"));
    for (framing, stream) in [(THRIFT, thrift), (KITEX, kitex)] {
        for piece in 1..40 {
            assert_eq!(read(framing, &stream, piece), Ok(vec![(9, Ok(b"abc".to_vec()))]));
        }
    }
}

#[test]
fn a_payload_that_is_not_written_is_empty() {
    for (framing, stream) in [(THRIFT, message(2, 0x80, &hex("0c00000000"))), (KITEX, message(2, 0x90, &[]))] {
        assert_eq!(read(framing, &stream, 1), Ok(vec![(9, Ok(Vec::new()))]));
    }
}

#[test]
fn what_went_wrong_is_told_and_the_next_reply_is_read() {
    let long = [&hex("0b0001 00001388".replace(' ', "").as_str())[..], &[b'x'; 5000], &[0]].concat();
    let failures = [
        (
            THRIFT,
            message(3, 0x80, &hex("0b000100000004626f6f6d08000200000006 00".replace(' ', "").as_str())),
            "exception 6: boom",
        ),
        (THRIFT, message(3, 0x80, &hex("00")), "exception: "),
        (THRIFT, message(3, 0x80, &[]), "exception: "),
        (THRIFT, message(3, 0x80, &long), &format!("exception: {}", "x".repeat(200))),
        (
            THRIFT,
            message(2, 0x80, &hex("0c00010b0001000000016100 00".replace(' ', "").as_str())),
            "exception of the service, its field 1",
        ),
        (KITEX, message(3, 0x90, &hex("0801 1204 626f6f6d".replace(' ', "").as_str())), "exception 1: boom"),
        (KITEX, message(3, 0x90, &hex("ff")), "exception 0: "),
    ];
    for (framing, stream, text) in failures {
        told(framing, &stream, ReplyError::Failure(text.to_owned()));
    }
    let malformed = [
        (THRIFT, message(2, 0x80, &hex("00")), "a reply without a result"),
        (THRIFT, message(2, 0x80, &hex("080000")), "a result of type 8, no struct"),
        (THRIFT, message(2, 0x80, &hex("0c00000b000100000005616263")), "a payload of 5 bytes in a frame with 3"),
        (
            THRIFT,
            message(2, 0x80, &hex("0c00000b0001ffffffff616263")),
            "a payload of 4294967295 bytes in a frame with 3",
        ),
        (THRIFT, message(2, 0x80, &hex("0c00000b0001")), "the frame ends before its content does"),
        (THRIFT, message(2, 0x80, &hex("0c00007f0001")), "a field of type 127, which Thrift doesn't have"),
        (
            THRIFT,
            message(2, 0x80, &[&hex("0c0000")[..], &hex("0c0002").repeat(70)].concat()),
            "values deeper than 64 in each other",
        ),
        (
            THRIFT,
            message(2, 0x80, &[&hex("0c00000b000200018000")[..], &[0; 0x2_0000]].concat()),
            "no payload in its first 65536 bytes",
        ),
        (KITEX, message(2, 0x90, &hex("0a05616263")), "a payload of 5 bytes in a frame with 3"),
        (
            KITEX,
            message(2, 0x90, &hex("0affffffffffffffffff01")),
            "a payload of 18446744073709551615 bytes in a frame with 0",
        ),
        (KITEX, message(2, 0x90, &hex("0affffffffffffffffffff")), "a number of more than ten bytes"),
        (KITEX, message(2, 0x90, &hex("0b")), "a field of wire type 3, which protobuf doesn't have"),
    ];
    for (framing, stream, text) in malformed {
        told(framing, &stream, ReplyError::Malformed(text.to_owned()));
    }
}

fn told(framing: Framing, stream: &[u8], error: ReplyError) {
    let both = [stream, &echo(framing, b"next", 10)].concat();
    for piece in [1, 7, 1000, 1 << 20] {
        assert_eq!(read(framing, &both, piece), Ok(vec![(9, Err(error.clone())), (10, Ok(b"next".to_vec()))]));
    }
}

#[test]
fn what_is_no_frame_is_told() {
    let tt = Framing::Thrift(Transport::TtHeader);
    let beyond = [&hex("00000012100000000000000100010000000000000010")[..], &message(2, 0x80, &[0; 100])[4..]].concat();
    let wrongs = [
        (THRIFT, b"HTTP/1.1 400 Bad Request".to_vec(), "the server sent 0x2f31 where a message has 0x8001"),
        (THRIFT, echo(KITEX, b"x", 1), "the server sent 0x9001 where a message has 0x8001"),
        (KITEX, echo(tt, b"x", 1), "the server sent 0x1000 where a message has 0x9001"),
        (tt, echo(THRIFT, b"x", 1), "the server sent 0x8001 where a TTHeader has 0x1000"),
        (THRIFT, hex("0010000180010002").to_vec(), "the server sent a length of 1048577, over the limit of 1048576"),
        (tt, hex("001000011000").to_vec(), "the server sent a length of 1048577, over the limit of 1048576"),
        (THRIFT, hex("0000000c8001000200000401").to_vec(), "the server sent a name of 1025 bytes in a message of 12"),
        (THRIFT, hex("0000000b8001000200000000").to_vec(), "the server sent a name of 0 bytes in a message of 11"),
        (
            tt,
            hex("00001000100000000000000140010000").to_vec(),
            "the server sent a TTHeader of 65540 bytes, over the limit of 65536",
        ),
        (tt, beyond, "the server sent a message that goes beyond its TTHeader's 18 bytes"),
    ];
    for (framing, stream, text) in wrongs {
        for piece in [1, 1000] {
            assert_eq!(read(framing, &stream, piece).unwrap_err().to_string(), text);
        }
    }
    let mut long = echo(tt, b"x", 1);
    long[3] -= 1;
    assert_eq!(
        read(tt, &long, 1000).unwrap_err().to_string(),
        "the server sent a message that goes beyond its TTHeader's 51 bytes"
    );
}

fn framing() -> impl Strategy<Value = Framing> {
    prop::sample::select(&FRAMINGS[..])
}

proptest! {
    #[test]
    fn echoes_are_read_in_any_pieces_and_order(
        framing in framing(),
        calls in vec((any::<u32>(), vec(any::<u8>(), 0..3000)), 0..8),
        piece in 1..5000_usize,
    ) {
        let stream: Vec<u8> = calls.iter().flat_map(|(id, payload)| echo(framing, payload, *id)).collect();
        let expected: Vec<Reply> = calls.into_iter().map(|(id, payload)| (id.into(), Ok(payload))).collect();
        prop_assert_eq!(read(framing, &stream, piece), Ok(expected));
    }

    #[test]
    fn nothing_that_a_server_sends_panics(framing in framing(), stream in vec(any::<u8>(), 0..300), piece in 1..300_usize) {
        let _ = read(framing, &stream, piece);
    }

    #[test]
    fn nor_does_what_is_almost_right(
        framing in framing(),
        payload in vec(any::<u8>(), 0..100),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        piece in 1..300_usize,
    ) {
        let mut stream = [echo(framing, &payload, 1), echo(framing, &payload, 2)].concat();
        for (at, byte) in changes {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let _ = read(framing, &stream, piece);
    }
}
