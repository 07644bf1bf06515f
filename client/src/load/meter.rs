//! A socket that counts its bytes and frames and reads the server's settings in passing.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    frames::{FrameMeter, FrameReader, Frames},
    wire::{PeerSettings, SettingsReader},
};

/// What a [`Metered`] socket has seen, shared with whoever asks. Counted once a system call, not once a request.
#[derive(Debug, Default)]
pub(super) struct Meter {
    read: AtomicU64,
    written: AtomicU64,
    payload: AtomicU64,
    replies: AtomicU64,
    settings: OnceLock<PeerSettings>,
    connections: AtomicU64,
    sent_frames: FrameMeter,
    received_frames: FrameMeter,
    /// Right replies that came plain, and compressed.
    encodings: [AtomicU64; 2],
}

impl Meter {
    /// Bytes received so far.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes sent so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Bytes of payload picked for its calls so far, by tasks that have ended.
    pub(super) fn payload(&self) -> u64 {
        self.payload.load(Ordering::Relaxed)
    }

    pub(super) fn add_payload(&self, bytes: u64) {
        self.payload.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Messages in streams of replies so far.
    pub(super) fn replies(&self) -> u64 {
        self.replies.load(Ordering::Relaxed)
    }

    pub(super) fn add_replies(&self, messages: u64) {
        self.replies.fetch_add(messages, Ordering::Relaxed);
    }

    /// Connections that were opened so far.
    pub(super) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(super) fn count_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// HTTP/2 frames so far. None over another protocol.
    pub(super) fn frames(&self) -> Frames {
        Frames { sent: self.sent_frames.counts(), received: self.received_frames.counts() }
    }

    /// Streams opened so far.
    pub(super) fn streams(&self) -> u64 {
        self.sent_frames.streams()
    }

    /// Right replies that came plain so far, and compressed, by tasks that have ended.
    pub(super) fn encodings(&self) -> [u64; 2] {
        [0, 1].map(|at| self.encodings[at].load(Ordering::Relaxed))
    }

    pub(super) fn add_encodings(&self, replies: [u64; 2]) {
        for (all, more) in self.encodings.iter().zip(replies) {
            all.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The server's settings, known once it has sent anything after them.
    pub(super) fn settings(&self) -> Option<PeerSettings> {
        self.settings.get().copied()
    }
}

/// A client's socket with a [`Meter`].
#[derive(Debug)]
pub(super) struct Metered<S> {
    socket: S,
    meter: Arc<Meter>,
    counts: bool,
    /// Gone once it has read all it wants.
    settings: Option<SettingsReader>,
    /// Of what is sent, and of what is received. `None` where there are no frames.
    frames: Option<[FrameReader; 2]>,
}

impl<S> Metered<S> {
    /// Of an HTTP/2 connection.
    pub(super) fn new(socket: S) -> (Self, Arc<Meter>) {
        let meter = Arc::<Meter>::default();
        (Self::sharing(socket, meter.clone()), meter)
    }

    /// One that counts and reads frames and settings, with a meter that is there already.
    pub(super) fn sharing(socket: S, meter: Arc<Meter>) -> Self {
        Self { counts: true, ..Self::reading(socket, meter) }
    }

    /// One that counts bytes and reads neither frames nor settings; halves of a socket share a meter.
    pub(super) fn counting(socket: S, meter: Arc<Meter>) -> Self {
        Self { socket, meter, counts: true, settings: None, frames: None }
    }

    /// One that reads frames and settings and counts no bytes: what is in the clear above TLS, whose socket counts.
    pub(super) fn reading(socket: S, meter: Arc<Meter>) -> Self {
        let frames = Some([FrameReader::client(), FrameReader::server()]);
        Self { socket, meter, counts: false, settings: Some(SettingsReader::default()), frames }
    }

    fn count_read(&mut self, bytes: &[u8]) {
        if self.counts {
            self.meter.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        if let Some([_, frames]) = &mut self.frames {
            frames.feed(bytes, &self.meter.received_frames);
        }
        if let Some(reader) = &mut self.settings
            && !reader.feed(bytes)
        {
            if let Some(settings) = reader.settings() {
                // Set only here, and only once: the reader goes away with it.
                let _ = self.meter.settings.set(settings);
            }
            self.settings = None;
        }
    }

    /// Counts as much of the buffers as the socket took.
    fn count_written<'a>(&mut self, written: &io::Result<usize>, bufs: impl IntoIterator<Item = &'a [u8]>) {
        let Ok(n) = *written else { return };
        if self.counts {
            self.meter.written.fetch_add(n as u64, Ordering::Relaxed);
        }
        let Some([frames, _]) = &mut self.frames else { return };
        let mut left = n;
        for buf in bufs {
            let taken = left.min(buf.len());
            frames.feed(&buf[..taken], &self.meter.sent_frames);
            left -= taken;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buf))?;
        self.count_read(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, buf));
        self.count_written(&written, [buf]);
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, bufs));
        self.count_written(&written, bufs.iter().map(|buf| &**buf));
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
