//! The frames of a recorded HTTP/2 direction, read back into replies.

use std::collections::BTreeMap;

use httlib_hpack::Decoder;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const END_STREAM: u8 = 1;
const FRAME_HEAD: usize = 9;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) type Fields = BTreeMap<String, String>;

/// What a server said on stream 1.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) headers: Fields,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Fields,
    pub(crate) ended: bool,
}

impl Reply {
    /// Reads whole frames; a cut one at the end is left out.
    pub(crate) fn parse(mut bytes: &[u8]) -> Self {
        let mut reply = Self::default();
        let mut hpack = Decoder::default();
        while let Some((head, rest)) = bytes.split_first_chunk::<FRAME_HEAD>() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let (kind, flags) = (head[3], head[4]);
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let Some(payload) = rest.get(..length) else { break };
            bytes = &rest[length..];
            if stream != 1 {
                continue;
            }
            match kind {
                DATA => reply.body.extend_from_slice(payload),
                HEADERS => {
                    let fields = decode(&mut hpack, payload);
                    if fields.contains_key(":status") {
                        reply.headers = fields;
                    } else {
                        reply.trailers = fields;
                    }
                }
                _ => {}
            }
            reply.ended |= kind == RST_STREAM || matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0;
        }
        reply
    }
}

/// What a client said on stream 1.
#[derive(Debug)]
pub(crate) struct Request {
    headers: Fields,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        // A reply's headers have a status; a request's are told from trailers by nothing.
        let Reply { trailers: headers, body, .. } = Reply::parse(bytes.strip_prefix(PREFACE).unwrap());
        Self { headers, body }
    }

    /// The headers but those with which HTTP/2 says what HTTP/1.1's first line says.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| !name.starts_with(':'))
    }
}

fn decode(hpack: &mut Decoder<'_>, block: &[u8]) -> Fields {
    let mut fields = Vec::new();
    hpack.decode(&mut block.to_vec(), &mut fields).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    fields.into_iter().map(|(name, value, _)| (text(name), text(value))).collect()
}
