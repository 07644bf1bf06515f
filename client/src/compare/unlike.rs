//! What makes two results unlike, so that a difference between them is not the server's doing alone.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::spoken::wire_differences;
use crate::measure::result::{Gateway, RunResult};

/// Something that should be the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What.
    pub what: &'static str,
    /// In the first result.
    pub a: String,
    /// In the second.
    pub b: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, a, b } = self;
        write!(f, "{what}: {a} against {b}")
    }
}

/// In what two results were measured otherwise: another load, wire, machine or CPU binding. What may be the very change that is
/// measured (the commit, the compiler, versions of crates, the server's command line) is not among them.
pub fn differences(a: &RunResult, b: &RunResult) -> Vec<Difference> {
    let (one, other) = (&a.environment, &b.environment);
    let load = |of: fn(&RunResult) -> String| (of(a), of(b));
    let gateways = a.gateway.as_ref().zip(b.gateway.as_ref());
    let pairs = [
        ("framework", load(|r| r.framework.clone())),
        ("scenario", load(|r| r.scenario.clone())),
        ("method", load(|r| known(&r.call.as_ref().map(|call| &call.method)))),
        ("request", load(|r| known(&r.call.as_ref().map(|call| &call.request)))),
        ("what is asked of replies", load(|r| known(&r.call.as_ref().map(|call| call.replies)))),
        ("serialization", load(|r| r.serialization.clone())),
        ("compression", load(|r| r.compression.clone())),
        ("mode", load(|r| r.call_mode.clone())),
        ("messages a stream", load(|r| known(&r.messages_per_stream))),
        ("payload pattern", load(|r| r.payload_pattern.to_string())),
        (
            "reply bytes",
            load(|r| r.response_size.map_or_else(|| "the request's".to_owned(), |bytes| bytes.to_string())),
        ),
        ("rate", load(|r| known(&r.load.qps))),
        ("calls a round", load(|r| known(&r.load.requests))),
        ("think time ms", load(|r| r.load.think_ms.to_string())),
        ("handler's sleep ms", load(|r| r.load.sleep_ms.to_string())),
        ("gateway", load(|r| r.gateway.as_ref().map_or_else(|| "none".to_owned(), Gateway::describe))),
        ("the gateway's CPUs", gateways.map_or_else(Default::default, |(a, b)| (known(&a.cpus), known(&b.cpus)))),
        ("connections", load(|r| r.load.connections.to_string())),
        ("sharing of connections", load(|r| r.load.sharing.to_string())),
        ("what B/op counts", load(|r| known(&r.bytes_per_op_basis))),
        ("CPU model", (known(&one.cpu_model), known(&other.cpu_model))),
        ("CPUs", (known(&one.cpus), known(&other.cpus))),
        ("kernel", (known(&one.kernel), known(&other.kernel))),
        ("who started the server", (known(&Some(one.server)), known(&Some(other.server)))),
        ("the server's CPUs", (known(&one.server_cpus), known(&other.server_cpus))),
        ("the load generator's CPUs", (known(&one.client_cpus), known(&other.client_cpus))),
    ];
    let differ = pairs.into_iter().filter(|(_, (a, b))| a != b).map(|(what, (a, b))| Difference { what, a, b });
    // Results from before it was asked don't tell.
    let sources = one.counter_source.zip(other.counter_source).filter(|(a, b)| a != b);
    let sources =
        sources.map(|(a, b)| Difference { what: "counters", a: a.describe().to_owned(), b: b.describe().to_owned() });
    differ.chain(sources).chain(wire_differences(a, b)).chain(settings(a, b)).collect()
}

/// What else of two wires that are both known may move a cost. What one call of the largest size takes on the socket is an outcome, no
/// setting.
fn settings(a: &RunResult, b: &RunResult) -> Vec<Difference> {
    let Some((a, b)) = a.wire.as_ref().zip(b.wire.as_ref()) else { return Vec::new() };
    let pairs = [
        ("open connections", (a.connections.to_string(), b.connections.to_string())),
        ("client settings", (known(&a.client_settings), known(&b.client_settings))),
        ("server settings", (known(&a.server_settings), known(&b.server_settings))),
        ("request headers", (a.request_header_names.join(" "), b.request_header_names.join(" "))),
        ("reply headers", (a.response_header_names.join(" "), b.response_header_names.join(" "))),
    ];
    pairs.into_iter().filter(|(_, (a, b))| a != b).map(|(what, (a, b))| Difference { what, a, b }).collect()
}

/// As its JSON, a text without quotes; `unknown` where it isn't.
fn known(value: &Option<impl Serialize>) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(Value::Null) | Err(_) => "unknown".to_owned(),
        Ok(other) => other.to_string(),
    }
}
