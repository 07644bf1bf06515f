//! What reports are made of before they have a form, so that a pull request and a page say the same.

use crate::compare::Verdict;

/// A piece of a report.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    /// Of a section.
    Title(String),
    /// Of what follows within a section.
    Heading(String),
    Table(Table),
    Notes(Vec<Note>),
    /// Behind a line that opens it.
    Folded(String, Vec<Block>),
    /// Lines for a shell.
    Commands(Vec<String>),
}

/// A table whose first row is its heads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// How many rows at the end add up others, and so stay there whatever the order is.
    pub(super) sums: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) head: String,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Words,
    /// Aligned to the right.
    Figures,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Text(String),
    /// A name in a program.
    Code(String),
    Verdict(Verdict),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    Plain(String),
    Warning(String),
}

impl Column {
    pub(super) fn words(head: impl Into<String>) -> Self {
        Self { head: head.into(), kind: Kind::Words }
    }

    pub(super) fn figures(head: impl Into<String>) -> Self {
        Self { head: head.into(), kind: Kind::Figures }
    }
}

/// Notes without a warning.
pub(super) fn notes(texts: impl IntoIterator<Item = String>) -> Block {
    Block::Notes(texts.into_iter().map(Note::Plain).collect())
}

/// Cells of text.
pub(super) fn texts(texts: impl IntoIterator<Item = String>) -> Vec<Cell> {
    texts.into_iter().map(Cell::Text).collect()
}
