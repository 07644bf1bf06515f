//! A client of the debug endpoints, for tests.

use std::{
    error::Error,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use echo_proto::profile::Profile;
use prost::Message;

/// What an endpoint answers: status, headers, body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn ask(addr: SocketAddr, path: &str) -> Result<Answer, Box<dyn Error>> {
    let mut stream = TcpStream::connect(addr)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or("no end of headers")?;
    let body = answer.split_off(end + 4);
    let headers = String::from_utf8(answer)?.to_ascii_lowercase();
    let status = headers.split(' ').nth(1).ok_or("no status")?.parse()?;
    // Small answers have a length; others come in chunks only where a handler streams, and none does.
    Ok(Answer { status, headers, body })
}

/// The body of a successful answer.
pub(crate) fn get(addr: SocketAddr, path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let answer = ask(addr, path)?;
    match answer.status {
        200 => Ok(answer.body),
        status => Err(format!("{path}: {status}: {}", String::from_utf8_lossy(&answer.body)).into()),
    }
}

pub(crate) fn decode(gzipped: &[u8]) -> Result<Profile, Box<dyn Error>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(gzipped).read_to_end(&mut bytes)?;
    Ok(Profile::decode(&*bytes)?)
}

/// The sum of each kind of value over the samples whose stack has a function of that name.
pub(crate) fn sums(profile: &Profile, function: &str) -> Vec<i64> {
    let text = |index: i64| profile.string_table[index as usize].as_str();
    let names = |location: u64| {
        let lines = &profile.location[location as usize - 1].line;
        lines.iter().map(|line| text(profile.function[line.function_id as usize - 1].name))
    };
    let mut sums = vec![0; profile.sample_type.len()];
    for sample in &profile.sample {
        if sample.location_id.iter().flat_map(|&id| names(id)).any(|name| name == function) {
            sums.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
        }
    }
    sums
}

pub(crate) fn comments(profile: &Profile) -> impl Iterator<Item = &str> {
    profile.comment.iter().map(|&index| profile.string_table[index as usize].as_str())
}
