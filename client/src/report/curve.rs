//! The throughput-latency curve as a table: what a server does at each of several rates, and where its knee is.

use super::{
    Style,
    blocks::{self, Block, Note, Table, texts},
    columns::{self, Column, UNKNOWN},
    facets::{alike, payload, phrases},
    table::{finish, fold, folded, plain_table},
};
use crate::{
    measure::result::RunResult,
    profile::three_digits,
    stats::{self, REACHED, SLOWED, Step},
};

/// What a framework did in one scenario at several rates.
pub(crate) struct Curve<'a> {
    /// In ascending order of the rate; at least two.
    pub(crate) steps: Vec<&'a RunResult>,
    /// The index of the knee: [`stats::knee`].
    pub(crate) knee: Option<usize>,
}

/// Every curve that these results make, in the order in which each first appears. A rate that was measured twice counts as it
/// was measured last.
pub(crate) fn curves<'a>(results: &[&'a RunResult]) -> Vec<Curve<'a>> {
    let mut groups: Vec<Vec<&RunResult>> = Vec::new();
    for result in results.iter().copied().filter(|result| result.load.qps.is_some()) {
        match groups.iter_mut().find(|group| same_curve(group[0], result)) {
            Some(group) => {
                group.retain(|step| step.load.qps != result.load.qps);
                group.push(result);
            }
            None => groups.push(vec![result]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups.into_iter().map(Curve::new).collect()
}

fn same_curve(a: &RunResult, b: &RunResult) -> bool {
    (&a.framework, &a.label, &a.scenario) == (&b.framework, &b.label, &b.scenario) && alike(a, b)
}

impl<'a> Curve<'a> {
    fn new(mut steps: Vec<&'a RunResult>) -> Self {
        steps.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
        let knee = stats::knee(&steps.iter().map(|result| step(result)).collect::<Vec<_>>());
        Self { steps, knee }
    }

    /// Whether a result is one of its steps, or would be if its rate hadn't been measured again.
    pub(super) fn is_of(&self, result: &RunResult) -> bool {
        result.load.qps.is_some() && same_curve(self.steps[0], result)
    }

    /// Where the knee is and by which rule, in a sentence.
    pub(crate) fn verdict(&self) -> String {
        let (lowest, highest) = (self.steps[0], self.steps[self.steps.len() - 1]);
        let lowest_rate = per_second(rate(lowest));
        let rule = format!(
            "the highest rate that was reached ({:.0} % or more) with a p99 response time of at most {SLOWED:.0} times that \
             of the lowest rate",
            REACHED * 100.0
        );
        match self.knee {
            Some(at) if rate(self.steps[at]) == rate(highest) => {
                format!("The knee is beyond {}, the highest rate tried. It would be {rule}.", per_second(rate(highest)))
            }
            Some(at) => format!("The knee is at {}: {rule}.", per_second(rate(self.steps[at]))),
            None if step(lowest).reached() => {
                format!("No knee: there is no p99 response time at the lowest rate, {lowest_rate}. It would be {rule}.")
            }
            None => format!("No knee: the lowest rate, {lowest_rate}, was not reached already. It would be {rule}."),
        }
    }
}

/// What [`stats::knee`] looks at.
pub(crate) fn step(result: &RunResult) -> Step {
    Step {
        requested: rate(result),
        achieved: result.achieved_rate().unwrap_or_default(),
        p99: result.figures.response_p99_ms,
    }
}

fn rate(result: &RunResult) -> f64 {
    result.load.qps.unwrap_or(0.0)
}

pub(crate) fn per_second(rate: f64) -> String {
    three_digits(rate) + "/s"
}

const SPEED: &[Column] =
    &[columns::ACHIEVED, columns::RESPONSE_P50, columns::RESPONSE_P99, columns::RESPONSE_P999, columns::SERVICE_P99];
const COST: &[Column] = &[columns::CPU, columns::BYTES];

/// A table for each framework and scenario that was measured at several rates, a row a rate, with the knee marked and said. Empty
/// when nothing was.
pub fn curve(results: &[RunResult], style: Style) -> String {
    let curves = curves(&results.iter().collect::<Vec<_>>());
    curves.iter().map(|curve| one(curve, style)).collect::<Vec<_>>().join("\n")
}

fn one(curve: &Curve, style: Style) -> String {
    let body = folded(&[SPEED, COST], style.width, &|columns| grid(curve, columns));
    let notes = notes(curve).iter().map(|note| fold(note, style)).collect::<String>();
    format!("{}\n{body}{}{notes}", style.bold(&heading(curve)), fold(&curve.verdict(), Style { color: false, ..style }))
}

/// `triple at 10 rates: 1MiB payload, 100 calls in flight at most, protobuf, unary`
fn heading(curve: &Curve) -> String {
    let first = curve.steps[0];
    let mut words = vec![format!("{} payload", payload(first)), format!("at most {}", super::facets::calls(first))];
    words.extend(phrases(first, &[&super::facets::RATE]));
    format!("{} at {} rates: {}", first.framework, curve.steps.len(), words.join(", "))
}

/// Rates downwards, each with its mark.
fn grid(curve: &Curve, columns: &[&[Column]]) -> String {
    let columns: Vec<&Column> =
        std::iter::once(&columns::REQUESTED_RATE).chain(columns.iter().copied().flatten()).collect();
    let mut table = plain_table();
    table.set_header(std::iter::once("\n".to_owned()).chain(columns.iter().map(|column| column.head.join("\n"))));
    rows(curve, &columns).into_iter().for_each(|row| {
        table.add_row(row);
    });
    finish(table, columns.len() + 1, 1)
}

/// The mark of each rate, and its figures.
fn rows(curve: &Curve, columns: &[&Column]) -> Vec<Vec<String>> {
    let row = |(at, result): (usize, &&RunResult)| {
        let mark = match step(result) {
            _ if curve.knee == Some(at) => "knee",
            step if !step.reached() => "missed",
            _ => "",
        };
        std::iter::once(mark.to_owned()).chain(columns.iter().map(|column| (column.cell)(result))).collect()
    };
    curve.steps.iter().enumerate().map(row).collect()
}

/// A heading, a table and notes, with the warnings of each rate.
pub(super) fn blocks(curve: &Curve) -> Vec<Block> {
    let columns: Vec<&Column> = [&columns::REQUESTED_RATE].into_iter().chain(SPEED).chain(COST).collect();
    let heads = columns.iter().map(|column| blocks::Column::figures(column.head.join(" ").trim()));
    let table = Table {
        columns: [blocks::Column::words("")].into_iter().chain(heads).collect(),
        rows: rows(curve, &columns).into_iter().map(texts).collect(),
        sums: 0,
    };
    let warnings = curve.steps.iter().flat_map(|result| {
        let rate = per_second(rate(result));
        result.warnings.iter().map(move |warning| Note::Warning(format!("{} at {rate}: {warning}", result.framework)))
    });
    let plain = [curve.verdict()].into_iter().chain(notes(curve)).map(Note::Plain);
    vec![Block::Heading(heading(curve)), Block::Table(table), Block::Notes(plain.chain(warnings).collect())]
}

fn notes(curve: &Curve) -> Vec<String> {
    let mut notes = vec![
        "Response time: from the moment a call was to start, to its reply; service time: from sending. CPU: the server's."
            .to_owned(),
    ];
    let missed = |result: &&RunResult| !step(result).reached();
    if curve.steps.iter().any(missed) {
        notes.push(format!("missed: less than {:.0} % of the rate was reached.", REACHED * 100.0));
    }
    let unknown = |column: &Column| curve.steps.iter().any(|result| (column.cell)(result) == UNKNOWN);
    notes.extend(columns::requested_note(&curve.steps));
    if SPEED.iter().chain(COST).any(unknown) {
        notes.push(format!("{UNKNOWN} not measured."));
    }
    notes
}
