//! A run against its budgets: each limit, what was measured, what is left, and a word.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Style,
    columns::{UNKNOWN, percent},
    compare::{figure, what_counts},
    facets::{self, FACETS, RATE},
    markdown::{escape, row},
    table::{finish, fits, fold, plain_table},
};
use crate::{
    compare::{Better, Check, Outcome, Smallest},
    measure::result::RunResult,
};

const HEADS: [&str; 8] = ["", "", "budget", "tolerance", "measured", "±", "room", ""];
/// Those that a narrow terminal has.
const NARROW: [usize; 6] = [0, 1, 2, 4, 6, 7];

/// A line for each check, for terminals.
pub fn gate(checks: &[Check<'_>], smallest: &Smallest, style: Style) -> String {
    let all: Vec<usize> = (0..HEADS.len()).collect();
    let body = Some(grid(checks, &all)).filter(|grid| fits(grid, style.width));
    let body = body.unwrap_or_else(|| grid(checks, &NARROW));
    let lines: String = body.lines().map(|line| paint(line, style) + "\n").collect();
    let plain = Style { color: false, ..style };
    let notes: String = notes(checks).iter().map(|note| fold(&format!("! {note}"), plain)).collect();
    let footnotes: String = footnotes(smallest).iter().map(|note| fold(note, style)).collect();
    format!("{lines}{notes}{footnotes}{}\n", style.bold(&gate_summary(checks)))
}

/// The same for pull requests, breaches in bold.
pub fn gate_markdown(checks: &[Check<'_>], smallest: &Smallest) -> String {
    let heads = ["", "figure", "budget", "tolerance", "measured", "±", "room", "verdict"];
    let mut text = row(heads.map(str::to_owned));
    text += &row(["---", "---", "---:", "---:", "---:", "---:", "---:", "---"].map(str::to_owned));
    for (check, name) in checks.iter().zip(names(checks)) {
        let [_, figure, budget, tolerance, measured, spread, room, word] = cells(check, String::new());
        let word = if check.outcome == Outcome::Ok { word } else { format!("**{word}**") };
        text += &row([escape(&name), figure, budget, tolerance, measured, spread, room, word]);
    }
    text += &format!("\n{}\n\n", gate_summary(checks));
    notes(checks).iter().for_each(|note| text += &format!("- ⚠ {}\n", escape(note)));
    footnotes(smallest).iter().for_each(|note| text += &format!("- {note}\n"));
    text
}

/// Every check as JSON, and how many of each word there are.
///
/// # Errors
/// Those of serialising, which a check doesn't have.
pub fn gate_json(checks: &[Check<'_>], smallest: &Smallest) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Gate<'a> {
        passed: bool,
        smallest: &'a Smallest,
        outcomes: BTreeMap<String, usize>,
        checks: &'a [Check<'a>],
    }
    let outcomes = counts(checks).map(|(outcome, count)| (outcome.words().replace(' ', "_"), count));
    let passed = checks.iter().all(|check| check.outcome != Outcome::Breach);
    Ok(serde_json::to_string_pretty(&Gate { passed, smallest, outcomes: outcomes.collect(), checks })? + "\n")
}

/// `6 budgets: 4 ok, 1 breach, 1 advisory breach`
pub fn gate_summary(checks: &[Check<'_>]) -> String {
    let budgets = if checks.len() == 1 { "1 budget".to_owned() } else { format!("{} budgets", checks.len()) };
    let words: Vec<String> = counts(checks).map(|(outcome, count)| format!("{count} {}", outcome.words())).collect();
    if words.is_empty() { budgets } else { format!("{budgets}: {}", words.join(", ")) }
}

/// How many there are of each outcome that there is.
fn counts(checks: &[Check<'_>]) -> impl Iterator<Item = (Outcome, usize)> {
    let of = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    Outcome::ALL.map(|outcome| (outcome, of(outcome))).into_iter().filter(|(_, count)| *count > 0)
}

fn grid(checks: &[Check<'_>], columns: &[usize]) -> String {
    let chosen = |cells: [String; 8]| columns.iter().map(|at| cells[*at].clone()).collect::<Vec<_>>();
    let mut table = plain_table();
    table.set_header(chosen(HEADS.map(str::to_owned)));
    for (check, name) in checks.iter().zip(names(checks)) {
        table.add_row(chosen(cells(check, name)));
    }
    finish(table, columns.len(), 2)
}

fn cells(check: &Check<'_>, name: String) -> [String; 8] {
    let key = check.metric.key;
    let sign = match check.metric.better {
        Better::Lower => "≤",
        Better::Higher => "≥",
    };
    let relative = check.change.map(|change| format!(" ({}%)", signed(change * 100.0))).unwrap_or_default();
    [
        name,
        check.metric.name.to_owned(),
        format!("{sign} {}{relative}", figure(check.limit, key)),
        figure(check.tolerance, key),
        check.measured.map_or_else(|| UNKNOWN.to_owned(), |measured| figure(measured, key)),
        check.spread.map_or_else(|| UNKNOWN.to_owned(), percent),
        check.room.map_or_else(|| UNKNOWN.to_owned(), room),
        check.outcome.words().to_owned(),
    ]
}

/// `+2`, `−0.5`
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    // A hundredth of a percent is finer than any noise; without it 2 % would be 2.0000000000000004 %.
    format!("{sign}{}", (value.abs() * 100.0).round() / 100.0)
}

/// What is left, `3.2%`, or how far it is beyond, `−12%`.
fn room(share: f64) -> String {
    if share < 0.0 { format!("−{}", percent(-share)) } else { percent(share) }
}

/// What the results are called beside each other: framework, scenario, and in what else they differ.
fn names(checks: &[Check<'_>]) -> Vec<String> {
    let results: Vec<&RunResult> = checks.iter().map(|check| check.result).collect();
    let varying = [facets::varying(&results, FACETS), facets::varying(&results, std::slice::from_ref(&RATE))].concat();
    let name = |result: &&RunResult| {
        let first = format!("{} {}", result.framework, result.scenario);
        let words = varying.iter().filter_map(|facet| facet.say(result));
        [first].into_iter().chain(words).collect::<Vec<_>>().join(", ")
    };
    results.iter().map(name).collect()
}

/// Each note of a result once, with the figures it is of.
fn notes(checks: &[Check<'_>]) -> Vec<String> {
    let mut grouped: Vec<(String, &str, Vec<&str>)> = Vec::new();
    for (check, name) in checks.iter().zip(names(checks)) {
        for note in &check.notes {
            match grouped.iter_mut().find(|(known, said, _)| *known == name && said == note) {
                Some((_, _, figures)) => figures.push(check.metric.name),
                None => grouped.push((name.clone(), note, vec![check.metric.name])),
            }
        }
    }
    grouped.into_iter().map(|(name, note, figures)| format!("{name} {}: {note}", figures.join(", "))).collect()
}

/// What the columns mean.
fn footnotes(smallest: &Smallest) -> [String; 2] {
    let noise = if smallest.noise.is_some() { "the noise floor that was measured, else " } else { "" };
    [
        "measured: median of the rounds, ± half their range ÷ median. room: what is left to the budget ÷ budget."
            .to_owned(),
        format!(
            "tolerance: how far beyond the budget is still ok; where the file says none, {noise}half the range of the rounds, and no less \
             than a change that counts: {}.",
            what_counts(smallest)
        ),
    ]
}

/// What isn't ok stands out.
fn paint(line: &str, style: Style) -> String {
    let words = [Outcome::AdvisoryBreach, Outcome::Breach, Outcome::NotMeasured].map(Outcome::words);
    match words.into_iter().find_map(|word| line.strip_suffix(word).map(|before| (before, word))) {
        Some((before, word)) => before.to_owned() + &style.yellow(word),
        None => line.to_owned(),
    }
}
