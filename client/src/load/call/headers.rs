//! Headers that the user adds.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Headers that HTTP itself needs.
const RESERVED: [&str; 7] =
    ["connection", "content-length", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
/// Those that gRPC needs beside them.
const RESERVED_BY_GRPC: [&str; 4] = ["content-type", "grpc-accept-encoding", "grpc-encoding", "te"];

/// gRPC takes both, with padding and without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Metadata of gRPC, of `KEY: VALUE` texts. The value of a key that ends in `-bin` must be base64, which is how bytes are sent; one may
/// be given more than once.
///
/// # Errors
/// What is wrong with a text, and what is allowed.
pub fn metadata<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for text in texts {
        let (name, value) = header(text)?;
        if RESERVED_BY_GRPC.contains(&name.as_str()) {
            return Err(format!("{text:?}: {name} is the protocol's own"));
        }
        if name.as_str().ends_with("-bin") && BASE64.decode(&value).is_err() {
            return Err(format!("{text:?}: the value of a key that ends in -bin must be base64"));
        }
        headers.append(name, value);
    }
    Ok(headers)
}

/// Headers of plain HTTP, of `KEY: VALUE` texts; one may be given more than once.
///
/// # Errors
/// What is wrong with a text, and what is allowed.
pub fn headers<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for text in texts {
        let (name, value) = header(text)?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |problem: &str| format!("{text:?}: {problem}");
    let (name, value) = text.split_once(':').ok_or_else(|| wrong("must be KEY: VALUE"))?;
    let name: HeaderName =
        name.trim().to_ascii_lowercase().parse().map_err(|_| wrong("the key must be a header's name, as x-user"))?;
    if RESERVED.contains(&name.as_str()) {
        return Err(wrong(&format!("{name} is the protocol's own")));
    }
    let value = HeaderValue::from_str(value.trim()).map_err(|_| {
        wrong("the value must be visible ASCII; other bytes go as base64 under a key that ends in -bin")
    })?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_sent() {
        let headers = metadata(["Authorization: Bearer a:b", "x-trace-bin: AAE", "x-a:1", "x-a: 2"]).unwrap();
        assert_eq!(headers["authorization"], "Bearer a:b");
        assert_eq!(headers["x-trace-bin"], "AAE");
        assert_eq!(headers.get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn what_is_no_header_is_told() {
        for (text, problem) in [
            ("x", "\"x\": must be KEY: VALUE"),
            ("a b: c", "\"a b: c\": the key must be a header's name, as x-user"),
            (":path: /x", "\":path: /x\": the key must be a header's name, as x-user"),
            ("Content-Type: x", "\"Content-Type: x\": content-type is the protocol's own"),
            ("x-bin: %", "\"x-bin: %\": the value of a key that ends in -bin must be base64"),
        ] {
            assert_eq!(metadata([text]).unwrap_err(), problem);
        }
        assert_eq!(headers(["content-type: text/plain", "x-bin: %"]).unwrap().len(), 2);
        assert_eq!(headers(["Host: x"]).unwrap_err(), "\"Host: x\": host is the protocol's own");
        assert!(metadata(["x: é\u{7f}"]).unwrap_err().contains("must be visible ASCII"));
    }
}
