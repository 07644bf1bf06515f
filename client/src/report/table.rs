//! The table of results for terminals.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::{
    Style, by_scenario,
    columns::{Column, footnotes, groups},
    heading,
};
use crate::measure::result::RunResult;

/// A table for each scenario, a row for each framework. Where the columns don't fit in the width they are folded, group
/// under group, so that no figure is lost or broken.
pub fn table(results: &[RunResult], style: Style) -> String {
    tables(&results.iter().collect::<Vec<_>>(), style)
}

pub(super) fn tables(results: &[&RunResult], style: Style) -> String {
    by_scenario(results)
        .iter()
        .map(|group| {
            let body = folded(&groups(group), style.width, &|columns| grid(group, columns));
            let notes: String = footnotes(group).iter().map(|note| fold(note, style)).collect();
            format!("{}\n{body}{notes}", style.bold(&heading(group)))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// As many groups of columns side by side as fit, the others below; `grid` is the table of some of them.
pub(super) fn folded<G>(groups: &[G], width: usize, grid: &dyn Fn(&[G]) -> String) -> String {
    let most = (1..=groups.len()).rev().find(|&n| fits(&grid(&groups[..n]), width)).unwrap_or(1);
    let (here, below) = groups.split_at(most.min(groups.len()));
    let first = grid(here);
    if below.is_empty() { first } else { format!("{first}\n{}", folded(below, width, grid)) }
}

fn grid(results: &[&RunResult], columns: &[&[Column]]) -> String {
    let columns: Vec<&Column> = columns.iter().copied().flatten().collect();
    let mut table = plain_table();
    let heads = columns.iter().map(|column| column.head.join("\n"));
    table.set_header(std::iter::once("\nframework".to_owned()).chain(heads));
    for result in results {
        table.add_row(
            std::iter::once(result.framework.clone()).chain(columns.iter().map(|column| (column.cell)(result))),
        );
    }
    finish(table, columns.len() + 1, 1)
}

/// A table without lines, never wrapped.
pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// The text of a table of so many columns, all but the first `left` of them right-aligned.
pub(super) fn finish(mut table: Table, columns: usize, left: usize) -> String {
    for (at, column) in table.column_iter_mut().enumerate() {
        if at >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((if at == 0 { 0 } else { 1 }, if at + 1 == columns { 0 } else { 1 }));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

pub(super) fn fits(text: &str, width: usize) -> bool {
    text.lines().all(|line| line.chars().count() <= width)
}

/// A note in lines of the style's width, broken between words.
pub(super) fn fold(note: &str, style: Style) -> String {
    let mut lines = vec![String::from(" ")];
    for word in note.split(' ') {
        let line = &lines[lines.len() - 1];
        if line.chars().count() + 1 + word.chars().count() > style.width && line.trim() != "" {
            lines.push(String::from("   "));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.iter().map(|line| style.dim(line) + "\n").collect()
}
