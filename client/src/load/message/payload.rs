//! What payloads are made of.

use bytes::{BufMut, Bytes, BytesMut};

use super::random::SplitMix64;
use crate::scenario::PayloadPattern;

/// The seed of every payload: the same bytes in every run, on every machine. A shorter one is the beginning of a longer.
const SEED: u64 = 0x5eed;

pub(super) fn payload(pattern: PayloadPattern, len: usize) -> Bytes {
    match pattern {
        // What is given is nowhere made.
        PayloadPattern::Random | PayloadPattern::Given => random(len),
        PayloadPattern::Zeros => vec![0; len].into(),
        PayloadPattern::Text => text(len),
    }
}

/// Little-endian words, which no compressor shrinks.
fn random(len: usize) -> Bytes {
    let mut random = SplitMix64::new(SEED);
    let mut bytes = BytesMut::with_capacity(len + size_of::<u64>());
    while bytes.len() < len {
        bytes.put_u64_le(random.next());
    }
    bytes.truncate(len);
    bytes.freeze()
}

/// Words in no order, in sentences of a dozen.
fn text(len: usize) -> Bytes {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut random = SplitMix64::new(SEED);
    let mut text = String::with_capacity(len + 32);
    while text.len() < len {
        let number = random.next();
        text.push_str(words[(number >> 8) as usize % words.len()]);
        text.push_str(if number.is_multiple_of(12) { ". " } else { " " });
    }
    text.truncate(len);
    text.into()
}

/// Common words of English, of all lengths, and some of the field's.
const WORDS: &str = "\
    the of and to in is it you that he was for on are with as his they be at one have this from or had by not word but what \
    some we can out other were all there when up use your how said an each she which do their time if will way about many \
    then them write would like so these her long make thing see him two has look more day could go come did number sound no \
    most people my over know water than call first who may down side been now find any new work part take get place made \
    live where after back little only round man year came show every good me give our under name very through just form \
    sentence great think say help low line differ turn cause much mean before move right boy old too same tell does set \
    three want air well also play small end put home read hand port large spell add even land here must big high such \
    follow act why ask men change went light kind off need house picture try us again animal point mother world near build \
    self earth father head stand own page should country found answer school grow study still learn plant cover food \
    server client request reply stream message window memory buffer thread kernel socket";

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn payloads_are_fixed_and_of_any_length() {
        for pattern in PayloadPattern::ALL {
            let long = payload(pattern, 1 << 20);
            for len in [0, 1, 7, 8, 9, 1000, 1 << 20] {
                assert_eq!(payload(pattern, len), long.slice(..len), "{pattern} {len}");
            }
        }
    }

    fn compressed(pattern: PayloadPattern, len: usize) -> usize {
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        deflate.write_all(&payload(pattern, len)).unwrap();
        deflate.finish().unwrap().len()
    }

    #[test]
    fn a_compressor_leaves_what_the_patterns_say() {
        let len = 1 << 16;
        assert!(compressed(PayloadPattern::Random, len) >= len);
        assert!(compressed(PayloadPattern::Zeros, len) < len / 100);
        let share = compressed(PayloadPattern::Text, len) as f64 / len as f64;
        assert!((0.28..0.40).contains(&share), "{share}");
    }

    #[test]
    fn text_is_words() {
        let text = payload(PayloadPattern::Text, 10_000);
        let text = std::str::from_utf8(&text).unwrap();
        assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b == b' ' || b == b'.'));
        assert!(text.contains(". ") && text.split(' ').count() > 1_500);
    }
}
