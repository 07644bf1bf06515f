//! From the command line or a config to what will be done: every value checked before anything starts.
//!
//! `run` reads the flags of a measurement, `suite` a config and the flags that override it. Both make a [`Plan`], and what
//! comes after knows no other thing.

mod ab;
mod call;
mod callers;
mod cases;
mod cpus;
mod criteria;
mod names;
mod record;
mod refused;
mod request;
mod run;
mod servers;
mod suite;
#[cfg(test)]
mod tests;
mod tls;
mod trace;
mod via;

use std::{collections::HashSet, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use analyze::{
    load::{Address, Call, Case, End, LoadSpec, Window},
    measure::{
        DebugClient,
        result::{Environment, LoadShape, RunMeta, RunResult},
    },
    scenario::{Compression, Framework, Peer, Scenario},
    store::Label,
    units,
};
use debug_pprof::Options;

pub(crate) use self::{
    ab::{Revision, Source, Trial},
    cases::read,
    cpus::Placement,
    names::Names,
    record::PlanRecord,
    refused::{Refused, cells},
    suite::frameworks,
    trace::TracePlan,
};
use crate::{cli::Format, gateway::Via};

/// A usage error: one line that names the flag, the value and what is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A measurement, checked.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// What is measured, one after another.
    pub(crate) groups: Vec<Group>,
    /// Cells of a suite's matrix that can't be.
    pub(crate) refused: Vec<Refused>,
    /// What people should know before it starts, a sentence each.
    pub(crate) notes: Vec<String>,
    pub(crate) names: Names,
    pub(crate) connect_timeout: Duration,
    pub(crate) placement: Placement,
    /// Where the load generator serves its own debug endpoints.
    pub(crate) client_debug: Option<Options>,
    pub(crate) started: jiff::Timestamp,
    pub(crate) label: Label,
    pub(crate) out: PathBuf,
    pub(crate) format: Format,
}

/// Cells that are compared, and so are measured in turn, round by round. In the order of the table.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) subjects: Vec<Subject>,
}

/// A cell of the table to be: a server, and what is done to it.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) framework: Framework,
    pub(crate) origin: Origin,
    /// What is called in place of the echo.
    pub(crate) call: Option<Arc<Call>>,
    pub(crate) case: Case,
    pub(crate) rounds: u32,
    pub(crate) warmup: Duration,
    pub(crate) request_timeout: Duration,
    /// Whether profiles are taken of it.
    pub(crate) profiled: bool,
    /// What its calls go through; `None` where they go to the server.
    pub(crate) via: Option<Via>,
}

/// Where the server comes from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// It is started for the cell.
    Start(Program),
    /// It runs already.
    Attach { addr: Address, debug: Option<DebugClient>, pid: Option<u32> },
}

/// A program that is started as a server.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    /// This very one, as `analyze serve F`.
    This,
    /// A server of another framework, which is built first.
    Peer(&'static Peer),
    /// A build of echo-server, as `PROGRAM F`.
    Build(PathBuf),
    /// A shell's command, whose server then listens at `addr`.
    Command { command: String, addr: SocketAddr, debug: Option<DebugClient> },
}

impl Program {
    /// What serves as a framework unless it is said otherwise.
    fn of(framework: Framework) -> Self {
        match framework {
            Framework::Peer(peer) => Self::Peer(peer),
            Framework::Triple
            | Framework::Grpc
            | Framework::Raw
            | Framework::Call
            | Framework::Http1
            | Framework::H2 => Self::This,
        }
    }
}

impl Plan {
    pub(crate) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.groups.iter().flat_map(|group| &group.subjects)
    }

    /// The same without the cells that these files are of, and without groups that are empty then.
    pub(crate) fn without(&self, stems: &HashSet<String>) -> Self {
        let left = |subject: &&Subject| !stems.contains(&subject.file_stem(&self.label));
        let group = |group: &Group| Group { subjects: group.subjects.iter().filter(left).cloned().collect() };
        let groups = self.groups.iter().map(group).filter(|group| !group.subjects.is_empty()).collect();
        Self { groups, ..self.clone() }
    }

    /// The peers that are started, each as often as it is.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &'static Peer> {
        self.subjects().filter_map(|subject| match subject.origin {
            Origin::Start(Program::Peer(peer)) => Some(peer),
            _ => None,
        })
    }

    /// How long it is planned to take.
    pub(crate) fn length(&self) -> Duration {
        self.subjects().map(Subject::length).sum()
    }

    /// The most connections that are open at a time.
    pub(crate) fn connections(&self) -> u64 {
        let of_group = |group: &Group| group.subjects.iter().map(|subject| subject.connections() as u64).sum();
        self.groups.iter().map(of_group).max().unwrap_or(0)
    }
}

impl Subject {
    /// Whether we start its server.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self.origin, Origin::Start(_))
    }

    /// The load on the server, which listens at `addr`.
    pub(crate) fn load(&self, addr: Address, connect_timeout: Duration) -> LoadSpec {
        LoadSpec {
            call: self.call.clone(),
            connect_timeout,
            request_timeout: self.request_timeout,
            ..LoadSpec::new(self.framework, addr, self.case)
        }
    }

    /// The same with one call in flight at a time: so many, and a pause after each.
    pub(crate) fn alone(&self, requests: u64, pause: Duration) -> Self {
        let scenario = Scenario { concurrency: 1, ..self.case.scenario };
        let window = Window { end: End::Requests(requests), rate: None, think: pause };
        Self { case: Case { scenario, connections: 1, window, ..self.case }, ..self.clone() }
    }

    /// Connections that are opened.
    fn connections(&self) -> usize {
        self.case.connections.min(self.case.scenario.concurrency as usize)
    }

    /// How people call it: `1MiB-100 triple`, and what is not as usual.
    pub(crate) fn name(&self) -> String {
        let case = &self.case;
        let what = self.call.as_ref().map_or(self.framework.name(), |call| &call.info().method);
        let mut name = format!("{} {what}", case.scenario);
        let mut add = |text: String| name += &format!(" {text}");
        if case.serialization != self.framework.protocol().serialization() {
            add(case.serialization.to_string());
        }
        if case.compression != Compression::None {
            add(format!("gzip {}", case.compression));
        }
        if let Some(messages) = case.stream_length() {
            add(if messages == Default::default() { "streaming".to_owned() } else { format!("streaming {messages}") });
        }
        if let Some(rate) = case.window.rate {
            add(format!("{}/s", units::thousands(rate as u64)));
        }
        match &self.via {
            None => {}
            Some(Via::Running(addr)) => add(format!("via {addr}")),
            Some(Via::Start(software, _)) => add(format!("via {}", software.known.name())),
        }
        name
    }

    /// What its files are called without what tells them apart: see [`RunResult::file_stem`].
    pub(crate) fn file_stem(&self, label: &Label) -> String {
        let meta = self.meta(label, jiff::Timestamp::UNIX_EPOCH, Environment::default());
        RunResult::derive(meta, &[]).file_stem()
    }

    /// Whether a result is of this load, and every round of it was measured.
    pub(crate) fn is_measured(&self, result: &RunResult) -> bool {
        let (case, environment) = (&self.case, &result.environment);
        let same_load = result.load == LoadShape::from(case)
            && result.payload_pattern == case.pattern
            && result.response_size == case.response_size
            && environment.round_duration_ms == self.timed_ms()
            && environment.warmup_ms == Some(self.warmup_ms());
        same_load && result.failure.is_none() && result.rounds.len() == self.rounds as usize
    }

    /// Length of a timed round; `None` where so many calls end it.
    fn timed_ms(&self) -> Option<u64> {
        match self.case.window.end {
            End::After(length) => Some(length.as_millis() as u64),
            End::Requests(_) => None,
        }
    }

    fn warmup_ms(&self) -> u64 {
        self.warmup.as_millis() as u64
    }

    /// What is known of its result before its first call.
    pub(crate) fn meta(&self, label: &Label, started: jiff::Timestamp, environment: Environment) -> RunMeta {
        RunMeta {
            label: label.to_string(),
            framework: self.framework.to_string(),
            serialization: if self.framework.has_messages() { self.case.serialization.name() } else { "none" }
                .to_owned(),
            case: self.case,
            call: self.call.as_ref().map(|call| call.info().clone()),
            started,
            rounds: self.rounds,
            wire: None,
            gateway: self.via.as_ref().map(Via::meta),
            environment: Environment {
                round_duration_ms: self.timed_ms(),
                warmup_ms: Some(self.warmup_ms()),
                ..environment
            },
            warnings: Vec::new(),
        }
    }

    /// How long its load is before the first round of a server that was just started, at least.
    pub(crate) fn first_warmup(&self) -> Duration {
        match self.origin {
            Origin::Start(Program::Peer(peer)) => self.warmup.max(peer.recipe.settling()),
            _ => self.warmup,
        }
    }

    /// How long a timed round is planned to take.
    pub(crate) fn round_length(&self) -> Duration {
        match (self.case.window.end, self.case.window.rate) {
            (End::After(length), _) => length,
            (End::Requests(requests), Some(rate)) => Duration::from_secs_f64(requests as f64 / rate),
            // What it will take depends on the server.
            (End::Requests(_), None) => Duration::from_secs(5),
        }
    }

    /// Length of the recorded part of a profile pass: the round's, in whole seconds between 1 and 5.
    pub(crate) fn pass_seconds(&self) -> u64 {
        (self.round_length().as_millis() as u64).div_ceil(1000).clamp(1, 5)
    }

    /// How long a profile pass is planned to take, with its warm-up and margins.
    pub(crate) fn pass_length(&self) -> Duration {
        Duration::from_secs(self.pass_seconds() + 2)
    }

    /// How long the profiles are planned to take.
    pub(crate) fn profiles_length(&self) -> Duration {
        if self.profiled { self.pass_length() * 2 + HEAP_PASS + TRACE_PASS } else { Duration::ZERO }
    }

    /// How long all of it is planned to take.
    pub(crate) fn length(&self) -> Duration {
        let settling = self.first_warmup() - self.warmup;
        let rounds = (self.warmup + self.round_length()) * self.rounds;
        PREPARATION + settling + rounds + SYSCALLS_PASS + self.profiles_length()
    }
}

/// Starting a server, connecting, the preflight, and stopping it.
const PREPARATION: Duration = Duration::from_millis(200);
/// Counting system calls, with its warm-up.
pub(crate) const SYSCALLS_PASS: Duration = Duration::from_millis(1500);
/// A heap profile under load.
pub(crate) const HEAP_PASS: Duration = Duration::from_secs(1);
/// A trace of single requests, with its warm-up and the reading of its log.
pub(crate) const TRACE_PASS: Duration = Duration::from_secs(2);
