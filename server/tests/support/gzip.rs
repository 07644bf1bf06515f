//! gzip by flate2.

use std::io::{Read, Write};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    gzip_at(6, plain)
}

pub(crate) fn gzip_at(level: u8, plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level.into()));
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn gunzip(zipped: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(zipped).read_to_end(&mut plain).unwrap();
    plain
}
