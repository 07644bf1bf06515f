//! Hessian both ways: any value comes back, however its bytes are cut and whichever chunks its writer took.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::{slice::from_ref, sync::Arc};

use bytes::Bytes;
use echo_proto::hessian2::{
    self, Binary, Class, DecodeError, DecodeErrorKind, Decoder, EncodeError, List, MAX_DEPTH, Map, Object, Value,
    decode, decode_binary, encode, encode_binary, encode_str, encoded_binary_len, encoded_str_len,
};
use proptest::{collection::vec, prelude::*, sample::select};
use support::{
    cut,
    hessian::{before_pair, binary, class, list, object, reference_binary, reference_string, string, typed_list},
};

/// Either side of each border between two forms of ints and longs.
const WHOLE_BORDERS: [i64; 14] = [
    -0x10,
    0x2f,
    -8,
    15,
    -0x800,
    0x7ff,
    -0x4_0000,
    0x3_ffff,
    i32::MIN as i64,
    i32::MAX as i64,
    i64::MIN,
    i64::MAX,
    0,
    1,
];
/// Of lengths: the short forms, Java's and Go's chunks, and the longest chunk.
const LENGTH_BORDERS: [usize; 9] = [0, 15, 31, 1023, 4096, 8189, 0x4000, 0x8000, 0xffff];
/// One of each length in UTF-8 and UTF-16, and the last of each.
const CHARACTERS: [char; 10] = ['a', '\0', '\u{7f}', 'é', '\u{7ff}', '中', '\u{ffff}', '\u{10000}', '😀', '\u{10ffff}'];

fn whole(value: &Value) -> Bytes {
    encode(value).unwrap()
}

fn near(border: i64) -> impl Iterator<Item = i64> {
    (-2..=2).filter_map(move |step| border.checked_add(step))
}

#[test]
fn whole_numbers_at_every_border() {
    for long in WHOLE_BORDERS.into_iter().flat_map(near) {
        let bytes = whole(&Value::Long(long));
        assert_eq!(decode(from_ref(&bytes)).unwrap(), Value::Long(long));
        let expected = match long {
            -8..=15 => 1,
            -0x800..=0x7ff => 2,
            -0x4_0000..=0x3_ffff => 3,
            _ if i32::try_from(long).is_ok() => 5,
            _ => 9,
        };
        assert_eq!(bytes.len(), expected, "{long}");
        let Ok(int) = i32::try_from(long) else { continue };
        let bytes = whole(&Value::Int(int));
        assert_eq!(decode(from_ref(&bytes)).unwrap(), Value::Int(int));
        let expected = match int {
            -0x10..=0x2f => 1,
            -0x800..=0x7ff => 2,
            -0x4_0000..=0x3_ffff => 3,
            _ => 5,
        };
        assert_eq!(bytes.len(), expected, "{int}");
    }
}

#[test]
fn doubles_keep_their_bits() {
    let special =
        [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, 1.001];
    let whole_ones = [-129, -128, 127, 128, -32769, -32768, 32767, 32768, i32::MAX, i32::MIN].map(f64::from);
    for double in special.into_iter().chain(whole_ones) {
        for double in [double, double / 1000.0, double * 0.001, -double] {
            let bytes = whole(&Value::Double(double));
            let Value::Double(decoded) = decode(&[bytes]).unwrap() else { panic!("{double} is no double") };
            assert_eq!(decoded.to_bits(), double.to_bits(), "{double}");
        }
    }
}

#[test]
fn thousandths_are_written_where_all_readers_agree() {
    assert_eq!(whole(&Value::Double(12.25)), &b"_\0\0\x2f\xda"[..]);
    // To Java 1001 thousandths are the first of these, to Go the second: neither is written so, and they are read as Java does.
    for double in [1001.0 * 0.001, 1001.0 / 1000.0] {
        assert_eq!(whole(&Value::Double(double)).len(), 9);
    }
    assert_eq!(decode(&[Bytes::from_static(b"_\0\0\x03\xe9")]).unwrap(), Value::Double(1001.0 * 0.001));
}

#[test]
fn dates_at_every_border() {
    for minutes in near(i32::MIN.into()).chain(near(0)).chain(near(i32::MAX.into())) {
        for ms in near(minutes * 60_000) {
            let bytes = whole(&Value::Date(ms));
            assert_eq!(decode(from_ref(&bytes)).unwrap(), Value::Date(ms));
            let short = ms % 60_000 == 0 && i32::try_from(minutes).is_ok();
            assert_eq!(bytes.len(), if short { 5 } else { 9 }, "{ms}");
        }
    }
}

#[test]
fn strings_at_every_border() {
    for border in LENGTH_BORDERS.into_iter().chain([2 * 0x8000, 2 * 0xffff]) {
        for len in border.saturating_sub(2)..=border + 2 {
            for character in CHARACTERS {
                // A pair on either side of the border, and across it.
                for filler in ["a", "é"] {
                    let text: String = filler.repeat(len) + &String::from(character).repeat(3) + "b";
                    let bytes = whole(&string(&text));
                    assert_eq!(encoded_str_len(&text), bytes.len());
                    let units: Vec<u16> = text.encode_utf16().collect();
                    assert!(bytes == reference_string(&units, |left| before_pair(left, 0x8000)), "{len} {character:?}");
                    assert!(decode(&[bytes]).unwrap() == string(&text), "{len} {character:?}");
                }
            }
        }
    }
}

#[test]
fn binaries_at_every_border() {
    for border in LENGTH_BORDERS.into_iter().chain([2 * 8189, 1 << 20]) {
        for len in border.saturating_sub(2)..=border + 2 {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let mut encoded = Vec::new();
            encode_binary(&bytes[..], &mut encoded);
            assert_eq!(encoded_binary_len(len), encoded.len());
            assert!(encoded == reference_binary(&bytes, |left| left.len().min(8189)), "{len} bytes");
            assert!(decode_binary(&[encoded.into()]).unwrap().concat() == bytes, "{len} bytes");
        }
    }
}

#[test]
fn strings_and_binaries_are_slices_of_the_input() {
    let text = "é中a".repeat(5000);
    for value in [string("plain"), string(&text), binary(&[7; 30_000])] {
        let input = whole(&value);
        let range = input.as_ptr_range();
        let is_within = |pointer: *const u8| range.contains(&pointer);
        match decode(from_ref(&input)).unwrap() {
            Value::String(text) => assert!(is_within(text.as_ptr())),
            Value::Binary(Binary(pieces)) => assert!(pieces.iter().all(|piece| is_within(piece.as_ptr()))),
            other => panic!("{other:?}"),
        }
    }
}

/// A length near a border or any other, so that it ends up in every form.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0..40_usize,
        2 => 0..2000_usize,
        1 => (select(&LENGTH_BORDERS[..]), 0..4_usize).prop_map(|(border, step)| (border + step).saturating_sub(2)),
    ]
}

/// Mostly plain text, with other characters strewn in: also at the ends of chunks.
fn text() -> impl Strategy<Value = String> {
    let other = (any::<proptest::sample::Index>(), select(&CHARACTERS[..]));
    (length(), vec(other, 0..6), vec(any::<char>(), 0..6)).prop_map(|(len, others, random)| {
        let mut characters: Vec<char> = std::iter::repeat_n('x', len).collect();
        for (at, character) in others {
            characters.insert(at.index(characters.len() + 1), character);
        }
        characters.into_iter().chain(random).collect()
    })
}

fn binary_of_pieces() -> impl Strategy<Value = Value> {
    (length(), vec(1..5000_usize, 0..4), any::<u8>()).prop_map(|(len, cuts, seed)| {
        let mut rest = Bytes::from_iter((0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)));
        let mut pieces: Vec<Bytes> = cuts.into_iter().map(|cut| rest.split_to(cut.min(rest.len()))).collect();
        pieces.push(rest);
        Value::Binary(Binary(pieces.into_iter().filter(|piece| !piece.is_empty()).collect()))
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    let near_border = (select(&WHOLE_BORDERS[..]), -2..3_i64).prop_map(|(border, step)| border.saturating_add(step));
    let integer = prop_oneof![near_border, any::<i64>()];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        integer.clone().prop_map(|it| Value::Int(it as i32)),
        integer.clone().prop_map(Value::Long),
        integer.prop_map(Value::Date),
        any::<f64>().prop_map(Value::Double),
        any::<i32>().prop_map(|it| Value::Double(f64::from(it) * 0.001)),
        any::<i16>().prop_map(|it| Value::Double(it.into())),
        text().prop_map(|it| string(&it)),
        binary_of_pieces(),
    ]
}

/// Classes and types from a few, so that they recur.
fn name() -> impl Strategy<Value = String> {
    "[ab]|java\\.util\\.[A-C]"
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 40, 10, |inner| {
        let type_name = || proptest::option::of(name().prop_map(Into::into));
        let values = vec(inner.clone(), 0..10);
        let fields = vec((name(), inner.clone()), 0..4);
        prop_oneof![
            (type_name(), values).prop_map(|(type_name, values)| Value::List(List { type_name, values })),
            (type_name(), vec((inner.clone(), inner), 0..5))
                .prop_map(|(type_name, entries)| Value::Map(Map { type_name, entries })),
            (name(), fields).prop_map(|(name, fields)| {
                let (fields, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
                let class = Class { name: name.into(), fields: fields.into_iter().map(Into::into).collect() };
                Value::Object(Object { class: Arc::new(class), values })
            }),
        ]
    })
}

/// How often a value is tried; in continuous integration, as often as proptest says.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_value_comes_back(value in value(), piece in 1..100_usize) {
        let bytes = whole(&value);
        prop_assert!(decode(from_ref(&bytes)).unwrap() == value);
        prop_assert!(decode(&cut(&bytes, piece)).unwrap() == value, "in pieces of {}", piece);
    }

    #[test]
    fn values_of_one_message_share_classes_types_and_references(values in vec(value(), 0..4)) {
        let mut encoder = hessian2::Encoder::default();
        values.iter().for_each(|value| encoder.value(value).unwrap());
        let bytes = [encoder.finish()];
        let mut decoder = Decoder::new(&bytes);
        for value in values {
            prop_assert!(decoder.value().unwrap() == value);
        }
        prop_assert_eq!(decoder.remaining(), 0);
    }

    #[test]
    fn a_string_comes_back_from_any_chunks(
        text in text(),
        chunks in vec(prop_oneof![0..4_usize, 0..9000_usize], 0..20),
        piece in 1..9000_usize,
    ) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut chunks = chunks.into_iter();
        // A chunk may be empty, and may end within a surrogate pair.
        let bytes = reference_string(&units, |left| chunks.next().unwrap_or(0xffff).min(left.len()));
        prop_assert!(decode(&cut(&bytes.into(), piece)).unwrap() == string(&text));
    }

    #[test]
    fn a_string_may_come_in_plain_utf8(text in text(), piece in 1..100_usize) {
        let mut bytes = vec![b'S'];
        let units = text.encode_utf16().count();
        prop_assume!(units <= 0xffff);
        bytes.extend((units as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
        prop_assert!(decode(&cut(&bytes.into(), piece)).unwrap() == string(&text));
    }

    #[test]
    fn what_is_written_is_no_plain_utf8(text in text()) {
        let mut bytes = Vec::new();
        encode_str(&text, &mut bytes);
        let units: Vec<u16> = text.encode_utf16().collect();
        prop_assert!(bytes == reference_string(&units, |left| before_pair(left, 0x8000)));
    }

    #[test]
    fn a_binary_comes_back_from_any_chunks(
        len in length(),
        chunks in vec(prop_oneof![0..4_usize, 0..9000_usize], 0..20),
        piece in 1..9000_usize,
    ) {
        let payload: Vec<u8> = (0..len).map(|at| (at % 253) as u8).collect();
        let mut chunks = chunks.into_iter();
        let bytes = reference_binary(&payload, |left| chunks.next().unwrap_or(0xffff).min(left.len()));
        let pieces = cut(&bytes.into(), piece);
        prop_assert!(decode_binary(&pieces).unwrap().concat() == payload);
        prop_assert!(decode(&pieces).unwrap() == binary(&payload));
    }
}

#[test]
fn every_form_of_lists_and_maps() {
    let one_two = list([Value::Int(1), Value::Int(2)]);
    for form in [&b"W\x91\x92Z"[..], b"X\x92\x91\x92", b"z\x91\x92"] {
        assert_eq!(decode(&[Bytes::from_static(form)]).unwrap(), one_two, "{form:02x?}");
    }
    // The type by its name, and from then on by its number.
    let input = b"}U\x01t\x91ZV\x90\x91\x91q\x90\x91M\x90\x91\x92ZU\x01u\x90Z";
    let map = Map { type_name: Some("t".into()), entries: vec![(Value::Int(1), Value::Int(2))] };
    let one = || typed_list("t", [Value::Int(1)]);
    let expected = [one(), one(), one(), Value::Map(map), typed_list("u", [Value::Int(0)])];
    assert_eq!(decode(&[Bytes::from_static(input)]).unwrap(), list(expected));
}

#[test]
fn more_classes_than_have_codes_of_their_own() {
    let values = (0..20).map(|at| object(&class(&format!("c{at}"), ["f"]), [Value::Int(at)]));
    let all = list(values.clone().chain(values));
    let bytes = whole(&all);
    assert!(decode(&[bytes]).unwrap() == all);
}

#[test]
fn references_count_lists_maps_and_objects() {
    let value =
        list([object(&class("c", ["a"]), [Value::Reference(0)]), Value::Reference(1), list([]), Value::Reference(2)]);
    assert!(decode(&[whole(&value)]).unwrap() == value);
    let ahead = list([Value::Reference(1), list([])]);
    assert_eq!(encode(&ahead), Err(EncodeError::UnknownReference { index: 1, known: 1 }));
}

#[test]
fn what_cannot_be_written() {
    let wrong = object(&class("c", ["a", "b"]), [Value::Null]);
    assert_eq!(encode(&wrong), Err(EncodeError::FieldCount { class: "c".into(), fields: 2, values: 1 }));
    let nested = |depth| (0..depth).fold(Value::Null, |inner, _| list([inner]));
    assert!(decode(&[whole(&nested(MAX_DEPTH))]).unwrap() == nested(MAX_DEPTH));
    assert_eq!(encode(&nested(MAX_DEPTH + 1)), Err(EncodeError::TooDeep));
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    use DecodeErrorKind::*;
    let error = |input: &'static [u8]| {
        let DecodeError { offset, kind } = decode(&[Bytes::from_static(input)]).unwrap_err();
        (offset, kind)
    };
    assert_eq!(error(b""), (0, UnexpectedEnd));
    assert_eq!(error(b"I\x00\x00"), (3, UnexpectedEnd));
    assert_eq!(error(b"\x25abcd"), (5, UnexpectedEnd));
    assert_eq!(error(b"\x05abcd"), (5, UnexpectedEnd));
    assert_eq!(error(b"A\x00\x01a"), (4, UnexpectedEnd));
    assert_eq!(error(b"H\x01a"), (3, UnexpectedEnd));
    assert_eq!(error(b"XI\x7f\xff\xff\xffN"), (7, UnexpectedEnd));
    assert_eq!(error(b"C\x01cI\x7f\xff\xff\xff\x01a\x60"), (11, UnexpectedEnd));
    for code in [0x40, 0x45, 0x47, 0x50, b'Z'] {
        let input = Bytes::copy_from_slice(&[b'y', code]);
        let expected = DecodeError { offset: 1, kind: UnexpectedCode { code, expected: "a value" } };
        assert_eq!(decode(&[input]), Err(expected));
    }
    assert_eq!(error(b"A\x00\x00N"), (3, UnexpectedCode { code: b'N', expected: "the rest of a byte array" }));
    assert_eq!(error(b"R\x00\x00\x20"), (3, UnexpectedCode { code: 0x20, expected: "the rest of a string" }));
    assert_eq!(error(b"CN"), (1, UnexpectedCode { code: b'N', expected: "a string" }));
    assert_eq!(error(b"XN"), (1, UnexpectedCode { code: b'N', expected: "an int" }));
    assert_eq!(error(b"MN"), (1, UnexpectedCode { code: b'N', expected: "a type" }));
    assert_eq!(error(b"X\x8f"), (1, NegativeLength(-1)));
    assert_eq!(error(b"\x60"), (0, UnknownIndex { what: "class", index: 0, known: 0 }));
    assert_eq!(error(b"O\x8f"), (1, UnknownIndex { what: "class", index: -1, known: 0 }));
    assert_eq!(error(b"M\x90"), (1, UnknownIndex { what: "type", index: 0, known: 0 }));
    assert_eq!(error(b"yQ\x91"), (2, UnknownIndex { what: "reference", index: 1, known: 1 }));
    assert_eq!(error(b"\x02a\xff"), (2, InvalidUtf8));
    assert_eq!(error(b"\x02a\xc3a"), (2, InvalidUtf8));
    assert_eq!(error(b"\x02\xc0\x80a"), (1, InvalidUtf8));
    assert_eq!(error(b"\x01\xf0\x9f\x98\x80"), (1, InvalidUtf8));
    assert_eq!(error(b"\x02a\xed\xa0\xbd"), (2, UnpairedSurrogate));
    assert_eq!(error(b"\x02a\xed\xb8\x80"), (2, UnpairedSurrogate));
    assert_eq!(error(b"\x02\xed\xa0\xbda"), (1, UnpairedSurrogate));
    assert_eq!(error(b"R\x00\x01\xed\xa0\xbd\x00"), (3, UnpairedSurrogate));
    assert_eq!(error(b"NN"), (1, TrailingBytes(1)));
    let deep = vec![b'y'; MAX_DEPTH + 1];
    assert_eq!(decode(&[deep.into()]), Err(DecodeError { offset: MAX_DEPTH, kind: TooDeep }));
}
