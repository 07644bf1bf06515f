//! A comparison for terminals.

use super::{cells, confidence, footnotes, heading, lonely, name, names, notes};
use crate::{
    compare::{Comparison, Judgement, Pair, Verdict},
    report::{
        Style,
        table::{finish, fits, fold, plain_table},
    },
};

/// A table for each pair, a line for each figure.
pub fn comparison(comparison: &Comparison<'_>, style: Style) -> String {
    let confidence = confidence(comparison);
    let mut text: String = comparison.pairs.iter().map(|each| pair(each, &confidence, style) + "\n").collect();
    for line in lonely(comparison) {
        text += &(line + "\n");
    }
    footnotes(comparison).iter().for_each(|note| text += &fold(note, style));
    text
}

fn pair(pair: &Pair<'_>, confidence: &str, style: Style) -> String {
    let places = || ["first", "second"].map(str::to_owned);
    let whole = [grid(pair, names(pair), confidence), grid(pair, places(), confidence)];
    let body = whole.into_iter().find(|grid| fits(grid, style.width));
    let body = body.unwrap_or_else(|| without_spread(pair, places(), confidence));
    let lines: String = body.lines().map(|line| paint(line, style) + "\n").collect();
    let plain = Style { color: false, ..style };
    let notes: String = notes(pair).iter().map(|note| fold(&format!("! {note}"), plain)).collect();
    format!("{}\n{lines}{notes}", style.bold(&heading(pair)))
}

fn grid(pair: &Pair<'_>, [a, b]: [String; 2], confidence: &str) -> String {
    let heads = ["", &a, "±", &b, "±", "change", confidence, "p", "verdict"].map(str::to_owned);
    let row = |judgement: &Judgement| {
        let [a, a_spread, b, b_spread, change, interval, p] = cells(judgement);
        [label(judgement), a, a_spread, b, b_spread, change, interval, p, word(judgement)]
    };
    table_of(pair, heads, row)
}

fn without_spread(pair: &Pair<'_>, [a, b]: [String; 2], confidence: &str) -> String {
    let heads = ["", &a, &b, "change", confidence, "p", "verdict"].map(str::to_owned);
    let row = |judgement: &Judgement| {
        let [a, _, b, _, change, interval, p] = cells(judgement);
        [label(judgement), a, b, change, interval, p, word(judgement)]
    };
    table_of(pair, heads, row)
}

fn table_of<const N: usize>(pair: &Pair<'_>, heads: [String; N], row: impl Fn(&Judgement) -> [String; N]) -> String {
    let mut table = plain_table();
    table.set_header(heads);
    pair.judgements.iter().for_each(|judgement| {
        table.add_row(row(judgement));
    });
    finish(table, N, 1)
}

fn label(judgement: &Judgement) -> String {
    name(judgement).to_owned()
}

fn word(judgement: &Judgement) -> String {
    judgement.verdict.words().to_owned()
}

/// Verdicts that matter stand out.
fn paint(line: &str, style: Style) -> String {
    let matters = [Verdict::Better, Verdict::Worse].map(Verdict::words);
    match matters.into_iter().find_map(|word| line.strip_suffix(word).map(|before| (before, word))) {
        Some((before, word)) if word == Verdict::Better.words() => before.to_owned() + &style.green(word),
        Some((before, word)) => before.to_owned() + &style.yellow(word),
        None => line.to_owned(),
    }
}
