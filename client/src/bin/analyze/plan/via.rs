//! What calls go through, of the flags.

use analyze::{load::Address, measure::cpu_list, scenario::Framework};

use super::{
    Origin, Placement, UsageError,
    cases::optional,
    servers::{Servers, resolve},
};
use crate::{
    cli::ViaArgs,
    gateway::{Known, Place, Software, Via},
    values,
};

/// `None` where the calls go to the servers only. `allowed` are the CPUs that may be used.
pub(super) fn via(
    args: &ViaArgs,
    servers: &Servers,
    placement: &Placement,
    allowed: &[u32],
) -> Result<Option<Via>, UsageError> {
    let cpus = optional("--via-cpus", &args.via_cpus, values::cpus)?;
    let Some(given) = args.via.as_deref() else {
        return match cpus {
            Some(cpus) => Err(UsageError(format!("--via-cpus {}: goes with --via nginx or envoy", cpu_list(&cpus)))),
            None => Ok(None),
        };
    };
    let wrong = |problem: &str| UsageError(format!("--via {given}: {problem}"));
    if servers.iter().any(|(framework, _)| framework.is_own_call()) {
        return Err(wrong("goes with the echo, not with a call of your own"));
    }
    let called: Vec<&(Framework, Origin)> =
        servers.iter().filter(|(framework, _)| framework.protocol().is_http2()).collect();
    if called.is_empty() {
        return Err(wrong("goes with triple, grpc or another server of HTTP/2: no other can be called through it"));
    }
    if let Some((_, Origin::Attach { addr: Address::Unix(_), .. })) = called.first() {
        return Err(wrong("goes with a server at HOST:PORT, not with one at a Unix socket"));
    }
    if let Some(known) = Known::ALL.into_iter().find(|known| known.name() == given) {
        let place = place(cpus, placement, allowed)?;
        return Ok(Some(Via::Start(Software::find(known).map_err(|problem| wrong(&problem))?, place)));
    }
    if let Some(cpus) = cpus {
        let problem = "goes with --via nginx or envoy; one that runs already has its own";
        return Err(UsageError(format!("--via-cpus {}: {problem}", cpu_list(&cpus))));
    }
    if !given.contains(':') {
        return Err(UsageError(format!(
            "--via {given:?}: must be nginx or envoy, which are started, or HOST:PORT of a gateway that runs already, whatever it is"
        )));
    }
    let addr = resolve(given).map_err(|problem| UsageError(format!("--via {problem}")))?;
    let server_is_it = |server: &Address| *server == Address::Tcp(addr);
    match called[..] {
        [(_, Origin::Attach { addr: server, .. })] if server_is_it(server) => {
            Err(wrong("must be another address than that of the server at --addr"))
        }
        [(_, Origin::Attach { .. })] => Ok(Some(Via::Running(addr))),
        [(framework, Origin::Start(_))] => Err(wrong(&format!(
            "goes with --addr {framework}=HOST:PORT, the server it leads to: those that we start have a free port"
        ))),
        _ => {
            let names: Vec<&str> = called.iter().map(|(framework, _)| framework.name()).collect();
            Err(wrong(&format!("leads to one server: --framework {} has {}", names.join(","), called.len())))
        }
    }
}

/// Where one that we start runs: with the server unless it is said otherwise.
fn place(cpus: Option<Vec<u32>>, placement: &Placement, allowed: &[u32]) -> Result<Place, UsageError> {
    if let Some(wrong) = cpus.iter().flatten().find(|cpu| !allowed.contains(cpu)) {
        let (cpus, allowed) = (cpu_list(cpus.as_deref().unwrap_or_default()), cpu_list(allowed));
        return Err(UsageError(format!("--via-cpus {cpus}: CPU {wrong} may not be used: allowed are {allowed}")));
    }
    let cpus = cpus.or_else(|| placement.server.clone());
    let workers = cpus.as_deref().unwrap_or(allowed).len();
    Ok(Place { cpus, workers })
}

/// How a gateway that we start is set up, in a sentence.
pub(super) fn note(via: &Via) -> Option<String> {
    let Via::Start(software, place) = via else { return None };
    let workers = if place.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", place.workers) };
    let cpus = place.cpus.as_deref().map(|cpus| format!(" on CPUs {}", cpu_list(cpus))).unwrap_or_default();
    let (name, version, note) = (software.known.name(), &software.version, software.note());
    Some(format!("{name} {version} with {workers}{cpus}, in a configuration of ours: {note}"))
}
