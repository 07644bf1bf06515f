//! A whole report of a run for those who weren't there: verdicts where there is a run to compare with, figures, where and how they were
//! measured, and how to measure them again.

use super::{
    blocks::{Block, notes},
    compare, curve,
    facts::{self, Run},
    fate::{self, CellTrace},
    markdown,
    matrix::matrix_blocks,
    repeat::{quoted, repeat},
    results,
};
use crate::{
    compare::{Comparison, Criteria, Smallest, Verdict},
    measure::result::RunResult,
};

/// More loads than these are shown as a matrix first, and each by itself folded away.
const FEW_LOADS: usize = 3;

/// What is reported.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The run, at least one result.
    pub results: &'a [RunResult],
    /// The run it is judged by.
    pub against: Option<Against<'a>>,
    /// Traces of the run's results.
    pub traces: &'a [CellTrace],
}

/// A run to be judged by.
#[derive(Debug, Clone, Copy)]
pub struct Against<'a> {
    /// Its results.
    pub results: &'a [RunResult],
    /// Both runs, this one first.
    pub comparison: &'a Comparison<'a>,
}

/// The report as GitHub's Markdown, for a pull request.
pub fn pull_request(document: &Document<'_>) -> String {
    markdown::blocks(&[found(document), fate::blocks(document.traces), circumstances(document)].concat())
}

/// Verdicts and figures.
pub(super) fn found(document: &Document<'_>) -> Vec<Block> {
    let names = document.names();
    let runs = document.runs(&names);
    let mut blocks = Vec::new();
    if let (Some(against), [base, run]) = (document.against, runs.as_slice()) {
        blocks.push(Block::Title(format!("{} against {}", run.name, base.name)));
        blocks.push(notes([tally(against.comparison)]));
        blocks.extend(compare::blocks(against.comparison));
    }
    for (at, run) in runs.iter().enumerate().rev() {
        let figures = figures(run.results);
        let name = match runs.len() {
            1 => format!("Run {}", run.name),
            _ => format!("Results of {}", run.name),
        };
        if at + 1 == runs.len() {
            blocks.extend([Block::Title(name)].into_iter().chain(figures));
        } else {
            blocks.push(Block::Folded(name, figures));
        }
    }
    blocks
}

/// Where and how the figures came about.
pub(super) fn circumstances(document: &Document<'_>) -> Vec<Block> {
    let names = document.names();
    let runs = document.runs(&names);
    vec![
        Block::Title("Environment".to_owned()),
        Block::Table(facts::environment(&runs)),
        Block::Title("How it was measured".to_owned()),
        facts::method(&runs),
        Block::Title("To measure it again".to_owned()),
        Block::Commands(commands(&runs, document.against.map(|against| &against.comparison.criteria))),
    ]
}

impl<'a> Document<'a> {
    /// What the runs are called, the one it is judged by first: by their labels, or within one run by their frameworks.
    fn names(&self) -> Vec<String> {
        let all: Vec<&[RunResult]> = self.against.iter().map(|against| against.results).chain([self.results]).collect();
        let by = |of: fn(&[RunResult]) -> String| all.iter().map(|results| of(results)).collect::<Vec<_>>();
        let labels = by(facts::label);
        if labels.len() == 2 && labels[0] == labels[1] { by(facts::frameworks) } else { labels }
    }

    fn runs<'r>(&self, names: &'r [String]) -> Vec<Run<'r>>
    where
        'a: 'r,
    {
        let all = self.against.iter().map(|against| against.results).chain([self.results]);
        all.zip(names).map(|(results, name)| Run { name, results }).collect()
    }
}

/// `9 figures: better 6, worse 1, within noise 2.`
fn tally(comparison: &Comparison<'_>) -> String {
    let verdicts: Vec<Verdict> =
        comparison.pairs.iter().flat_map(|pair| &pair.judgements).map(|judgement| judgement.verdict).collect();
    let count = |verdict: Verdict| verdicts.iter().filter(|other| **other == verdict).count();
    let counts = Verdict::ALL.map(|verdict| (verdict.words(), count(verdict)));
    let said: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{word} {count}")).collect();
    format!("{} figure{}: {}.", verdicts.len(), if verdicts.len() == 1 { "" } else { "s" }, said.join(", "))
}

/// The curves, and all results that are in none.
fn figures(run: &[RunResult]) -> Vec<Block> {
    let all: Vec<&RunResult> = run.iter().collect();
    let curves = curve::curves(&all);
    let others: Vec<&RunResult> =
        all.into_iter().filter(|result| !curves.iter().any(|curve| curve.is_of(result))).collect();
    let mut blocks: Vec<Block> = curves.iter().flat_map(curve::blocks).collect();
    if super::by_scenario(&others).len() > FEW_LOADS {
        blocks.extend(matrix_blocks(&others, &[]));
        blocks.push(Block::Folded("Each load by itself".to_owned(), results::by_load(&others)));
    } else {
        blocks.extend(results::by_load(&others));
    }
    blocks
}

/// The flags of criteria that are not the usual ones.
fn judged_by(criteria: &Criteria) -> String {
    let (usual, Smallest { counts, times, noise }) = (Criteria::default(), &criteria.smallest);
    let mut flags = String::new();
    if criteria.alpha != usual.alpha {
        flags += &format!(" --alpha {}", criteria.alpha);
    }
    if (*counts, *times) != (usual.smallest.counts, usual.smallest.times) {
        // Without the digits that binary fractions have no room for.
        let percent = |share: f64| (share * 1e8).round() / 1e6;
        flags += &format!(" --smallest counts={}%,times={}%", percent(*counts), percent(*times));
    }
    if noise.is_some() {
        flags += " --noise FILE";
    }
    flags
}

/// What to enter, at which commit.
fn commands(runs: &[Run<'_>], criteria: Option<&Criteria>) -> Vec<String> {
    let labels: Vec<String> = runs.iter().map(|run| facts::label(run.results)).collect();
    let compared = labels.len() == 2 && labels[0] != labels[1];
    let mut lines: Vec<String> = Vec::new();
    // Only there each round has a server of its own.
    if let Some(head) = runs.last().filter(|run| run.results.iter().any(|result| result.environment.server_restarted)) {
        lines.push(
            "# BASE and HEAD are revisions, or with --base-cmd and --head-cmd commands; results don't record them"
                .to_owned(),
        );
        let sides = "analyze ab --base BASE --head HEAD";
        lines.extend(repeat(head.results, None).iter().map(|line| line.replacen("analyze", sides, 1)));
        return lines;
    }
    for (run, label) in runs.iter().zip(&labels) {
        if let Some(commit) = run.results.first().and_then(|result| facts::commit(&result.environment)) {
            lines.push(format!("# at {commit}"));
        }
        let attached = facts::attached(run.results);
        if !attached.is_empty() {
            lines.push(format!("# {attached} ran already: --debug and --pid, if they were given, are not recorded"));
        }
        lines.extend(repeat(run.results, compared.then_some(label)));
    }
    if compared {
        lines.push(format!(
            "analyze compare {}{}",
            labels.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(" "),
            criteria.map(judged_by).unwrap_or_default()
        ));
    }
    lines
}
