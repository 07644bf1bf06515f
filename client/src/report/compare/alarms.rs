//! False alarms for terminals.

use super::{exact_percent, metric_name, probability, unknown, what_counts};
use crate::{
    compare::{Alarms, FalseAlarms, Noise},
    report::{
        Style,
        columns::percent,
        table::{finish, fold, plain_table},
    },
};

/// A line for each figure: how often a difference was significant, how often it was a verdict, and what noise it is.
pub fn false_alarms(alarms: &FalseAlarms, style: Style) -> String {
    let mut table = plain_table();
    let p = format!("p ≤ {}", alarms.criteria.alpha);
    table.set_header(["", "judged", &p, "chance", "better", "worse", "alarms", "noise floor"]);
    for each in &alarms.metrics {
        table.add_row(row(metric_name(each.metric), each));
    }
    let notes: String = footnotes(alarms).iter().map(|note| fold(note, style)).collect();
    format!("{}\n{}{notes}", style.bold("The same server on both sides"), finish(table, 8, 1))
}

/// The same as JSON.
///
/// # Errors
/// Those of serialising, which counts don't have.
pub fn false_alarms_json(alarms: &FalseAlarms) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(alarms)? + "\n")
}

fn row(name: &str, alarms: &Alarms) -> [String; 8] {
    let share = |count: u64| percent(count as f64 / alarms.judged.max(1) as f64);
    let [judged, better, worse] = [alarms.judged, alarms.better, alarms.worse].map(|count| count.to_string());
    [
        name.to_owned(),
        judged,
        share(alarms.significant),
        probability(alarms.chance()),
        better,
        worse,
        share(alarms.wrong()),
        alarms.noise_floor.map_or_else(unknown, percent),
    ]
}

fn footnotes(alarms: &FalseAlarms) -> Vec<String> {
    let alpha = alarms.criteria.alpha;
    let sizes = alarms.metrics.iter().map(|each| each.size);
    let size = sizes.fold(0.0, f64::max);
    let mut notes = vec![
        format!(
            "p ≤ {alpha}: how often a difference was significant, however small. With so many rounds that has a probability of {}, as p \
             comes in steps; chance: that of as many or more. Figures of one run move together, and so do their alarms.",
            probability(size)
        ),
        format!(
            "better, worse: those of them that count, {}. alarms: both, all of them false.",
            what_counts(&alarms.criteria.smallest)
        ),
        format!("noise floor: {} of the differences were no larger.", exact_percent(1.0 - alpha)),
    ];
    if alarms.metrics.iter().any(|each| (each.judged as usize) < Noise::runs_needed(alpha)) {
        notes.push(format!("It takes {} runs.", Noise::runs_needed(alpha)));
    }
    notes
}
