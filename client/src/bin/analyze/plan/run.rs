//! The plan of `analyze run`: the flags of a measurement.

use std::{sync::Arc, time::Duration};

use analyze::{
    load::{Call, Case},
    scenario::Framework,
    store::Label,
    units::format_duration,
};
use debug_pprof::Options;

use super::{
    Group, Names, Origin, Placement, Plan, Program, Subject, UsageError,
    call::{note, own_call},
    callers::{check_callers, idle_connections},
    cases::{cases, optional, read, read_all},
    cpus::Wanted,
    refused::{encoded, plain, refusal},
    servers::{Servers, servers},
    tls::insecure,
    via::{self, via},
};
use crate::{
    cli::{MachineArgs, RunArgs},
    gateway::Via,
    values,
};

impl Plan {
    /// Of the flags; `allowed` are the CPUs that may be used.
    pub(crate) fn of_run(args: RunArgs, allowed: &[u32]) -> Result<Self, UsageError> {
        Self::of_flags(args, allowed, false)
    }

    /// The same, where the servers at `--addr` are started too if `starts` says so.
    pub(super) fn of_flags(mut args: RunArgs, allowed: &[u32], starts: bool) -> Result<Self, UsageError> {
        let (call, servers) = match own_call(&args, starts)? {
            Some((call, servers)) => (Some(call), servers),
            None => {
                let frameworks = match args.servers.framework.as_slice() {
                    [] => vec![Framework::Triple, Framework::Grpc],
                    names => read_all("--framework", names)?,
                };
                (None, servers(&frameworks, &args.servers)?)
            }
        };
        // HTTP/1.1 has one call at a time on a connection.
        args.load.pool |= args.call.http1.is_some();
        let cases = cases(&args.sent, &args.load, call.as_deref())?;
        let ramp = cases.iter().filter(|case| case.scenario == cases[0].scenario).count() > 1;
        let timing = Timing {
            call: call.as_ref(),
            rounds: read("--rounds", &args.load.rounds, values::rounds)?,
            warmup: read("--warmup", &args.load.warmup, values::pause)?,
            request_timeout: read("--timeout", &args.load.timeout, values::timeout)?,
            profiled: !args.output.no_profiles && !ramp,
            encoding_asked: args.sent.serialization.is_some(),
        };
        check(&cases[0], &servers, timing.encoding_asked)?;
        cases.iter().try_for_each(|case| check_callers(case, Names::Flags))?;
        let ours = starts || servers.iter().any(|(_, origin)| matches!(origin, Origin::Start(_)));
        let wanted = wanted_cpus(&args.machine)?;
        let started = jiff::Timestamp::now();
        let mut notes = Vec::new();
        notes.extend(call.as_deref().and_then(note));
        notes.extend(insecure(&args.call));
        notes.extend(idle_connections(cases.iter(), Names::Flags));
        if !args.output.no_profiles && ramp {
            notes.push("no profiles are taken at several rates".to_owned());
        }
        let placement = Placement::new(wanted, allowed, ours)?;
        notes.extend(placement.overlap().filter(|_| ours));
        let via = via(&args.via, &servers, &placement, allowed)?;
        notes.extend(via.as_ref().and_then(via::note));
        let group = |case| group(case, &servers, timing, (!args.output.no_roofline, via.as_ref()));
        Ok(Self {
            groups: cases.into_iter().map(group).collect(),
            refused: Vec::new(),
            notes,
            names: Names::Flags,
            connect_timeout: read("--connect-timeout", &args.load.connect_timeout, values::timeout)?,
            placement,
            client_debug: client_debug(&args.machine)?,
            started,
            label: match &args.output.label {
                Some(label) => read("--label", label, str::parse)?,
                None => Label::from_time(started),
            },
            out: args.output.out,
            format: args.output.format,
        })
    }
}

/// What all cells share but their case.
#[derive(Clone, Copy)]
struct Timing<'a> {
    call: Option<&'a Arc<Call>>,
    rounds: u32,
    warmup: Duration,
    request_timeout: Duration,
    profiled: bool,
    /// Whether how messages are encoded is asked for, and not each protocol's own.
    encoding_asked: bool,
}

impl Timing<'_> {
    fn subject(self, framework: Framework, origin: Origin, case: Case) -> Subject {
        let Self { call, rounds, warmup, request_timeout, profiled, encoding_asked } = self;
        let case = if framework == Framework::Raw { plain(case) } else { encoded(framework, case, encoding_asked) };
        let profiled = profiled && framework.has_profiles();
        Subject { framework, origin, call: call.cloned(), case, rounds, warmup, request_timeout, profiled, via: None }
    }
}

/// The servers with a case, each directly and then through the gateway if there is one, and the bare TCP echo as the roofline of
/// those we start ourselves.
fn group(case: Case, servers: &Servers, timing: Timing<'_>, (roofline, via): (bool, Option<&Via>)) -> Group {
    let of_server = |(framework, origin): &(Framework, Origin)| {
        let direct = timing.subject(*framework, origin.clone(), case);
        let via = via.filter(|_| framework.protocol().is_http2());
        let through = via.map(|via| Subject { via: Some(via.clone()), ..direct.clone() });
        [direct].into_iter().chain(through)
    };
    let mut subjects: Vec<Subject> = servers.iter().flat_map(of_server).collect();
    let raw = servers.iter().any(|(framework, _)| *framework == Framework::Raw);
    if roofline && !raw && has_roofline(&case) && subjects.iter().any(Subject::is_ours) {
        let origin = Origin::Start(Program::This);
        subjects.push(Timing { profiled: false, ..timing }.subject(Framework::Raw, origin, case));
    }
    Group { subjects }
}

/// Whether the machine's limit can be seen by this load: not where a rate, a think time or a sleep is what limits it.
pub(super) fn has_roofline(case: &Case) -> bool {
    case.window.rate.is_none() && case.window.think.is_zero() && case.sleep.is_zero()
}

/// What some kind of server doesn't know, and what can't be set on a server that runs already.
fn check(case: &Case, servers: &Servers, encoding_asked: bool) -> Result<(), UsageError> {
    let refusal = |framework| refusal(framework, &encoded(framework, *case, encoding_asked));
    for (framework, _) in servers {
        let Some(refused) = refusal(*framework) else { continue };
        let others = servers.iter().map(|(framework, _)| *framework).filter(|other| refusal(*other).is_none());
        let others: Vec<&str> = others.map(Framework::name).collect();
        let allowed = match others.is_empty() {
            true => String::new(),
            false => format!("; --framework {} leaves it out", others.join(",")),
        };
        return Err(UsageError(format!("{}: not with {framework}: {}{allowed}", refused.asked(), refused.reason)));
    }
    if case.accept_gzip && servers.iter().all(|(framework, _)| *framework == Framework::Raw) {
        return Err(UsageError("--accept-gzip: not with raw alone, which never compresses".to_owned()));
    }
    let started = servers.iter().any(|(_, origin)| matches!(origin, Origin::Start(_)));
    if !case.sleep.is_zero() && !started {
        return Err(UsageError(format!(
            "--sleep {}: every server runs already: start it with echo-server --sleep",
            format_duration(case.sleep)
        )));
    }
    Ok(())
}

fn wanted_cpus(machine: &MachineArgs) -> Result<Wanted, UsageError> {
    Ok(Wanted {
        server: optional("--server-cpus", &machine.server_cpus, values::cpus)?,
        client: optional("--client-cpus", &machine.client_cpus, values::cpus)?,
        names: Names::Flags,
    })
}

fn client_debug(machine: &MachineArgs) -> Result<Option<Options>, UsageError> {
    let allow_remote = machine.allow_remote;
    let Some(text) = &machine.client_debug else {
        return match allow_remote {
            true => Err(UsageError("--allow-remote: goes with --client-debug IP:PORT".to_owned())),
            false => Ok(None),
        };
    };
    let addr: std::net::SocketAddr = text.parse().map_err(|_| {
        UsageError(format!("--client-debug {text:?}: must be an IP address and a port, as 127.0.0.1:18888"))
    })?;
    if !allow_remote && !addr.ip().is_loopback() {
        return Err(UsageError(format!(
            "--client-debug {addr}: not a loopback address: allowed only with --allow-remote"
        )));
    }
    Ok(Some(Options { addr, allow_remote }))
}
