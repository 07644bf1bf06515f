//! What is wrong with a file, and where.

use std::{cell::RefCell, fmt};

use super::yaml::Mark;

/// A sentence about one place in the file: key path, value, what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) at: Mark,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(at: Mark, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }
}

/// Findings as they are made; the readers of all sections share one.
#[derive(Debug, Default)]
pub(super) struct Findings(RefCell<Vec<Finding>>);

impl Findings {
    pub(super) fn add(&self, at: Mark, text: String) {
        self.0.borrow_mut().push(Finding { at, text });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// In the order of the file.
    pub(super) fn sorted(self) -> Vec<Finding> {
        let mut findings = self.0.into_inner();
        findings.sort_unstable();
        findings
    }
}

/// The most findings that are written out.
const MAX_LINES: usize = 20;

/// A file that doesn't say what it should. Written as one line a finding, `FILE:LINE:COLUMN: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub(crate) file: String,
    pub(crate) findings: Vec<Finding>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Finding { at, text }) in self.findings.iter().take(MAX_LINES).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{}:{}: {text}", self.file, at.line, at.column)?;
        }
        match self.findings.len().saturating_sub(MAX_LINES) {
            0 => Ok(()),
            more => write!(f, "\n{}: and {more} more", self.file),
        }
    }
}

impl std::error::Error for Invalid {}
