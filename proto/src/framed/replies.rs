//! What a server sends, read as it comes.

use bytes::Bytes;

use super::{Chunk, Cursor, Found, Framing, Head, Kind, Stop, dubbo};

/// The longest begin of a body in which the payload is looked for, and the most that is read of a failure.
const BEGIN_LIMIT: usize = 64 << 10;

/// Reads the replies of a connection, one after another.
#[derive(Debug)]
pub struct Replies {
    framing: Framing,
    /// The largest frame, in bytes.
    limit: usize,
    state: State,
    /// Bytes of the frame that haven't been taken.
    left: usize,
}

/// What comes next.
#[derive(Debug)]
enum State {
    Head,
    /// The body from its begin.
    Body,
    /// So many bytes of payload, and whether they are the last.
    Payload(usize, bool),
    /// Of the payload in chunks the next.
    Chunk,
    /// The body of a failure.
    Failure(u8),
    /// What follows in the frame, and then its end.
    Rest(Last),
}

/// What a frame's end means.
#[derive(Debug)]
enum Last {
    Reply(Result<(), ReplyError>),
    Asked(u64),
    Nothing,
}

/// A step of reading.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The reply to the request of this number begins.
    Begin(u64),
    /// The next bytes of its payload.
    Payload(&'a [u8]),
    /// It has come to its end. Its payload was whole, unless it says what was wrong.
    End(Result<(), ReplyError>),
    /// The server asks whether somebody is there, and must get this.
    Answer(Bytes),
}

/// A reply without a payload. The next one can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The server says that it failed, in its words.
    #[error("{0}")]
    Failure(String),
    /// The frame's content can't be what it should be.
    #[error("{0}")]
    Malformed(String),
}

/// What is no frame of a reply, after which nothing on the connection can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Bytes that begin none.
    #[error("the server sent {0}")]
    Unlike(String),
    /// A frame longer than any reply may be.
    #[error("the server sent a length of {len}, over the limit of {limit}")]
    TooLong {
        /// Bytes announced.
        len: usize,
        /// Bytes allowed.
        limit: usize,
    },
}

impl Replies {
    /// Of a connection of this framing, with frames of up to `limit` bytes.
    pub fn new(framing: Framing, limit: usize) -> Self {
        Self { framing, limit, state: State::Head, left: 0 }
    }

    /// Takes from the front of `input`. `None` asks for more behind what is left of it, which is less than 128 KiB.
    ///
    /// # Errors
    /// [`FrameError`]; nothing can be read then.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, FrameError> {
        loop {
            // What has come of the frame's body.
            let come = &input[..input.len().min(self.left)];
            let begin = &come[..come.len().min(BEGIN_LIMIT)];
            let (body, whole, enough) = (Cursor::new(begin), begin.len() == self.left, begin.len() == BEGIN_LIMIT);
            match &mut self.state {
                State::Head => {
                    let Some(Head { len, id, body, kind }) = self.framing.head(input, self.limit)? else {
                        return Ok(None);
                    };
                    *input = &input[len..];
                    self.left = body;
                    self.state = match kind {
                        Kind::Reply => State::Body,
                        Kind::Failure(status) => State::Failure(status),
                        Kind::Asks => State::Rest(Last::Asked(id)),
                        Kind::Aside => State::Rest(Last::Nothing),
                    };
                    if let Kind::Reply | Kind::Failure(_) = kind {
                        return Ok(Some(Event::Begin(id)));
                    }
                }
                State::Body => match self.framing.find(body, whole) {
                    Ok(Found::Payload(chunk)) => self.enter(chunk, input),
                    // What Dubbo's exceptions have is a reply's status.
                    Ok(Found::Failure) => self.state = State::Failure(dubbo::OK),
                    Err(Stop::Short) if !whole && !enough => return Ok(None),
                    Err(stop) => self.state = rest(Err(malformed(stop, whole))),
                },
                State::Chunk => match dubbo::chunk(body) {
                    Ok(chunk) => self.enter(chunk, input),
                    Err(Stop::Short) if !whole => return Ok(None),
                    Err(stop) => self.state = rest(Err(malformed(stop, whole))),
                },
                State::Payload(0, true) => self.state = rest(Ok(())),
                State::Payload(0, false) => self.state = State::Chunk,
                State::Payload(..) if input.is_empty() => return Ok(None),
                State::Payload(len, _) => {
                    let (piece, rest) = input.split_at(input.len().min(*len));
                    *input = rest;
                    *len -= piece.len();
                    self.left -= piece.len();
                    return Ok(Some(Event::Payload(piece)));
                }
                State::Failure(_) if !whole && !enough => return Ok(None),
                State::Failure(status) => {
                    let failure = self.framing.failure(*status, body);
                    self.state = rest(Err(ReplyError::Failure(failure)));
                }
                State::Rest(last) => {
                    let last = std::mem::replace(last, Last::Nothing);
                    self.left -= come.len();
                    *input = &input[come.len()..];
                    if self.left > 0 {
                        self.state = State::Rest(last);
                        return Ok(None);
                    }
                    self.state = State::Head;
                    match last {
                        Last::Reply(end) => return Ok(Some(Event::End(end))),
                        Last::Asked(id) => return Ok(Some(Event::Answer(dubbo::answer(id)))),
                        Last::Nothing => {}
                    }
                }
            }
        }
    }

    fn enter(&mut self, Chunk { skip, len, last }: Chunk, input: &mut &[u8]) {
        *input = &input[skip..];
        self.left -= skip;
        self.state = match self.left.checked_sub(len) {
            Some(_) => State::Payload(len, last),
            None => rest(Err(ReplyError::Malformed(format!("a payload of {len} bytes in a frame with {}", self.left)))),
        };
    }
}

/// What follows in a reply's frame.
fn rest(end: Result<(), ReplyError>) -> State {
    State::Rest(Last::Reply(end))
}

fn malformed(stop: Stop, whole: bool) -> ReplyError {
    ReplyError::Malformed(match stop {
        Stop::Wrong(what) => what,
        Stop::Short if whole => "the frame ends before its content does".to_owned(),
        Stop::Short => format!("no payload in its first {BEGIN_LIMIT} bytes"),
    })
}
