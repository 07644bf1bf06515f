//! One request under the glass, as text.

pub(super) mod fates;
mod request;

use std::path::PathBuf;

use comfy_table::CellAlignment;
use serde::{Deserialize, Serialize};

use super::{
    Style, joined,
    sites::keep_end,
    table::{fold, plain_table},
};
use crate::{
    load::Wire,
    measure::result::{LoadShape, RunMeta, RunResult},
    profile::{Check, Step, StepKind, Trace, TraceSite, two_decimals},
    units::thousands,
};

/// Of the width left for names, the most that file and line take.
const FILE_SHARE: f64 = 0.45;
/// Names are cut to no less than this, however narrow the terminal.
const MIN_NAMES: usize = 24;

/// The version of the shape of [`Traced`].
pub const TRACE_VERSION: u32 = 1;

/// A trace, of which server under which load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The version of this shape. It grows when a key changes its meaning or goes; new keys don't change it.
    pub schema_version: u32,
    /// The name of its folders.
    pub label: String,
    /// When it was begun: RFC 3339, UTC.
    pub timestamp: String,
    /// The server: `triple`, `grpc`, …
    pub framework: String,
    /// Payload and concurrency, which is 1.
    pub scenario: String,
    /// How messages are encoded.
    pub serialization: String,
    /// How they are compressed.
    pub compression: String,
    /// `unary` or `streaming`.
    pub call_mode: String,
    /// How the requests were sent.
    pub load: LoadShape,
    /// What really went over the wire.
    pub wire: Wire,
    /// What was seen.
    pub trace: Trace,
}

impl Traced {
    /// A trace of what `meta` describes.
    pub fn new(meta: &RunMeta, wire: Wire, trace: Trace) -> Self {
        let result = RunResult::derive(meta.clone(), &[]);
        Self {
            schema_version: TRACE_VERSION,
            label: result.label,
            timestamp: result.timestamp,
            framework: result.framework,
            scenario: result.scenario,
            serialization: result.serialization,
            compression: result.compression,
            call_mode: result.call_mode,
            load: result.load,
            wire,
            trace,
        }
    }
}

/// Traces for people: of each the request, what others did otherwise, what became of the blocks, and whether all of them are
/// listed; then where their files are.
pub fn traces(traces: &[Traced], files: &[PathBuf], style: Style) -> String {
    let one = |traced: &Traced| {
        let Traced { framework, scenario, trace, .. } = traced;
        joined([
            request::request(&format!("{framework} {scenario}"), trace, style),
            request::variants(trace, style),
            fates::fates(trace, style),
            fates::growth(trace, style),
            check(trace, style),
        ])
    };
    let files = files.iter().map(|file| format!("  {}\n", file.display()));
    let files = format!("{}\n{}", style.bold("Files"), files.collect::<String>());
    traces.iter().map(one).chain([files]).collect::<Vec<_>>().join("\n")
}

/// Traces as JSON: an array of them.
///
/// # Errors
/// Those of serialising, which traces don't have.
pub fn trace_json(traces: &[Traced]) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(traces)? + "\n")
}

/// What the list adds up to beside the server's counters.
fn check(Trace { check, ops, unseen_frees, .. }: &Trace, style: Style) -> String {
    let unseen = match unseen_frees {
        0 => String::new(),
        blocks => fold(
            &format!("{} blocks were given back by threads that aren't logged, when isn't known.", thousands(*blocks)),
            style,
        ),
    };
    unseen + &listed(check, *ops, style)
}

fn listed(check: &Check, ops: u64, style: Style) -> String {
    let per_op = |sum: u64| two_decimals(sum as f64 / ops.max(1) as f64);
    let listed = check.listed;
    let sums = format!(
        "Listed: {} allocations and {} frees in {} requests, {} allocs/op",
        thousands(listed.allocs),
        thousands(listed.frees),
        thousands(ops),
        per_op(listed.allocs)
    );
    let Some(why) = check.problem() else {
        return fold(&format!("{sums}; the server's counters, read before and after, say the same."), style);
    };
    fold(&style.yellow(&format!("! {sums}: {why}. The list is not whole.")), Style { color: false, ..style })
}

/// A table of which the last two columns are a site's number and function, and its file and line. `left` are the columns before
/// them that are not figures.
fn with_sites(rows: Vec<(Vec<String>, String, String)>, left: &[usize], width: usize) -> String {
    let widest = |text: fn(&(Vec<String>, String, String)) -> &String| {
        rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0)
    };
    let columns = rows.first().map_or(0, |(figures, ..)| figures.len());
    let of_column = |at: usize| rows.iter().map(|(figures, ..)| figures[at].chars().count()).max().unwrap_or(0) + 2;
    let figures: usize = (0..columns).map(of_column).sum();
    let names = width.saturating_sub(figures + 2).max(MIN_NAMES);
    let file_width = widest(|row| &row.2).min((names as f64 * FILE_SHARE) as usize);
    let function_width = widest(|row| &row.1).min(names.saturating_sub(file_width));
    let mut table = plain_table();
    for (mut cells, function, file) in rows {
        cells.extend([keep_end(&function, function_width), keep_end(&file, file_width)]);
        table.add_row(cells);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        if at < columns && !left.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((if at == 0 { 0 } else { 1 }, if at > columns { 0 } else { 1 }));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// What is said in place of a site that isn't in the log.
pub(crate) const OLDER: &str = "allocated before the log";

/// What a step's block was asked for by.
fn names_of(trace: &Trace, step: &Step) -> (String, String) {
    let is_older = step.site.is_none() && step.kind == StepKind::Free;
    if is_older { (OLDER.to_owned(), String::new()) } else { names(trace, step.site) }
}

/// A site's function and place.
pub(super) fn site(trace: &Trace, site: Option<usize>) -> [String; 2] {
    match site.and_then(|site| trace.sites.get(site)) {
        Some(site) => [site.function.clone(), place(site)],
        None => Default::default(),
    }
}

fn names(trace: &Trace, site: Option<usize>) -> (String, String) {
    self::site(trace, site).into()
}

fn place(TraceSite { file, line, .. }: &TraceSite) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    }
}

/// A site's number, by which tables and pictures name it.
fn number(site: Option<usize>) -> String {
    site.map_or_else(String::new, |site| (site + 1).to_string())
}
