//! `analyze gate`: does a run stay within its budgets?

use std::{fs, path::Path, process::ExitCode, slice};

use analyze::{
    compare::{Budget, Check, Misfit, Outcome, gate as check, updates},
    report,
};
use anyhow::Context;

use super::runs;
use crate::{
    budgets::Budgets,
    cli::{GateArgs, GateFormat},
    config::Finding,
    plan::UsageError,
    terminal,
};

/// Checks every budget, and prints or rewrites them.
pub(crate) fn gate(args: &GateArgs) -> anyhow::Result<ExitCode> {
    let smallest = args.size.read()?;
    let file = Budgets::open(&args.budgets).map_err(|error| UsageError(error.to_string()))?;
    let results = runs::load(slice::from_ref(&args.run), &args.out)?;
    let budgets = with_baselines(&file, args.budgets.parent().unwrap_or(Path::new("")))?;
    let checks = check(&budgets, &results, &smallest, args.force).map_err(|misfits| misfit(&file, misfits))?;
    if args.update {
        return update(&file, &checks, &args.budgets);
    }
    let text = match args.format {
        GateFormat::Table => report::gate(&checks, &smallest, terminal::style()),
        GateFormat::Json => report::gate_json(&checks, &smallest)?,
        GateFormat::Markdown => report::gate_markdown(&checks, &smallest),
    };
    terminal::print(&text)?;
    if checks.iter().all(|check| check.outcome != Outcome::Breach) {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::say(&format!("{}: {}", args.budgets.display(), report::gate_summary(&checks)));
    Ok(ExitCode::FAILURE)
}

/// The budgets with the results that their limits are relative to.
fn with_baselines(file: &Budgets, folder: &Path) -> Result<Vec<Budget>, UsageError> {
    let mut findings = Vec::new();
    let mut budgets = Vec::new();
    for given in &file.given {
        let baseline = match &given.baseline {
            None => Vec::new(),
            Some((path, at)) => runs::load(slice::from_ref(&folder.join(path)), folder).unwrap_or_else(|error| {
                findings.push(Finding::new(*at, format!("baseline: {error}")));
                Vec::new()
            }),
        };
        budgets.push(Budget { cells: given.cells.clone(), limits: given.limits(), baseline, optional: given.optional });
    }
    if findings.is_empty() { Ok(budgets) } else { Err(UsageError(file.invalid(findings).to_string())) }
}

/// Budgets that can't be held against the run are a wrong file.
fn misfit(file: &Budgets, misfits: Vec<Misfit>) -> UsageError {
    let finding = |misfit: Misfit| {
        let at = file.given[misfit.budget].mark(misfit.metric.map(|metric| metric.key));
        let name = misfit.metric.map_or("the budget", |metric| metric.key);
        Finding::new(at, format!("{name} {}", misfit.problem))
    };
    let mut findings: Vec<Finding> = misfits.into_iter().map(finding).collect();
    findings.sort_unstable();
    UsageError(file.invalid(findings).to_string())
}

/// Writes the medians into the file.
fn update(file: &Budgets, checks: &[Check<'_>], path: &Path) -> anyhow::Result<ExitCode> {
    let updates = updates(checks);
    let (text, mut lines) = file.updated(&updates);
    if !updates.is_empty() {
        fs::write(path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    let unmeasured = checks.iter().filter(|check| check.measured.is_none());
    lines.extend(unmeasured.map(|check| format!("{}: {} not measured, stays", check.cell, check.metric.key)));
    if lines.is_empty() {
        lines.push(format!("{}: nothing to change", path.display()));
    }
    terminal::print(&(lines.join("\n") + "\n"))?;
    Ok(ExitCode::SUCCESS)
}
