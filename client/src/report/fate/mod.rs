//! What becomes of what is allocated, by function, line, crate, layer or type, as a table for terminals.

mod blocks;

pub use self::blocks::CellTrace;
pub(super) use self::blocks::blocks;
use super::{
    Style,
    attribution::{ALL, Line, laid_out, noun, others},
    columns::{percent, whole},
    table::fold,
};
use crate::{
    profile::{FateSums, FateTable, Trace},
    units::thousands,
};

/// A table of fates and what it is of.
#[derive(Debug, Clone, Copy)]
pub struct Fated<'a> {
    /// What was traced, for the headline.
    pub subject: &'a str,
    /// The trace.
    pub trace: &'a Trace,
    /// What became of it.
    pub table: &'a FateTable,
    /// Calls in flight when the subject was measured. `None` where nothing but the trace is known of it.
    pub concurrency: Option<u32>,
    /// Which part of the trace it is, as `focus=h2`. `None` when it is all of it.
    pub part: Option<&'a str>,
    /// Whether it stands below another table of the same trace, which says how it came about.
    pub is_below: bool,
}

/// A headline, a table of at most `limit` rows, one that sums up the others, one that sums up all, and what to know about it.
pub fn fate(what: Fated<'_>, limit: Option<usize>, style: Style) -> String {
    let title = format!("{}; what becomes of what is allocated, by {}", what.subject, noun(what.table.by));
    let notes: String = what.notes().iter().map(|note| fold(note, style)).collect();
    format!("{}\n{}{notes}", style.bold(&title), what.grid(limit, style.width))
}

/// What a trace is of.
fn basis(trace: &Trace, concurrency: Option<u32>) -> String {
    let not = concurrency.filter(|calls| *calls != 1).map(|calls| format!(", not {}", thousands(calls.into())));
    let (ops, watched) = (thousands(trace.fates.ops), thousands(trace.fates.watched));
    format!(
        "Measured with one call in flight{}: of the first {ops} of {} requests, watched for {watched} more.",
        not.unwrap_or_default(),
        thousands(trace.ops)
    )
}

/// What fates are.
const FATES: &str = "same op: given back, or given another size, within the request that asked for it; later: in a later one; kept: not \
                     by the end.";

/// What the figures of growth are.
const GROWTH: &str = "steps: reallocs of a block that was given another size, on average; copied: what these moved. A table \
                                 that grows into a new block and gives back the old one, as hash maps do, isn't seen to grow.";

impl Fated<'_> {
    fn notes(&self) -> Vec<String> {
        if self.is_below {
            return Vec::new();
        }
        let growth = self.grows().then(|| GROWTH.to_owned());
        let part = self.part.map(|part| format!("{part}: the rest is left out."));
        [basis(self.trace, self.concurrency) + " " + FATES].into_iter().chain(growth).chain(part).collect()
    }

    fn grows(&self) -> bool {
        self.table.total.steps > 0
    }

    fn grid(&self, limit: Option<usize>, width: usize) -> String {
        let FateTable { by, rows, total } = self.table;
        let (shown, rest) = rows.split_at(rows.len().min(limit.unwrap_or(usize::MAX)));
        let named = shown.iter().map(|row| (self.figures(&row.sums), &row.row)).collect();
        let mut sums = Vec::new();
        if !rest.is_empty() {
            let rest_of: FateSums = rest.iter().map(|row| row.sums).sum();
            sums.push((self.figures(&rest_of), others(rest.len())));
        }
        sums.push((self.figures(total), ALL.to_owned()));
        laid_out(*by, self.head(), named, sums, width)
    }

    fn head(&self) -> Vec<Line> {
        let count = if self.grows() { 6 } else { 4 };
        let cells = |cells: [&str; 6]| cells[..count].iter().copied().map(str::to_owned).collect::<Vec<_>>();
        vec![
            (cells(["", "same", "", "", "", "copied"]), String::new()),
            (cells(["B/op", "op", "later", "kept", "steps", "B/op"]), noun(self.table.by).to_owned()),
        ]
    }

    fn figures(&self, sums: &FateSums) -> Vec<String> {
        let mut figures = vec![bytes_per_op(self.trace, sums)];
        figures.extend(shares(sums));
        if self.grows() {
            figures.extend(growth(self.trace, sums));
        }
        figures
    }
}

/// Nothing of that kind.
const NONE: &str = "·";

fn bytes_per_op(trace: &Trace, sums: &FateSums) -> String {
    whole(sums.bytes as f64 / trace.fates.ops.max(1) as f64)
}

/// A part of a whole. What isn't all of it is never `100%`.
fn share(part: f64, whole: f64) -> String {
    match part / whole {
        _ if part == 0.0 => NONE.to_owned(),
        share if (0.995..1.0).contains(&share) => format!("{:.2}%", (share * 100.0).min(99.99)),
        share => percent(share),
    }
}

/// Shares of the bytes: within, later, kept.
fn shares(sums: &FateSums) -> [String; 3] {
    [sums.within, sums.later, sums.kept].map(|part| share(part as f64, sums.bytes as f64))
}

/// Steps, and bytes copied per op.
fn growth(trace: &Trace, sums: &FateSums) -> [String; 2] {
    if sums.grown == 0 {
        return [NONE.to_owned(), NONE.to_owned()];
    }
    let steps = sums.steps as f64 / sums.grown as f64;
    [format!("{steps:.1}"), whole(sums.copied as f64 / trace.ops.max(1) as f64)]
}
