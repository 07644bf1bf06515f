//! Whose the values of a profile are, as tables for terminals.

use super::{
    Style,
    columns::{percent, whole},
    facets,
    sites::keep_end,
    table::fold,
};
use crate::{
    measure::result::RunResult,
    profile::{Amounts, Attribution, By, Row, SampleType, UNKNOWN_TYPE, three_digits, two_decimals},
    units::thousands,
};

/// Names are cut to no less than this, however narrow the terminal.
const MIN_NAMES: usize = 24;
/// Beside a place a function is shown if there is room for so much of it.
const MIN_FUNCTION: usize = 12;
const GAP: &str = "  ";

/// What a profile's values are divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis<'a> {
    /// By nothing: they are those of the whole profile. With why that is, where figures per op were to be expected.
    Total(Option<&'a str>),
    /// By the ops that the profile covers.
    Ops(u64),
    /// So that the whole is so many µs of CPU time per op.
    CpuPerOp(f64),
}

/// An attribution and what it is read against.
#[derive(Debug, Clone, Copy)]
pub struct Attributed<'a> {
    /// What was profiled, for the headline.
    pub subject: &'a str,
    /// The values by owner.
    pub table: &'a Attribution,
    /// Those of the whole profile, of which shares are.
    pub whole: Amounts,
    /// What they are divided by.
    pub basis: Basis<'a>,
    /// Which part of the profile it is, as `focus=h2`. `None` when it is all of it.
    pub part: Option<&'a str>,
    /// Whether it stands below another table of the same values, which says what they are.
    pub is_below: bool,
}

/// A headline, a table of at most `limit` rows, one that sums up the others, one that sums up all, and what to know about it.
pub fn attribution(what: Attributed<'_>, limit: Option<usize>, style: Style) -> String {
    let title = what.title();
    let notes: String = what.notes().iter().map(|note| fold(note, style)).collect();
    format!("{}\n{}{notes}", style.bold(&title), what.grid(limit, style.width))
}

/// A result in few words: `triple 128B-50, unary, protobuf`.
pub fn subject(result: &RunResult) -> String {
    let name = format!("{} {}", result.framework, result.scenario);
    [vec![name], facets::phrases(result, &[])].concat().join(", ")
}

/// Figures, to be aligned to the right, and a name.
pub(super) type Line = (Vec<String>, String);

impl Attributed<'_> {
    fn title(&self) -> String {
        let kind = self.table.types.first().map_or("", |first| &first.kind);
        format!("{}; {kind} by {}", self.subject, noun(self.table.by))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = if self.is_below { Vec::new() } else { self.notes_on_values() };
        match self.table.by {
            By::Layer => {
                notes.push(
                    "A sample is of the innermost layer in its stack, but of std only when there is no other."
                        .to_owned(),
                );
                if self.table.rows.iter().any(|row| row.name == "other") {
                    notes.push("other: dependencies that no layer names; a map of your own (--layers) can.".to_owned());
                }
            }
            By::Type { .. } if self.table.rows.iter().any(|row| row.name == UNKNOWN_TYPE) => notes.push(format!(
                "{UNKNOWN_TYPE}: no name in the stack has it; Rust's have where built with -C symbol-mangling-version=v0."
            )),
            By::Type { .. } => {}
            _ if self.table.is_memory => notes.push(
                "flat: asked for by it, be it through collections, boxing or spawning; cum: by it and what it called."
                    .to_owned(),
            ),
            _ => {}
        }
        notes
    }

    fn notes_on_values(&self) -> Vec<String> {
        let basis = match self.basis {
            Basis::Ops(ops) => Some(format!("Per op, over the {} ops that the profile covers.", thousands(ops))),
            Basis::CpuPerOp(micros) => Some(format!(
                "Per op: the shares of a profile of its own in the {} µs/op that the server took in the timed rounds.",
                three_digits(micros)
            )),
            Basis::Total(why) => why.map(|why| format!("Totals of the profile, not per op: {why}.")),
        };
        let part = self.part.map(|part| {
            let share = self.share(self.table.total);
            format!("{part}: {share} of the whole remains, and shares are of the whole.")
        });
        basis.into_iter().chain(part).collect()
    }

    fn grid(&self, limit: Option<usize>, width: usize) -> String {
        let Attribution { by, rows, total, .. } = self.table;
        let (shown, rest) = rows.split_at(rows.len().min(limit.unwrap_or(usize::MAX)));
        let named = shown.iter().map(|row| (self.figures(row.flat, Some(row.cum)), row)).collect();
        let mut sums = Vec::new();
        if !rest.is_empty() {
            let flat = rest.iter().fold(Amounts::default(), |sum, row| [sum[0] + row.flat[0], sum[1] + row.flat[1]]);
            sums.push((self.figures(flat, None), others(rest.len())));
        }
        sums.push((self.figures(*total, None), ALL.to_owned()));
        laid_out(*by, self.head(), named, sums, width)
    }

    /// The lines above the figures.
    fn head(&self) -> Vec<Line> {
        let quantities = self.quantities();
        let words = |word: fn(&Quantity) -> &str| quantities.iter().map(move |q| word(q).to_owned());
        let above: Vec<String> = words(|q| q.above).chain([String::new()]).collect();
        let below: Vec<String> = words(|q| q.below).chain(["share".to_owned()]).collect();
        let noun = noun(self.table.by).to_owned();
        let group = |name: &str| vec![name.to_owned(); above.len()];
        let lines = if self.is_flat() {
            vec![(above, String::new()), (below, noun)]
        } else {
            vec![
                ([group("flat"), group("cum")].concat(), String::new()),
                ([&above[..], &above[..]].concat(), String::new()),
                ([&below[..], &below[..]].concat(), noun),
            ]
        };
        lines.into_iter().filter(|(cells, _)| cells.iter().any(|cell| !cell.is_empty())).collect()
    }

    fn figures(&self, flat: Amounts, cum: Option<Amounts>) -> Vec<String> {
        let quantities = self.quantities();
        let figures = |amounts: Amounts| -> Vec<String> {
            let values = quantities.iter().zip(amounts).map(|(quantity, amount)| quantity.format(amount));
            values.chain([self.share(amounts)]).collect()
        };
        let cum = match cum {
            _ if self.is_flat() => Vec::new(),
            Some(cum) => figures(cum),
            None => vec![String::new(); quantities.len() + 1],
        };
        [figures(flat), cum].concat()
    }

    /// Whether what a row's callees did says nothing.
    fn is_flat(&self) -> bool {
        matches!(self.table.by, By::Layer | By::Type { .. })
    }

    fn share(&self, amounts: Amounts) -> String {
        match (amounts[0], self.whole[0]) {
            (_, 0) => "–".to_owned(),
            (0, _) => "0%".to_owned(),
            (_, whole) => signed(amounts[0] as f64 / whole as f64, percent),
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.table.types.iter().map(|of| Quantity::new(of, self.basis, self.whole[0])).collect()
    }
}

/// How the values of a sample type are shown.
struct Quantity {
    /// The head of its column: `allocs` above `/op`.
    above: &'static str,
    below: &'static str,
    factor: f64,
    format: fn(f64) -> String,
}

impl Quantity {
    fn new(of: &SampleType, basis: Basis<'_>, whole: i128) -> Self {
        let (per_op, factor) = match basis {
            Basis::Total(_) => (false, 1.0),
            Basis::Ops(ops) => (true, 1.0 / ops as f64),
            Basis::CpuPerOp(micros) => (true, if whole == 0 { 0.0 } else { micros / whole as f64 }),
        };
        let requested = if of.kind.starts_with("requested") { "requested" } else { "" };
        let is_allocated = of.kind.starts_with("alloc");
        let (above, below, factor, format): (_, _, _, fn(f64) -> String) = match (&*of.unit, per_op) {
            ("bytes", true) => (requested, "B/op", factor, self::whole),
            ("bytes", false) => (requested, "B", factor, self::whole),
            ("nanoseconds", true) => ("", "µs/op", factor, three_digits),
            ("nanoseconds", false) => ("", "ms", factor / 1e6, three_digits),
            (_, true) => (if is_allocated { "allocs" } else { "count" }, "/op", factor, two_decimals),
            (_, false) => ("", if is_allocated { "allocs" } else { "count" }, factor, self::whole),
        };
        Self { above, below, factor, format }
    }

    fn format(&self, amount: i128) -> String {
        signed(amount as f64 * self.factor, self.format)
    }
}

/// A profile that is a difference has values below zero.
fn signed(value: f64, format: fn(f64) -> String) -> String {
    if value < 0.0 { format!("-{}", format(-value)) } else { format(value) }
}

/// What the row is called that sums up all.
pub(super) const ALL: &str = "(all)";

/// What the row is called that sums up those which aren't shown.
pub(super) fn others(count: usize) -> String {
    format!("({} other{})", thousands(count as u64), if count == 1 { "" } else { "s" })
}

/// Heads, rows and sums in columns, with names cut to what is left of the width.
pub(super) fn laid_out(
    by: By,
    head: Vec<Line>,
    rows: Vec<(Vec<String>, &Row)>,
    sums: Vec<Line>,
    width: usize,
) -> String {
    let figures = || {
        let named = rows.iter().map(|(figures, _)| figures);
        head.iter().chain(&sums).map(|(figures, _)| figures).chain(named)
    };
    let columns = figures().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|at| figures().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let room = width.saturating_sub(widths.iter().map(|width| width + GAP.len()).sum()).max(MIN_NAMES);
    let layers = rows.iter().map(|(_, row)| row.name.chars().count()).max().unwrap_or(0);
    let named: Vec<Line> = rows.iter().map(|(figures, row)| (figures.clone(), name(row, by, room, layers))).collect();
    head.iter().chain(&named).chain(&sums).map(|line| aligned(line, &widths)).collect()
}

pub(super) fn noun(by: By) -> &'static str {
    match by {
        By::Function { .. } => "function",
        By::Line { .. } => "line",
        By::Crate => "crate",
        By::Layer => "layer",
        By::Type { .. } => "type",
    }
}

/// A row's name in so much room; `layers` is the width of the longest name.
fn name(row: &Row, by: By, room: usize, layers: usize) -> String {
    // Go's names say it themselves: `F[...]`.
    let is_marked = row.is_folded && row.name.contains("::");
    let function = if is_marked { format!("{}::<…>", row.name) } else { row.name.clone() };
    if by == By::Layer {
        return keep_start(&format!("{function:<layers$}{GAP}{}", row.crates.join(", ")), room);
    }
    let Some(place) = &row.place else { return keep_end(&function, room) };
    match room.checked_sub(place.chars().count() + GAP.len()).filter(|left| *left >= MIN_FUNCTION) {
        Some(left) => format!("{place}{GAP}{}", keep_end(&function, left)),
        None => keep_end(place, room),
    }
}

fn keep_start(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn aligned((figures, name): &Line, widths: &[usize]) -> String {
    let cells: String = figures.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}{GAP}")).collect();
    (cells + name).trim_end().to_owned() + "\n"
}
