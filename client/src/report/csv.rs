//! Results as CSV, for spreadsheets and scripts.

use serde_json::Value;

use crate::measure::result::RunResult;

/// Keys that are no single value; their place is the JSON.
const NESTED: &[&str] = &[
    "payload_mix",
    "slow_calls",
    "rounds",
    "wire",
    "wire_use",
    "gateway",
    "syscalls",
    "environment",
    "sites",
    "files",
    "warnings",
];

/// A column with what it holds.
type Column = (&'static str, fn(&RunResult) -> Value);

/// The columns of kitex-benchmark's CSV, so that what reads its files reads ours: `AVG` and `P99` are service times in ms,
/// `Server_CPU` and `Client_CPU` percent, 100 = one CPU busy all the time.
const KITEX: [Column; 8] = [
    ("Kind", |r| r.framework.clone().into()),
    ("Concurrency", |r| r.concurrency.into()),
    ("Data_Size", |r| r.payload_size.into()),
    ("TPS", |r| r.figures.qps.into()),
    ("AVG", |r| r.figures.latency_avg_ms.into()),
    ("P99", |r| r.figures.latency_p99_ms.into()),
    ("Server_CPU", |r| r.figures.cpu_avg_percent.into()),
    ("Client_CPU", |r| client_cpu_percent(r).into()),
];

/// Why results can't be written as CSV.
#[derive(Debug, thiserror::Error)]
#[error("CSV: {0}")]
pub struct CsvError(String);

/// A header and a row for each result: kitex-benchmark's columns, then the JSON's keys in the JSON's order, the spreads as
/// `spread_<key>`. What wasn't measured is empty.
///
/// # Errors
/// Those of serialising, which results read or derived by this program don't have.
pub fn csv(results: &[RunResult]) -> Result<String, CsvError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    for (at, result) in results.iter().enumerate() {
        let Value::Object(object) = serde_json::to_value(result).map_err(fail)? else {
            return Err(CsvError("a result is no object".to_owned()));
        };
        let kitex = KITEX.iter().map(|(key, value)| ((*key).to_owned(), value(result)));
        let keys = object.into_iter().filter(|(key, _)| !NESTED.contains(&key.as_str())).map(named).flat_map(flatten);
        let row: Vec<(String, Value)> = kitex.chain(keys).collect();
        if at == 0 {
            writer.write_record(row.iter().map(|(key, _)| key)).map_err(fail)?;
        }
        writer.write_record(row.iter().map(|(_, value)| field(value))).map_err(fail)?;
    }
    String::from_utf8(writer.into_inner().map_err(fail)?).map_err(fail)
}

/// CPU time of the load generator ÷ wall time: its share of what its CPUs could give, times their number.
fn client_cpu_percent(result: &RunResult) -> Option<f64> {
    let cpus = result.environment.client_cpus.as_ref()?.len();
    Some(result.figures.client_cpu_utilisation_percent? * cpus as f64)
}

/// Of a call its method, so that there is one column whether there is a call or not.
fn named((key, mut value): (String, Value)) -> (String, Value) {
    if key == "call" {
        value = value["method"].take();
    }
    (key, value)
}

/// An object's keys get its own key before theirs.
fn flatten((key, value): (String, Value)) -> Vec<(String, Value)> {
    match value {
        Value::Object(inner) => inner.into_iter().map(|(name, value)| (format!("{key}_{name}"), value)).collect(),
        value => vec![(key, value)],
    }
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn fail(error: impl std::fmt::Display) -> CsvError {
    CsvError(error.to_string())
}
