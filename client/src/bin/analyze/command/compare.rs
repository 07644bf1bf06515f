//! `analyze compare`: is one run better than another?

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    slice,
};

use analyze::{
    compare::{Comparison, compare as judge},
    report,
};

use super::runs;
use crate::{
    cli::{CompareArgs, CompareFormat},
    plan::UsageError,
    terminal,
};

/// The most differences that a refusal names.
const NAMED: usize = 5;

/// Judges every figure of each load that both runs have, and prints it.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let criteria = args.criteria.read()?;
    let load = |run: &PathBuf| runs::load(slice::from_ref(run), &args.out);
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    let comparison = judge(&a, &b, &criteria);
    comparable(&comparison, [&args.a, &args.b], args.force)?;
    let text = match args.format {
        CompareFormat::Table => report::comparison(&comparison, terminal::style()),
        CompareFormat::Json => report::comparison_json(&comparison)?,
        CompareFormat::Markdown => report::comparison_markdown(&comparison),
        CompareFormat::Benchstat => report::benchstat(&comparison),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses runs that can't be compared, or only by force. They are named as they were given.
pub(super) fn comparable(comparison: &Comparison<'_>, runs: [&Path; 2], force: bool) -> Result<(), UsageError> {
    let [a, b] = runs.map(Path::display);
    if comparison.pairs.is_empty() {
        let (only_a, only_b) = (comparison.only_a.join(", "), comparison.only_b.join(", "));
        return Err(UsageError(format!("{a} and {b} have no load in common: {a} has {only_a}; {b} has {only_b}")));
    }
    let unlike =
        comparison.pairs.iter().flat_map(|pair| pair.unlike.iter().map(move |it| format!("{}: {it}", pair.cell)));
    alike(&unlike.collect::<Vec<_>>(), runs, force)
}

/// Refuses runs that were measured otherwise in something, unless they are to be compared all the same.
pub(super) fn alike(unlike: &[String], [a, b]: [&Path; 2], force: bool) -> Result<(), UsageError> {
    if unlike.is_empty() || force {
        return Ok(());
    }
    let others = match unlike.len().saturating_sub(NAMED) {
        0 => String::new(),
        others => format!("; and {others} more"),
    };
    Err(UsageError(format!(
        "{} and {} were measured otherwise, so that a difference is not the server's alone (--force compares them all the same): {}{others}",
        a.display(),
        b.display(),
        unlike[..unlike.len().min(NAMED)].join("; ")
    )))
}
