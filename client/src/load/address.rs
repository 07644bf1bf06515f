//! Where a server listens.

use std::{
    fmt,
    io::{self, IoSlice},
    net::SocketAddr,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// What a Unix socket's path stands behind, as in gRPC's own names of servers.
const UNIX: &str = "unix:";

/// A TCP address or a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system, on this machine therefore.
    Unix(Arc<Path>),
}

/// A connection to either.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Address {
    /// The socket that `unix:PATH` means; `None` of another text.
    pub fn unix(text: &str) -> Option<Self> {
        let path = text.strip_prefix(UNIX).filter(|path| !path.is_empty())?;
        Some(Self::Unix(Path::new(path).into()))
    }

    /// What a server there is called in `:authority`, where nothing else is known: gRPC's own clients say the same.
    pub fn authority(&self) -> String {
        match self {
            Self::Tcp(addr) => addr.to_string(),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }

    /// Connects; what is written goes at once.
    pub(super) async fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(addr) => {
                let socket = TcpStream::connect(addr).await?;
                socket.set_nodelay(true)?;
                Ok(Socket::Tcp(socket))
            }
            Self::Unix(path) => UnixStream::connect(path).await.map(Socket::Unix),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Self::Tcp(addr)
    }
}

/// As it is given: `127.0.0.1:50051`, `unix:/run/my.sock`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// The same method of whichever it is.
macro_rules! either {
    ($socket:expr, $method:ident $(, $arg:expr)*) => {
        match $socket.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).$method($($arg),*),
            Self::Unix(socket) => Pin::new(socket).$method($($arg),*),
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        either!(self, poll_read, cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, poll_write, cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, poll_write_vectored, cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(socket) => socket.is_write_vectored(),
            Self::Unix(socket) => socket.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, poll_flush, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, poll_shutdown, cx)
    }
}
