//! Hostile input: vectors and random bytes, mutated. Nothing panics, no claimed length is believed, and what can be read can be
//! written and read again.
//!
//! `FUZZ_CASES=2000000 cargo test --release -p echo-proto --test hessian2_fuzz` tries more than the default; `FUZZ_SEED` tries
//! others.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::thread;

use bytes::Bytes;
use echo_proto::{
    envelope::{EnvelopeError, Serialization, decode_request, encode_request, is_envelope},
    hessian2::{DecodeError, Decoder, Encoder, List, Map, Object, Value, decode_binary},
    triple::TripleRequestWrapper,
};
use prost::Message;
use support::{
    cut, hex,
    memory::{Counting, peak},
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FILES: [&str; 2] = [include_str!("vectors/hessian-lite.tsv"), include_str!("vectors/hessian-go.tsv")];
const DEFAULT_CASES: u64 = 20_000;
/// Bytes a decoder may have in use for each byte of input: a null of one byte is a [`Value`] of this size, in a list that doubles
/// as it grows, beside its old self while it moves.
const BYTES_PER_BYTE: usize = 3 * size_of::<Value>();
/// The same where lists, maps and objects are thrown away: a chunk of four bytes is a slice of 32, in a list that doubles.
const BYTES_PER_BYTE_SHALLOW: usize = 32;
/// And beyond that: what 128 lists reserve within each other.
const BYTES_ANYWAY: usize = 256 << 10;
const LONGEST: usize = 1 << 16;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// Prints an input under which a test fails.
struct Shown<'a>(u64, &'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let shown = &self.1[..self.1.len().min(2000)];
            eprintln!("case {}, {} bytes: {:02x?}", self.0, self.1.len(), shown);
        }
    }
}

fn number_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is {text}")))
}

/// Every vector whose bytes are given; of the others, what is given before the middle is left out.
fn vectors() -> Vec<Vec<u8>> {
    let bytes = |line: &str| {
        let bytes = line.split('\t').nth(2).unwrap().trim_end();
        let bytes = bytes.split_once("...").map_or(bytes, |(front, _)| front);
        bytes.bytes().all(|it| it.is_ascii_hexdigit()).then(|| hex(bytes).to_vec())
    };
    FILES.iter().flat_map(|file| file.lines()).filter_map(bytes).collect()
}

/// One of the seeds or random bytes, changed in up to 8 places.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    /// Codes that claim much, nest or end.
    const TELLING: &[u8] = b"\x00\xff\x7f\x80AABCHIMORSUVWXZ\x34\x60\x78\x79\xa0Q";
    let mut bytes = match random.below(10) {
        0 => {
            let len = random.below(200);
            random.bytes(len)
        }
        _ => seeds[random.below(seeds.len())].clone(),
    };
    for _ in 0..random.below(9) {
        let at = random.below(bytes.len() + 1);
        let end = at + random.below(bytes.len() - at + 1).min(64);
        let telling = TELLING[random.below(TELLING.len())];
        match random.below(9) {
            0 => bytes.insert(at, random.next() as u8),
            1 => bytes.insert(at, telling),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => {
                let other = &seeds[random.below(seeds.len())];
                bytes.splice(at..end, other.iter().copied());
            }
            6 => {
                let count = random.below(300);
                bytes.splice(at..at, std::iter::repeat_n(telling, count));
            }
            7 => bytes[at..end].iter_mut().for_each(|byte| *byte ^= 1 << (random.below(8))),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = if random.below(2) == 0 { telling } else { random.next() as u8 };
                }
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// All values of an input, and the error that ended it.
fn decode_all(pieces: &[Bytes]) -> (Vec<Value>, Option<DecodeError>) {
    let mut decoder = Decoder::new(pieces);
    let mut values = Vec::new();
    while decoder.remaining() > 0 {
        match decoder.value() {
            Ok(value) => values.push(value),
            Err(error) => return (values, Some(error)),
        }
    }
    (values, None)
}

/// How many values an input has, and the error that ended it.
fn skip_all(pieces: &[Bytes]) -> (usize, Option<DecodeError>) {
    let mut decoder = Decoder::shallow(pieces);
    let mut values = 0;
    while decoder.remaining() > 0 {
        match decoder.value() {
            Ok(_) => values += 1,
            Err(error) => return (values, Some(error)),
        }
    }
    (values, None)
}

fn encode_all(values: &[Value]) -> Bytes {
    let mut encoder = Encoder::default();
    values.iter().for_each(|value| encoder.value(value).unwrap());
    encoder.finish()
}

/// Equality in which a NaN is the NaN of the same bits.
fn same(a: &[Value], b: &[Value]) -> bool {
    let by_bits = |values: &[Value]| values.iter().cloned().map(doubles_as_bits).collect::<Vec<_>>();
    a == b || by_bits(a) == by_bits(b)
}

fn doubles_as_bits(value: Value) -> Value {
    let all = |values: Vec<Value>| values.into_iter().map(doubles_as_bits).collect();
    match value {
        Value::Double(double) => Value::Long(double.to_bits() as i64),
        Value::List(List { type_name, values }) => Value::List(List { type_name, values: all(values) }),
        Value::Object(Object { class, values }) => Value::Object(Object { class, values: all(values) }),
        Value::Map(Map { type_name, entries }) => {
            let entries = entries.into_iter().map(|(key, value)| (doubles_as_bits(key), doubles_as_bits(value)));
            Value::Map(Map { type_name, entries: entries.collect() })
        }
        other => other,
    }
}

/// What every input must bear. Returns how many values it holds.
fn check(input: &[u8], random: &mut Random) -> usize {
    let whole = [Bytes::copy_from_slice(input)];
    let ((values, error), in_use) = peak(|| decode_all(&whole));
    let limit = BYTES_ANYWAY + BYTES_PER_BYTE * input.len();
    assert!(in_use <= limit, "{in_use} bytes in use for {} of input, more than {limit}", input.len());
    assert!(error.as_ref().is_none_or(|error| error.offset <= input.len()), "{error:?}");

    let (shallow, in_use) = peak(|| skip_all(&whole));
    assert_eq!(shallow, (values.len(), error.clone()), "what is thrown away is read otherwise");
    let limit = BYTES_ANYWAY + BYTES_PER_BYTE_SHALLOW * input.len();
    assert!(in_use <= limit, "{in_use} bytes in use to throw {} of input away, more than {limit}", input.len());

    let pieces = cut(&whole[0], 1 + random.below(input.len().max(1)));
    let (of_pieces, error_of_pieces) = decode_all(&pieces);
    assert_eq!(error_of_pieces, error, "in {} pieces", pieces.len());
    assert!(same(&of_pieces, &values), "in {} pieces", pieces.len());

    let encoded = encode_all(&values);
    let (again, error) = decode_all(std::slice::from_ref(&encoded));
    assert_eq!(error, None, "what was written cannot be read");
    assert!(same(&again, &values), "what was written is something else");
    assert_eq!(encode_all(&again), encoded, "what was written is written otherwise");
    values.len()
}

#[test]
fn mutated_hessian() {
    let cases = number_of("FUZZ_CASES", DEFAULT_CASES);
    let mut random = Random(number_of("FUZZ_SEED", 1));
    let seeds = vectors();
    let (mut read, mut values) = (0, 0);
    for case in 0..cases {
        let input = mutated(&seeds, &mut random);
        let shown = Shown(case, &input);
        let found = check(&input, &mut random);
        read += u64::from(found > 0);
        values += found;
        drop(shown);
    }
    println!("{cases} cases, {read} with a value, {values} values");
    assert!(read > cases / 4, "only {read} of {cases} cases got as far as a value");
}

#[test]
fn lengths_that_are_only_claimed() {
    let claims: [&[u8]; 13] = [
        b"XI\x7f\xff\xff\xff",
        b"V\x01tI\x7f\xff\xff\xff",
        b"C\x01cI\x7f\xff\xff\xff\x01f",
        // As many as there are bytes, in each of many lists.
        b"X\xd4\x40\x00",
        b"V\x01tI\x00\x00\x40\x00",
        b"C\x01c\xd4\x40\x00\x60",
        b"S\xff\xff",
        b"R\xff\xff",
        b"B\xff\xff",
        b"A\xff\xff",
        b"A\x00\x00",
        b"R\x00\x00",
        b"z",
    ];
    for claim in claims {
        // Alone, in front of much, and over and over.
        for input in [claim.to_vec(), [claim, &[b'N'; LONGEST]].concat(), claim.repeat(LONGEST / claim.len())] {
            let shown = Shown(0, &input);
            check(&input, &mut Random(1));
            drop(shown);
        }
    }
}

#[test]
fn an_envelope_full_of_what_nobody_asked_for() {
    const NULLS: usize = 1 << 20;
    let list = [b"H\x01xW", &vec![b'N'; NULLS][..], b"Z\x07payload\x21aZ"].concat();
    let fields = [b"C\x01cI\x00\x10\x00\x00", &vec![0; NULLS][..], b"\x60"].concat();
    for (argument, is_read) in [(list, true), (fields, false)] {
        let message = TripleRequestWrapper {
            serialize_type: "hessian2".to_owned(),
            args: vec![argument.into()],
            arg_types: vec!["java.util.Map".to_owned()],
        };
        let message = [Bytes::from(message.encode_to_vec())];
        let (request, in_use) = peak(|| decode_request(&message));
        assert_eq!(request.map(|it| it.payload().concat()).ok(), is_read.then(|| b"a".to_vec()));
        assert!(in_use < 4 << 20, "{in_use} bytes in use");
    }
}

#[test]
fn a_byte_array_in_short_chunks_takes_no_more_than_its_bytes() {
    const CHUNKS: usize = 1 << 18;
    let argument = [&b"A\x00\x01a".repeat(CHUNKS)[..], b"\x21a"].concat();
    let input = [Bytes::from(argument)];
    let (payload, in_use) = peak(|| decode_binary(&input).unwrap());
    assert!(payload.concat() == vec![b'a'; CHUNKS + 1]);
    assert!(in_use < CHUNKS + 1000, "{in_use} bytes in use");
}

#[test]
fn mutated_envelopes() {
    let cases = number_of("FUZZ_CASES", DEFAULT_CASES) / 4;
    let mut random = Random(number_of("FUZZ_SEED", 2));
    let map = |payload: &[u8]| [b"\x0a\x07msgpack\x12\x16\x82\x01\x93\xc0\x01\xa1a\xa7payload", payload].concat();
    let seeds = [
        encode_request(Serialization::Hessian2, &[7; 20_000][..]).to_vec(),
        encode_request(Serialization::Hessian2, &b"payload"[..]).to_vec(),
        encode_request(Serialization::Msgpack, &[7; 300][..]).to_vec(),
        map(b"\xc4\x06abcdef"),
        map(b"\xa7abcdefg"),
        b"\x0a\x08hessian4\x12\x19C\x01c\x92\x01a\x07payload\x60\x78\x25abcde\x1a\x01t\x20\x01".to_vec(),
        b"\x0a\x08hessian2\x12\x10H\x01aN\x07payload\x21aZ\x1a\x01t".to_vec(),
    ];
    let mut read = 0;
    for case in 0..cases {
        let input = mutated(&seeds, &mut random);
        let shown = Shown(case, &input);
        read += u64::from(check_envelope(&input, &mut random));
        drop(shown);
    }
    println!("{cases} cases, {read} envelopes");
    assert!(read > cases / 20, "only {read} of {cases} cases were an envelope");
}

/// Whether the input is an envelope with a payload.
fn check_envelope(input: &[u8], random: &mut Random) -> bool {
    let whole = [Bytes::copy_from_slice(input)];
    let pieces = cut(&whole[0], 1 + random.below(input.len().max(1)));
    assert_eq!(is_envelope(&whole), is_envelope(&pieces));
    let (request, in_use) = peak(|| decode_request(&whole));
    assert!(in_use <= BYTES_ANYWAY + BYTES_PER_BYTE_SHALLOW * input.len(), "{in_use} bytes in use");
    let of_pieces = decode_request(&pieces).map(|it| it.payload().concat());
    assert_eq!(request.as_ref().map(|it| it.payload().concat()).map_err(EnvelopeError::clone), of_pieces);
    let Ok(request) = request else { return false };
    // An echo of the echo is the same again.
    let echo = [request.encode_echo().unwrap()];
    let again = decode_request(&echo).unwrap();
    assert_eq!(again.payload().concat(), request.payload().concat());
    assert_eq!(again.encode_echo().unwrap(), echo[0]);
    true
}
