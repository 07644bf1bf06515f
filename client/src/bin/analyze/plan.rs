//! From the command line to what will be done: every value checked before anything starts.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

use analyze::{
    load::{Case, LoadSpec},
    measure::DebugClient,
    scenario::{Framework, Scenario},
    store::Label,
    units::parse_duration,
};

use crate::cli::{Format, RunArgs};

/// A usage error: one line that names the flag, the value and what is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A measurement, checked.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// What is sent, one after another.
    pub(crate) cases: Vec<Case>,
    /// What has a row, in the order of the table. The roofline may be among them.
    pub(crate) subjects: Vec<Subject>,
    pub(crate) rounds: u32,
    pub(crate) warmup: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) started: jiff::Timestamp,
    pub(crate) label: Label,
    pub(crate) out: PathBuf,
    pub(crate) format: Format,
}

/// A server to measure.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) framework: Framework,
    pub(crate) origin: Origin,
    /// Whether profiles are taken of it.
    pub(crate) profiled: bool,
}

/// Where the server comes from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// It is ours, started for the run.
    Start,
    /// It runs already.
    Attach { addr: SocketAddr, debug: Option<DebugClient> },
}

impl Plan {
    pub(crate) fn new(args: RunArgs) -> Result<Self, UsageError> {
        if args.scenario.is_empty() {
            let allowed = "a size and a concurrency, as in --scenario 1MiB-100";
            return Err(UsageError(format!("--scenario is missing: {allowed}; --help lists the flags")));
        }
        let scenarios: Vec<Scenario> = unique(parse_all("--scenario", &args.scenario)?);
        let frameworks = unique(parse_all::<Framework>("--framework", &args.framework)?);
        let subjects = subjects(&frameworks, &args)?;
        let duration = time("--duration", &args.duration, Duration::from_millis(100))?;
        let mode = args.mode.parse().map_err(|error| UsageError(format!("--mode: {error}")))?;
        let connections = number("--connections", &args.connections, 1, 10_000)? as usize;
        let case = |scenario| Case { mode, connections, ..Case::new(scenario, duration) };
        let started = jiff::Timestamp::now();
        let plan = Self {
            cases: scenarios.into_iter().map(case).collect(),
            subjects,
            rounds: number("--rounds", &args.rounds, 1, 1000)?,
            warmup: time("--warmup", &args.warmup, Duration::ZERO)?,
            connect_timeout: time("--connect-timeout", &args.connect_timeout, Duration::from_millis(1))?,
            request_timeout: time("--request-timeout", &args.request_timeout, Duration::from_millis(1))?,
            started,
            label: match args.label {
                Some(label) => label.parse().map_err(|error| UsageError(format!("--label: {error}")))?,
                None => Label::from_time(started),
            },
            out: args.out,
            format: args.format,
        };
        Ok(plan)
    }

    /// The load on a server.
    pub(crate) fn load(&self, framework: Framework, addr: SocketAddr, case: Case) -> LoadSpec {
        LoadSpec {
            connect_timeout: self.connect_timeout,
            request_timeout: self.request_timeout,
            ..LoadSpec::new(framework, addr, case)
        }
    }
}

/// The servers to measure, and the bare TCP echo as the roofline of those we start ourselves.
fn subjects(frameworks: &[Framework], args: &RunArgs) -> Result<Vec<Subject>, UsageError> {
    let addrs = assignments("--addr", "HOST:PORT", &args.addr)?;
    let debugs = assignments("--debug", "URL", &args.debug)?;
    for (flag, given) in [("--addr", &addrs), ("--debug", &debugs)] {
        if let Some((framework, _)) = given.iter().find(|(framework, _)| !frameworks.contains(framework)) {
            return Err(UsageError(format!(
                "{flag} {framework}=…: {framework} is not among --framework {}",
                list(frameworks)
            )));
        }
    }
    let value = |given: &[(Framework, String)], wanted| {
        given.iter().find(|(framework, _)| *framework == wanted).map(|(_, value)| value.clone())
    };
    let mut subjects = Vec::new();
    for &framework in frameworks {
        let debug = value(&debugs, framework);
        let origin = match (value(&addrs, framework), debug) {
            (None, None) => Origin::Start,
            (None, Some(_)) => {
                return Err(UsageError(format!("--debug {framework}=…: goes with --addr {framework}=HOST:PORT")));
            }
            (Some(addr), debug) => Origin::Attach {
                addr: resolve(framework, &addr)?,
                debug: debug
                    .map(|url| {
                        DebugClient::new(&url).map_err(|error| UsageError(format!("--debug {framework}: {error}")))
                    })
                    .transpose()?,
            },
        };
        subjects.push(Subject { framework, origin, profiled: !args.no_profiles });
    }
    let ours = subjects.iter().any(|subject| matches!(subject.origin, Origin::Start));
    if ours && !frameworks.contains(&Framework::Raw) {
        subjects.push(Subject { framework: Framework::Raw, origin: Origin::Start, profiled: false });
    }
    Ok(subjects)
}

fn resolve(framework: Framework, addr: &str) -> Result<SocketAddr, UsageError> {
    let resolved = addr.to_socket_addrs().map(|mut addrs| addrs.next());
    match resolved {
        Ok(Some(addr)) => Ok(addr),
        Ok(None) => Err(UsageError(format!("--addr {framework}={addr}: the name has no address"))),
        Err(error) => Err(UsageError(format!("--addr {framework}={addr}: {error}: must be HOST:PORT"))),
    }
}

/// `F=VALUE` pairs, each framework at most once.
fn assignments(flag: &str, what: &str, given: &[String]) -> Result<Vec<(Framework, String)>, UsageError> {
    let mut pairs: Vec<(Framework, String)> = Vec::new();
    for text in given {
        let Some((framework, value)) = text.split_once('=') else {
            return Err(UsageError(format!("{flag} {text:?}: must be FRAMEWORK={what}, as {flag} triple=…")));
        };
        let framework = framework.parse().map_err(|error| UsageError(format!("{flag}: {error}")))?;
        if pairs.iter().any(|(known, _)| *known == framework) {
            return Err(UsageError(format!("{flag} {framework}=…: given twice")));
        }
        pairs.push((framework, value.to_owned()));
    }
    Ok(pairs)
}

fn parse_all<T: std::str::FromStr>(flag: &str, given: &[String]) -> Result<Vec<T>, UsageError>
where
    T::Err: std::fmt::Display,
{
    given.iter().map(|text| text.parse().map_err(|error| UsageError(format!("{flag}: {error}")))).collect()
}

fn unique<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut unique = Vec::with_capacity(values.len());
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

fn list(frameworks: &[Framework]) -> String {
    frameworks.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn number(flag: &str, text: &str, low: u32, high: u32) -> Result<u32, UsageError> {
    match text.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(UsageError(format!("{flag} {text:?}: must be {low} to {high}"))),
    }
}

fn time(flag: &str, text: &str, low: Duration) -> Result<Duration, UsageError> {
    const DAY: Duration = Duration::from_secs(86_400);
    let time = parse_duration(text).map_err(|error| UsageError(format!("{flag}: {error}")))?;
    if (low..=DAY).contains(&time) {
        Ok(time)
    } else {
        Err(UsageError(format!("{flag} {text:?}: must be {low:?} to 24h")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> RunArgs {
        let text = |text: &str| text.to_owned();
        RunArgs {
            scenario: vec![text("128B-50")],
            framework: vec![text("triple"), text("grpc")],
            rounds: text("5"),
            duration: text("5s"),
            warmup: text("2s"),
            mode: text("unary"),
            connections: text("1"),
            addr: Vec::new(),
            debug: Vec::new(),
            connect_timeout: text("5s"),
            request_timeout: text("30s"),
            no_profiles: false,
            label: None,
            out: ".".into(),
            format: Format::Table,
        }
    }

    fn refused(change: impl FnOnce(&mut RunArgs)) -> String {
        let mut args = args();
        change(&mut args);
        Plan::new(args).expect_err("a usage error").0
    }

    #[test]
    fn the_roofline_is_measured_with_servers_of_our_own() {
        let plan = Plan::new(args()).expect("a plan");
        let frameworks: Vec<Framework> = plan.subjects.iter().map(|subject| subject.framework).collect();
        assert_eq!(frameworks, [Framework::Triple, Framework::Grpc, Framework::Raw]);
        assert!(plan.subjects[0].profiled && !plan.subjects[2].profiled);
        let mut attached = args();
        attached.framework.truncate(1);
        attached.addr = vec!["triple=127.0.0.1:20000".to_owned()];
        assert_eq!(Plan::new(attached).expect("a plan").subjects.len(), 1);
    }

    #[test]
    fn wrong_values_name_flag_value_and_what_is_allowed() {
        let scenario = |value: &str| {
            let error = refused(|args| args.scenario = vec![value.to_owned()]);
            assert!(
                error.starts_with("--scenario: ") && error.contains(value) && error.contains("1MiB-100"),
                "{error}"
            );
        };
        ["1MB-x", "0B-10", "20MiB-1", "-1", "128B-0"].into_iter().for_each(scenario);
        assert!(refused(|args| args.scenario.clear()).starts_with("--scenario is missing"));
        let error = refused(|args| args.framework = vec!["thrift".to_owned()]);
        assert_eq!(error, "--framework: framework \"thrift\": must be one of triple, grpc, raw");
        assert_eq!(refused(|args| args.rounds = "0".to_owned()), "--rounds \"0\": must be 1 to 1000");
        assert!(refused(|args| args.duration = "0s".to_owned()).contains("--duration \"0s\""));
        assert!(refused(|args| args.duration = "soon".to_owned()).contains("soon"));
        assert!(refused(|args| args.mode = "both".to_owned()).contains("unary or streaming"));
        assert!(refused(|args| args.label = Some("a/b".to_owned())).contains("--label"));
        assert!(refused(|args| args.addr = vec!["triple".to_owned()]).contains("FRAMEWORK=HOST:PORT"));
        assert!(refused(|args| args.addr = vec!["raw=127.0.0.1:1".to_owned()]).contains("not among --framework"));
        assert!(refused(|args| args.addr = vec!["grpc=127.0.0.1".to_owned()]).contains("must be HOST:PORT"));
        assert!(refused(|args| args.debug = vec!["grpc=http://127.0.0.1:1".to_owned()]).contains("--addr grpc"));
    }
}
