//! Results as text, one file a form. Everything here is a pure function to a `String`: it looks up no terminal, no environment and
//! no clock; [`Style`] says what the caller found out about them.

mod attribution;
mod blocks;
mod columns;
mod compare;
mod csv;
pub(crate) mod curve;
mod diff;
mod document;
pub(crate) mod facets;
mod facts;
mod fate;
mod files;
mod gate;
mod html;
mod json;
mod markdown;
mod matrix;
mod repeat;
mod results;
mod sites;
mod slow;
mod spoken;
mod table;
mod through;
mod top;
mod trace;
mod warnings;

use std::path::Path;

pub use self::{
    attribution::{Attributed, Basis, attribution, subject},
    compare::{benchstat, comparison, comparison_json, comparison_markdown, false_alarms, false_alarms_json},
    csv::csv,
    curve::curve,
    diff::{diff, diff_csv, diff_json, diff_markdown},
    document::{Against, Document, pull_request},
    fate::{CellTrace, Fated, fate},
    files::{files, folders},
    gate::{gate, gate_json, gate_markdown, gate_summary},
    html::{Flamegraph, Shown, page},
    json::json,
    markdown::markdown,
    matrix::{Refused, matrix, matrix_markdown},
    repeat::repeat,
    sites::sites,
    slow::slow,
    table::table,
    through::through,
    top::top,
    trace::{TRACE_VERSION, Traced, trace_json, traces},
    warnings::warnings,
};
pub(crate) use self::{sites::keep_end, trace::OLDER};
use crate::{
    measure::result::{Gateway, RunResult},
    scenario::GatewayKind,
};

/// What the text is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that fit in a line. Nothing is wrapped within a number.
    pub width: usize,
    /// Whether to write ANSI colours: for terminals, and never when `NO_COLOR` is set.
    pub color: bool,
}

impl Default for Style {
    /// 120 columns without colour.
    fn default() -> Self {
        Self { width: 120, color: false }
    }
}

impl Style {
    fn bold(self, text: &str) -> String {
        self.paint(text, "1")
    }

    fn dim(self, text: &str) -> String {
        self.paint(text, "2")
    }

    fn green(self, text: &str) -> String {
        self.paint(text, "32")
    }

    fn yellow(self, text: &str) -> String {
        self.paint(text, "33")
    }

    fn paint(self, text: &str, code: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The whole report of a run for people: the curves where there are several rates, and for each scenario the table of the results
/// that are in none, what a gateway adds, how many calls took long at a rate, then the allocation sites of each framework, then what to beware of, then
/// where the files are. `data_dir` is the folder of the results' JSON files.
pub fn text(results: &[RunResult], data_dir: &Path, style: Style) -> String {
    let all: Vec<&RunResult> = results.iter().collect();
    let curves = curve::curves(&all);
    let others: Vec<&RunResult> =
        all.into_iter().filter(|result| !curves.iter().any(|curve| curve.is_of(result))).collect();
    joined([
        curve(results, style),
        table::tables(&others, style),
        through(results, style),
        slow(results, style),
        sites(results, style),
        warnings(results, style),
        files(results, data_dir, style),
    ])
}

/// The whole report of a suite for people: a matrix for each payload, and the curves where there are several rates, then what to beware
/// of, then where the files are.
pub fn suite(results: &[RunResult], refused: &[Refused], data_dir: &Path, style: Style) -> String {
    joined([
        matrix(results, refused, style),
        curve(results, style),
        warnings(results, style),
        folders(results, data_dir, style),
    ])
}

/// The parts that are not empty, with a blank line between them.
fn joined<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Results that differ in their framework alone, in the order in which each first appears.
fn by_scenario<'a>(results: &[&'a RunResult]) -> Vec<Vec<&'a RunResult>> {
    let same =
        |a: &RunResult, b: &RunResult| a.scenario == b.scenario && a.load.qps == b.load.qps && facets::alike(a, b);
    let mut groups: Vec<Vec<&RunResult>> = Vec::new();
    for &result in results {
        match groups.iter_mut().find(|group| group.iter().all(|other| same(other, result))) {
            Some(group) => group.push(result),
            None => groups.push(vec![result]),
        }
    }
    groups
}

/// What is called in a line: `triple 1MiB-100`, `triple 1MiB-100 via nginx`.
fn name(result: &RunResult) -> String {
    let known = |gateway: &Gateway| match (gateway.kind, &gateway.address) {
        (GatewayKind::Running, Some(address)) => address.clone(),
        (kind, _) => kind.to_string(),
    };
    let via = result.gateway.as_ref().map(|gateway| format!(" via {}", known(gateway))).unwrap_or_default();
    format!("{} {}{via}", result.framework, result.scenario)
}

/// `1MiB-100: 1MiB payload, 100 calls in flight, protobuf, unary; 5 rounds, grpc 2`
fn heading(results: &[&RunResult]) -> String {
    // A bare echo has no serialization to name.
    let said = |result: &&&RunResult| facets::phrases(result, &[]).len();
    let telling = results.iter().max_by_key(said).unwrap_or(&results[0]);
    let words =
        [vec![format!("{} payload", facets::payload(telling)), facets::calls(telling)], facets::phrases(telling, &[])];
    format!("{}: {}; {}", telling.scenario, words.concat().join(", "), rounds(results))
}

/// How many rounds were measured, and of which frameworks fewer.
fn rounds(results: &[&RunResult]) -> String {
    let most = results.iter().map(|result| result.rounds.len()).max().unwrap_or(0);
    let fewer = results.iter().filter(|result| result.rounds.len() < most);
    let fewer: String = fewer.map(|result| format!(", {} {}", result.framework, result.rounds.len())).collect();
    format!("{most} round{}{fewer}", if most == 1 { "" } else { "s" })
}
