//! Calls to the raw echo: messages behind a length of four bytes, big-endian, over TCP.
//!
//! Calls are pipelined. The server answers in order, so that the `n`th reply belongs to the `n`th request. A call that is given up
//! takes its connection with it: its reply would come in a later window and be counted there.

use std::{io, pin::pin, sync::Arc};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Notify, mpsc},
};

use super::{
    CallError, LoadSpec, Wire,
    engine::Transport,
    message::{EchoCheck, Payloads, Picker},
    meter::{Meter, Metered},
    preflight::{FailedCall, Preflight},
    tickets::{Ended, Ticket, Tickets},
};
use crate::scenario::{MAX_PAYLOAD, Payload};

/// Bytes of small requests written at once.
const WRITE_BURST: usize = 64 << 10;
/// Calls taken off the queue at once.
const BURST_CALLS: usize = 1024;
/// Bytes read at once.
const READ_BUFFER: usize = 256 << 10;

/// What every connection of a driver sends, built once.
#[derive(Debug)]
pub(super) struct Template {
    payload: Payload,
    /// One for each share of the payload.
    messages: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    frame_len: usize,
    /// The request with its length, over and over, up to [`WRITE_BURST`].
    frames: Bytes,
    reply: Bytes,
}

impl Template {
    pub(super) fn new(spec: &LoadSpec) -> Arc<Self> {
        let messages = Payloads::of(&spec.case).into_iter().map(|Payloads { request, reply }| {
            let frame = frame(&request);
            let burst = (WRITE_BURST / frame.len()).max(1);
            Message { frame_len: frame.len(), frames: frame.repeat(burst).into(), reply }
        });
        Arc::new(Self { payload: spec.case.scenario.payload, messages: messages.collect() })
    }
}

/// One TCP connection. Its own task runs it until the last handle is gone.
#[derive(Debug)]
pub(super) struct Connection {
    handle: Handle,
    meter: Arc<Meter>,
}

impl Connection {
    pub(super) fn open(socket: TcpStream, template: &Arc<Template>) -> Self {
        let (calls, queue) = mpsc::unbounded_channel();
        let ended = Ended::default();
        let (meter, given_up) = (Arc::<Meter>::default(), Arc::<Notify>::default());
        let driving = drive(socket, meter.clone(), template.clone(), queue, ended.clone(), given_up.clone());
        tokio::spawn(driving);
        Self { handle: Handle { tickets: Tickets::new(calls, ended), given_up }, meter }
    }

    /// What its socket has seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of the `task`th task.
    pub(super) fn transport(&self, template: &Template, task: usize) -> RawTransport {
        RawTransport { handle: self.handle.clone(), picker: Picker::new(template.payload, task, self.meter.clone()) }
    }
}

/// A way to a connection's task.
#[derive(Debug, Clone)]
struct Handle {
    /// At most one a task.
    tickets: Tickets<Ticket>,
    given_up: Arc<Notify>,
}

/// Calls of one task, one after another.
#[derive(Debug)]
pub(super) struct RawTransport {
    handle: Handle,
    picker: Picker,
}

impl Transport for RawTransport {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        let share = self.picker.next();
        self.handle.exchange(share, verify).await
    }
}

impl Handle {
    async fn exchange(&self, share: usize, verify: bool) -> Result<(), CallError> {
        let mut awaited = Awaited { given_up: &self.given_up, ended: false };
        let result = self.tickets.exchange(share, verify).await;
        awaited.ended = true;
        result
    }
}

/// A call in flight; dropped before it has ended, it ends the connection.
struct Awaited<'a> {
    given_up: &'a Notify,
    ended: bool,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.given_up.notify_one();
        }
    }
}

/// Runs a connection to its end. Reading and writing go on side by side: a server that must send before it reads on would
/// otherwise lock up with us once both directions' buffers are full.
async fn drive(
    socket: TcpStream,
    meter: Arc<Meter>,
    template: Arc<Template>,
    queue: mpsc::UnboundedReceiver<Ticket>,
    ended: Ended,
    given_up: Arc<Notify>,
) {
    let (read, write) = socket.into_split();
    let (read, write) = (Metered::counting(read, meter.clone()), Metered::counting(write, meter));
    let (to_reader, awaiting) = mpsc::unbounded_channel();
    let mut writer = pin!(write_requests(write, &template, queue, to_reader));
    let mut reader = pin!(read_replies(read, &template, awaiting));
    ended.tell(tokio::select! {
        result = &mut writer => result,
        result = &mut reader => result,
        () = given_up.notified() => Err(io::Error::other("a call of it was given up, whose reply would be taken for a later one's")),
    });
}

async fn write_requests(
    mut socket: Metered<OwnedWriteHalf>,
    template: &Template,
    mut queue: mpsc::UnboundedReceiver<Ticket>,
    to_reader: mpsc::UnboundedSender<Ticket>,
) -> io::Result<()> {
    let mut tickets = Vec::with_capacity(BURST_CALLS);
    loop {
        let n = queue.recv_many(&mut tickets, BURST_CALLS).await;
        if n == 0 {
            return Ok(());
        }
        let mut tickets = tickets.drain(..).peekable();
        while let Some(first) = tickets.next() {
            let share = first.share;
            let Message { frame_len, frames, .. } = &template.messages[share];
            let mut bytes = *frame_len;
            // The reader goes only with us.
            let _ = to_reader.send(first);
            // One write for calls of one size that follow each other.
            while bytes + frame_len <= frames.len()
                && let Some(next) = tickets.next_if(|next| next.share == share)
            {
                bytes += frame_len;
                let _ = to_reader.send(next);
            }
            socket.write_all(&frames[..bytes]).await?;
        }
    }
}

async fn read_replies(
    socket: Metered<OwnedReadHalf>,
    template: &Template,
    mut awaiting: mpsc::UnboundedReceiver<Ticket>,
) -> io::Result<()> {
    let mut socket = BufReader::with_capacity(READ_BUFFER, socket);
    loop {
        let len = socket.read_u32().await.map_err(end_is_close)?;
        let Ok(ticket) = awaiting.try_recv() else {
            return Err(io::Error::other("the server sent a reply to no request"));
        };
        if u64::from(len) > MAX_PAYLOAD {
            return Err(io::Error::other(format!(
                "the server sent a length of {len}, over the limit of {MAX_PAYLOAD}"
            )));
        }
        let reply = &template.messages[ticket.share].reply;
        let result = read_reply(&mut socket, len as usize, EchoCheck::new(reply, ticket.verify)).await?;
        // Nobody waits where the call was given up just now, and the connection is about to end.
        let _ = ticket.done.send(result);
    }
}

/// Reads a reply to its end even when it is wrong, for the sake of the next.
async fn read_reply(
    socket: &mut BufReader<Metered<OwnedReadHalf>>,
    len: usize,
    mut echo: EchoCheck<'_>,
) -> io::Result<Result<(), CallError>> {
    let mut verdict = Ok(());
    let mut left = len;
    while left > 0 {
        let piece = socket.fill_buf().await?;
        if piece.is_empty() {
            return Err(end_is_close(io::ErrorKind::UnexpectedEof.into()));
        }
        let n = piece.len().min(left);
        if verdict.is_ok() {
            verdict = echo.accept(&piece[..n]);
        }
        socket.consume(n);
        left -= n;
    }
    Ok(verdict.and_then(|()| echo.finish()))
}

fn end_is_close(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server"),
        _ => error,
    }
}

fn frame(payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(size_of::<u32>() + payload.len());
    frame.put_u32(payload.len() as u32);
    frame.put_slice(payload);
    frame.freeze()
}

/// Makes one verified call on every connection for each size of the payload.
pub(super) async fn preflight(
    connections: &[Connection],
    template: &Template,
    preflight: &Preflight,
) -> Result<Wire, FailedCall> {
    for (index, connection) in connections.iter().enumerate() {
        for share in 0..template.messages.len() {
            preflight.call(index, share, connection.handle.exchange(share, true)).await?;
        }
    }
    let largest = template.messages.iter().max_by_key(|message| message.frame_len);
    let bytes = largest.map_or([0, 0], |message| [message.frame_len, size_of::<u32>() + message.reply.len()]);
    Ok(Wire::in_frames("TCP", connections.len(), bytes.map(|bytes| bytes as u64)))
}
