//! Results as GitHub's Markdown, for pull requests.

use super::{
    blocks::{Block, Cell, Column, Kind, Note, Table},
    results,
};
use crate::{compare::Verdict, measure::result::RunResult};

/// For each scenario a table of the frameworks with its footnotes, and the allocation sites folded away under it.
pub fn markdown(results: &[RunResult]) -> String {
    let results: Vec<&RunResult> = results.iter().collect();
    blocks(&results::by_load(&results))
}

/// A blank line between blocks.
pub(super) fn blocks(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("## {}\n", escape(text)),
        Block::Heading(text) => format!("### {}\n", escape(text)),
        Block::Table(table) => self::table(table),
        Block::Notes(notes) => notes.iter().map(note).collect(),
        Block::Folded(summary, inner) => {
            format!("<details><summary>{}</summary>\n\n{}\n</details>\n", entities(summary), blocks(inner))
        }
        Block::Commands(lines) => commands(&lines.join("\n")),
    }
}

fn table(table: &Table) -> String {
    let rule = |column: &Column| match column.kind {
        Kind::Words => "---".to_owned(),
        Kind::Figures => "---:".to_owned(),
    };
    let heads = row(table.columns.iter().map(|column| escape(&column.head)));
    let rows = table.rows.iter().map(|cells| row(cells.iter().map(cell)));
    heads + &row(table.columns.iter().map(rule)) + &rows.collect::<String>()
}

pub(super) fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escape(text),
        Cell::Code(text) => code(text),
        Cell::Verdict(verdict) => match verdict {
            Verdict::Better | Verdict::Worse => format!("**{}**", verdict.words()),
            Verdict::Negligible | Verdict::WithinNoise | Verdict::CannotJudge => verdict.words().to_owned(),
        },
    }
}

fn note(note: &Note) -> String {
    match note {
        Note::Plain(text) => format!("- {}\n", escape(text)),
        Note::Warning(text) => format!("- ⚠ {}\n", escape(text)),
    }
}

/// Within a fence that nothing in the text can close.
fn commands(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}sh\n{text}\n{fence}\n")
}

/// Within code, GitHub still splits a table's cells at `|`; a backtick would end it.
pub(super) fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{}`", text.replace('|', "\\|").replace('`', "'").replace('\n', " "))
    }
}

pub(super) fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| ("|*_`<>[]\\".contains(c)).then_some('\\').into_iter().chain([c]))
        .collect::<String>()
        .replace('\n', " ")
}

/// What HTML gives a meaning, as it must be written to stand for itself, also in an attribute.
pub(super) fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
