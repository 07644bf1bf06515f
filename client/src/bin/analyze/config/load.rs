//! `load`: the shape of the load, and what can't go together in it.

use std::{str::FromStr, time::Duration};

use analyze::{
    load::{CallMode, MessagesPerStream, Sharing},
    scenario::{Framework, PayloadPattern},
    units::format_duration,
};

use super::{
    Config,
    finding::Finding,
    section::{Field, Section},
};
use crate::values::{callers, exceed_a_day, pause, rate, rates, requests, response_size, sleep, truth};

const KEYS: [&str; 10] = [
    "qps",
    "requests",
    "think",
    "connections",
    "sharing",
    "messages_per_stream",
    "payload_pattern",
    "response_size",
    "sleep",
    "accept_gzip",
];

/// The shape of the load, the same in every cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Load {
    /// Calls a second, a cell for each; none is a closed loop.
    pub(crate) qps: Vec<u32>,
    /// Calls of a round; `None` ends a round by time.
    pub(crate) requests: Option<u64>,
    /// Zero at a rate.
    pub(crate) think: Duration,
    /// `None` is one, and with a pool one for each call in flight.
    pub(crate) connections: Option<u32>,
    pub(crate) sharing: Sharing,
    /// For the streaming cells.
    pub(crate) messages_per_stream: MessagesPerStream,
    pub(crate) pattern: PayloadPattern,
    /// Bytes of payload; `None` is the request's.
    pub(crate) response_size: Option<u64>,
    pub(crate) sleep: Duration,
    pub(crate) accept_gzip: bool,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            qps: Vec::new(),
            requests: None,
            think: Duration::ZERO,
            connections: None,
            sharing: Sharing::default(),
            messages_per_stream: MessagesPerStream::default(),
            pattern: PayloadPattern::default(),
            response_size: None,
            sleep: Duration::ZERO,
            accept_gzip: false,
        }
    }
}

pub(super) fn read(top: &Section<'_>, config: &mut Config) {
    let Some(section) = top.field("load").and_then(|field| field.section(&KEYS)) else { return };
    let load = &mut config.load;
    if let Some(qps) = section.field("qps").and_then(|field| read_qps(&field)) {
        load.qps = qps;
    }
    load.requests = section.value("requests", requests);
    section.set("think", &mut load.think, pause);
    load.connections = section.value("connections", callers);
    section.set("sharing", &mut load.sharing, Sharing::from_str);
    section.set("messages_per_stream", &mut load.messages_per_stream, MessagesPerStream::from_str);
    section.set("payload_pattern", &mut load.pattern, PayloadPattern::from_str);
    load.response_size = section.value("response_size", response_size);
    section.set("sleep", &mut load.sleep, sleep);
    section.set("accept_gzip", &mut load.accept_gzip, truth);
}

/// A rate, rates as `1000..20000/10`, or a list of rates.
fn read_qps(field: &Field<'_>) -> Option<Vec<u32>> {
    if field.is_list() { field.values(rate) } else { field.value(rates) }
}

/// What can't go together.
pub(super) fn check(top: &Section<'_>, config: &Config) {
    let load = &config.load;
    let slowest = load.qps.iter().min().copied();
    let most = config.concurrency_levels.iter().max().copied().unwrap_or_default();
    let timeout = config.settings.request_timeout;
    let refuse = |key: &str, problem: String| {
        if let Some(field) = top.inner("load", key) {
            field.refuse(problem);
        }
    };
    if !config.call_modes.contains(&CallMode::Streaming) {
        refuse("messages_per_stream", "needs streaming among call_modes".to_owned());
    }
    if let Some(connections) = load.connections.filter(|connections| most > *connections)
        && load.messages_per_stream == MessagesPerStream::Unbounded
        && load.sharing == Sharing::Pool
    {
        refuse(
            "messages_per_stream",
            format!(
                "unbounded streams would hold the {connections} connections of the pool for good: load.connections must be \
                 {most}, for as many calls in flight"
            ),
        );
    }
    if let Some([before, after]) = load.qps.array_windows().find(|[before, after]| before >= after) {
        refuse("qps", format!("{after} after {before}: rates must rise"));
    }
    if slowest.is_some() && !load.think.is_zero() {
        refuse("think", "can't go with load.qps: at a rate a call waits for its time, not for a reply".to_owned());
    }
    if let (Some(requests), Some(slowest)) = (load.requests, slowest)
        && exceed_a_day(requests, f64::from(slowest))
    {
        refuse("requests", format!("{requests} at {slowest} a second of load.qps: must take 24h at most"));
    }
    if let Some(requests) = load.requests.filter(|requests| *requests < u64::from(most)) {
        refuse("requests", format!("{requests}: fewer than the {most} calls in flight of concurrency_levels"));
    }
    if load.sleep >= timeout {
        let (sleep, timeout) = (format_duration(load.sleep), format_duration(timeout));
        refuse("sleep", format!("{sleep}: must be less than benchmark.request_timeout, {timeout}"));
    }
}

/// What stands in the file and changes nothing.
pub(super) fn notes(top: &Section<'_>, config: &Config) -> Vec<Finding> {
    let duration = top.inner("benchmark", "test_duration").filter(|_| config.load.requests.is_some());
    let duration = duration.map(|duration| duration.note("not used: load.requests ends each round"));
    let raw_alone = config.load.accept_gzip && config.frameworks == [Framework::Raw];
    let gzip = top.inner("load", "accept_gzip").filter(|_| raw_alone);
    let gzip = gzip.map(|gzip| gzip.note("not used: raw alone is measured, which never compresses"));
    duration.into_iter().chain(gzip).collect()
}
