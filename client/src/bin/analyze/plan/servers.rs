//! The servers to measure: which we start, and which run already.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::Path,
    str::FromStr,
};

use analyze::{load::Address, measure::DebugClient, scenario::Framework};

use super::{Names, Origin, Program, UsageError};
use crate::{cli::ServerArgs, values};

/// Where each framework's server comes from.
pub(super) type Servers = Vec<(Framework, Origin)>;

pub(super) fn servers(frameworks: &[Framework], args: &ServerArgs) -> Result<Servers, UsageError> {
    let addrs = assignments("--addr", "HOST:PORT", &args.addr)?;
    let debugs = assignments("--debug", "URL", &args.debug)?;
    let pids = assignments("--pid", "PID", &args.pid)?;
    for (flag, given) in [("--addr", &addrs), ("--debug", &debugs), ("--pid", &pids)] {
        if let Some((framework, _)) = given.iter().find(|(framework, _)| !frameworks.contains(framework)) {
            let list = frameworks.iter().map(|framework| framework.name()).collect::<Vec<_>>().join(",");
            return Err(UsageError(format!("{flag} {framework}=…: {framework} is not among --framework {list}")));
        }
    }
    let value = |given: &[(Framework, String)], wanted| {
        given.iter().find(|(framework, _)| *framework == wanted).map(|(_, value)| value.clone())
    };
    let server = |&framework: &Framework| {
        let (debug, pid) = (value(&debugs, framework), value(&pids, framework));
        let origin = match value(&addrs, framework) {
            Some(addr) => attach(framework, Names::Flags, &addr, debug.as_deref(), pid.as_deref())?,
            None => match (debug, pid) {
                (None, None) => Origin::Start(Program::of(framework)),
                (debug, _) => {
                    let flag = if debug.is_some() { "--debug" } else { "--pid" };
                    return Err(UsageError(format!("{flag} {framework}=…: goes with --addr {framework}=HOST:PORT")));
                }
            },
        };
        Ok((framework, origin))
    };
    frameworks.iter().map(server).collect()
}

/// A server that runs already.
pub(super) fn attach(
    framework: Framework,
    names: Names,
    addr: &str,
    debug: Option<&str>,
    pid: Option<&str>,
) -> Result<Origin, UsageError> {
    let wrong = |key: &str, problem: String| UsageError(format!("{}: {problem}", names.of_server(framework, key)));
    let addr = match Address::unix(addr) {
        Some(_) if framework.protocol().is_framed() => {
            return Err(wrong("addr", format!("{addr:?}: must be HOST:PORT: {framework} is called over TCP")));
        }
        Some(socket) => socket,
        None => resolve(addr).map(Address::Tcp).map_err(|problem| wrong("addr", problem))?,
    };
    Ok(Origin::Attach {
        addr,
        debug: debug.map(DebugClient::new).transpose().map_err(|error| wrong("debug", error.to_string()))?,
        pid: pid.map(process).transpose().map_err(|problem| wrong("pid", problem))?,
    })
}

pub(super) fn resolve(addr: &str) -> Result<SocketAddr, String> {
    match addr.to_socket_addrs().map(|mut addrs| addrs.next()) {
        Ok(Some(addr)) => Ok(addr),
        Ok(None) => Err(format!("{addr:?}: the name has no address")),
        Err(error) => Err(format!("{addr:?}: {error}: must be HOST:PORT or unix:PATH")),
    }
}

fn process(text: &str) -> Result<u32, String> {
    let pid = values::pid(text)?;
    if Path::new("/proc").join(pid.to_string()).exists() {
        Ok(pid)
    } else {
        Err(format!("{text:?}: no such process on this machine"))
    }
}

/// `F=VALUE` pairs, each framework at most once.
fn assignments(flag: &str, what: &str, given: &[String]) -> Result<Vec<(Framework, String)>, UsageError> {
    let mut pairs: Vec<(Framework, String)> = Vec::new();
    for text in given {
        let Some((framework, value)) = text.split_once('=') else {
            return Err(UsageError(format!("{flag} {text:?}: must be FRAMEWORK={what}, as {flag} triple=…")));
        };
        let framework = Framework::from_str(framework).map_err(|error| UsageError(format!("{flag}: {error}")))?;
        if pairs.iter().any(|(known, _)| *known == framework) {
            return Err(UsageError(format!("{flag} {framework}=…: given twice")));
        }
        pairs.push((framework, value.to_owned()));
    }
    Ok(pairs)
}
