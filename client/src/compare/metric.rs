//! The figures that are judged.

use serde::{Serialize, Serializer};

use crate::measure::result::Figures;

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A figure that is judged.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its key in a result's JSON.
    pub key: &'static str,
    /// Its name in tables.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is good.
    pub better: Better,
    /// Its value in a round.
    pub of: fn(&Figures) -> Option<f64>,
}

impl Metric {
    /// The metric with that key.
    pub fn by_key(key: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.key == key)
    }

    /// Whether it is counted and not timed: counts repeat from run to run, and on another machine.
    pub fn is_counted(&self) -> bool {
        matches!(self.key, "bytes_per_op" | "requested_bytes_per_op" | "allocs_per_op")
    }

    /// The last digit that tables show of such a value: bytes whole, allocations in hundredths, all else in three digits and never
    /// finer than thousandths.
    pub fn resolution(&self, value: f64) -> f64 {
        match self.key {
            "bytes_per_op" | "requested_bytes_per_op" => 1.0,
            "allocs_per_op" => 0.01,
            _ => match value.abs() {
                v if v >= 100.0 => 1.0,
                v if v >= 10.0 => 0.1,
                v if v >= 1.0 => 0.01,
                _ => 0.001,
            },
        }
    }
}

/// A key has one metric.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// Its key.
impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key)
    }
}

const fn lower(key: &'static str, name: &'static str, unit: &'static str, of: fn(&Figures) -> Option<f64>) -> Metric {
    Metric { key, name, unit, better: Better::Lower, of }
}

/// All of them, what a server costs first.
pub const METRICS: &[Metric] = &[
    lower("bytes_per_op", "B/op", "B/op", |f| f.bytes_per_op),
    lower("requested_bytes_per_op", "requested B/op", "B/op", |f| f.requested_bytes_per_op),
    lower("allocs_per_op", "allocs/op", "allocs/op", |f| f.allocs_per_op),
    lower("server_cpu_us_per_op", "CPU µs/op", "µs/op", |f| f.server_cpu_us_per_op),
    lower("memory_avg_mb", "memory MiB", "MiB", |f| f.memory_avg_mb),
    Metric { key: "qps", name: "QPS 1/s", unit: "1/s", better: Better::Higher, of: |f| f.qps },
    lower("latency_p50_ms", "service p50 ms", "ms", |f| f.latency_p50_ms),
    lower("latency_p99_ms", "service p99 ms", "ms", |f| f.latency_p99_ms),
    lower("latency_p999_ms", "service p99.9", "ms", |f| f.latency_p999_ms),
    lower("response_p50_ms", "response p50 ms", "ms", |f| f.response_p50_ms),
    lower("response_p99_ms", "response p99 ms", "ms", |f| f.response_p99_ms),
    lower("response_p999_ms", "response p99.9", "ms", |f| f.response_p999_ms),
];
