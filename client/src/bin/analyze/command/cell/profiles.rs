//! What is taken of a cell after its rounds: profiles, the pictures made of them, and a trace.

use std::time::Duration;

use analyze::{
    load::{Address, Driver},
    measure::{
        AllocsPass, AllocsRecord, DebugClient, LogLoad, PassError, allocs_pass, cpu_pass, heap_pass, result::SourceKind,
    },
    profile::{self, Flame, Profile},
    store::{Artifact, Store},
};
use anyhow::Context;

use super::{Cell, Server};
use crate::{
    command::{run::Bench, servers::HeapProfiler, trace::traced},
    plan::{HEAP_PASS, TRACE_PASS},
    progress::Progress,
};

/// Lines in the table of allocating sites.
const SITES: usize = 10;

/// The requests of a trace: with the pauses behind them half a second, and more only of a server that takes long.
const TRACED: LogLoad = LogLoad {
    warmup: Duration::from_millis(200),
    ops: 100,
    pause: Duration::from_millis(5),
    within: Some(Duration::from_secs(1)),
};

impl Cell {
    /// Whether profiles are to be taken.
    pub(in crate::command) fn wants_profiles(&self) -> bool {
        self.subject.profiled && self.result.failure.is_none() && !self.samples.is_empty()
    }

    /// Takes the profiles, of a fresh server where we start it, and saves them with the pictures made of them. A profile
    /// that can't be had is a warning. Dropped midway, what was saved stays.
    pub(in crate::command) async fn profiles(
        &mut self,
        bench: Bench<'_>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        if self.result.environment.counter_source == Some(SourceKind::JvmAgent) {
            self.warn("no profiles were taken: the agent in a JVM has none of this kind".to_owned());
            return self.save(bench.store);
        }
        let server = Server::of(&self.subject, HeapProfiler::On, bench).await?;
        if let Some(debug) = &server.debug {
            let spec = self.subject.load(server.target(), bench.plan.connect_timeout);
            let mut driver = Driver::connect(spec).await.with_context(|| format!("profiling {}", self.name()))?;
            self.passes(&mut driver, debug, bench, progress).await?;
            drop(driver);
            self.trace((server.target(), debug), bench, progress).await?;
        } else {
            let name = bench.plan.names.of_server(self.subject.framework, "debug");
            self.warn(format!("no profiles were taken: the server's debug endpoints are not known ({name})"));
        }
        server.stop().await;
        self.save(bench.store)
    }

    async fn passes(
        &mut self,
        driver: &mut Driver,
        debug: &DebugClient,
        bench: Bench<'_>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let (window, seconds) = (self.subject.case.window, self.subject.pass_seconds());
        let name = format!("{}{}", self.at, self.name());
        let length = self.subject.pass_length();
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
        match progress.during(&format!("{name} heap profile"), HEAP_PASS, None, work).await {
            Ok(profile) => {
                bench.store.keep(Artifact::HeapProfile, &mut self.result, &profile)?;
            }
            Err(error) => self.warn(format!("no heap profile: {error}")),
        }
        Ok(())
    }

    /// Traces single requests over a connection of its own. Of a server without a log there is nothing to say.
    async fn trace(
        &mut self,
        server: (Address, &DebugClient),
        bench: Bench<'_>,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let what = format!("{}{} trace", self.at, self.name());
        let alone = self.subject.alone(TRACED.ops, TRACED.pause);
        let work = traced(&alone, server, &TRACED, bench);
        let problem = match progress.during(&what, TRACE_PASS, None, work).await {
            Ok(traced) => match traced.trace.check.problem() {
                None => {
                    bench.store.keep_trace(&mut self.result, &traced)?;
                    return Ok(());
                }
                Some(problem) => problem,
            },
            Err(error) if matches!(error.downcast_ref(), Some(PassError::NoLog { .. })) => return Ok(()),
            Err(error) => format!("{error:#}"),
        };
        self.warn(format!("no trace, so that what becomes of the allocations isn't known: {problem}"));
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
        let (bytes, whole) = match &pass.record {
            AllocsRecord::Census { profile, whole } => (Ok(profile.to_vec()), *whole),
            AllocsRecord::Sampled { before, after } => (profile::allocated_between(before, after), true),
        };
        let profile = bytes.and_then(|bytes| Profile::decode(&bytes).map(|profile| (bytes, profile)));
        let (bytes, profile) = match profile {
            Ok(both) => both,
            Err(error) => {
                self.warn(format!("the allocation profile can't be read: {error}"));
                return Ok(());
            }
        };
        store.keep(Artifact::AllocsProfile, &mut self.result, &bytes)?;
        if whole {
            match profile::sites(&profile, pass.ops, SITES) {
                Ok(sites) => self.result.set_sites(sites, pass.counted),
                Err(error) => self.warn(format!("no table of sites: {error}")),
            }
        } else {
            let cut = "the allocation profile ended before its load: no table of sites is made of it, and its flamegraphs are estimates";
            self.warn(cut.to_owned());
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
        let sampled = if profile.sampling_period().is_some() { ", sampled" } else { "" };
        match profile::flamegraph(profile, &Flame { title: &(self.name() + sampled), kind: Some(kind), ops }) {
            Ok(svg) => {
                store.keep(artifact, &mut self.result, svg.as_bytes())?;
            }
            Err(error) => self.warn(format!("no {kind} flamegraph: {error}")),
        }
        Ok(())
    }
}
