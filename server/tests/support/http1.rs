//! HTTP/1.1 byte for byte.

use std::{collections::BTreeMap, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A reply taken apart. Header names are in lower case; a name that comes twice has its values joined by a comma.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: BTreeMap<String, String>,
}

/// Sends a request as it is and reads one reply.
pub(crate) async fn exchange(addr: SocketAddr, request: &[u8]) -> Reply {
    let mut socket = TcpStream::connect(addr).await.unwrap();
    socket.write_all(request).await.unwrap();
    read_reply(&mut socket).await
}

pub(crate) async fn read_reply(socket: &mut TcpStream) -> Reply {
    let mut read = Vec::new();
    loop {
        if let Some(reply) = parse(&read) {
            return reply;
        }
        assert_ne!(socket.read_buf(&mut read).await.unwrap(), 0, "ended within {:?}", String::from_utf8_lossy(&read));
    }
}

/// A request with a content-length.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    [text.as_bytes(), body].concat()
}

/// None while something is missing.
pub(crate) fn parse(bytes: &[u8]) -> Option<Reply> {
    let (head, rest) = split(bytes, b"\r\n\r\n")?;
    let head = std::str::from_utf8(head).unwrap();
    let (status_line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = status_line.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = parse_fields(fields);
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        let (body, trailers) = parse_chunks(rest)?;
        return Some(Reply { status, headers, body, trailers });
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let body = rest.get(..length)?.to_vec();
    Some(Reply { status, headers, body, trailers: BTreeMap::new() })
}

fn parse_chunks(mut rest: &[u8]) -> Option<(Vec<u8>, BTreeMap<String, String>)> {
    let mut body = Vec::new();
    loop {
        let (size, after) = split(rest, b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(size).unwrap(), 16).unwrap();
        if size == 0 {
            let fields = match after {
                [b'\r', b'\n', ..] => &after[..0],
                _ => split(after, b"\r\n\r\n")?.0,
            };
            return Some((body, parse_fields(std::str::from_utf8(fields).unwrap())));
        }
        body.extend_from_slice(after.get(..size)?);
        rest = after.get(size + 2..)?;
    }
}

fn parse_fields(text: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::<String, String>::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let values = fields.entry(name.to_ascii_lowercase()).or_default();
        if !values.is_empty() {
            values.push_str(", ");
        }
        values.push_str(value.trim());
    }
    fields
}

fn split<'a>(bytes: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(separator.len()).position(|window| window == separator)?;
    Some((&bytes[..at], &bytes[at + separator.len()..]))
}
