//! Calls to the raw echo: messages behind a length of four bytes, big-endian, over TCP.
//!
//! Calls are pipelined. The server answers in order, so that the `n`th reply belongs to the `n`th request.

use std::{
    io,
    pin::pin,
    sync::{Arc, OnceLock},
};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, oneshot},
};

use super::{
    CallError, LoadSpec, Wire,
    engine::Transport,
    message::{self, EchoCheck},
    meter::{Meter, Metered},
};
use crate::scenario::MAX_PAYLOAD;

/// Bytes of small requests written at once.
const WRITE_BURST: usize = 64 << 10;
/// Bytes read at once.
const READ_BUFFER: usize = 256 << 10;

/// A call on its way.
#[derive(Debug)]
struct Ticket {
    verify: bool,
    done: oneshot::Sender<Result<(), CallError>>,
}

/// One TCP connection. Its own task runs it until the last handle is gone.
#[derive(Debug)]
pub(super) struct Connection {
    handle: RawTransport,
    meter: Arc<Meter>,
}

impl Connection {
    pub(super) fn open(socket: TcpStream, spec: &LoadSpec) -> Self {
        let payload = message::payload(spec.case.scenario.payload.largest() as usize);
        let (calls, queue) = mpsc::unbounded_channel();
        let ended = Arc::<OnceLock<String>>::default();
        let meter = Arc::<Meter>::default();
        tokio::spawn(drive(socket, meter.clone(), payload, queue, ended.clone()));
        Self { handle: RawTransport { calls, ended }, meter }
    }

    /// What its socket has seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of one task.
    pub(super) fn transport(&self) -> RawTransport {
        self.handle.clone()
    }
}

/// Calls of one task, one after another.
#[derive(Debug, Clone)]
pub(super) struct RawTransport {
    calls: mpsc::UnboundedSender<Ticket>,
    /// Why the connection ended.
    ended: Arc<OnceLock<String>>,
}

impl Transport for RawTransport {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        let (done, reply) = oneshot::channel();
        // Tickets go only when the connection goes.
        let lost = || CallError::ConnectionLost(self.ended.get().cloned().unwrap_or_default());
        self.calls.send(Ticket { verify, done }).map_err(|_| lost())?;
        reply.await.map_err(|_| lost())?
    }
}

/// Runs a connection to its end. Reading and writing go on side by side: a server that must send before it reads on would
/// otherwise lock up with us once both directions' buffers are full.
async fn drive(
    socket: TcpStream,
    meter: Arc<Meter>,
    payload: Bytes,
    queue: mpsc::UnboundedReceiver<Ticket>,
    ended: Arc<OnceLock<String>>,
) {
    let (read, write) = socket.into_split();
    let (read, write) = (Metered::counting(read, meter.clone()), Metered::counting(write, meter));
    let (to_reader, awaiting) = mpsc::unbounded_channel();
    let mut writer = pin!(write_requests(write, &payload, queue, to_reader));
    let mut reader = pin!(read_replies(read, &payload, awaiting));
    let cause = tokio::select! {
        result = &mut writer => result,
        result = &mut reader => result,
    };
    // The cause is set before the tickets drop with writer and reader. Without an error every handle was gone, and nobody asks.
    if let Err(cause) = cause {
        let _ = ended.set(cause.to_string());
    }
}

async fn write_requests(
    mut socket: Metered<OwnedWriteHalf>,
    payload: &[u8],
    mut queue: mpsc::UnboundedReceiver<Ticket>,
    to_reader: mpsc::UnboundedSender<Ticket>,
) -> io::Result<()> {
    let frame = frame(payload);
    let burst = (WRITE_BURST / frame.len()).max(1);
    let frames = frame.repeat(burst);
    let mut tickets = Vec::with_capacity(burst);
    loop {
        let n = queue.recv_many(&mut tickets, burst).await;
        if n == 0 {
            return Ok(());
        }
        for ticket in tickets.drain(..) {
            // The reader goes only with us.
            let _ = to_reader.send(ticket);
        }
        socket.write_all(&frames[..n * frame.len()]).await?;
    }
}

async fn read_replies(
    socket: Metered<OwnedReadHalf>,
    payload: &[u8],
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
        let result = read_reply(&mut socket, len as usize, EchoCheck::new(payload, ticket.verify)).await?;
        // A call that was given up waits no more; its reply had to be read all the same.
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

/// Makes one verified call on every connection.
pub(super) async fn preflight(connections: &[Connection], spec: &LoadSpec) -> Result<Wire, CallError> {
    for connection in connections {
        connection.transport().call(true).await?;
    }
    let bytes = size_of::<u32>() as u64 + spec.case.scenario.payload.largest();
    Ok(Wire {
        http_version: "TCP".to_owned(),
        content_type: None,
        response_content_type: None,
        request_encoding: "identity".to_owned(),
        response_encoding: "identity".to_owned(),
        connections: connections.len(),
        client_settings: None,
        server_settings: None,
        request_header_names: Vec::new(),
        response_header_names: Vec::new(),
        request_bytes: bytes,
        response_bytes: bytes,
    })
}
