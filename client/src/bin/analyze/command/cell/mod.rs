//! One cell: a server connected, measured round by round, profiled, saved.

mod profiles;

use std::time::Duration;

use analyze::{
    load::{Address, Case, Driver, Live, MessagesPerStream, Wire},
    measure::{
        self, DebugClient, PassError, ServerProcess, Target, describe_machine, measure_round,
        result::{RunMeta, RunResult, RunSample, ServerOrigin, SourceKind},
        syscalls_pass,
    },
    store::{Artifact, Store},
};
use anyhow::bail;

use super::{
    gateways,
    run::Bench,
    servers::{HeapProfiler, Server},
};
use crate::{
    BUILD,
    gateway::{Via, lost_cause},
    plan::{Names, Origin, Program, SYSCALLS_PASS, Subject},
    progress::Progress,
};

/// How long system calls are counted.
const SYSCALLS_WINDOW: Duration = Duration::from_secs(1);

pub(super) struct Cell {
    subject: Subject,
    /// Which cell of how many, before its name; empty where that is of no use.
    at: String,
    server: Option<Server>,
    /// `None` when the preparation failed: there is nothing to measure.
    target: Option<Target>,
    /// Whether the server has had no load yet.
    is_new: bool,
    meta: RunMeta,
    samples: Vec<RunSample>,
    pub(super) result: RunResult,
    /// Whether somebody was told of the result's failure.
    failure_is_known: bool,
}

impl Cell {
    /// Starts or attaches to the server, connects, and makes the preflight calls. Where any of this fails, the cell has a
    /// failure in place of a target.
    pub(super) async fn prepare(subject: &Subject, at: String, bench: Bench<'_>) -> Self {
        let mut cell = Self::of(subject, at, bench);
        cell.start_server(bench).await;
        cell
    }

    /// A cell whose server isn't started yet.
    pub(super) fn of(subject: &Subject, at: String, bench: Bench<'_>) -> Self {
        let meta = meta(subject, bench);
        let (subject, samples, result) = (subject.clone(), Vec::new(), RunResult::derive(meta.clone(), &[]));
        Self { subject, at, server: None, target: None, is_new: true, meta, samples, result, failure_is_known: false }
    }

    /// Starts or attaches to the server as [`prepare`](Self::prepare) does. Rounds that were measured before stay.
    pub(super) async fn start_server(&mut self, bench: Bench<'_>) {
        self.meta = meta(&self.subject, bench);
        self.meta.environment.server_restarted = !self.samples.is_empty();
        let (target, failure) = match prepare(&self.subject, bench, &mut self.meta, &mut self.server).await {
            Ok(target) => (Some(target), None),
            Err(error) => (None, Some(crate::one_line(&error))),
        };
        self.meta.warnings.extend(failure.clone());
        self.target = target;
        self.is_new = true;
        self.result = RunResult { failure, ..RunResult::derive(self.meta.clone(), &self.samples) };
    }

    /// Whether this round is to be measured.
    pub(super) fn is_due(&self, round: u32) -> bool {
        self.result.failure.is_none() && round <= self.subject.rounds
    }

    /// Why it failed, once.
    pub(super) fn take_news_of_failure(&mut self) -> Option<String> {
        let news = self.result.failure.clone().filter(|_| !self.failure_is_known);
        self.failure_is_known |= news.is_some();
        news
    }

    /// How long it was still planned to take.
    pub(super) fn length_left(&self) -> Duration {
        let rounds = self.subject.rounds - self.samples.len() as u32;
        (self.subject.warmup + self.subject.round_length()) * rounds + self.subject.profiles_length()
    }

    /// Whether every round was measured.
    pub(super) fn is_measured(&self) -> bool {
        self.subject.is_measured(&self.result)
    }

    /// Whether there is anything to report: a round, or why there is none.
    pub(super) fn has_result(&self) -> bool {
        !self.samples.is_empty() || self.result.failure.is_some()
    }

    pub(super) fn name(&self) -> String {
        self.subject.name()
    }

    /// Measures one round and saves what is known by then. Dropped midway, the cell is as it was before.
    pub(super) async fn round(&mut self, round: u32, bench: Bench<'_>, progress: &mut Progress) -> anyhow::Result<()> {
        let Some(target) = &mut self.target else { return Ok(()) };
        let Subject { rounds, case, .. } = self.subject;
        let warmup = if std::mem::take(&mut self.is_new) { self.subject.first_warmup() } else { self.subject.warmup };
        let window = case.window;
        let what = format!("{}{} round {round}/{rounds}", self.at, self.subject.name());
        let live = Live::default();
        let work = measure_round(target, round, (warmup, &window), &live);
        let sample = progress.during(&what, warmup + self.subject.round_length(), Some(&live), work).await;
        let died = if sample.load.ok == 0 {
            let most = sample.load.errors.first().map(|error| format!(": {}", error.message)).unwrap_or_default();
            Some(format!("no call of round {round} succeeded{most}"))
        } else if sample.load.lost > 0 {
            let (lost, of) = (sample.load.lost, case.scenario.concurrency);
            let cause = self.subject.via.as_ref().map(|_| format!("; {}", lost_cause())).unwrap_or_default();
            Some(format!("round {round}: {lost} of {of} calls in flight ended with their connection{cause}"))
        } else if target.debug.is_some() && sample.server.is_none() {
            Some(format!("the server's counters could not be read in round {round}"))
        } else {
            None
        };
        let qps = sample.load.qps().unwrap_or(0.0);
        progress.finished(&format!("{what}: {} replies/s", analyze::units::thousands(qps as u64)));
        self.samples.push(sample);
        self.meta.warnings.extend(died.clone());
        self.result = RunResult { failure: died, ..RunResult::derive(self.meta.clone(), &self.samples) };
        self.save(bench.store)
    }

    /// Saves the result as it is.
    pub(super) fn save(&mut self, store: &Store) -> anyhow::Result<()> {
        if self.subject.is_ours() {
            store.enter(Artifact::ServerLog, &mut self.result);
        }
        if let Some(Via::Start(..)) = self.subject.via {
            store.enter(Artifact::GatewayConfig, &mut self.result);
            store.enter(Artifact::GatewayLog, &mut self.result);
        }
        store.save(&self.result)?;
        Ok(())
    }

    /// Counts system calls, where the kernel lets us: `analyze doctor` says whether it does. Nothing else depends on it.
    pub(super) async fn count_syscalls(&mut self, progress: &mut Progress) {
        let (Some(target), None) = (&mut self.target, &self.result.failure) else { return };
        let what = format!("{}{} system calls", self.at, self.subject.name());
        let window = self.subject.case.window.with_length(SYSCALLS_WINDOW);
        match progress.during(&what, SYSCALLS_PASS, None, syscalls_pass(target, &window)).await {
            Ok(counts) => self.result.set_syscalls(counts),
            Err(PassError::Syscalls(_)) => {}
            Err(error) => self.warn(format!("system calls were not counted: {error}")),
        }
    }

    /// Closes the connections and stops the server of the timed rounds, if it was started for them.
    pub(super) async fn stop_server(&mut self) {
        self.target = None;
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.result.warnings.push(warning);
    }
}

/// What is known before there is a server.
fn meta(subject: &Subject, bench: Bench<'_>) -> RunMeta {
    subject.meta(&bench.plan.label, bench.plan.started, describe_machine(&BUILD))
}

/// What follows where the server allows fewer streams than there are calls on a connection: a warning, as the wait for a free
/// one counts as latency.
///
/// # Errors
/// Streams without an end are never free: the calls that wait would be answered only once the window is over.
fn queueing(wire: &Wire, case: &Case, names: Names) -> anyhow::Result<Option<String>> {
    let limit = wire.server_settings.as_ref().and_then(|settings| settings.max_concurrent_streams);
    let connections = u32::try_from(wire.connections).ok().filter(|&connections| connections > 0);
    let Some((limit, connections)) = limit.zip(connections) else { return Ok(None) };
    let wanted = case.scenario.concurrency.div_ceil(connections);
    if wanted <= limit {
        return Ok(None);
    }
    let too_many = format!("{wanted} calls a connection, but the server allows {limit} streams");
    let enough = format!("{} {}", names.of_load("connections"), case.scenario.concurrency.div_ceil(limit.max(1)));
    if case.stream_length() == Some(MessagesPerStream::Unbounded) {
        bail!("{too_many}, and unbounded ones are never free: {enough} is enough");
    }
    Ok(Some(format!("{too_many}: the wait for a free one is in the latency; {enough} avoids it")))
}

/// Connects to the server and makes the preflight calls. `meta` and `server` are filled as far as it gets.
async fn prepare(
    subject: &Subject,
    bench: Bench<'_>,
    meta: &mut RunMeta,
    started: &mut Option<Server>,
) -> anyhow::Result<Target> {
    let server = started.insert(Server::of(subject, HeapProfiler::Off, bench).await?);
    let (process, gateway, debug) = (server.process.as_ref(), server.gateway.as_ref(), server.debug.clone());
    describe(meta, subject, bench, &server.addr, process);
    match &debug {
        Some(debug) => describe_program(meta, debug).await?,
        None => meta.environment.counter_source = Some(SourceKind::None),
    }
    let pid = process_id(subject, process, debug.as_ref()).await;
    if meta.environment.server_cpus.is_none() {
        meta.environment.server_cpus = pid.and_then(|pid| measure::cpus_of(pid).ok());
    }
    let mut driver = Driver::connect(subject.load(server.target(), bench.plan.connect_timeout)).await?;
    let wire = gateways::preflight(&mut driver, gateway, debug.as_ref()).await?;
    meta.call = driver.call_info();
    if let (Some(_), Some(words)) = (&meta.call, &mut meta.environment.server_cmdline) {
        // The flags of a program of the user's own may hold secrets.
        words.truncate(1);
    }
    if let (Some(gateway), Some(described)) = (gateway, &mut meta.gateway) {
        gateway.describe(described);
    }
    meta.warnings.extend(queueing(&wire, &subject.case, bench.plan.names)?);
    meta.wire = Some(wire);
    Ok(Target { driver, debug, pid, gateway: gateway.map(|gateway| gateway.addr) })
}

/// The server's process, where it is one of this machine and known.
async fn process_id(subject: &Subject, started: Option<&ServerProcess>, debug: Option<&DebugClient>) -> Option<u32> {
    match (&subject.origin, started, debug) {
        (Origin::Attach { pid: Some(pid), .. }, ..) => Some(*pid),
        (Origin::Start(Program::Command { addr, .. }), Some(server), _) => {
            let pid = server.ready().pid;
            // A shell that stays before its command is not the server.
            if measure::listens(pid, addr.port()) { Some(pid) } else { debug?.local_pid().await }
        }
        (_, Some(server), _) => Some(server.ready().pid),
        (_, None, Some(debug)) => debug.local_pid().await,
        (_, None, None) => None,
    }
}

/// What is known of a cell once there is a server.
fn describe(meta: &mut RunMeta, subject: &Subject, bench: Bench<'_>, addr: &Address, server: Option<&ServerProcess>) {
    let environment = &mut meta.environment;
    environment.server = if subject.is_ours() { ServerOrigin::Started } else { ServerOrigin::Attached };
    environment.server_address = Some(addr.to_string());
    environment.server_cpus = server.map(|server| server.ready().cpus.clone()).filter(|cpus| !cpus.is_empty());
    environment.client_cpus = measure::bound_cpus().ok();
    if let Origin::Start(Program::Peer(peer)) = subject.origin
        && let Ok(built) = bench.peers.get(peer)
    {
        built.describe(environment);
        // As the kernel has them: others' programs need not know.
        environment.server_cpus = None;
    }
    if !subject.is_ours() && !subject.case.sleep.is_zero() {
        meta.warnings.push("the server ran already: it waits before its replies only if it was told to".to_owned());
    }
    if bench.plan.client_debug.is_some() {
        let watched =
            "the load generator's debug endpoints were served: sampling its allocations is in its own figures";
        meta.warnings.push(watched.to_owned());
    }
}

/// What the server's debug endpoints say of its program.
async fn describe_program(meta: &mut RunMeta, debug: &DebugClient) -> anyhow::Result<()> {
    let source = debug.source().await?;
    if source == SourceKind::None {
        meta.warnings.push(format!(
            "{}: neither /debug/vars nor /debug/pprof/allocs?debug=1 tells what the server allocates",
            debug.url()
        ));
    }
    meta.environment.counter_source = Some(source);
    meta.environment.reading_cost = debug.reading_cost().await?;
    if meta.environment.runtime.is_none() {
        meta.environment.runtime = debug.jvm_version().await?;
    }
    meta.environment.server_cmdline = debug.cmdline().await?;
    if let Some((version, settings)) = debug.jemalloc().await {
        meta.environment.allocator = Some(format!("jemalloc {version}"));
        meta.environment.allocator_settings = Some(settings);
    }
    Ok(())
}
