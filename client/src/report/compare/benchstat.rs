//! A comparison as Go's benchmark format, for `benchstat -col run`.
//!
//! <https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md>; units as `golang.org/x/perf/benchunit` reads
//! them: what ends in `-ns` is shown in seconds.

use std::fmt::Write;

use super::names;
use crate::{
    compare::{Comparison, Pair},
    measure::result::{Figures, RunResult},
};

/// A figure with its unit, in units that benchstat scales.
type Unit = (&'static str, fn(&Figures) -> Option<f64>);

const NS_PER_MS: f64 = 1e6;
const NS_PER_US: f64 = 1e3;

const UNITS: [Unit; 7] = [
    ("B/op", |f| f.bytes_per_op),
    ("allocs/op", |f| f.allocs_per_op),
    ("server-cpu-ns", |f| f.server_cpu_us_per_op.map(|us| us * NS_PER_US)),
    ("replies/s", |f| f.qps),
    ("p50-ns", |f| f.latency_p50_ms.map(|ms| ms * NS_PER_MS)),
    ("p99-ns", |f| f.latency_p99_ms.map(|ms| ms * NS_PER_MS)),
    ("response-p99-ns", |f| f.response_p99_ms.map(|ms| ms * NS_PER_MS)),
];

/// A line for each round of each pair, first all of the one side, then all of the other.
pub fn benchstat(comparison: &Comparison<'_>) -> String {
    let mut text = "Unit replies/s better=higher\n".to_owned();
    for side in [0, 1] {
        for pair in &comparison.pairs {
            let result = [pair.a, pair.b][side];
            // Writing to a String can't fail.
            let _ = write!(text, "\nrun: {}\n", names(pair)[side]);
            text += &rounds(pair, result);
        }
    }
    text
}

fn rounds(pair: &Pair<'_>, result: &RunResult) -> String {
    let name = benchmark(pair.a);
    let calls = result.rounds.iter().map(|round| round.ok).filter(|ok| *ok > 0);
    let line = |(figures, calls): (Figures, u64)| {
        let values = UNITS.iter().filter_map(|(unit, of)| of(&figures).map(|value| format!("\t{value} {unit}")));
        format!("{name}\t{calls}{}\n", values.collect::<String>())
    };
    result.figures_by_round().into_iter().zip(calls).map(line).collect()
}

/// Both sides' name: what comes after a last hyphen would be read as GOMAXPROCS, so that there is none.
fn benchmark(result: &RunResult) -> String {
    let payload = super::facets::payload(result).replace('-', "_");
    let rate = result.load.qps.map(|qps| format!("/qps={qps}")).unwrap_or_default();
    let mut framework = result.framework.replace('-', "_");
    if let Some(first) = framework.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!(
        "Benchmark{framework}/payload={payload}/calls={}/serialization={}/compression={}/mode={}{rate}",
        result.concurrency, result.serialization, result.compression, result.call_mode
    )
}
