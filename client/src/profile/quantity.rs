//! What a profile's values are called, and how they are written.

use super::scale::{three_digits, two_decimals};

/// What a count means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    /// For the subtitle: `bytes per op`.
    pub(super) long: String,
    /// After each figure: `B/op`.
    short: String,
    /// Counts are divided by it.
    divisor: f64,
    pub(super) is_memory: bool,
}

impl Quantity {
    pub(super) fn new(kind: &str, unit: &str, ops: Option<u64>) -> Self {
        let is_memory = unit == "bytes" || kind.ends_with("_objects");
        // Nanoseconds are finer than anything a profiler tells apart.
        let (long, short, scale) = match unit {
            "bytes" => ("bytes", "B", 1.0),
            "nanoseconds" if ops.is_some() => ("µs of CPU time", "µs", 1e3),
            "nanoseconds" => ("ms of CPU time", "ms", 1e6),
            "count" if kind.starts_with("alloc") => ("allocations", "allocs", 1.0),
            "count" if kind.ends_with("_objects") => ("objects", "objects", 1.0),
            "count" => (kind, kind, 1.0),
            // Folded stacks don't say what they count.
            "" => (kind, "", 1.0),
            other => (other, other, 1.0),
        };
        match ops.filter(|ops| *ops > 0) {
            Some(ops) => Self {
                long: format!("{long} per op"),
                short: if short.is_empty() { "per op".to_owned() } else { format!("{short}/op") },
                divisor: ops as f64 * scale,
                is_memory,
            },
            None => Self { long: long.to_owned(), short: short.to_owned(), divisor: scale, is_memory },
        }
    }

    /// A figure and what it is of: `2,470 B/op`.
    pub(super) fn format(&self, count: f64) -> String {
        self.with_unit(&self.figure(count))
    }

    /// The figure alone.
    pub(super) fn figure(&self, count: f64) -> String {
        let value = count / self.divisor;
        // The whole reads as it does in the table.
        if self.short == "allocs/op" && value >= 1.0 { two_decimals(value) } else { three_digits(value) }
    }

    pub(super) fn with_unit(&self, figure: &str) -> String {
        format!("{figure} {}", self.short).trim_end().to_owned()
    }
}
