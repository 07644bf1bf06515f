//! Connections to one server, and the windows of load over them.

use std::{
    future::{self, Future},
    sync::Arc,
};

use tokio::{net::TcpStream, sync::Mutex, time::timeout};

use super::{
    CallInfo, CallKind, Live, LoadError, LoadSample, LoadSpec, Sharing, Window, Wire, WireUse,
    address::Socket,
    engine, framed, http2,
    meter::Meter,
    plain,
    pool::Pooled,
    preflight::{FailedCall, Preflight},
    raw,
    tally::Ledger,
};
use crate::scenario::Protocol;

/// Open connections to one server, for any number of windows one after another.
///
/// A connection that is lost stays lost: its tasks end with one error each in this window and every later one. Each HTTP/2
/// connection carries 2³⁰ calls, after which it counts as lost. A connection to the raw echo is lost with the first call of it that
/// is given up: replies come in order and without a name, and its would come in a later window.
#[derive(Debug)]
pub struct Driver {
    spec: LoadSpec,
    connections: Connections,
    alarm: Arc<engine::KernelAlarm>,
    /// The preflight's reply, where it isn't known beforehand.
    reply: Option<String>,
}

#[derive(Debug)]
enum Connections {
    Http2(Vec<http2::Connection>, Arc<http2::Template>),
    Framed(Vec<framed::Connection>, Arc<framed::Template>),
    Raw(Vec<raw::Connection>, Arc<raw::Template>),
    Plain(Vec<plain::Connection>, Arc<plain::Template>),
}

impl Driver {
    /// Opens the connections. The peer has not been heard yet when this returns; [`preflight`](Self::preflight) hears it.
    ///
    /// # Errors
    /// [`LoadError::Spec`] for a value out of range, [`LoadError::Connect`], [`LoadError::ConnectTimeout`] after
    /// `connect_timeout` for each connection, [`LoadError::Tls`], [`LoadError::Handshake`], [`LoadError::Http`], [`LoadError::Timer`].
    pub async fn connect(spec: LoadSpec) -> Result<Self, LoadError> {
        spec.validate()?;
        let count = spec.case.connections.min(spec.case.scenario.concurrency as usize);
        let connections = match spec.framework.protocol() {
            Protocol::Triple | Protocol::Grpc => {
                let open = async || {
                    let socket = open_socket(&spec).await?;
                    let (framework, addr) = (spec.framework, spec.addr.clone());
                    http2::Connection::open(socket, &spec).await.map_err(|error| match error {
                        http2::OpenError::Tls(source) => LoadError::Tls { framework, addr, source },
                        http2::OpenError::Http2(source) => LoadError::Handshake { framework, addr, source },
                    })
                };
                Connections::Http2(opened(count, open).await?, http2::Template::new(&spec))
            }
            Protocol::Thrift | Protocol::KitexProtobuf | Protocol::Dubbo => {
                let template = framed::Template::new(&spec);
                let open = async || Ok(framed::Connection::open(open_tcp(&spec).await?, &template));
                Connections::Framed(opened(count, open).await?, template)
            }
            Protocol::Raw => {
                let template = raw::Template::new(&spec);
                let open = async || Ok(raw::Connection::open(open_tcp(&spec).await?, &template));
                Connections::Raw(opened(count, open).await?, template)
            }
            Protocol::Http => {
                let unable = || LoadError::Spec {
                    field: "call",
                    value: spec.addr.to_string(),
                    allowed: "one of plain HTTP to a host whose name can be in a header",
                };
                let template = plain::Template::new(&spec).ok_or_else(unable)?;
                Connections::Plain(opened(count, async || plain::Connection::open(&template).await).await?, template)
            }
        };
        let alarm = engine::KernelAlarm::new().map_err(|source| LoadError::Timer { source })?;
        Ok(Self { spec, connections, alarm: Arc::new(alarm), reply: None })
    }

    /// What the driver was asked to do.
    pub fn spec(&self) -> &LoadSpec {
        &self.spec
    }

    /// Calls on every connection once for each size of the payload and, but for the raw echo, once more on the first; compares each reply
    /// byte for byte, and says which wire is really used. Each call may take `request_timeout`.
    ///
    /// # Errors
    /// [`LoadError::Preflight`] with the first thing wrong; a server that is silent for `request_timeout` is one.
    pub async fn preflight(&mut self) -> Result<Wire, LoadError> {
        let &LoadSpec { framework, request_timeout, case, .. } = &self.spec;
        let addr = self.spec.addr.clone();
        let failed = |FailedCall { call, source }| LoadError::Preflight { framework, addr, call, source };
        let limits = |connections| Preflight { timeout: request_timeout, payload: case.scenario.payload, connections };
        match &self.connections {
            Connections::Http2(connections, template) => {
                let limits = limits(connections.len());
                let preflight = http2::preflight(connections, template, &self.spec, &limits).await;
                let (wire, reply) = preflight.map_err(failed)?;
                self.reply = reply;
                Ok(wire)
            }
            Connections::Framed(connections, template) => {
                framed::preflight(connections, template, &limits(connections.len())).await.map_err(failed)
            }
            Connections::Raw(connections, template) => {
                raw::preflight(connections, template, &limits(connections.len())).await.map_err(failed)
            }
            Connections::Plain(connections, template) => {
                let preflight = plain::preflight(connections, template, &limits(connections.len())).await;
                let (wire, reply) = preflight.map_err(failed)?;
                self.reply = reply;
                Ok(wire)
            }
        }
    }

    /// The call of the user's own, if it is one, with the reply of the last preflight.
    pub fn call_info(&self) -> Option<CallInfo> {
        let call = self.spec.call.as_ref()?;
        Some(CallInfo { reply: self.reply.clone(), ..call.info().clone() })
    }

    /// Sends load for one window, then waits until every call was answered, failed, or is given up as unfinished 10 s after
    /// the window, or `request_timeout` where that is more. It ends early when every connection is lost. Dropped midway, it gives up the calls in flight.
    ///
    /// What the window is recorded in is allocated before this returns, so that it isn't counted with the load.
    pub fn run(&mut self, window: &Window, live: &Live) -> impl Future<Output = LoadSample> {
        self.run_until(window, live, future::pending())
    }

    /// The same; the window is over at the latest when `enough` completes.
    pub fn run_until(
        &mut self,
        window: &Window,
        live: &Live,
        enough: impl Future<Output = ()>,
    ) -> impl Future<Output = LoadSample> {
        let ledger = Ledger::new(live.clone(), window.rate.is_some());
        self.run_recorded(window, ledger, enough)
    }

    async fn run_recorded(
        &mut self,
        window: &Window,
        ledger: Arc<Ledger>,
        enough: impl Future<Output = ()>,
    ) -> LoadSample {
        let tasks = 0..self.spec.case.scenario.concurrency as usize;
        let (timeout, alarm) = (self.spec.request_timeout, &self.alarm);
        let turns = self.turns(tasks.len());
        let turn = |i: usize| turns.get(i % turns.len().max(1)).cloned();
        let (before, used_before) = (self.traffic(), self.wire_use());
        let sample = match &self.connections {
            Connections::Http2(connections, template) => {
                let transports =
                    tasks.map(|i| Pooled::new(connections[i % connections.len()].transport(template, i), turn(i)));
                engine::run(transports, window, timeout, alarm, ledger, enough).await
            }
            Connections::Framed(connections, template) => {
                let transports =
                    tasks.map(|i| Pooled::new(connections[i % connections.len()].transport(template, i), turn(i)));
                engine::run(transports, window, timeout, alarm, ledger, enough).await
            }
            Connections::Raw(connections, template) => {
                let transports =
                    tasks.map(|i| Pooled::new(connections[i % connections.len()].transport(template, i), turn(i)));
                engine::run(transports, window, timeout, alarm, ledger, enough).await
            }
            Connections::Plain(connections, template) => {
                let transports =
                    tasks.map(|i| Pooled::new(connections[i % connections.len()].transport(template, i), turn(i)));
                engine::run(transports, window, timeout, alarm, ledger, enough).await
            }
        };
        let after = self.traffic();
        let [sent_bytes, received_bytes, payload_bytes, replies] = std::array::from_fn(|i| after[i] - before[i]);
        let streams = self.spec.call.as_ref().is_some_and(|call| call.info().kind == CallKind::ServerStreaming);
        let replies = streams.then_some(replies);
        let wire_use = self.wire_use().zip(used_before).map(|(after, before)| after.since(&before));
        LoadSample { sent_bytes, received_bytes, payload_bytes, replies, wire_use, ..sample }
    }

    /// One for each connection, where calls take turns on it.
    fn turns(&self, tasks: usize) -> Vec<Arc<Mutex<()>>> {
        let connections = self.meters(0, |count, _| count + 1);
        match self.spec.case.sharing {
            Sharing::Pool if tasks > connections => (0..connections).map(|_| Arc::default()).collect(),
            Sharing::Pool | Sharing::Mux => Vec::new(),
        }
    }

    /// How all connections were used so far.
    fn wire_use(&self) -> Option<WireUse> {
        let is_http2 = match &self.connections {
            Connections::Http2(..) => true,
            Connections::Plain(_, template) => template.is_http2(),
            Connections::Framed(..) | Connections::Raw(..) => return None,
        };
        Some(self.meters(WireUse::none(is_http2), |used, meter| used.plus(&WireUse::of(meter, is_http2))))
    }

    /// Bytes written to all sockets, read from them, and payload picked so far; and messages in streams of replies.
    fn traffic(&self) -> [u64; 4] {
        let sum = |[written, read, payload, replies]: [u64; 4], meter: &Meter| {
            [written + meter.written(), read + meter.read(), payload + meter.payload(), replies + meter.replies()]
        };
        self.meters([0; 4], sum)
    }

    /// What the connections' sockets have seen, taken together by `sum`.
    fn meters<T>(&self, none: T, sum: impl Fn(T, &Meter) -> T) -> T {
        match &self.connections {
            Connections::Http2(connections, _) => connections.iter().map(http2::Connection::meter).fold(none, sum),
            Connections::Framed(connections, _) => connections.iter().map(framed::Connection::meter).fold(none, sum),
            Connections::Raw(connections, _) => connections.iter().map(raw::Connection::meter).fold(none, sum),
            Connections::Plain(connections, _) => connections.iter().map(plain::Connection::meter).fold(none, sum),
        }
    }
}

/// So many connections, one after another.
async fn opened<C>(count: usize, open: impl AsyncFn() -> Result<C, LoadError>) -> Result<Vec<C>, LoadError> {
    let mut connections = Vec::with_capacity(count);
    for _ in 0..count {
        connections.push(open().await?);
    }
    Ok(connections)
}

/// Where frames are sent over TCP alone.
async fn open_tcp(spec: &LoadSpec) -> Result<TcpStream, LoadError> {
    match open_socket(spec).await? {
        Socket::Tcp(socket) => Ok(socket),
        Socket::Unix(_) => unreachable!("validated before"),
    }
}

pub(super) async fn open_socket(spec: &LoadSpec) -> Result<Socket, LoadError> {
    let &LoadSpec { framework, connect_timeout, .. } = spec;
    let addr = || spec.addr.clone();
    timeout(connect_timeout, spec.addr.connect())
        .await
        .map_err(|_| LoadError::ConnectTimeout { framework, addr: addr(), timeout: connect_timeout })?
        .map_err(|source| LoadError::Connect { framework, addr: addr(), source })
}
