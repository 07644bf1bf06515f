//! The servers as a command: `echo-server F` and `analyze serve F` are both [`serve`].

mod args;
mod process;
mod ready;
mod signals;
mod usage;

use std::{
    future::Future,
    io::{self, IsTerminal},
    net::SocketAddr,
    process::ExitCode,
};

use debug_pprof::DebugServer;
use tokio::{net::TcpListener, runtime, sync::oneshot};
use tracing::{info, level_filters::LevelFilter};
use tracing_subscriber::EnvFilter;

pub use args::{DebugAddr, GrpcArgs, HandlerArgs, HostArgs, Http2Args, RawArgs, Serve, TripleArgs};
pub use usage::explain;

use crate::{ServeError, grpc, raw, triple};
use signals::StopSignals;

/// Exit code of what failed at run time.
const FAILURE: u8 = 1;
/// Exit code of arguments that are wrong whatever the machine.
const USAGE: u8 = 2;

/// Why the command failed. Each is one line that names what was asked for and, where it helps, what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
enum CommandError {
    #[error("--cpus {cpus}: {source}: allowed are CPUs {allowed}")]
    Cpus { cpus: String, allowed: String, source: io::Error },
    #[error("--exit-with-parent: {0}")]
    ExitWithParent(io::Error),
    #[error("--workers {workers}: cannot start the runtime: {source}")]
    Runtime { workers: usize, source: io::Error },
    #[error("--addr {addr}: cannot listen: {source}")]
    Listen { addr: SocketAddr, source: io::Error },
    #[error("--debug-addr {0}: not a loopback address: allowed only with --allow-remote")]
    RemoteDebug(SocketAddr),
    #[error("--debug-addr {addr}: cannot listen: {source}")]
    ListenDebug { addr: SocketAddr, source: io::Error },
    #[error("--debug-addr {addr}: {source}")]
    Debug { addr: SocketAddr, source: debug_pprof::Error },
    #[error("--response-size {size}: a reply of {length} bytes: --message-limit allows {limit}")]
    ResponseSize { size: u32, length: usize, limit: usize },
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("cannot write the ready line: {0}")]
    ReadyLine(io::Error),
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Runs a server until SIGTERM or SIGINT and then drains it; a second signal ends it at once.
///
/// When the server can be reached it prints one line on stdout, with a `debug_addr` of null if there are no debug
/// endpoints:
/// `{"ready":true,"framework":"triple","addr":"127.0.0.1:20000","debug_addr":"http://127.0.0.1:8000","pid":1,"workers":2,"cpus":[0,1],"settings":{…}}`.
/// Logs go to stderr, and on failure one line. The exit code is 0 after a drain, 1 for what failed at run time, 2 for a
/// debug address that is not allowed, 130 or 143 after a second signal.
///
/// Call it from a process that has no other threads yet, so that `--cpus` binds all of them.
pub fn serve(command: Serve) -> ExitCode {
    init_logging();
    match command.check().and_then(|()| Host::prepare(&command)).and_then(|host| host.run(command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_code()
        }
    }
}

impl CommandError {
    fn exit_code(&self) -> ExitCode {
        match self {
            CommandError::RemoteDebug(_) | CommandError::ResponseSize { .. } => ExitCode::from(USAGE),
            _ => ExitCode::from(FAILURE),
        }
    }

    fn debug(addr: SocketAddr, source: debug_pprof::Error) -> Self {
        match source {
            debug_pprof::Error::Listen { addr, source } => CommandError::ListenDebug { addr, source },
            source => CommandError::Debug { addr, source },
        }
    }
}

/// What is settled before the server starts.
struct Host {
    cpus: Vec<usize>,
    workers: usize,
}

impl Host {
    fn prepare(command: &Serve) -> Result<Self, CommandError> {
        let args = command.host();
        if let Some(parent) = args.exit_with_parent {
            process::exit_with_parent(parent).map_err(CommandError::ExitWithParent)?;
        }
        if let Some(cpus) = &args.cpus {
            let allowed = process::bound_cpus().map(|cpus| process::CpuList(cpus).to_string());
            process::bind(cpus).map_err(|source| CommandError::Cpus {
                cpus: cpus.to_string(),
                allowed: allowed.unwrap_or_else(|_| "unknown".to_owned()),
                source,
            })?;
        }
        let cpus = process::bound_cpus().unwrap_or_default();
        let workers = args.workers.unwrap_or(cpus.len().max(1));
        Ok(Self { cpus, workers })
    }

    fn run(self, command: Serve) -> Result<ExitCode, CommandError> {
        let workers = self.workers;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()
            .map_err(|source| CommandError::Runtime { workers, source })?;
        let ended = runtime.block_on(self.serve(command));
        // What a second signal or the drain's limit left running is not waited for.
        runtime.shutdown_background();
        ended
    }

    async fn serve(self, command: Serve) -> Result<ExitCode, CommandError> {
        let mut signals = StopSignals::listen().map_err(CommandError::Signals)?;
        let addr = command.addr();
        let listener = TcpListener::bind(addr).await.map_err(|source| CommandError::Listen { addr, source })?;
        let debug = start_debug_server(&command)?;
        // Both ports queue connections by now. Whoever has read the line may ask `/healthz` at once.
        debug_pprof::set_ready(true);
        ready::Line::new(&command, &listener, debug.as_ref(), &self)
            .and_then(|line| line.print())
            .map_err(CommandError::ReadyLine)?;

        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let mut serving = std::pin::pin!(command.serve(listener, shutdown));
        tokio::select! {
            ended = &mut serving => ended?,
            signal = signals.next() => {
                info!(%signal, "draining");
                debug_pprof::set_ready(false);
                let _ = stop.send(());
                tokio::select! {
                    ended = serving => ended?,
                    signal = signals.next() => {
                        info!(%signal, "ending at once");
                        return Ok(ExitCode::from(signal.exit_code()));
                    }
                }
            }
        }
        info!("stopped");
        Ok(ExitCode::SUCCESS)
    }
}

fn start_debug_server(command: &Serve) -> Result<Option<DebugServer>, CommandError> {
    let DebugAddr::At(addr) = command.debug_addr() else { return Ok(None) };
    let options = debug_pprof::Options { addr, allow_remote: command.host().allow_remote };
    debug_pprof::serve(options).map(Some).map_err(|source| CommandError::debug(addr, source))
}

impl Serve {
    /// Refuses flags that contradict each other, before any port is taken.
    fn check(&self) -> Result<(), CommandError> {
        if let DebugAddr::At(addr) = self.debug_addr()
            && !addr.ip().is_loopback()
            && !self.host().allow_remote
        {
            return Err(CommandError::RemoteDebug(addr));
        }
        let Some(size) = self.handler().response_size else { return Ok(()) };
        let length = match self {
            Serve::Triple(_) | Serve::Grpc(_) => triple::benchmark_response_len(size as usize),
            Serve::Raw(_) => size as usize,
        };
        let limit = self.host().message_limit();
        if length > limit { Err(CommandError::ResponseSize { size, length, limit }) } else { Ok(()) }
    }

    async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        match self {
            Serve::Triple(args) => triple::run(listener, args.options(), shutdown).await,
            Serve::Grpc(args) => grpc::run(listener, args.options(), shutdown).await,
            Serve::Raw(args) => raw::run(listener, args.options(), shutdown).await,
        }
    }
}

/// Logs to stderr at `info` unless `RUST_LOG` says otherwise. A subscriber the program has set already stays.
fn init_logging() {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colours).try_init();
}
