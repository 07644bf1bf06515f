//! `service` and `servers`: which service is called, and the servers that run already.

use std::str::FromStr;

use analyze::{measure::DebugClient, scenario::Framework};

use super::{
    Config,
    finding::Finding,
    section::{Field, Section},
};
use crate::values::{address, count, pid};

/// Servers of other suites that are none of our peers; their ports may stand in a file that is shared with these.
pub(super) const OTHERS: [&str; 4] = ["grpc-java", "kitex-mux", "rpcx", "arpc"];

/// The one service that is called, as dubbo-go's file and as the schema name it.
const SERVICE: [&str; 2] = ["BenchmarkService", "benchmark.BenchmarkService"];

/// A server that runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attached {
    pub(crate) framework: Framework,
    /// `HOST:PORT`; the name is not looked up yet.
    pub(crate) addr: String,
    /// `http://HOST:PORT`.
    pub(crate) debug: Option<String>,
    pub(crate) pid: Option<u32>,
}

pub(super) fn read(top: &Section<'_>, config: &mut Config) {
    let service = top.field("service").and_then(|field| field.section(&["name", "port"]));
    let ports = service.as_ref().and_then(|service| service.field("port")).map(read_ports).unwrap_or_default();
    service.and_then(|service| service.value("name", service_name));
    let servers = top.field("servers").and_then(|field| field.section(&Framework::names()));
    if let Some(servers) = servers {
        config.servers = servers.fields().filter_map(|(name, field)| read_server(name, field, &ports)).collect();
    }
}

fn service_name(text: &str) -> Result<(), String> {
    match text {
        text if SERVICE.contains(&text) => Ok(()),
        _ => Err(format!("{text:?}: must be {}, the one service that is called", SERVICE.join(" or "))),
    }
}

/// Ports by the names of frameworks, ours and others'.
fn read_ports(field: Field<'_>) -> Vec<(&str, u32)> {
    let known: Vec<&str> = Framework::names().into_iter().chain(OTHERS).collect();
    let Some(section) = field.section(&known) else { return Vec::new() };
    let ports = section.fields().filter_map(|(name, port)| Some((name, port.value(count(1..=u32::from(u16::MAX)))?)));
    ports.collect()
}

fn read_server(name: &str, field: Field<'_>, ports: &[(&str, u32)]) -> Option<Attached> {
    let framework = Framework::from_str(name).ok()?;
    let section = field.section(&["addr", "debug", "pid"])?;
    let default_port = u32::from(framework.default_port());
    let port = ports.iter().find(|(known, _)| *known == name).map_or(default_port, |(_, port)| *port);
    Some(Attached {
        framework,
        addr: section.value("addr", address).unwrap_or_else(|| format!("127.0.0.1:{port}")),
        debug: section.value("debug", |url| DebugClient::new(url).map(|_| url.to_owned())),
        pid: section.value("pid", pid),
    })
}

/// A server that runs must be one of those measured.
pub(super) fn check(top: &Section<'_>, config: &Config) {
    for Attached { framework, .. } in &config.servers {
        if let Some(field) = top.inner("servers", framework.name()).filter(|_| !config.frameworks.contains(framework)) {
            let measured: Vec<&str> = config.frameworks.iter().map(|framework| framework.name()).collect();
            field.refuse(format!("{framework} is not among frameworks: {}", measured.join(", ")));
        }
    }
}

/// What stands in the file and changes nothing: ports that no server is called at, and what only a server that we start can
/// be told.
pub(super) fn notes(top: &Section<'_>, config: &Config) -> Vec<Finding> {
    let ports = top.inner("service", "port").map(|field| field.children()).unwrap_or_default();
    let mut notes: Vec<Finding> =
        ports.iter().filter_map(|(name, field)| Some(field.note(why_unused(name, top, config)?))).collect();
    let mut attached = config.servers.iter().filter(|server| config.frameworks.contains(&server.framework));
    if let Some(Attached { framework, .. }) = attached.next() {
        let told = [top.inner("load", "response_size"), top.inner("load", "sleep"), top.field("server_cpus")];
        let told = told.into_iter().flatten();
        notes.extend(
            told.map(|field| field.note(format!("not set on the server of servers.{framework}, which runs already"))),
        );
    }
    notes
}

/// Why a port of `service.port` is not used; `None` where it is.
fn why_unused(name: &str, top: &Section<'_>, config: &Config) -> Option<String> {
    if config.frameworks.iter().all(|framework| framework.name() != name) {
        return Some(format!("not used: {name} is not among the frameworks measured"));
    }
    match top.inner("servers", name) {
        None => Some("not used: the server that we start takes a free port".to_owned()),
        Some(server) => server.child("addr").map(|_| format!("not used: servers.{name}.addr has a port")),
    }
}
