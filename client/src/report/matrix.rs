//! A whole suite in a table for each payload: frameworks side by side, concurrency and whatever else differs downwards.

use super::{
    Style,
    blocks::{self, Block, Table, texts},
    columns::{Column, SUMMARY, UNKNOWN, requested_note},
    facets::{FACETS, Facet, RATE, payload, phrases, varying},
    markdown, spoken,
    table::{finish, fold, folded, plain_table},
};
use crate::measure::result::RunResult;

/// A combination that a framework can't do and that was not tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which framework.
    pub framework: String,
    /// What of it: values of a cell with blanks between them, as `hessian2`, `msgpack streaming` or `1MiB`. A cell that has all
    /// of them is refused.
    pub what: String,
    /// Why, in a few words.
    pub reason: String,
}

/// The cells of one payload.
struct Matrix<'a> {
    payload: String,
    /// What all cells have in common, for the heading.
    common: Vec<String>,
    /// What the rows differ in, beside the concurrency.
    facets: Vec<&'static Facet>,
    rows: Vec<Row>,
    groups: Vec<Group<'a>>,
}

#[derive(Debug, PartialEq)]
struct Row {
    concurrency: u32,
    /// A value for each of the matrix' facets. `None` when no result of the row has one.
    values: Vec<Option<String>>,
    /// The values of all facets, for what is refused.
    all: Vec<String>,
}

/// The results of a framework in a run.
struct Group<'a> {
    name: String,
    framework: &'a str,
    results: Vec<&'a RunResult>,
}

/// A table for each payload, for a terminal: as many frameworks side by side as its width holds, the others below.
pub fn matrix(results: &[RunResult], refused: &[Refused], style: Style) -> String {
    let text = |matrix: &Matrix| {
        let notes: String = notes(matrix, refused).iter().map(|note| fold(note, style)).collect();
        let body = folded(&matrix.groups, style.width, &|groups| grid(matrix, groups, refused));
        format!("{}\n{body}{notes}", style.bold(&heading(matrix)))
    };
    matrices(&results.iter().collect::<Vec<_>>()).iter().map(text).collect::<Vec<_>>().join("\n")
}

/// A table for each payload as GitHub's Markdown.
pub fn matrix_markdown(results: &[RunResult], refused: &[Refused]) -> String {
    markdown::blocks(&matrix_blocks(&results.iter().collect::<Vec<_>>(), refused))
}

/// A table for each payload, with its heading and notes.
pub(super) fn matrix_blocks(results: &[&RunResult], refused: &[Refused]) -> Vec<Block> {
    let blocks = |matrix: &Matrix| {
        let notes = blocks::notes(notes(matrix, refused));
        [Block::Heading(heading(matrix)), Block::Table(table(matrix, refused)), notes]
    };
    matrices(results).iter().flat_map(blocks).collect()
}

fn matrices<'a>(results: &[&'a RunResult]) -> Vec<Matrix<'a>> {
    let mut payloads: Vec<(u64, String)> = results.iter().map(|r| (r.payload_size, payload(r))).collect();
    payloads.sort();
    payloads.dedup();
    let several_runs = results.iter().any(|result| result.label != results[0].label);
    payloads
        .into_iter()
        .map(|(_, name)| {
            let members: Vec<&RunResult> = results.iter().copied().filter(|result| payload(result) == name).collect();
            Matrix::new(name, &members, several_runs)
        })
        .collect()
}

impl<'a> Matrix<'a> {
    fn new(payload: String, members: &[&'a RunResult], several_runs: bool) -> Self {
        let mut facets = varying(members, FACETS);
        facets.extend(varying(members, std::slice::from_ref(&RATE)));
        let mut groups: Vec<Group<'a>> = Vec::new();
        for &result in members {
            let name = if several_runs {
                format!("{} ({})", result.framework, result.label)
            } else {
                result.framework.clone()
            };
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.results.push(result),
                None => groups.push(Group { name, framework: &result.framework, results: vec![result] }),
            }
        }
        // The result that has most to say: a bare echo has no serialization.
        let telling = members.iter().max_by_key(|result| phrases(result, &facets).len());
        let common = telling.map(|result| phrases(result, &facets)).unwrap_or_default();
        Self { payload, common, rows: rows(members, &facets), facets, groups }
    }

    /// The framework's result in a row. Measured twice, the later one counts.
    fn cell(&self, group: &Group<'a>, row: &Row) -> Option<&'a RunResult> {
        let matches = |result: &&&RunResult| {
            let agrees = |(facet, value): (&&Facet, &Option<String>)| {
                (facet.value)(result).zip(value.as_ref()).is_none_or(|(a, b)| a == *b)
            };
            result.concurrency == row.concurrency && self.facets.iter().zip(&row.values).all(agrees)
        };
        group.results.iter().rev().find(matches).copied()
    }

    /// The number of the note that says why there is none.
    fn refusal(&self, group: &Group, row: &Row, refused: &[Refused]) -> Option<usize> {
        let has = |word: &str| {
            word == self.payload
                || row.concurrency.to_string() == word
                || row.values.iter().flatten().chain(&row.all).any(|value| value == word)
        };
        let covers = |entry: &Refused| entry.framework == group.framework && entry.what.split_whitespace().all(has);
        refused.iter().position(covers).map(|at| at + 1)
    }

    /// What stands in a framework's columns of a row.
    fn texts(&self, group: &Group<'a>, row: &Row, refused: &[Refused]) -> Vec<String> {
        let mut texts: Vec<String> = match self.cell(group, row) {
            Some(result) => return SUMMARY.iter().map(|column| (column.cell)(result)).collect(),
            None => SUMMARY.iter().map(|_| UNKNOWN.to_owned()).collect(),
        };
        if let Some(note) = self.refusal(group, row, refused) {
            texts[0] = format!("[{note}]");
        }
        texts
    }

    fn row_heads(&self) -> Vec<&'static str> {
        std::iter::once("calls").chain(self.facets.iter().map(|facet| facet.head)).collect()
    }
}

impl Row {
    fn texts(&self) -> Vec<String> {
        let values = self.values.iter().map(|value| value.clone().unwrap_or_else(|| UNKNOWN.to_owned()));
        std::iter::once(crate::units::thousands(u64::from(self.concurrency))).chain(values).collect()
    }
}

/// By concurrency, then by facets in the order in which their values first appear. A result that some facet has no meaning for
/// stands in every row that it fits; it makes one only where there is none.
fn rows(members: &[&RunResult], facets: &[&Facet]) -> Vec<Row> {
    let row = |result: &RunResult| Row {
        concurrency: result.concurrency,
        values: facets.iter().map(|facet| (facet.value)(result)).collect(),
        all: FACETS.iter().filter_map(|facet| (facet.value)(result)).collect(),
    };
    let fits = |a: &Row, b: &Row| {
        let agrees =
            |(a, b): (&Option<String>, &Option<String>)| a.as_ref().zip(b.as_ref()).is_none_or(|(a, b)| a == b);
        a.concurrency == b.concurrency && a.values.iter().zip(&b.values).all(agrees)
    };
    let mut candidates: Vec<Row> = members.iter().map(|result| row(result)).collect();
    // One with little to say would stand for all that it fits.
    candidates.sort_by_key(|row| row.values.iter().filter(|value| value.is_none()).count());
    let mut rows: Vec<Row> = Vec::new();
    for row in candidates {
        if !rows.iter().any(|other| fits(other, &row)) {
            rows.push(row);
        }
    }
    let mut seen: Vec<Vec<Option<String>>> = Vec::new();
    for row in &rows {
        if !seen.contains(&row.values) {
            seen.push(row.values.clone());
        }
    }
    rows.sort_by_key(|row| (row.concurrency, seen.iter().position(|values| *values == row.values)));
    rows
}

/// `1MiB payload: protobuf, unary`
fn heading(matrix: &Matrix) -> String {
    match matrix.common.as_slice() {
        [] => format!("{} payload", matrix.payload),
        common => format!("{} payload: {}", matrix.payload, common.join(", ")),
    }
}

fn grid(matrix: &Matrix, groups: &[Group], refused: &[Refused]) -> String {
    let row_heads = matrix.row_heads();
    let left = row_heads.len();
    let mut table = plain_table();
    let group_heads = groups.iter().flat_map(|group| {
        SUMMARY.iter().enumerate().map(move |(at, Column { head: [first, second], .. })| {
            format!("{}\n{first}\n{second}", if at == 0 { group.name.as_str() } else { "" })
        })
    });
    let heads = row_heads.iter().map(|head| format!("\n\n{head}"));
    table.set_header(heads.chain(group_heads));
    for row in &matrix.rows {
        let cells = groups.iter().flat_map(|group| matrix.texts(group, row, refused));
        table.add_row(row.texts().into_iter().chain(cells));
    }
    finish(table, left + groups.len() * SUMMARY.len(), left)
}

fn notes(matrix: &Matrix, refused: &[Refused]) -> Vec<String> {
    let mut notes = vec![
        "calls: in flight. QPS and per-op figures: median of the rounds; ±: half their range ÷ median.".to_owned(),
    ];
    let results: Vec<&RunResult> = matrix.groups.iter().flat_map(|group| group.results.iter().copied()).collect();
    notes.push(if results.iter().any(|result| result.load.qps.is_some()) {
        "p99: service time, at a rate response time (from the moment a call was to start); all rounds together."
            .to_owned()
    } else {
        "p99: service time, all rounds together.".to_owned()
    });
    notes.extend(requested_note(&results));
    notes.extend(wires(matrix));
    let cells =
        || matrix.groups.iter().flat_map(|group| matrix.rows.iter().map(move |row| matrix.texts(group, row, refused)));
    if cells().flatten().any(|text| text == UNKNOWN) {
        notes.push(format!("{UNKNOWN} not measured."));
    }
    for (at, Refused { framework, what, reason }) in refused.iter().enumerate() {
        let mark = format!("[{}]", at + 1);
        if cells().any(|texts| texts[0] == mark) {
            notes.push(format!("{mark} {framework} {what}: {reason}."));
        }
    }
    notes
}

/// In what the frameworks of a row spoke different wires, each said once.
fn wires(matrix: &Matrix) -> Vec<String> {
    let row = |row: &Row| {
        let cells: Vec<&RunResult> = matrix.groups.iter().filter_map(|group| matrix.cell(group, row)).collect();
        spoken::different_wires(&cells)
    };
    let mut notes: Vec<String> = Vec::new();
    for note in matrix.rows.iter().filter_map(row) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn table(matrix: &Matrix, refused: &[Refused]) -> Table {
    let head = |name: &str, column: &Column| format!("{name} {}", column.head.join(" ").trim());
    let heads = matrix.groups.iter().flat_map(|group| SUMMARY.iter().map(move |column| head(&group.name, column)));
    let mut row_heads = matrix.row_heads().into_iter();
    let calls = row_heads.next().map(blocks::Column::figures);
    let cells = |row: &Row| {
        let figures = matrix.groups.iter().flat_map(|group| matrix.texts(group, row, refused));
        texts(row.texts().into_iter().chain(figures))
    };
    Table {
        columns: calls
            .into_iter()
            .chain(row_heads.map(blocks::Column::words))
            .chain(heads.map(blocks::Column::figures))
            .collect(),
        rows: matrix.rows.iter().map(cells).collect(),
        sums: 0,
    }
}
