//! The columns that tables for people have: heads, cells and footnotes, in one place for all forms.

use std::collections::BTreeSet;

use super::spoken;
use crate::{
    load::Wire,
    measure::result::{BytesBasis, RunResult, SourceKind},
    profile::{three_digits, two_decimals},
    scenario::Compression,
    units::thousands,
};

/// A column of figures, right-aligned, with a head of two lines.
pub(super) struct Column {
    pub(super) head: [&'static str; 2],
    pub(super) cell: fn(&RunResult) -> String,
}

const QPS: Column = Column { head: ["QPS", "1/s"], cell: |r| cell(r.figures.qps, three_digits) };
const QPS_SPREAD: Column = Column { head: ["QPS", "±"], cell: |r| cell(r.spread.qps, percent) };
/// Of a framework in one scenario, CPU time of the server.
pub(super) const CPU: Column =
    Column { head: ["CPU", "µs/op"], cell: |r| cell(r.figures.server_cpu_us_per_op, three_digits) };
const ROOFLINE: Column = Column { head: ["of", "roofline"], cell: |r| cell(r.roofline_ratio, percent) };
pub(super) const BYTES: Column = Column { head: ["", "B/op"], cell: bytes_per_op };
const ALLOCS: Column = Column { head: ["allocs", "/op"], cell: |r| cell(r.figures.allocs_per_op, two_decimals) };

/// The rate asked for.
pub(super) const REQUESTED_RATE: Column =
    Column { head: ["requested", "1/s"], cell: |r| cell(r.load.qps, three_digits) };
/// The rate that came about.
pub(super) const ACHIEVED: Column =
    Column { head: ["achieved", "1/s"], cell: |r| cell(r.achieved_rate(), three_digits) };
pub(super) const RESPONSE_P50: Column =
    Column { head: ["response", "p50 ms"], cell: |r| cell(r.figures.response_p50_ms, three_digits) };
pub(super) const RESPONSE_P99: Column =
    Column { head: ["", "p99 ms"], cell: |r| cell(r.figures.response_p99_ms, three_digits) };
pub(super) const RESPONSE_P999: Column =
    Column { head: ["", "p99.9"], cell: |r| cell(r.figures.response_p999_ms, three_digits) };
pub(super) const SERVICE_P99: Column =
    Column { head: ["service", "p99 ms"], cell: |r| cell(r.figures.latency_p99_ms, three_digits) };

/// How fast, in a closed loop.
const SPEED: &[Column] = &[
    QPS,
    QPS_SPREAD,
    Column { head: ["p50", "ms"], cell: |r| cell(r.figures.latency_p50_ms, three_digits) },
    Column { head: ["p99", "ms"], cell: |r| cell(r.figures.latency_p99_ms, three_digits) },
    Column { head: ["p99.9", "ms"], cell: |r| cell(r.figures.latency_p999_ms, three_digits) },
    CPU,
    ROOFLINE,
];

/// How fast, at a rate.
const SPEED_AT_RATE: &[Column] =
    &[REQUESTED_RATE, ACHIEVED, QPS_SPREAD, RESPONSE_P50, RESPONSE_P99, RESPONSE_P999, SERVICE_P99, CPU];

/// What it allocates.
const MEMORY: &[Column] = &[
    BYTES,
    Column { head: ["requested", "B/op"], cell: |r| cell(r.figures.requested_bytes_per_op, whole) },
    ALLOCS,
    Column { head: ["allocs", "±"], cell: |r| cell(r.spread.allocs_per_op, percent) },
    Column { head: ["copies", "/op"], cell: |r| cell(r.figures.copies_per_op, two_decimals) },
];

/// What goes over its sockets.
const WIRE: &[Column] = &[
    Column { head: ["sent", "wire B/op"], cell: |r| cell(r.figures.sent_bytes_per_op, whole) },
    Column { head: ["received", "wire B/op"], cell: |r| cell(r.figures.received_bytes_per_op, whole) },
    Column {
        head: ["encoding", "sent/received"],
        cell: |r| {
            let encodings = |wire: &Wire| format!("{}/{}", wire.request_encoding, wire.response_encoding);
            r.wire.as_ref().map_or_else(|| UNKNOWN.to_owned(), encodings)
        },
    },
];

/// What a matrix says of each framework in each cell.
pub(super) const SUMMARY: &[Column] = &[
    QPS,
    QPS_SPREAD,
    Column {
        head: ["p99", "ms"],
        cell: |r| cell(r.figures.response_p99_ms.or(r.figures.latency_p99_ms), three_digits),
    },
    BYTES,
    ALLOCS,
];

/// The columns that fit these results, in groups that stay together: speed, memory, and the wire where something was to be
/// compressed.
pub(super) fn groups(results: &[&RunResult]) -> Vec<&'static [Column]> {
    let speed = if results.iter().any(|result| result.load.qps.is_some()) { SPEED_AT_RATE } else { SPEED };
    let wire = results.iter().any(|result| is_compressed(result)).then_some(WIRE);
    [speed, MEMORY].into_iter().chain(wire).collect()
}

/// Whether messages were compressed in a direction, or should have been.
fn is_compressed(result: &RunResult) -> bool {
    result.compression != Compression::None.to_string() || result.wire.as_ref().is_some_and(Wire::is_compressed)
}

/// What stands for a figure that isn't known.
pub(super) const UNKNOWN: &str = "–";
/// Marks a figure of B/op that counts requested bytes.
const REQUESTED: &str = "*";

/// What the columns leave out, a sentence each, for these results only.
pub(super) fn footnotes(results: &[&RunResult]) -> Vec<String> {
    let any = |condition: fn(&RunResult) -> bool| results.iter().any(|r| condition(r));
    let latency = if any(|r| r.load.qps.is_some()) {
        "Response time: from the moment a call was to start, to its reply; service time: from sending; all rounds together."
    } else {
        "Latency: service time, all rounds together."
    };
    let mut notes = vec![
        "B/op, allocs/op: serving threads only; a realloc counts as an allocation. copies/op: requested bytes ÷ payload.".to_owned(),
        format!("QPS and per-op figures: median of the rounds; ±: half their range ÷ median. {latency}"),
    ];
    if any(|r| r.roofline_ratio.is_some()) {
        notes.push("of roofline: QPS ÷ QPS of a bare TCP echo (raw) in the same run.".to_owned());
    }
    if any(is_compressed) {
        notes.push(
            "wire B/op: what the load generator's sockets sent and received, frames and headers included.".to_owned(),
        );
    }
    notes.extend(spoken::different_wires(results));
    notes.extend(spoken::frames(results));
    let from = |is: fn(SourceKind) -> bool| {
        let of = results.iter().filter(|r| r.environment.counter_source.is_some_and(is));
        let names: BTreeSet<&str> = of.map(|r| r.framework.as_str()).collect();
        (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
    };
    notes.extend(from(SourceKind::is_go).map(|go| {
        format!("{go}: B/op, allocs/op by Go's MemStats: size classes, as usable bytes are, of all goroutines; what reading them takes is left out.")
    }));
    notes.extend(from(|source| source == SourceKind::JvmAgent).map(|jvm| {
        format!("{jvm}: B/op by the JVM: heap, all threads but its agent's; it doesn't count allocations.")
    }));
    notes.extend(requested_note(results));
    if results.iter().any(|r| groups(results).into_iter().flatten().any(|column| (column.cell)(r) == UNKNOWN)) {
        notes.push(format!("{UNKNOWN} not measured."));
    }
    notes
}

/// What the mark beside a B/op means, where one of the results has it.
pub(super) fn requested_note(results: &[&RunResult]) -> Option<String> {
    results
        .iter()
        .any(|result| is_requested(result))
        .then(|| format!("{REQUESTED} requested bytes: the allocator doesn't tell how many it handed out."))
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

pub(super) fn cell(figure: Option<f64>, format: fn(f64) -> String) -> String {
    figure.map_or_else(|| UNKNOWN.to_owned(), format)
}
