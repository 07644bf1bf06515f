//! What to beware of in results.

use super::{Style, name, table::fold};
use crate::measure::result::RunResult;

/// Every warning of every result, with the framework and scenario it belongs to.
pub fn warnings(results: &[RunResult], style: Style) -> String {
    let lines: String = results
        .iter()
        .flat_map(|result| result.warnings.iter().map(move |warning| (result, warning)))
        .map(|(result, warning)| {
            let plain = Style { color: false, ..style };
            style.yellow("!") + &fold(&format!("{}: {warning}", name(result)), plain)[1..]
        })
        .collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}", style.bold("Warnings")) }
}
