//! Reads what a server sent in frames, in pieces.

use echo_proto::framed::{Event, FrameError, Framing, Replies, ReplyError, Request};

/// The largest frame.
const LIMIT: usize = 1 << 20;

/// A reply with its number.
pub(crate) type Reply = (u64, Result<Vec<u8>, ReplyError>);

/// Something that a server sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Reply(u64, Result<Vec<u8>, ReplyError>),
    /// It asked for this.
    Answer(Vec<u8>),
}

/// Reads a stream that comes in pieces of that length, keeping no more than was asked for.
pub(crate) fn read_all(framing: Framing, stream: &[u8], piece: usize) -> Result<Vec<Read>, FrameError> {
    let mut replies = Replies::new(framing, LIMIT);
    let (mut all, mut kept) = (Vec::new(), Vec::new());
    let mut now: Option<(u64, Vec<u8>)> = None;
    for piece in stream.chunks(piece) {
        kept.extend_from_slice(piece);
        let mut input = &kept[..];
        while let Some(event) = replies.next(&mut input)? {
            match event {
                Event::Begin(id) => assert_eq!(now.replace((id, Vec::new())), None),
                Event::Payload(bytes) => now.as_mut().expect("a reply").1.extend_from_slice(bytes),
                Event::End(end) => {
                    let (id, payload) = now.take().expect("a reply");
                    all.push(Read::Reply(id, end.map(|()| payload)));
                }
                Event::Answer(bytes) => all.push(Read::Answer(bytes.to_vec())),
            }
        }
        kept = input.to_vec();
        // The limits of a head's name or information, of a body's begin, and what is before them.
        assert!(kept.len() < (128 << 10) + piece.len(), "{} bytes are kept", kept.len());
    }
    Ok(all)
}

/// The same, of a server that asks for nothing.
pub(crate) fn read(framing: Framing, stream: &[u8], piece: usize) -> Result<Vec<Reply>, FrameError> {
    let reply = |read| match read {
        Read::Reply(id, reply) => (id, reply),
        Read::Answer(frame) => panic!("it asked for {frame:02x?}"),
    };
    Ok(read_all(framing, stream, piece)?.into_iter().map(reply).collect())
}

/// A request as it is sent.
pub(crate) fn frame(request: &Request, id: u32) -> Vec<u8> {
    let mut frame = Vec::new();
    request.write_head(id, &mut frame);
    frame.extend_from_slice(request.rest());
    assert_eq!(frame.len(), request.frame_len());
    frame
}
