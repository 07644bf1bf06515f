//! Two runs against each other: what changed, how sure that is, and a word for it.

mod alarms;
mod benchstat;
mod markdown;
mod table;

pub(super) use self::markdown::blocks;
pub use self::{
    alarms::{false_alarms, false_alarms_json},
    benchstat::benchstat,
    markdown::comparison_markdown,
    table::comparison,
};
use super::{columns::percent, facets};
use crate::{
    compare::{Change, Comparison, Criteria, Judgement, Metric, Pair, Smallest, Verdict},
    measure::result::RunResult,
    profile::{signed, signed_percent, three_digits},
    stats,
};

/// A comparison as JSON: every judgement with the rounds' values it is made of.
///
/// # Errors
/// Those of serialising, which a comparison doesn't have.
pub fn comparison_json(comparison: &Comparison<'_>) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(comparison)? + "\n")
}

/// The cells of a judgement after its name: both sides with their spread, the change and where it lies, p.
fn cells(judgement: &Judgement) -> [String; 7] {
    let value = |median: Option<f64>| median.map_or_else(unknown, |median| figure(median, judgement.metric));
    let spread = |spread: Option<f64>| spread.map_or_else(unknown, percent);
    [
        value(judgement.a.median),
        spread(judgement.a.spread),
        value(judgement.b.median),
        spread(judgement.b.spread),
        judgement.change.map_or_else(unknown, |change| difference(change.estimate, change)),
        judgement.change.and_then(interval).unwrap_or_else(unknown),
        judgement.p.map_or_else(unknown, probability),
    ]
}

fn unknown() -> String {
    super::columns::UNKNOWN.to_owned()
}

/// Bytes and allocations are counted, so that they are shown to the last digit that tells anything.
pub(super) fn figure(value: f64, metric: &str) -> String {
    match metric {
        "bytes_per_op" | "requested_bytes_per_op" => super::columns::whole(value),
        "allocs_per_op" => crate::profile::two_decimals(value),
        _ => three_digits(value),
    }
}

fn interval(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{} … {}", difference(low, change), difference(high, change)))
}

/// In percent where the change is relative, else in the figure's unit.
fn difference(value: f64, change: Change) -> String {
    if change.relative { signed_percent(value) } else { signed(value, three_digits) }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

fn name(judgement: &Judgement) -> &'static str {
    metric_name(judgement.metric)
}

fn metric_name(key: &'static str) -> &'static str {
    Metric::by_key(key).map_or(key, |metric| metric.name)
}

/// What the two sides are called: by their runs, by their frameworks within one run, or by their place.
fn names(pair: &Pair<'_>) -> [String; 2] {
    let by = |of: fn(&RunResult) -> &String| [of(pair.a).clone(), of(pair.b).clone()];
    let differ = |[a, b]: &[String; 2]| a != b;
    let named = [by(|r| &r.label), by(|r| &r.framework)].into_iter().find(differ);
    named.unwrap_or_else(|| ["first", "second"].map(str::to_owned))
}

/// `triple 128B-50: 128B payload, 50 calls in flight, protobuf, unary; before, 5 rounds → after, 5 rounds`
fn heading(pair: &Pair<'_>) -> String {
    let words =
        [vec![format!("{} payload", facets::payload(pair.a)), facets::calls(pair.a)], facets::phrases(pair.a, &[])];
    let rounds = |result: &RunResult| match result.rounds.len() {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    let [a, b] = names(pair);
    format!(
        "{} {}: {}; {a}, {} → {b}, {}",
        pair.a.framework,
        pair.a.scenario,
        words.concat().join(", "),
        rounds(pair.a),
        rounds(pair.b)
    )
}

/// What a reader must know of a pair, a sentence each: what failed, what the sides don't share, and each note with the figures it is of.
fn notes(pair: &Pair<'_>) -> Vec<String> {
    let unlike = pair.unlike.iter().map(|difference| format!("measured otherwise: {difference}"));
    let mut grouped: Vec<(&str, Vec<&str>)> = Vec::new();
    for (judgement, note) in pair.judgements.iter().flat_map(|j| j.notes.iter().map(move |note| (j, note))) {
        match grouped.iter_mut().find(|(known, _)| known == note) {
            Some((_, names)) => names.push(name(judgement)),
            None => grouped.push((note, vec![name(judgement)])),
        }
    }
    let all = pair.judgements.len();
    let said = grouped.into_iter().map(|(note, names)| {
        if names.len() == all { note.to_owned() } else { format!("{}: {note}", names.join(", ")) }
    });
    pair.notes.iter().cloned().chain(unlike).chain(said).collect()
}

/// What the columns mean, and what no statistics of rounds can see.
fn footnotes(comparison: &Comparison<'_>) -> Vec<String> {
    let Criteria { alpha, smallest } = &comparison.criteria;
    let judgements = comparison.pairs.iter().flat_map(|pair| &pair.judgements);
    let judged: Vec<&Judgement> = judgements.filter(|judgement| judgement.verdict != Verdict::CannotJudge).collect();
    let size = |judgement: &&Judgement| stats::size(judgement.a.values.len(), judgement.b.values.len(), *alpha);
    let by_chance: f64 = judged.iter().map(size).sum();
    let mut notes = vec![
        format!(
            "Sides: median of the rounds, ± half their range ÷ median. change: the median over all pairs of a round of one and a round \
             of the other (Hodges–Lehmann); {}: where it lies. p: Mann–Whitney, two-sided.",
            confidence(comparison)
        ),
        shared(comparison).to_owned(),
    ];
    if !judged.is_empty() {
        notes.push(format!(
            "better, worse: p ≤ {alpha}, an interval without 0, and a change that counts: {}. negligible: the change, or all of its \
             interval, is smaller. within noise: chance alone would do as much. Were both runs the same, p would be so low by chance in \
             {by_chance:.1} of {} figures judged.",
            what_counts(smallest),
            judged.len()
        ));
    }
    notes
}

/// The head of the column of intervals: `at 95%`.
fn confidence(comparison: &Comparison<'_>) -> String {
    format!("at {}", exact_percent(1.0 - comparison.criteria.alpha))
}

/// A share that was given: `0.5%`. What arithmetic loses is left out, as 1 - 0.07 is 0.9299999999999999.
fn exact_percent(share: f64) -> String {
    format!("{}%", (share * 1e8).round() / 1e6)
}

/// The smallest changes that count, in words.
pub(super) fn what_counts(smallest: &Smallest) -> String {
    let noise = smallest.noise.as_ref().map(|noise| {
        format!("; and no less than the noise floors of {} runs of {}", noise.runs, noise.cells.join(", "))
    });
    format!(
        "{} of what is counted and no more than 0.5 allocs/op, {} of all else, and no less than the last digit shown{}",
        exact_percent(smallest.counts),
        exact_percent(smallest.times),
        noise.unwrap_or_default()
    )
}

/// What rounds have in common that runs don't.
fn shared(comparison: &Comparison<'_>) -> &'static str {
    let restarted = |result: &RunResult| result.environment.server_restarted;
    if comparison.pairs.iter().all(|pair| restarted(pair.a) && restarted(pair.b)) {
        "Each round has a server process of its own, so that what differs from start to start is in the spread."
    } else {
        "The rounds of a run share a server process and some minutes of the machine: what else differs from run to run is in no \
         spread, and moves times more than counts. analyze ab measures both sides in turn."
    }
}

/// What only one of the runs has, a line each.
fn lonely(comparison: &Comparison<'_>) -> Vec<String> {
    let of = |side: &str, cells: &[String]| match cells {
        [] => None,
        cells => Some(format!("Only in the {side} run: {}", cells.join(", "))),
    };
    of("first", &comparison.only_a).into_iter().chain(of("second", &comparison.only_b)).collect()
}
