//! A comparison for pull requests, and as blocks of a report.

use super::{cells, confidence, footnotes, heading, lonely, name, names, notes};
use crate::{
    compare::{Comparison, Pair},
    report::{
        blocks::{Block, Cell, Column, Note, Table, texts},
        markdown,
    },
};

/// A table for each pair, verdicts that matter in bold.
pub fn comparison_markdown(comparison: &Comparison<'_>) -> String {
    markdown::blocks(&blocks(comparison))
}

/// A heading, a table and what must be known of each pair; then what the columns mean.
pub(in crate::report) fn blocks(comparison: &Comparison<'_>) -> Vec<Block> {
    let confidence = confidence(comparison);
    let lines = lonely(comparison).into_iter().chain(footnotes(comparison));
    let last = Block::Notes(lines.map(Note::Plain).collect());
    comparison.pairs.iter().flat_map(|each| pair(each, &confidence)).chain([last]).collect()
}

fn pair(pair: &Pair<'_>, confidence: &str) -> Vec<Block> {
    let [a, b] = names(pair);
    let figures = [&a, "±", &b, "±", "change", confidence, "p"].map(Column::figures);
    let row = |judgement| -> Vec<Cell> {
        let figures = [name(judgement).to_owned()].into_iter().chain(cells(judgement));
        texts(figures).into_iter().chain([Cell::Verdict(judgement.verdict)]).collect()
    };
    let table = Table {
        columns: [Column::words("")].into_iter().chain(figures).chain([Column::words("verdict")]).collect(),
        rows: pair.judgements.iter().map(row).collect(),
        sums: 0,
    };
    let notes: Vec<Note> = notes(pair).into_iter().map(Note::Warning).collect();
    let notes = (!notes.is_empty()).then_some(Block::Notes(notes));
    [Block::Heading(heading(pair)), Block::Table(table)].into_iter().chain(notes).collect()
}
