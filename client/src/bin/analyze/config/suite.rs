//! The whole file: the lists whose product are the cells, and the sections.

use std::{
    path::PathBuf,
    str::{self, FromStr},
};

use analyze::{
    load::CallMode,
    scenario::{Compression, Framework, NameError, Payload, Serialization},
    store::Label,
};

use super::{
    Config, cells,
    finding::{Finding, Findings},
    load,
    section::{Field, Section},
    servers::{self, OTHERS},
    settings::Given,
    yaml::{self, Mark},
};
use crate::values::{callers, cpus, timeout, truth};

const KEYS: [&str; 18] = [
    "service",
    "payload_sizes",
    "serializations",
    "compressions",
    "call_modes",
    "concurrency_levels",
    "benchmark",
    "frameworks",
    "rounds",
    "roofline",
    "profiles",
    "load",
    "servers",
    "server_cpus",
    "client_cpus",
    "label",
    "out",
    "cells",
];
const BENCHMARK_KEYS: [&str; 4] = ["warmup_duration", "test_duration", "request_timeout", "connect_timeout"];

/// The most cells, which bounds what a plan holds in memory; nobody waits for as many.
const MAX_CELLS: usize = 100_000;

/// Reads a file's text. The findings are in its order. `frameworks` replace the file's own once all is read.
pub(super) fn read(text: &[u8], frameworks: Option<Vec<Framework>>) -> Result<Config, Vec<Finding>> {
    let text = str::from_utf8(text).map_err(|error| vec![not_utf8(text, error.valid_up_to())])?;
    let document = yaml::parse(text).map_err(|finding| vec![finding])?;
    let findings = Findings::default();
    let mut config = Config::default();
    if let Some(top) = Field::root(&document, &findings).section(&KEYS) {
        read_matrix(&top, &mut config);
        read_settings(&top, &mut config);
        load::read(&top, &mut config);
        servers::read(&top, &mut config);
        // What is judged by other keys is judged when those are sound: a wrong one is said once.
        if findings.is_empty() {
            load::check(&top, &config);
            servers::check(&top, &config);
            check_size(&top, &config);
            cells::read(&top, &mut config);
            config.frameworks = frameworks.unwrap_or(config.frameworks);
            config.notes = notes(&top, &config);
        }
    }
    if findings.is_empty() { Ok(config) } else { Err(findings.sorted()) }
}

/// What stands in the file and changes nothing.
fn notes(top: &Section<'_>, config: &Config) -> Vec<Finding> {
    let mut notes = load::notes(top, config);
    notes.extend(servers::notes(top, config));
    notes.sort_unstable();
    notes
}

fn not_utf8(text: &[u8], at: usize) -> Finding {
    let before = String::from_utf8_lossy(&text[..at]);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let mark = Mark { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 };
    Finding::new(mark, format!("the byte {:#04x}: must be UTF-8 text", text[at]))
}

fn read_matrix(top: &Section<'_>, config: &mut Config) {
    top.set_list("frameworks", &mut config.frameworks, framework);
    top.set_list("payload_sizes", &mut config.payloads, Payload::from_str);
    config.encoding_asked = top.field("serializations").is_some();
    top.set_list("serializations", &mut config.serializations, Serialization::from_str);
    top.set_list("compressions", &mut config.compressions, Compression::from_str);
    top.set_list("call_modes", &mut config.call_modes, CallMode::from_str);
    top.set_list("concurrency_levels", &mut config.concurrency_levels, callers);
}

fn read_settings(top: &Section<'_>, config: &mut Config) {
    config.settings = Given::read(top).apply(config.settings);
    if let Some(benchmark) = top.field("benchmark").and_then(|field| field.section(&BENCHMARK_KEYS)) {
        config.settings = Given::read(&benchmark).apply(config.settings);
        benchmark.set("connect_timeout", &mut config.connect_timeout, timeout);
    }
    top.set("roofline", &mut config.roofline, truth);
    config.server_cpus = top.value("server_cpus", cpus);
    config.client_cpus = top.value("client_cpus", cpus);
    config.label = top.value("label", Label::from_str);
    config.out = top.value("out", folder);
}

/// A framework of ours, or a peer; other suites have more.
pub(super) fn framework(text: &str) -> Result<Framework, String> {
    text.parse().map_err(|error: NameError| match OTHERS.contains(&text) {
        true => format!("{error}; a server that speaks as one of them and runs already can be named in servers"),
        false => error.to_string(),
    })
}

fn folder(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err(format!("{text:?}: must be a folder")),
        text => Ok(text.into()),
    }
}

fn check_size(top: &Section<'_>, config: &Config) {
    let lists = [
        config.frameworks.len(),
        config.payloads.len(),
        config.serializations.len(),
        config.compressions.len(),
        config.call_modes.len(),
        config.concurrency_levels.len(),
        config.load.qps.len().max(1),
    ];
    let cells = lists.into_iter().fold(1, usize::saturating_mul);
    if cells > MAX_CELLS {
        top.refuse(format!("{cells} cells: must be {MAX_CELLS} at most"));
    }
}
