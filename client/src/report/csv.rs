//! Results as CSV, for spreadsheets and scripts.

use serde_json::Value;

use crate::measure::result::RunResult;

/// Keys that are no single value; their place is the JSON.
const NESTED: &[&str] =
    &["payload_mix", "slow_calls", "rounds", "wire", "syscalls", "environment", "sites", "files", "warnings"];

/// Why results can't be written as CSV.
#[derive(Debug, thiserror::Error)]
#[error("CSV: {0}")]
pub struct CsvError(String);

/// A header and a row for each result: the JSON's keys in the JSON's order, the spreads as `spread_<key>`. What wasn't measured is
/// empty.
///
/// # Errors
/// Those of serialising, which results read or derived by this program don't have.
pub fn csv(results: &[RunResult]) -> Result<String, CsvError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    for (at, result) in results.iter().enumerate() {
        let Value::Object(object) = serde_json::to_value(result).map_err(fail)? else {
            return Err(CsvError("a result is no object".to_owned()));
        };
        let row: Vec<(String, Value)> =
            object.into_iter().filter(|(key, _)| !NESTED.contains(&key.as_str())).flat_map(flatten).collect();
        if at == 0 {
            writer.write_record(row.iter().map(|(key, _)| key)).map_err(fail)?;
        }
        writer.write_record(row.iter().map(|(_, value)| field(value))).map_err(fail)?;
    }
    String::from_utf8(writer.into_inner().map_err(fail)?).map_err(fail)
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

fn fail(error: impl std::fmt::Display) -> CsvError {
    CsvError(error.to_string())
}
