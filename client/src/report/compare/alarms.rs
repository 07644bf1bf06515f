//! False alarms for terminals.

use super::{metric_name, probability};
use crate::{
    compare::{Alarms, FalseAlarms},
    report::{
        Style,
        columns::percent,
        table::{finish, fold, plain_table},
    },
};

/// A line for each figure. A share whose chance is small is more than alpha explains.
pub fn false_alarms(alarms: &FalseAlarms, style: Style) -> String {
    let mut table = plain_table();
    table.set_header(["", "judged", "better", "worse", "false alarms", "chance"]);
    for each in &alarms.metrics {
        table.add_row(row(metric_name(each.metric), each, alarms.alpha));
    }
    let note = format!(
        "chance: the probability of as many false alarms or more where each verdict is wrong with p = {}. Figures of one run move \
         together, so that their false alarms do too.",
        alarms.alpha
    );
    format!("{}\n{}{}", style.bold("The same server on both sides"), finish(table, 6, 1), fold(&note, style))
}

/// The same as JSON.
///
/// # Errors
/// Those of serialising, which counts don't have.
pub fn false_alarms_json(alarms: &FalseAlarms) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(alarms)? + "\n")
}

fn row(name: &str, alarms: &Alarms, alpha: f64) -> [String; 6] {
    let share = alarms.wrong() as f64 / alarms.judged.max(1) as f64;
    let [judged, better, worse] = [alarms.judged, alarms.better, alarms.worse].map(|count| count.to_string());
    [name.to_owned(), judged, better, worse, percent(share), probability(alarms.chance(alpha))]
}
