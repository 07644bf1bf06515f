//! Results as JSON.

use crate::measure::result::RunResult;

/// An array of results, each by `result.schema.json`, ending in a line end.
///
/// # Errors
/// Those of serialising, which results read or derived by this program don't have.
pub fn json(results: &[RunResult]) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(results)? + "\n")
}
