//! A connection's task: requests out, replies in, matched by their numbers.

use std::{
    collections::HashMap,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::{Buf, BytesMut};
use echo_proto::framed::{Event, FrameError, Replies, ReplyError};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};

use super::template::{Outgoing, Template};
use crate::{
    load::{
        CallError,
        message::EchoCheck,
        meter::{Meter, Metered},
        tickets::{Ended, Ticket},
    },
    scenario::MAX_PAYLOAD,
};

/// Bytes of small requests written at once; a larger one isn't copied.
const WRITE_BURST: usize = 64 << 10;
/// Calls taken off the queue at once.
const BURST_CALLS: usize = 1024;
/// Bytes read at once.
const READ_BUFFER: usize = 256 << 10;
/// Answers to a server's questions that wait to be written: one that asks more and reads none of them must not fill our memory.
const UNWRITTEN_ANSWERS: usize = 1024;
/// The largest frame: a payload, and what may be around it.
const FRAME_LIMIT: usize = MAX_PAYLOAD as usize + (64 << 10);

/// Runs a connection to its end. Reading and writing go on side by side: a server that must send before it reads on would
/// otherwise lock up with us once both directions' buffers are full.
pub(super) async fn drive(
    socket: TcpStream,
    meter: Arc<Meter>,
    template: Arc<Template>,
    queue: mpsc::UnboundedReceiver<Outgoing>,
    answers: mpsc::WeakUnboundedSender<Outgoing>,
    ended: Ended,
) {
    let (read, write) = socket.into_split();
    let (read, write) = (Metered::counting(read, meter.clone()), Metered::counting(write, meter));
    let (to_reader, sent) = mpsc::unbounded_channel();
    let unwritten = AtomicUsize::new(0);
    let mut writer = pin!(write_requests(write, &template, (queue, &unwritten), to_reader));
    let mut reader = pin!(read_replies(read, &template, sent, (answers, &unwritten)));
    ended.tell(tokio::select! {
        result = &mut writer => result,
        result = &mut reader => result,
    });
}

/// A call with its number.
type Sent = (u32, Ticket);

async fn write_requests(
    mut socket: Metered<OwnedWriteHalf>,
    template: &Template,
    (mut queue, unwritten): (mpsc::UnboundedReceiver<Outgoing>, &AtomicUsize),
    to_reader: mpsc::UnboundedSender<Sent>,
) -> io::Result<()> {
    let mut burst = Vec::with_capacity(BURST_CALLS);
    let mut out = Vec::with_capacity(2 * WRITE_BURST);
    let mut id = 0;
    while queue.recv_many(&mut burst, BURST_CALLS).await > 0 {
        for outgoing in burst.drain(..) {
            let ticket = match outgoing {
                Outgoing::Call(ticket) => ticket,
                Outgoing::Answer(frame) => {
                    socket.write_all(&frame).await?;
                    unwritten.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
            };
            // From 1 to 2³¹-1, and again: numbers are signed where they have 32 bits.
            id = id % i32::MAX as u32 + 1;
            let request = &template.messages[ticket.share].request;
            // The reader goes only with us.
            let _ = to_reader.send((id, ticket));
            request.write_head(id, &mut out);
            if request.rest().len() >= WRITE_BURST {
                socket.write_all_buf(&mut Buf::chain(&out[..], &request.rest()[..])).await?;
                out.clear();
                continue;
            }
            out.extend_from_slice(request.rest());
            if out.len() >= WRITE_BURST {
                socket.write_all(&out).await?;
                out.clear();
            }
        }
        socket.write_all(&out).await?;
        out.clear();
    }
    Ok(())
}

async fn read_replies(
    mut socket: Metered<OwnedReadHalf>,
    template: &Template,
    sent: mpsc::UnboundedReceiver<Sent>,
    (answers, unwritten): (mpsc::WeakUnboundedSender<Outgoing>, &AtomicUsize),
) -> io::Result<()> {
    let mut replies = Replies::new(template.framing, FRAME_LIMIT);
    let mut reader = Reader { template, sent, answers, unwritten, awaiting: HashMap::new(), now: None };
    let mut buffer = BytesMut::with_capacity(READ_BUFFER);
    loop {
        let mut input = &buffer[..];
        while let Some(event) = replies.next(&mut input).map_err(io::Error::other)? {
            reader.take(event).map_err(io::Error::other)?;
        }
        let taken = buffer.len() - input.len();
        buffer.advance(taken);
        // What is left is little, and moves to the front of the same memory.
        buffer.reserve(READ_BUFFER - buffer.len());
        if socket.read_buf(&mut buffer).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server"));
        }
    }
}

/// Finds the call of each reply, and checks that it is its echo.
#[derive(Debug)]
struct Reader<'a> {
    template: &'a Template,
    sent: mpsc::UnboundedReceiver<Sent>,
    /// The writer's queue, which ends with the last handle.
    answers: mpsc::WeakUnboundedSender<Outgoing>,
    /// How many answers are in it.
    unwritten: &'a AtomicUsize,
    /// Calls without a reply, by their numbers.
    awaiting: HashMap<u64, Ticket>,
    /// The call whose reply is being read.
    now: Option<Checked<'a>>,
}

#[derive(Debug)]
struct Checked<'a> {
    ticket: Ticket,
    echo: EchoCheck<'a>,
    verdict: Result<(), CallError>,
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>) -> Result<(), FrameError> {
        match (event, &mut self.now) {
            (Event::Begin(id), _) => {
                let ticket = self.call(id).ok_or_else(|| {
                    FrameError::Unlike(format!("a reply with the number {id}, which no call that awaits one has"))
                })?;
                let reply = &self.template.messages[ticket.share].reply;
                let echo = EchoCheck::new(reply, ticket.verify);
                self.now = Some(Checked { ticket, echo, verdict: Ok(()) });
            }
            (Event::Payload(piece), Some(Checked { echo, verdict, .. })) if verdict.is_ok() => {
                *verdict = echo.accept(piece);
            }
            (Event::Payload(_), _) => {}
            (Event::Answer(frame), _) => {
                if self.unwritten.fetch_add(1, Ordering::Relaxed) >= UNWRITTEN_ANSWERS {
                    return Err(FrameError::Unlike("more questions than it reads answers to".to_owned()));
                }
                if let Some(answers) = self.answers.upgrade() {
                    // The writer goes only with us.
                    let _ = answers.send(Outgoing::Answer(frame));
                }
            }
            (Event::End(end), now) => {
                if let Some(Checked { ticket, echo, verdict }) = now.take() {
                    let result = end.map_err(CallError::from).and(verdict).and_then(|()| echo.finish());
                    // Nobody waits where the call was given up.
                    let _ = ticket.done.send(result);
                }
            }
        }
        Ok(())
    }

    /// The call of this number, which is no more awaited then.
    fn call(&mut self, id: u64) -> Option<Ticket> {
        // A call is told to us before it is sent.
        while let Ok((id, ticket)) = self.sent.try_recv() {
            self.awaiting.insert(id.into(), ticket);
        }
        self.awaiting.remove(&id)
    }
}

impl From<ReplyError> for CallError {
    fn from(error: ReplyError) -> Self {
        match error {
            ReplyError::Failure(what) => Self::Failure(what),
            ReplyError::Malformed(what) => Self::Decode(what),
        }
    }
}
