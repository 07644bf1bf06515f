//! gzip, both ways. `identity` and `gzip` are all that Triple's peers send.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use http::HeaderValue;

use super::{
    segments::Segments,
    status::{Code, Fault},
};

/// The one encoding but identity.
pub(crate) const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// How a body or its messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
}

impl Encoding {
    /// What a request says of itself in `grpc-encoding` or `content-encoding`.
    ///
    /// # Errors
    /// A name that is neither: `unimplemented`, listing what is supported.
    pub(crate) fn of_request(value: Option<&HeaderValue>) -> Result<Self, Fault> {
        let Some(value) = value else { return Ok(Encoding::Identity) };
        match value.as_bytes() {
            b"" | b"identity" => Ok(Encoding::Identity),
            b"gzip" => Ok(Encoding::Gzip),
            _ => Err(Fault::new(
                Code::Unimplemented,
                format!("unknown compression {value:?}: supported encodings are gzip"),
            )),
        }
    }

    /// Whether `grpc-accept-encoding` or `accept-encoding` names gzip, and not with a weight of nought.
    pub(crate) fn gzip_is_offered(value: Option<&HeaderValue>) -> bool {
        let offers = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        offers.split(',').any(|offer| {
            let (name, weight) = offer.split_once(';').unwrap_or((offer, ""));
            let refused = weight.trim().strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0_f32);
            name.trim().eq_ignore_ascii_case("gzip") && !refused
        })
    }
}

/// Decompresses, giving up as soon as the result is known to be longer than `limit`.
///
/// # Errors
/// More than `limit` bytes, or input that is no gzip.
pub(crate) fn gunzip(compressed: Segments, limit: usize) -> Result<Bytes, Fault> {
    let mut plain = Vec::new();
    let mut bounded = MultiGzDecoder::new(compressed.reader()).take(limit as u64 + 1);
    bounded
        .read_to_end(&mut plain)
        .map_err(|error| Fault::new(Code::InvalidArgument, format!("decompress gzip: {error}")))?;
    if plain.len() > limit {
        return Err(Fault::new(
            Code::ResourceExhausted,
            format!("decompressed message size is larger than configured max {limit}"),
        ));
    }
    Ok(plain.into())
}

/// Compresses at a level from 0 to 9.
///
/// # Errors
/// None in practice: it writes to memory.
pub(crate) fn gzip(mut plain: impl Buf, level: u8) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(u32::from(level)));
    while plain.has_remaining() {
        let chunk = plain.chunk();
        encoder.write_all(chunk)?;
        let count = chunk.len();
        plain.advance(count);
    }
    Ok(encoder.finish()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let of = |name| Encoding::of_request(Some(&HeaderValue::from_static(name)));
        assert_eq!(Encoding::of_request(None), Ok(Encoding::Identity));
        assert_eq!((of("identity"), of("gzip")), (Ok(Encoding::Identity), Ok(Encoding::Gzip)));
        let fault = of("br").unwrap_err();
        assert_eq!(fault.code, Code::Unimplemented);
        assert_eq!(fault.message, r#"unknown compression "br": supported encodings are gzip"#);
    }

    #[test]
    fn offers() {
        let offered = |offer| Encoding::gzip_is_offered(Some(&HeaderValue::from_static(offer)));
        assert!(offered("gzip") && offered("br, GZIP;q=0.5") && offered("gzip,br"));
        assert!(!offered("br") && !offered("") && !offered("gzip;q=0") && !offered("xgzip"));
        assert!(!Encoding::gzip_is_offered(None));
    }

    #[test]
    fn what_is_zipped_unzips_up_to_the_limit() {
        for level in 0..=9 {
            let zipped = gzip(&[5; 1000][..], level).unwrap();
            assert_eq!(gunzip(zipped.into(), 1000), Ok(Bytes::from(vec![5; 1000])), "level {level}");
        }
        let zipped = gzip(&[5; 1000][..], 6).unwrap();
        assert_eq!(gunzip(zipped.clone().into(), 999).unwrap_err().code, Code::ResourceExhausted);
        assert_eq!(gunzip(zipped.slice(..zipped.len() - 9).into(), 1000).unwrap_err().code, Code::InvalidArgument);
    }
}
