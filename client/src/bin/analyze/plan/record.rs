//! A suite's plan as it lies beside its results, so that a suite that goes on is the one that was begun.

use std::{collections::BTreeMap, iter};

use analyze::measure::{
    DebugClient,
    result::{LoadShape, RunResult},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Origin, Plan, Refused, Subject, refused::cells};
use crate::BUILD;

/// The version of the file's shape.
const VERSION: u32 = 2;

/// What `plan.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlanRecord {
    plan_version: u32,
    label: String,
    /// When the suite was begun: RFC 3339, UTC.
    started: String,
    /// When it was gone on with, each time.
    #[serde(default)]
    resumed: Vec<String>,
    /// What all cells share.
    common: Value,
    /// What each cell is, by the stem of its files, in the order of measuring.
    cells: Map<String, Value>,
    /// What is not measured, and why.
    refused: Vec<Value>,
}

/// A path into a record with the values that two records have there.
type Difference = (String, String, String);

impl PlanRecord {
    pub(crate) fn of(plan: &Plan) -> Self {
        let cell = |subject: &Subject| (subject.file_stem(&plan.label), describe(subject));
        Self {
            plan_version: VERSION,
            label: plan.label.to_string(),
            started: plan.started.to_string(),
            resumed: Vec::new(),
            common: json!({
                "build": {"commit": BUILD.commit, "dirty": BUILD.dirty, "rustc": BUILD.rustc},
                "server_cpus": plan.placement.server,
                "client_cpus": plan.placement.client,
                "connect_timeout_ms": plan.connect_timeout.as_millis() as u64,
            }),
            cells: plan.subjects().map(cell).collect(),
            refused: plan.refused.iter().map(describe_refused).collect(),
        }
    }

    /// With what the peers are built from, where there are any.
    pub(crate) fn with_peers(mut self, builds: Map<String, Value>) -> Self {
        if !builds.is_empty() {
            self.common["peers"] = Value::Object(builds);
        }
        self
    }

    /// The record of a suite that goes on as this plan.
    pub(crate) fn resuming(self, earlier: Self) -> Self {
        let resumed = [earlier.resumed, vec![self.started]].concat();
        Self { started: earlier.started, resumed, ..self }
    }

    /// Whether this suite took a result, when it was begun or gone on with, and no other run that has its name.
    pub(crate) fn took(&self, result: &RunResult) -> bool {
        iter::once(&self.started).chain(&self.resumed).any(|start| *start == result.timestamp)
    }

    /// What is different from an earlier record, a phrase each; nothing where the earlier one can go on as this one.
    pub(crate) fn differences(&self, earlier: &Self) -> Vec<String> {
        if self.plan_version != earlier.plan_version {
            return vec![format!("plan_version {}, was {}", self.plan_version, earlier.plan_version)];
        }
        let mut phrases = Vec::new();
        let mut counts: BTreeMap<Difference, usize> = BTreeMap::new();
        compare("", &self.common, &earlier.common, &mut |difference| {
            phrases.push(said(&difference));
        });
        for (stem, cell) in &self.cells {
            if let Some(before) = earlier.cells.get(stem) {
                compare("", cell, before, &mut |difference| *counts.entry(difference).or_default() += 1);
            }
        }
        phrases.extend(counts.iter().map(|(difference, count)| format!("{} ({})", said(difference), cells(*count))));
        let missing = |of: &Map<String, Value>, from: &Map<String, Value>| {
            let mut stems = of.keys().filter(|stem| !from.contains_key(*stem));
            stems.next().map(|first| (first.clone(), stems.count() + 1))
        };
        if let Some((first, count)) = missing(&self.cells, &earlier.cells) {
            phrases.push(format!("{} new, as {first}", cells(count)));
        }
        if let Some((first, count)) = missing(&earlier.cells, &self.cells) {
            phrases.push(format!("{} gone, as {first}", cells(count)));
        }
        phrases
    }
}

fn describe(subject: &Subject) -> Value {
    let case = &subject.case;
    let server = match &subject.origin {
        Origin::Start(_) => json!("started"),
        Origin::Attach { addr, debug, pid } => {
            json!({"addr": addr.to_string(), "debug": debug.as_ref().map(DebugClient::url), "pid": pid})
        }
    };
    json!({
        "framework": subject.framework.name(),
        "scenario": case.scenario.to_string(),
        "serialization": case.serialization,
        "compression": case.compression,
        "call_mode": case.mode,
        "messages_per_stream": case.stream_length(),
        "payload_pattern": case.pattern,
        "response_size": case.response_size,
        "accept_gzip": case.accept_gzip,
        "load": LoadShape::from(case),
        "server": server,
        "rounds": subject.rounds,
        "round_ms": subject.round_length().as_millis() as u64,
        "warmup_ms": subject.warmup.as_millis() as u64,
        "request_timeout_ms": subject.request_timeout.as_millis() as u64,
        "profiles": subject.profiled,
    })
}

fn describe_refused(refused: &Refused) -> Value {
    json!({
        "framework": refused.framework.name(),
        "what": refused.what,
        "reason": refused.reason,
        "cells": refused.cells,
    })
}

/// Reports each place where two values differ; objects are gone into.
fn compare(path: &str, now: &Value, before: &Value, report: &mut impl FnMut(Difference)) {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            for (key, value) in now {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&path, value, before.get(key).unwrap_or(&Value::Null), report);
            }
        }
        (now, before) if now != before => report((path.to_owned(), now.to_string(), before.to_string())),
        _ => {}
    }
}

fn said((path, now, before): &Difference) -> String {
    format!("{path} {now}, was {before}")
}
