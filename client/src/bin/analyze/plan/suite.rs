//! The plan of `analyze suite`: a config, and the flags that override it.
//!
//! A group is a payload, a concurrency, a serialization, a compression, a call mode and a rate; in it the frameworks are
//! measured in turn. The bare echo knows nothing of how messages are written and sent, so it is measured once for each
//! payload, concurrency and rate, in the first group of these.

use std::time::Duration;

use analyze::{
    load::{CallMode, Case, End, MessagesPerStream, Window},
    scenario::{Framework, Scenario},
    store::Label,
    units::format_duration,
};

use super::{
    Group, Names, Origin, Placement, Plan, Program, Refused, Subject, UsageError,
    callers::{check_callers, idle_connections},
    cases::{connections_of, optional, read_all},
    cpus::Wanted,
    refused::{cells, encoded, leave_out, plain, refusal},
    run::has_roofline,
    servers::{Servers, attach},
};
use crate::{
    cli::SuiteArgs,
    config::{Config, Settings},
    values,
};

impl Plan {
    /// Of a config, which was read with the [`frameworks`] of the flags, and the other flags; `allowed` are the CPUs that may be
    /// used.
    pub(crate) fn of_suite(args: &SuiteArgs, config: Config, allowed: &[u32]) -> Result<Self, UsageError> {
        let overrides = Overrides::read(args, &config)?;
        let label = optional("--label", &args.label, str::parse::<Label>)?.or_else(|| config.label.clone());
        if args.resume && label.is_none() {
            return Err(UsageError("--resume: goes with --label, the suite to go on with".to_owned()));
        }
        let servers = servers(&config)?;
        let ours = servers.iter().any(|(_, origin)| matches!(origin, Origin::Start(_)));
        let wanted = Wanted {
            // That it is of no use with servers that run already, the config's notes say.
            server: config.server_cpus.clone().filter(|_| ours),
            client: config.client_cpus.clone(),
            names: Names::Keys,
        };
        let placement = Placement::new(wanted, allowed, ours)?;
        let matrix = Matrix::of(&config, &servers, &overrides);
        if matrix.groups.is_empty() {
            return Err(UsageError(format!("--config {}: no cell is left to measure", args.config.display())));
        }
        let measured = || matrix.groups.iter().flat_map(|group| &group.subjects).map(|subject| &subject.case);
        measured().try_for_each(|case| check_callers(case, Names::Keys))?;
        let mut notes = notes(args, &config, &matrix);
        notes.extend(idle_connections(measured(), Names::Keys));
        notes.extend(placement.overlap().filter(|_| ours));
        let started = jiff::Timestamp::now();
        Ok(Self {
            groups: matrix.groups,
            refused: matrix.refused,
            notes,
            names: Names::Keys,
            connect_timeout: config.connect_timeout,
            placement,
            client_debug: None,
            started,
            label: label.unwrap_or_else(|| Label::from_time(started)),
            out: args.out.clone().or(config.out).unwrap_or_else(|| ".".into()),
            format: args.format,
        })
    }
}

/// What `--framework` measures in place of the config's frameworks; `None` where it was not given.
pub(crate) fn frameworks(args: &SuiteArgs) -> Result<Option<Vec<Framework>>, UsageError> {
    (!args.framework.is_empty()).then(|| read_all("--framework", &args.framework)).transpose()
}

/// Settings that flags give for all cells.
#[derive(Debug, Clone, Copy)]
struct Overrides {
    rounds: Option<u32>,
    warmup: Option<Duration>,
    duration: Option<Duration>,
    timeout: Option<Duration>,
    no_profiles: bool,
}

impl Overrides {
    fn read(args: &SuiteArgs, config: &Config) -> Result<Self, UsageError> {
        let duration = optional("--duration", &args.duration, values::round_length)?;
        if let (Some(duration), Some(requests)) = (duration, config.load.requests) {
            let duration = format_duration(duration);
            return Err(UsageError(format!(
                "--duration {duration}: the config's load.requests, {requests}, ends rounds"
            )));
        }
        let timeout = optional("--timeout", &args.timeout, values::timeout)?;
        if let Some(timeout) = timeout.filter(|timeout| *timeout <= config.load.sleep) {
            let (timeout, sleep) = (format_duration(timeout), format_duration(config.load.sleep));
            return Err(UsageError(format!("--timeout {timeout}: must be more than the config's load.sleep, {sleep}")));
        }
        Ok(Self {
            rounds: optional("--rounds", &args.rounds, values::rounds)?,
            warmup: optional("--warmup", &args.warmup, values::pause)?,
            duration,
            timeout,
            no_profiles: args.no_profiles,
        })
    }

    fn apply(self, settings: Settings) -> Settings {
        Settings {
            rounds: self.rounds.unwrap_or(settings.rounds),
            warmup: self.warmup.unwrap_or(settings.warmup),
            duration: self.duration.unwrap_or(settings.duration),
            request_timeout: self.timeout.unwrap_or(settings.request_timeout),
            profiles: settings.profiles && !self.no_profiles,
        }
    }
}

fn servers(config: &Config) -> Result<Servers, UsageError> {
    let server = |&framework: &Framework| {
        let attached = config.servers.iter().find(|server| server.framework == framework);
        let origin = match attached {
            None => Origin::Start(Program::of(framework)),
            Some(server) => {
                let pid = server.pid.map(|pid| pid.to_string());
                attach(framework, Names::Keys, &server.addr, server.debug.as_deref(), pid.as_deref())?
            }
        };
        Ok((framework, origin))
    };
    config.frameworks.iter().map(server).collect()
}

/// What comes of the config's lists.
#[derive(Debug, Default)]
struct Matrix {
    groups: Vec<Group>,
    refused: Vec<Refused>,
    /// Cells that the config says to skip.
    skipped: usize,
    /// Whether profiles were asked for that are not taken.
    unprofiled: bool,
}

impl Matrix {
    fn of(config: &Config, servers: &Servers, overrides: &Overrides) -> Self {
        let mut matrix = Self::default();
        let mut echoed: Vec<(Scenario, Option<f64>)> = Vec::new();
        let ramp = config.load.qps.len() > 1;
        for case in cases(config) {
            let mut subjects = Vec::new();
            let mut cell = |framework, origin: &Origin, case, settings| {
                let settings = overrides.apply(settings);
                matrix.unprofiled |= settings.profiles && ramp;
                let settings = Settings { profiles: settings.profiles && !ramp, ..settings };
                subject(framework, origin.clone(), case, settings, config)
            };
            for (framework, origin) in servers.iter().filter(|(framework, _)| *framework != Framework::Raw) {
                let case = encoded(*framework, case, config.encoding_asked);
                match (refusal(*framework, &case), config.settings(*framework, &case)) {
                    (_, None) => matrix.skipped += 1,
                    (Some(refusal), _) => leave_out(&mut matrix.refused, *framework, refusal),
                    (None, Some(settings)) => subjects.push(cell(*framework, origin, case, settings)),
                }
            }
            let (echo, key) = (echo(config, servers, &case, &subjects), (case.scenario, case.window.rate));
            if let Some(Echo { origin, asked }) = echo.filter(|_| !echoed.contains(&key)) {
                echoed.push(key);
                match config.settings(Framework::Raw, &case) {
                    None => matrix.skipped += 1,
                    Some(settings) => {
                        let settings = Settings { profiles: settings.profiles && asked, ..settings };
                        subjects.push(cell(Framework::Raw, &origin, plain(case), settings));
                    }
                }
            }
            if !subjects.is_empty() {
                matrix.groups.push(Group { subjects });
            }
        }
        matrix
    }
}

/// The bare echo of a group.
struct Echo {
    origin: Origin,
    /// Whether it is one of the frameworks, and not only their roofline, which is not profiled.
    asked: bool,
}

/// The bare echo, where it is asked for or is the roofline of servers that we start.
fn echo(config: &Config, servers: &Servers, case: &Case, subjects: &[Subject]) -> Option<Echo> {
    match servers.iter().find(|(framework, _)| *framework == Framework::Raw) {
        Some((_, origin)) => Some(Echo { origin: origin.clone(), asked: true }),
        None if config.roofline && has_roofline(case) && subjects.iter().any(Subject::is_ours) => {
            Some(Echo { origin: Origin::Start(Program::This), asked: false })
        }
        None => None,
    }
}

fn subject(framework: Framework, origin: Origin, mut case: Case, settings: Settings, config: &Config) -> Subject {
    case.window.end = config.load.requests.map_or(End::After(settings.duration), End::Requests);
    Subject {
        framework,
        origin,
        call: None,
        case,
        rounds: settings.rounds,
        warmup: settings.warmup,
        request_timeout: settings.request_timeout,
        profiled: settings.profiles && framework.has_profiles(),
        via: None,
    }
}

/// Every case of the config's lists, rates innermost. Those of a scenario are next to each other.
fn cases(config: &Config) -> Vec<Case> {
    let load = &config.load;
    let rates = match load.qps.is_empty() {
        true => vec![None],
        false => load.qps.iter().map(|&qps| Some(f64::from(qps))).collect(),
    };
    let mut cases = Vec::new();
    for &payload in &config.payloads {
        for &concurrency in &config.concurrency_levels {
            let scenario = Scenario { payload, concurrency };
            for &serialization in &config.serializations {
                for &compression in &config.compressions {
                    for &mode in &config.call_modes {
                        cases.extend(rates.iter().map(|&rate| Case {
                            serialization,
                            compression,
                            accept_gzip: load.accept_gzip,
                            pattern: load.pattern,
                            response_size: load.response_size,
                            sleep: load.sleep,
                            mode,
                            messages_per_stream: match mode {
                                CallMode::Streaming => load.messages_per_stream,
                                CallMode::Unary => MessagesPerStream::default(),
                            },
                            connections: connections_of(load.connections, load.sharing, concurrency),
                            sharing: load.sharing,
                            window: Window { rate, think: load.think, ..Window::lasting(config.settings.duration) },
                            ..Case::new(scenario, config.settings.duration)
                        }));
                    }
                }
            }
        }
    }
    cases
}

fn notes(args: &SuiteArgs, config: &Config, matrix: &Matrix) -> Vec<String> {
    let file = args.config.display();
    let mut notes: Vec<String> =
        config.notes.iter().map(|note| format!("{file}:{}:{}: {}", note.at.line, note.at.column, note.text)).collect();
    if matrix.skipped > 0 {
        let are = if matrix.skipped == 1 { "is" } else { "are" };
        notes.push(format!("{} {are} skipped, as cells of the config say", cells(matrix.skipped)));
    }
    if matrix.unprofiled {
        notes.push("no profiles are taken at several rates".to_owned());
    }
    notes
}
