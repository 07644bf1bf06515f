//! One server in one scenario: connected, measured round by round, profiled, saved.

use std::{net::SocketAddr, time::Duration};

use analyze::{
    load::{Case, Driver, End, Live, LoadError, Wire},
    measure::{
        self, AllocsPass, Build, CpuSplit, DebugClient, PassError, ServerProcess, Target, allocs_pass, cpu_pass,
        describe_machine, heap_pass, measure_round,
        result::{RunMeta, RunResult, RunSample, ServerOrigin},
        syscalls_pass,
    },
    profile::{self, Flame, Profile},
    scenario::{Framework, Scenario},
    store::{Artifact, Store},
};
use anyhow::Context;
use tokio::sync::watch;

use super::servers::{self, HeapProfiler};
use crate::{
    plan::{Origin, Plan, Subject, UsageError},
    progress::Progress,
};

/// How long system calls are counted.
const SYSCALLS_WINDOW: Duration = Duration::from_secs(1);
/// With its warm-up.
pub(super) const SYSCALLS_PASS: Duration = Duration::from_millis(1500);

/// Lines in the table of allocating sites.
const SITES: usize = 10;

const BUILD: Build = Build {
    commit: env!("BUILD_COMMIT"),
    dirty: env!("BUILD_DIRTY"),
    rustc: env!("BUILD_RUSTC"),
    crates: env!("BUILD_CRATES"),
};

/// What a cell is measured with.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) store: &'a Store,
    pub(super) split: Option<&'a CpuSplit>,
    pub(super) stop: &'a watch::Receiver<bool>,
}

pub(super) struct Cell {
    subject: Subject,
    case: Case,
    server: Option<ServerProcess>,
    /// `None` when the preflight failed: there is nothing to measure.
    target: Option<Target>,
    meta: RunMeta,
    samples: Vec<RunSample>,
    pub(super) result: RunResult,
    /// Why the measurement of this cell failed.
    pub(super) failure: Option<String>,
}

impl Cell {
    /// Starts or attaches to the server, connects, and makes the preflight calls.
    ///
    /// A server or debug endpoints that can't be reached are an error: a usage error when their address was given. A server that answers wrongly
    /// is a cell with a failure.
    pub(super) async fn prepare(subject: &Subject, case: Case, bench: Bench<'_>) -> anyhow::Result<Self> {
        let Bench { plan, store, split, .. } = bench;
        let framework = subject.framework;
        let stem = stem(plan, framework, case);
        let (server, addr, debug) = match &subject.origin {
            Origin::Attach { addr, debug } => (None, *addr, debug.clone()),
            Origin::Start => {
                let log = store.path(Artifact::ServerLog, &stem);
                let server = servers::start(framework, HeapProfiler::Off, split, log).await?;
                let (addr, debug) = (server.ready().addr, servers::debug_client(&server)?);
                (Some(server), addr, debug)
            }
        };
        let mut driver = match Driver::connect(plan.load(framework, addr, case)).await {
            Ok(driver) => driver,
            Err(error @ (LoadError::Connect { .. } | LoadError::ConnectTimeout { .. })) if server.is_none() => {
                return Err(UsageError(format!("--addr {framework}={addr}: {error}")).into());
            }
            Err(error) => return Err(error.into()),
        };
        let cmdline = match &debug {
            None => None,
            Some(debug) => debug.cmdline().await.map_err(|error| match server {
                None => UsageError(format!("--debug {framework}: {error}")).into(),
                Some(_) => anyhow::Error::from(error),
            })?,
        };
        let mut meta = describe(subject, case, bench, addr, server.as_ref(), debug.as_ref()).await;
        meta.environment.server_cmdline = cmdline;
        let pid = match (&server, &debug) {
            (Some(server), _) => Some(server.ready().pid),
            (None, Some(debug)) => debug.local_pid().await,
            (None, None) => None,
        };
        if meta.environment.server_cpus.is_none() {
            meta.environment.server_cpus = pid.and_then(|pid| measure::cpus_of(pid).ok());
        }
        let (target, failure) = match driver.preflight().await {
            Ok(wire) => {
                meta.warnings.extend(queueing(&wire, case.scenario));
                meta.wire = Some(wire);
                (Some(Target { driver, debug, pid }), None)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        meta.warnings.extend(failure.clone());
        let result = RunResult::derive(meta.clone(), &[]);
        Ok(Self { subject: subject.clone(), case, server, target, meta, samples: Vec::new(), result, failure })
    }

    /// Whether there is anything to report: a round, or why there is none.
    pub(super) fn has_result(&self) -> bool {
        !self.samples.is_empty() || self.failure.is_some()
    }

    fn name(&self) -> String {
        format!("{} {}", self.case.scenario, self.subject.framework)
    }

    /// Measures one round and saves what is known by then. Dropped midway, the cell is as it was before.
    pub(super) async fn round(&mut self, round: u32, bench: Bench<'_>, progress: &mut Progress) -> anyhow::Result<()> {
        let Some(target) = &mut self.target else { return Ok(()) };
        let Plan { warmup, rounds, .. } = *bench.plan;
        let window = self.case.window;
        let what = format!("{} {} round {round}/{rounds}", self.case.scenario, self.subject.framework);
        let live = Live::default();
        let work = measure_round(target, round, (warmup, &window), &live);
        let sample = progress.during(&what, warmup + round_length(&self.case), Some(&live), work).await;
        let died = if sample.load.ok == 0 {
            let most = sample.load.errors.first().map(|error| format!(": {}", error.message)).unwrap_or_default();
            Some(format!("no call of round {round} succeeded{most}"))
        } else if sample.load.lost > 0 {
            let (lost, of) = (sample.load.lost, self.case.scenario.concurrency);
            Some(format!("round {round}: {lost} of {of} calls in flight ended with their connection"))
        } else if target.debug.is_some() && sample.server.is_none() {
            Some(format!("the server's counters could not be read in round {round}"))
        } else {
            None
        };
        let qps = sample.load.qps().unwrap_or(0.0);
        progress.finished(&format!("{what}: {} replies/s", analyze::units::thousands(qps as u64)));
        self.samples.push(sample);
        if let Some(died) = died {
            self.meta.warnings.push(died.clone());
            self.failure = Some(died);
        }
        self.result = RunResult::derive(self.meta.clone(), &self.samples);
        self.save(bench.store)
    }

    /// Saves the result as it is.
    pub(super) fn save(&mut self, store: &Store) -> anyhow::Result<()> {
        if self.server.is_some() || matches!(self.subject.origin, Origin::Start) {
            store.enter(Artifact::ServerLog, &mut self.result);
        }
        store.save(&self.result)?;
        Ok(())
    }

    /// Counts system calls, where the kernel lets us: `analyze doctor` says whether it does. Nothing else depends on it.
    pub(super) async fn count_syscalls(&mut self, progress: &mut Progress) {
        let (Some(target), None) = (&mut self.target, &self.failure) else { return };
        let what = format!("{} {} system calls", self.case.scenario, self.subject.framework);
        let window = self.case.window.with_length(SYSCALLS_WINDOW);
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

    /// Whether profiles are to be taken.
    pub(super) fn wants_profiles(&self) -> bool {
        self.subject.profiled && self.failure.is_none() && !self.samples.is_empty()
    }

    /// Takes the profiles, of a fresh server where we start it, and saves them with the pictures made of them. A profile
    /// that can't be had is a warning. Dropped midway, what was saved stays.
    pub(super) async fn profiles(&mut self, bench: Bench<'_>, progress: &mut Progress) -> anyhow::Result<()> {
        let (server, addr, debug) = match &self.subject.origin {
            Origin::Attach { addr, debug } => (None, *addr, debug.clone()),
            Origin::Start => {
                let log = bench.store.path(Artifact::ServerLog, &self.result.file_stem());
                let server = servers::start(self.subject.framework, HeapProfiler::On, bench.split, log).await?;
                let (addr, debug) = (server.ready().addr, servers::debug_client(&server)?);
                (Some(server), addr, debug)
            }
        };
        if let Some(debug) = debug {
            let spec = bench.plan.load(self.subject.framework, addr, self.case);
            let mut driver = Driver::connect(spec).await.with_context(|| format!("profiling {}", self.name()))?;
            self.passes(&mut driver, &debug, bench, progress).await?;
        } else {
            self.warn("no profiles were taken: the server's debug endpoints are not known (--debug)".to_owned());
        }
        if let Some(server) = server {
            server.stop().await;
        }
        self.save(bench.store)
    }

    async fn passes(
        &mut self,
        driver: &mut Driver,
        debug: &DebugClient,
        bench: Bench<'_>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let (window, seconds) = (self.case.window, pass_seconds(&self.case));
        let name = self.name();
        let length = pass_length(&self.case);
        let cpu = progress
            .during(&format!("{name} CPU profile"), length, None, cpu_pass(driver, debug, &window, seconds))
            .await;
        match cpu {
            Ok(profile) => self.keep_cpu(bench.store, &profile)?,
            Err(error) => self.warn(format!("no CPU profile: {error}")),
        }
        let work = allocs_pass(driver, debug, &window, Duration::from_secs(seconds));
        let allocs = progress.during(&format!("{name} allocations"), length, None, work).await;
        match allocs {
            Ok(pass) => self.keep_allocs(bench.store, &pass)?,
            Err(error) => self.warn(format!("no allocation profile: {error}")),
        }
        let work = heap_pass(driver, debug, &window);
        match progress.during(&format!("{name} heap profile"), Duration::from_secs(1), None, work).await {
            Ok(profile) => {
                bench.store.keep(Artifact::HeapProfile, &mut self.result, &profile)?;
            }
            Err(error) => self.warn(format!("no heap profile: {error}")),
        }
        Ok(())
    }

    fn keep_cpu(&mut self, store: &Store, bytes: &[u8]) -> anyhow::Result<()> {
        store.keep(Artifact::CpuProfile, &mut self.result, bytes)?;
        match Profile::decode(bytes) {
            Ok(profile) => self.picture(store, Artifact::CpuFlamegraph, &profile, "cpu", None),
            Err(error) => {
                self.warn(format!("the CPU profile can't be read: {error}"));
                Ok(())
            }
        }
    }

    fn keep_allocs(&mut self, store: &Store, pass: &AllocsPass) -> anyhow::Result<()> {
        store.keep(Artifact::AllocsProfile, &mut self.result, &pass.profile)?;
        if !pass.exact {
            let inexact = "the allocation profile is sampled or cut, not exact: no table of sites is made of it, and its \
                           flamegraphs are estimates";
            self.warn(inexact.to_owned());
        }
        let profile = match Profile::decode(&pass.profile) {
            Ok(profile) => profile,
            Err(error) => {
                self.warn(format!("the allocation profile can't be read: {error}"));
                return Ok(());
            }
        };
        if pass.exact {
            match profile::sites(&profile, pass.ops, SITES) {
                Ok(sites) => self.result.set_sites(sites, pass.counted),
                Err(error) => self.warn(format!("no table of sites: {error}")),
            }
        }
        let ops = Some(pass.ops.get());
        self.picture(store, Artifact::AllocSpaceFlamegraph, &profile, "alloc_space", ops)?;
        self.picture(store, Artifact::AllocObjectsFlamegraph, &profile, "alloc_objects", ops)
    }

    fn picture(
        &mut self,
        store: &Store,
        artifact: Artifact,
        profile: &Profile,
        kind: &str,
        ops: Option<u64>,
    ) -> anyhow::Result<()> {
        match profile::flamegraph(profile, &Flame { title: &self.name(), kind: Some(kind), ops }) {
            Ok(svg) => {
                store.keep(artifact, &mut self.result, svg.as_bytes())?;
            }
            Err(error) => self.warn(format!("no {kind} flamegraph: {error}")),
        }
        Ok(())
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.result.warnings.push(warning);
    }
}

/// A warning where calls have to wait for a free stream, which counts as their latency.
fn queueing(wire: &Wire, scenario: Scenario) -> Option<String> {
    let limit = wire.server_settings.as_ref()?.max_concurrent_streams?;
    let connections = u32::try_from(wire.connections).ok().filter(|&connections| connections > 0)?;
    let wanted = scenario.concurrency.div_ceil(connections);
    (wanted > limit).then(|| {
        format!(
            "{wanted} calls a connection, but the server allows {limit} streams: the wait for a free one is in the latency; \
             --connections {} avoids it",
            scenario.concurrency.div_ceil(limit.max(1))
        )
    })
}

/// How long a timed round is planned to take.
pub(super) fn round_length(case: &Case) -> Duration {
    match case.window.end {
        End::After(length) => length,
        // What it will take depends on the server.
        End::Requests(_) => Duration::from_secs(5),
    }
}

/// Length of the recorded part of a profile pass: the round's, in whole seconds between 1 and 5.
fn pass_seconds(case: &Case) -> u64 {
    (round_length(case).as_millis() as u64).div_ceil(1000).clamp(1, 5)
}

/// How long a profile pass is planned to take, with its warm-up and margins.
pub(super) fn pass_length(case: &Case) -> Duration {
    Duration::from_secs(pass_seconds(case) + 2)
}

fn stem(plan: &Plan, framework: Framework, case: Case) -> String {
    RunResult::derive(meta(plan, framework, case), &[]).file_stem()
}

fn meta(plan: &Plan, framework: Framework, case: Case) -> RunMeta {
    RunMeta {
        label: plan.label.to_string(),
        framework: framework.to_string(),
        serialization: if framework == Framework::Raw { "none" } else { case.serialization.name() }.to_owned(),
        case,
        started: plan.started,
        rounds: plan.rounds,
        wire: None::<Wire>,
        environment: describe_machine(&BUILD),
        warnings: Vec::new(),
    }
}

/// What is known of a cell before its first call.
async fn describe(
    subject: &Subject,
    case: Case,
    bench: Bench<'_>,
    addr: SocketAddr,
    server: Option<&ServerProcess>,
    debug: Option<&DebugClient>,
) -> RunMeta {
    let mut meta = meta(bench.plan, subject.framework, case);
    let environment = &mut meta.environment;
    environment.server = if server.is_some() { ServerOrigin::Started } else { ServerOrigin::Attached };
    environment.server_address = Some(addr.to_string());
    environment.server_cpus = server.map(|server| server.ready().cpus.clone());
    environment.client_cpus = measure::bound_cpus().ok();
    environment.round_duration_ms = match case.window.end {
        End::After(length) => Some(length.as_millis() as u64),
        End::Requests(_) => None,
    };
    environment.warmup_ms = Some(bench.plan.warmup.as_millis() as u64);
    if let Some(debug) = debug
        && let Some((version, settings)) = debug.jemalloc().await
    {
        environment.allocator = Some(format!("jemalloc {version}"));
        environment.allocator_settings = Some(settings);
    }
    meta
}
