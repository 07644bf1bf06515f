//! `cells`: changes for some of the cells.

use std::{fmt::Display, str::FromStr};

use analyze::{
    load::{CallMode, Case},
    scenario::{Compression, Framework, Payload, Serialization},
    units::format_duration,
};

use super::{
    Config,
    section::{Field, Section},
    settings::{self, Given, Settings},
    suite::framework,
};
use crate::values::{callers, rate, truth};

const MATCH_KEYS: [&str; 7] =
    ["framework", "payload", "serialization", "compression", "call_mode", "concurrency", "qps"];

/// Those of how messages are written and sent.
const WRITTEN: [&str; 3] = ["serialization", "compression", "call_mode"];

/// Other settings for the cells that match.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Change {
    matched: Match,
    skip: bool,
    given: Given,
}

/// The values that a cell may have; `None` is any.
#[derive(Debug, Clone, PartialEq, Default)]
struct Match {
    frameworks: Option<Vec<Framework>>,
    payloads: Option<Vec<Payload>>,
    serializations: Option<Vec<Serialization>>,
    compressions: Option<Vec<Compression>>,
    call_modes: Option<Vec<CallMode>>,
    concurrency_levels: Option<Vec<u32>>,
    qps: Option<Vec<u32>>,
}

impl Change {
    /// The bare echo has only some of the keys; what speaks of the others is not about it.
    pub(super) fn matches(&self, of: Framework, case: &Case) -> bool {
        fn has<T: PartialEq>(allowed: &Option<Vec<T>>, value: &T) -> bool {
            allowed.as_ref().is_none_or(|allowed| allowed.contains(value))
        }
        let Match { frameworks, payloads, serializations, compressions, call_modes, concurrency_levels, qps } =
            &self.matched;
        let at_rate = |qps: &Vec<u32>| qps.iter().any(|qps| case.window.rate == Some(f64::from(*qps)));
        let written_so = match of {
            Framework::Raw => serializations.is_none() && compressions.is_none() && call_modes.is_none(),
            _ => {
                has(serializations, &case.serialization)
                    && has(compressions, &case.compression)
                    && has(call_modes, &case.mode)
            }
        };
        has(frameworks, &of)
            && has(payloads, &case.scenario.payload)
            && written_so
            && has(concurrency_levels, &case.scenario.concurrency)
            && qps.as_ref().is_none_or(at_rate)
    }

    /// `None` when the cell is skipped.
    pub(super) fn apply(&self, settings: Settings) -> Option<Settings> {
        (!self.skip).then(|| self.given.apply(settings))
    }
}

/// Needs the matrix, the settings and the load, which it is checked against.
pub(super) fn read(top: &Section<'_>, config: &mut Config) {
    let Some(cells) = top.field("cells") else { return };
    let changes = cells.items().into_iter().filter_map(|cell| read_change(cell, config));
    config.changes = changes.collect();
}

fn read_change(cell: Field<'_>, config: &Config) -> Option<Change> {
    let known: Vec<&str> = ["match", "skip"].into_iter().chain(settings::KEYS).collect();
    let section = cell.section(&known)?;
    let given = Given::read(&section);
    let skip = section.value("skip", truth);
    let Some(matched) = section.field("match") else {
        section.refuse("match is missing: must be a mapping with keys of ".to_owned() + &MATCH_KEYS.join(", "));
        return None;
    };
    let change = Change { matched: read_match(matched, config)?, skip: skip.unwrap_or_default(), given };
    let settings = section.fields().filter(|(name, _)| settings::KEYS.contains(name)).count();
    match (section.field("skip"), settings) {
        (None, 0) => section.refuse(format!("changes nothing: must have skip, {}", settings::KEYS.join(", "))),
        (Some(skip), 1..) => skip.refuse("can't go with settings: a cell that is skipped has none"),
        _ => {}
    }
    if config.load.requests.is_some()
        && let Some(field) = section.field("test_duration")
    {
        field.refuse("can't go with load.requests, which ends each round");
    }
    if let Some(timeout) = given.request_timeout.filter(|timeout| *timeout <= config.load.sleep)
        && let Some(field) = section.field("request_timeout")
    {
        let (timeout, sleep) = (format_duration(timeout), format_duration(config.load.sleep));
        field.refuse(format!("{timeout}: must be more than load.sleep, {sleep}"));
    }
    Some(change)
}

fn read_match(field: Field<'_>, config: &Config) -> Option<Match> {
    let section = field.section(&MATCH_KEYS)?;
    if section.is_empty() {
        section.refuse(format!("matches every cell: must have one or more of {}", MATCH_KEYS.join(", ")));
    }
    let frameworks = among(&section, "framework", framework, "frameworks", &config.frameworks);
    if frameworks.as_ref().is_some_and(|frameworks| frameworks.contains(&Framework::Raw)) {
        for (_, field) in section.fields().filter(|(name, _)| WRITTEN.contains(name)) {
            field.refuse("can't go with framework raw, which knows nothing of how messages are written and sent");
        }
    }
    Some(Match {
        frameworks,
        payloads: among(&section, "payload", Payload::from_str, "payload_sizes", &config.payloads),
        serializations: among(
            &section,
            "serialization",
            Serialization::from_str,
            "serializations",
            &config.serializations,
        ),
        compressions: among(&section, "compression", Compression::from_str, "compressions", &config.compressions),
        call_modes: among(&section, "call_mode", CallMode::from_str, "call_modes", &config.call_modes),
        concurrency_levels: among(&section, "concurrency", callers, "concurrency_levels", &config.concurrency_levels),
        qps: among(&section, "qps", rate, "load.qps", &config.load.qps),
    })
}

/// Values of a key, each of which must be one of the suite's: one that isn't would match nothing without a word.
fn among<T: PartialEq + Display, E: Display>(
    section: &Section<'_>,
    key: &str,
    read: impl Fn(&str) -> Result<T, E>,
    list: &str,
    suite: &[T],
) -> Option<Vec<T>> {
    let of_the_suite = |text: &str| {
        let value = read(text).map_err(|error| error.to_string())?;
        if suite.contains(&value) {
            return Ok(value);
        }
        let have: Vec<String> = suite.iter().map(ToString::to_string).collect();
        let have = if have.is_empty() { ", which is empty".to_owned() } else { format!(": {}", have.join(", ")) };
        Err(format!("{text:?}: not among {list}{have}"))
    };
    section.field(key)?.values(of_the_suite)
}
