//! The Triple echo with a change planted in it, to see whether a comparison finds what is known to be there:
//!
//! ```text
//! planted=target/release/examples/planted
//! analyze ab --framework triple --scenario 128B-50 --addr triple=127.0.0.1:20000 --debug triple=http://127.0.0.1:8000 \
//!     --base-cmd $planted --head-cmd "$planted --plant alloc"
//! ```

use std::{
    convert::Infallible,
    hint::{black_box, spin_loop},
    io::{self, IoSlice},
    net::SocketAddr,
    str::FromStr,
    time::{Duration, Instant},
};

use bytes::Buf;
use clap::Parser;
use debug_pprof::{CountingAlloc, Jemalloc};
use echo_server::triple::{self, Options};
use http_body_util::BodyExt;
use hyper::service::{Service, service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

debug_pprof::jemalloc_conf!(c"prof:true,prof_active:true,lg_prof_sample:19,prof_accum:true,prof_unbias:false");

/// Bytes of the allocation more: a size class, so that it takes no more than it asks for.
const ALLOCATION: usize = 64;
/// The most pieces of a message that are copied: 1 MiB in frames of 16 KiB has 64.
const PIECES: usize = 256;

/// A Triple echo that does more than it must
#[derive(Debug, Parser)]
struct Cli {
    /// Address to serve on
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:20000")]
    addr: SocketAddr,
    /// Address of the debug endpoints
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8000")]
    debug_addr: SocketAddr,
    /// What is done more for each message: alloc (64 bytes), copy (of the payload) or cpu=NANOSECONDS
    #[arg(long, value_name = "CHANGE")]
    plant: Option<Plant>,
}

/// What is done more for each message.
#[derive(Debug, Clone, Copy)]
enum Plant {
    Alloc,
    Copy,
    Cpu(Duration),
}

impl FromStr for Plant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let nanos = text.strip_prefix("cpu=").and_then(|nanos| nanos.parse().ok());
        match (text, nanos) {
            ("alloc", _) => Ok(Self::Alloc),
            ("copy", _) => Ok(Self::Copy),
            (_, Some(nanos)) => Ok(Self::Cpu(Duration::from_nanos(nanos))),
            _ => Err("allowed are alloc, copy and cpu=NANOSECONDS".to_owned()),
        }
    }
}

impl Plant {
    fn grow(self, message: &impl Buf) {
        match self {
            Self::Alloc => drop(black_box(Vec::<u8>::with_capacity(ALLOCATION))),
            Self::Copy => drop(black_box(payload(message))),
            Self::Cpu(time) => {
                let begun = Instant::now();
                while begun.elapsed() < time {
                    spin_loop();
                }
            }
        }
    }
}

/// A copy of what comes after the first piece, which is the message's head.
fn payload(message: &impl Buf) -> Vec<u8> {
    let mut slices = [IoSlice::new(&[]); PIECES];
    let count = message.chunks_vectored(&mut slices);
    let pieces = slices.get(1..count).unwrap_or_default();
    let mut copy = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    pieces.iter().for_each(|piece| copy.extend_from_slice(piece));
    copy
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let Cli { addr, debug_addr, plant } = Cli::parse();
    let options = debug_pprof::Options { addr: debug_addr, allow_remote: false };
    let _debug = debug_pprof::serve(options).map_err(io::Error::other)?;
    let listener = TcpListener::bind(addr).await?;
    debug_pprof::set_ready(true);
    let echo = triple::service(Options::default());
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let echo = echo.clone();
        let planted = service_fn(move |request| {
            let reply = echo.call(request);
            async move {
                let body = |body| {
                    BodyExt::map_frame(body, move |frame| {
                        if let (Some(plant), Some(message)) = (plant, frame.data_ref()) {
                            plant.grow(message);
                        }
                        frame
                    })
                };
                Ok::<_, Infallible>(reply.await?.map(body))
            }
        });
        tokio::spawn(async move {
            let http = auto::Builder::new(TokioExecutor::new());
            // The client's end of a connection is no failure.
            let _ = http.serve_connection(TokioIo::new(socket), planted).await;
        });
    }
}
