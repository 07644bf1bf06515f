//! The roofline: messages of a big-endian `u32` length and that many bytes, echoed as they came.
//!
//! What another protocol costs beyond this is its own. A connection is one task with one buffer, which grows to the
//! largest message seen; messages that arrive together leave in one write.

use std::{future::Future, io};

use bytes::BufMut;
use debug_pprof::ops::{self, Method, Op};
use serde::Serialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time,
};
use tracing::debug;

use crate::{
    DEFAULT_MESSAGE_LIMIT, Handler, ServeError,
    accept::{self, Draining},
    handler, methods,
};

/// Bytes of the length in front of each message.
pub const PREFIX_LEN: usize = 4;
const INITIAL_BUFFER: usize = 16 << 10;

/// What the server allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Options {
    /// The longest message in bytes, without its prefix. A longer one counts as an error and closes the connection.
    pub message_limit: usize,
    /// What is done to a message before it is answered. The messages of a connection are answered one after the other,
    /// and so are their sleeps.
    #[serde(flatten)]
    pub handler: Handler,
}

impl Default for Options {
    fn default() -> Self {
        Self { message_limit: DEFAULT_MESSAGE_LIMIT, handler: Handler::default() }
    }
}

/// Serves until `shutdown` completes, then until every connection has answered what it had begun to read.
///
/// # Errors
/// [`ServeError::DrainTimeout`] when a connection took longer than [`crate::DRAIN_LIMIT`] for that.
pub async fn run(
    listener: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let method = ops::method(methods::RAW);
    accept::accept(listener, shutdown, |stream, draining| async move {
        let echo = Echo {
            stream,
            buffer: Vec::with_capacity(INITIAL_BUFFER),
            reply: Vec::new(),
            method,
            limit: options.message_limit,
            handler: options.handler,
        };
        if let Err(error) = echo.run(draining).await {
            debug!(%error, "connection ended");
        }
    })
    .await
}

struct Echo {
    stream: TcpStream,
    /// Starts at a message's prefix.
    buffer: Vec<u8>,
    /// Of a handler that does not only echo.
    reply: Vec<u8>,
    method: &'static Method,
    limit: usize,
    handler: Handler,
}

impl Echo {
    async fn run(mut self, mut draining: Draining) -> io::Result<()> {
        // The op of the message whose beginning is in the buffer.
        let mut begun: Option<Op> = None;
        loop {
            let read = if self.buffer.is_empty() {
                tokio::select! {
                    read = self.stream.read_buf(&mut self.buffer) => read?,
                    () = draining.begun() => return Ok(()),
                }
            } else {
                self.stream.read_buf(&mut self.buffer).await?
            };
            if read == 0 {
                return Ok(());
            }
            begun.get_or_insert_with(|| self.method.start());
            let whole = Whole::scan(&self.buffer, self.limit)?;
            if whole.count > 0 {
                if self.handler.only_echoes() {
                    self.stream.write_all(&self.buffer[..whole.bytes]).await?;
                    for _ in 0..whole.count {
                        begun.take().unwrap_or_else(|| self.method.start()).ok();
                    }
                } else {
                    self.handle(whole.bytes, &mut begun).await?;
                }
                self.buffer.drain(..whole.bytes);
            }
            if !self.buffer.is_empty() {
                begun.get_or_insert_with(|| self.method.start());
            }
            self.buffer.reserve(whole.missing);
        }
    }

    /// Answers the messages in the first `bytes` of the buffer as the handler has it, one after the other.
    async fn handle(&mut self, bytes: usize, begun: &mut Option<Op>) -> io::Result<()> {
        let mut messages = &self.buffer[..bytes];
        while let Some((prefix, rest)) = messages.split_first_chunk::<PREFIX_LEN>() {
            let op = begun.take().unwrap_or_else(|| self.method.start());
            let (payload, rest) = rest.split_at(u32::from_be_bytes(*prefix) as usize);
            messages = rest;
            let size = self.handler.response_size.unwrap_or(payload.len() as u32);
            self.reply.clear();
            self.reply.put_u32(size);
            handler::repeat_into(&mut self.reply, payload, size as usize);
            if let Some(time) = self.handler.sleep {
                time::sleep(time).await;
            }
            self.stream.write_all(&self.reply).await?;
            op.ok();
        }
        Ok(())
    }
}

/// The whole messages at the front of a buffer.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    count: usize,
    /// Their bytes, prefixes included.
    bytes: usize,
    /// How many bytes the next message, or its prefix, still lacks.
    missing: usize,
}

impl Whole {
    fn scan(buffer: &[u8], limit: usize) -> io::Result<Self> {
        let (mut count, mut bytes) = (0, 0);
        let missing = loop {
            let rest = &buffer[bytes..];
            let Some(prefix) = rest.first_chunk::<PREFIX_LEN>() else { break PREFIX_LEN - rest.len() };
            let length = u32::from_be_bytes(*prefix) as usize;
            if length > limit {
                return Err(too_long(length, limit));
            }
            if rest.len() < PREFIX_LEN + length {
                break PREFIX_LEN + length - rest.len();
            }
            count += 1;
            bytes += PREFIX_LEN + length;
        };
        Ok(Self { count, bytes, missing })
    }
}

fn too_long(length: usize, limit: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("message of {length} bytes: at most {limit} are allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_finds_whole_messages_and_what_the_next_one_lacks() {
        let three = [0, 0, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 3, b'b'];
        let scan = |end: usize| Whole::scan(&three[..end], 8).unwrap();
        assert_eq!(scan(0), Whole { count: 0, bytes: 0, missing: 4 });
        assert_eq!(scan(3), Whole { count: 0, bytes: 0, missing: 1 });
        assert_eq!(scan(4), Whole { count: 0, bytes: 0, missing: 1 });
        assert_eq!(scan(5), Whole { count: 1, bytes: 5, missing: 4 });
        assert_eq!(scan(9), Whole { count: 2, bytes: 9, missing: 4 });
        assert_eq!(scan(14), Whole { count: 2, bytes: 9, missing: 2 });
    }

    #[test]
    fn scan_refuses_a_length_over_the_limit() {
        let error = Whole::scan(&[0, 0, 0, 9], 8).unwrap_err();
        assert_eq!(error.to_string(), "message of 9 bytes: at most 8 are allowed");
    }
}
