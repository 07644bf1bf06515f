//! The columns that tables for people have: heads, cells and footnotes, in one place for all forms.

use crate::{
    measure::result::{BytesBasis, RunResult},
    profile::{three_digits, two_decimals},
    units::thousands,
};

/// A column of figures, right-aligned, with a head of two lines.
pub(super) struct Column {
    pub(super) head: [&'static str; 2],
    pub(super) cell: fn(&RunResult) -> String,
}

/// How fast.
pub(super) const SPEED: &[Column] = &[
    Column { head: ["QPS", "1/s"], cell: |r| cell(r.figures.qps, three_digits) },
    Column { head: ["QPS", "±"], cell: |r| cell(r.spread.qps, percent) },
    Column { head: ["p50", "ms"], cell: |r| cell(r.figures.latency_p50_ms, three_digits) },
    Column { head: ["p99", "ms"], cell: |r| cell(r.figures.latency_p99_ms, three_digits) },
    Column { head: ["p99.9", "ms"], cell: |r| cell(r.figures.latency_p999_ms, three_digits) },
    Column { head: ["CPU", "µs/op"], cell: |r| cell(r.figures.server_cpu_us_per_op, three_digits) },
    Column { head: ["of", "roofline"], cell: |r| cell(r.roofline_ratio, percent) },
];

/// What it allocates.
pub(super) const MEMORY: &[Column] = &[
    Column { head: ["", "B/op"], cell: bytes_per_op },
    Column { head: ["requested", "B/op"], cell: |r| cell(r.figures.requested_bytes_per_op, whole) },
    Column { head: ["allocs", "/op"], cell: |r| cell(r.figures.allocs_per_op, two_decimals) },
    Column { head: ["allocs", "±"], cell: |r| cell(r.spread.allocs_per_op, percent) },
    Column { head: ["copies", "/op"], cell: |r| cell(r.figures.copies_per_op, two_decimals) },
];

/// What stands for a figure that isn't known.
const UNKNOWN: &str = "–";
/// Marks a figure of B/op that counts requested bytes.
const REQUESTED: &str = "*";

/// What the columns leave out, a sentence each, for these results only.
pub(super) fn footnotes(results: &[&RunResult]) -> Vec<String> {
    let mut notes = vec![
        "B/op, allocs/op: serving threads only; a realloc counts as an allocation. copies/op: requested bytes ÷ payload.".to_owned(),
        "QPS and per-op figures: median of the rounds; ±: half their range ÷ median. Latency: service time, all rounds together."
            .to_owned(),
    ];
    let any = |condition: fn(&RunResult) -> bool| results.iter().any(|r| condition(r));
    if any(|r| r.roofline_ratio.is_some()) {
        notes.push("of roofline: QPS ÷ QPS of a bare TCP echo (raw) in the same run.".to_owned());
    }
    if any(is_requested) {
        notes.push(format!("{REQUESTED} requested bytes: the allocator doesn't tell how many it handed out."));
    }
    if any(|r| SPEED.iter().chain(MEMORY).any(|column| (column.cell)(r) == UNKNOWN)) {
        notes.push(format!("{UNKNOWN} not measured."));
    }
    notes
}

/// A whole number of bytes.
pub(super) fn whole(value: f64) -> String {
    thousands(value.round().max(0.0) as u64)
}

/// A share: `0.02%`, `2.1%`, `97%`.
pub(super) fn percent(ratio: f64) -> String {
    match ratio * 100.0 {
        p if p >= 9.95 => format!("{p:.0}%"),
        p if p >= 0.995 => format!("{p:.1}%"),
        p => format!("{p:.2}%"),
    }
}

fn bytes_per_op(result: &RunResult) -> String {
    let text = cell(result.figures.bytes_per_op, whole);
    if is_requested(result) { text + REQUESTED } else { text }
}

fn is_requested(result: &RunResult) -> bool {
    result.bytes_per_op_basis == Some(BytesBasis::Requested) && result.figures.bytes_per_op.is_some()
}

fn cell(figure: Option<f64>, format: fn(f64) -> String) -> String {
    figure.map_or_else(|| UNKNOWN.to_owned(), format)
}
