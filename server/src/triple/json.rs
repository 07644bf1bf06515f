//! The echo's messages in protobuf's JSON.

use std::borrow::Cow;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    echo::malformed,
    status::{Code, Fault},
};

/// `BenchmarkRequest` and `BenchmarkResponse` in protobuf's JSON: bytes are base64, an empty field is left out.
#[derive(Debug, Serialize, Deserialize)]
struct Json<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    payload: Option<Cow<'a, str>>,
}

/// Protobuf's JSON takes either alphabet, padded or not.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const LENIENT_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const LENIENT_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The payload of a request.
///
/// # Errors
/// The message is no such JSON, or its payload no base64.
pub(crate) fn decode(message: Bytes) -> Result<Vec<u8>, Fault> {
    if message.is_empty() {
        return Err(Fault::new(Code::InvalidArgument, "zero-length payload is not a valid JSON object"));
    }
    // serde would take an array for a struct.
    if message.trim_ascii_start().first() != Some(&b'{') {
        return Err(malformed(&"a JSON object is expected"));
    }
    let json: Json<'_> = serde_json::from_slice(&message).map_err(|error| malformed(&error))?;
    let text = json.payload.unwrap_or_default();
    let engine = if text.contains(['-', '_']) { LENIENT_URL_SAFE } else { LENIENT_STANDARD };
    engine.decode(text.as_bytes()).map_err(|error| malformed(&format_args!("payload: {error}")))
}

/// The response with that payload.
///
/// # Errors
/// None in practice: one string always serializes.
pub(crate) fn encode(payload: &[u8]) -> Result<Bytes, Fault> {
    let payload = (!payload.is_empty()).then(|| STANDARD.encode(payload).into());
    serde_json::to_vec(&Json { payload })
        .map(Bytes::from)
        .map_err(|error| Fault::new(Code::Internal, format!("marshal benchmark.BenchmarkResponse: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_and_out() {
        let echo = |text: &'static str| decode(text.into()).and_then(|payload| encode(&payload));
        for (request, response) in [
            ("{}", "{}"),
            (r#"{"payload":null}"#, "{}"),
            (r#" {"payload":"aGk="} "#, r#"{"payload":"aGk="}"#),
            (r#"{"payload":"aGk","other":[1]}"#, r#"{"payload":"aGk="}"#),
            (r#"{"payload":"-_8"}"#, r#"{"payload":"+/8="}"#),
            (r#"{"payload":"a\u0047k="}"#, r#"{"payload":"aGk="}"#),
        ] {
            assert_eq!(echo(request), Ok(response.into()), "{request}");
        }
        for request in ["", "[\"aGk=\"]", "{bad", "{} {}", r#"{"payload":1}"#, r#"{"payload":"!"}"#, "null"] {
            assert_eq!(echo(request).map_err(|fault| fault.code), Err(Code::InvalidArgument), "{request}");
        }
    }
}
