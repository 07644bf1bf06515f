//! The flags. Defaults are the libraries' own, so that a server started by a test and by hand are the same.

use std::{
    net::{Ipv4Addr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use clap::{Args, Subcommand, value_parser};
use jiff::SignedDuration;

use super::process::CpuList;
use crate::{DEFAULT_MESSAGE_LIMIT, Handler, Http2Settings, grpc, raw, triple};

const LARGEST_WINDOW: i64 = (1 << 31) - 1;
const LARGEST_MESSAGE_LIMIT: u64 = 1 << 30;
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);
/// What addresses are, up to the port of the example: names are not looked up.
const IP_AND_PORT: &str = "an IP address and a port, as 127.0.0.1";

/// Instrumented echo servers with Go-compatible debug endpoints
#[derive(Debug, Clone, Subcommand)]
pub enum Serve {
    /// Triple on HTTP/1.1 and h2c, one port [default port 20000, debug 8000]
    Triple(TripleArgs),
    /// gRPC on tonic [default port 50051, debug 8001]
    Grpc(GrpcArgs),
    /// Bare length-prefixed TCP echo: the machine's own limit [default port 40000, debug 8003]
    Raw(RawArgs),
}

/// Flags of `triple`.
#[derive(Debug, Clone, Args)]
pub struct TripleArgs {
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    handler: HandlerArgs,
    #[command(flatten)]
    http2: Http2Args,
    /// Answer with gzip whenever the client offers it, as dubbo-go does; else a compressed request gets a compressed
    /// reply
    #[arg(long)]
    accept_gzip: bool,
    /// How hard replies are compressed: 0 stores, 1 is fastest, 9 smallest
    #[arg(long, value_name = "LEVEL", default_value_t = triple::DEFAULT_GZIP_LEVEL, value_parser = value_parser!(u8).range(0..=9))]
    gzip_level: u8,
}

/// Flags of `grpc`.
#[derive(Debug, Clone, Args)]
pub struct GrpcArgs {
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    handler: HandlerArgs,
    #[command(flatten)]
    http2: Http2Args,
    /// Take gzip, and answer with it whenever the client offers it; tonic compresses at level 6, always
    #[arg(long)]
    accept_gzip: bool,
    /// tonic's codec buffer; another size than its own replaces its codec by ours
    #[arg(long, value_name = "BYTES", default_value_t = grpc::TONIC_CODEC_BUFFER as u64, value_parser = value_parser!(u64).range(1..=LARGEST_MESSAGE_LIMIT))]
    codec_buffer: u64,
}

/// Flags of `raw`.
#[derive(Debug, Clone, Args)]
pub struct RawArgs {
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    handler: HandlerArgs,
}

/// Flags of every server.
#[derive(Debug, Clone, Args)]
pub struct HostArgs {
    /// Address to serve on; port 0 takes a free one [default: 127.0.0.1 and the framework's port]
    #[arg(long, value_name = "IP:PORT", value_parser = parse_addr)]
    pub addr: Option<SocketAddr>,
    /// Address of the debug endpoints, or `off` [default: 127.0.0.1 and the framework's debug port]
    #[arg(long, value_name = "IP:PORT|off")]
    pub debug_addr: Option<DebugAddr>,
    /// Let the debug endpoints listen on an address that is not loopback
    #[arg(long)]
    pub allow_remote: bool,
    /// Worker threads [default: one for each CPU the process is bound to]
    #[arg(long, value_name = "N", value_parser = parse_workers)]
    pub workers: Option<usize>,
    /// CPUs to bind the process to, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// The largest message, both ways
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MESSAGE_LIMIT as u64, value_parser = value_parser!(u64).range(1..=LARGEST_MESSAGE_LIMIT))]
    pub message_limit: u64,
    /// Drain and end when the thread that started this process ends, be it with its process or before it; the process's id
    /// may be given, so that its end is noticed however early it comes
    #[arg(long, value_name = "PID", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub exit_with_parent: Option<u32>,
}

/// Flags that say what is done to a request before it is answered.
#[derive(Debug, Clone, Copy, Args)]
pub struct HandlerArgs {
    /// Answer each request's payload repeated or cut to this length, zeros if it is empty [default: as it is]
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u32).range(0..=LARGEST_MESSAGE_LIMIT as i64))]
    response_size: Option<u32>,
    /// Sleep before each reply, such as 5ms, without holding a thread; the timer ticks in milliseconds and is never
    /// early, so 250us takes 1 to 2 ms
    #[arg(long, value_name = "TIME", value_parser = parse_sleep)]
    sleep: Option<Duration>,
}

/// Flags of the HTTP/2 servers.
#[derive(Debug, Clone, Args)]
pub struct Http2Args {
    /// SETTINGS_MAX_FRAME_SIZE
    #[arg(long, value_name = "BYTES", default_value_t = Http2Settings::default().max_frame_size, value_parser = value_parser!(u32).range(16_384..=16_777_215))]
    max_frame_size: u32,
    /// Flow-control window of a stream
    #[arg(long, value_name = "BYTES", default_value_t = Http2Settings::default().stream_window, value_parser = value_parser!(u32).range(1..=LARGEST_WINDOW))]
    stream_window: u32,
    /// Flow-control window of a connection; HTTP/2 starts it at 65,535 and can only raise it
    #[arg(long, value_name = "BYTES", default_value_t = Http2Settings::default().connection_window, value_parser = value_parser!(u32).range(65_535..=LARGEST_WINDOW))]
    connection_window: u32,
    /// SETTINGS_MAX_CONCURRENT_STREAMS of a connection
    #[arg(long, value_name = "N", default_value_t = Http2Settings::default().max_concurrent_streams, value_parser = value_parser!(u32).range(1..))]
    max_concurrent_streams: u32,
}

/// Where the debug endpoints are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugAddr {
    /// At this address.
    At(SocketAddr),
    /// Nowhere.
    Off,
}

impl FromStr for DebugAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(DebugAddr::Off),
            _ => text.parse().map(DebugAddr::At).map_err(|_| format!("allowed are {IP_AND_PORT}:8000, and off")),
        }
    }
}

impl Serve {
    /// The framework's name, as in `echo-server NAME`.
    pub fn framework(&self) -> &'static str {
        match self {
            Serve::Triple(_) => "triple",
            Serve::Grpc(_) => "grpc",
            Serve::Raw(_) => "raw",
        }
    }

    pub(super) fn host(&self) -> &HostArgs {
        match self {
            Serve::Triple(args) => &args.host,
            Serve::Grpc(args) => &args.host,
            Serve::Raw(args) => &args.host,
        }
    }

    pub(super) fn handler(&self) -> Handler {
        match self {
            Serve::Triple(args) => args.handler.settings(),
            Serve::Grpc(args) => args.handler.settings(),
            Serve::Raw(args) => args.handler.settings(),
        }
    }

    /// The address asked for, or the framework's default.
    pub(super) fn addr(&self) -> SocketAddr {
        let (port, _) = self.default_ports();
        self.host().addr.unwrap_or_else(|| loopback(port))
    }

    /// The debug address asked for, or the framework's default.
    pub(super) fn debug_addr(&self) -> DebugAddr {
        let (_, port) = self.default_ports();
        self.host().debug_addr.unwrap_or_else(|| DebugAddr::At(loopback(port)))
    }

    fn default_ports(&self) -> (u16, u16) {
        match self {
            Serve::Triple(_) => (20_000, 8000),
            Serve::Grpc(_) => (50_051, 8001),
            Serve::Raw(_) => (40_000, 8003),
        }
    }
}

impl TripleArgs {
    pub(super) fn options(&self) -> triple::Options {
        triple::Options {
            http2: self.http2.settings(),
            message_limit: self.host.message_limit(),
            accept_gzip: self.accept_gzip,
            gzip_level: self.gzip_level,
            handler: self.handler.settings(),
        }
    }
}

impl GrpcArgs {
    pub(super) fn options(&self) -> grpc::Options {
        grpc::Options {
            http2: self.http2.settings(),
            message_limit: self.host.message_limit(),
            codec_buffer: self.codec_buffer as usize,
            accept_gzip: self.accept_gzip,
            handler: self.handler.settings(),
        }
    }
}

impl RawArgs {
    pub(super) fn options(&self) -> raw::Options {
        raw::Options { message_limit: self.host.message_limit(), handler: self.handler.settings() }
    }
}

impl HostArgs {
    pub(super) fn message_limit(&self) -> usize {
        self.message_limit as usize
    }
}

impl HandlerArgs {
    fn settings(&self) -> Handler {
        Handler { response_size: self.response_size, sleep: self.sleep.filter(|time| !time.is_zero()) }
    }
}

impl Http2Args {
    fn settings(&self) -> Http2Settings {
        Http2Settings {
            max_frame_size: self.max_frame_size,
            stream_window: self.stream_window,
            connection_window: self.connection_window,
            max_concurrent_streams: self.max_concurrent_streams,
        }
    }
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn parse_addr(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("allowed is {IP_AND_PORT}:20000"))
}

fn parse_sleep(text: &str) -> Result<Duration, String> {
    let time = text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    time.filter(|time| *time <= LONGEST_SLEEP)
        .ok_or_else(|| "allowed are times such as 250us, 5ms or 2s, at most 1h".to_owned())
}

fn parse_workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers @ 1..=1024) => Ok(workers),
        _ => Err("allowed are 1 to 1024".to_owned()),
    }
}
