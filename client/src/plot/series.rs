//! Which results make a line, and which lines share a picture.

use super::picture::Key;
use crate::{
    measure::result::RunResult,
    report::facets::{self, FACETS, RATE, alike, varying},
};

/// The most lines in a picture that a reader can tell apart. More are cut into pictures of their own, by serialization,
/// compression, mode and whatever else differs.
pub(super) const MOST: usize = 8;

/// A framework in a run, in one variant: a line or a bar.
#[derive(Debug)]
pub(super) struct Series<'a> {
    /// Its look: the same for a framework and run in all pictures of a plot.
    pub(super) look: usize,
    pub(super) name: String,
    pub(super) results: Vec<&'a RunResult>,
}

/// Series that share a picture.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) series: Vec<Series<'a>>,
    /// What tells the group from others, for file names. Empty when it is the only one.
    pub(super) suffix: String,
    /// What all its results have in common, for titles.
    pub(super) common: Vec<String>,
}

impl Group<'_> {
    pub(super) fn results(&self) -> impl Iterator<Item = &RunResult> {
        self.series.iter().flat_map(|series| series.results.iter().copied())
    }

    /// The legend, of those series that are `shown`.
    pub(super) fn legend(&self, shown: impl Fn(usize) -> bool) -> Vec<Key> {
        let shown = self.series.iter().filter(|series| shown(series.look));
        shown.map(|series| Key { series: series.look, text: series.name.clone() }).collect()
    }
}

/// Results as lines, and lines as pictures, each in the order in which it first appears.
pub(super) fn groups<'a>(results: &[&'a RunResult]) -> Vec<Group<'a>> {
    let whole = group(results, results);
    if whole.series.len() <= MOST || varying(results, FACETS).is_empty() {
        return vec![whole];
    }
    // A result that some facet has no meaning for, as a bare echo's serialization, belongs to every variant that it is like. It makes
    // one only where there is none, as unary calls among streams of several lengths.
    let differing = varying(results, FACETS);
    let mut candidates = results.to_vec();
    candidates.sort_by_key(|result| differing.iter().filter(|facet| (facet.value)(result).is_none()).count());
    let mut variants: Vec<&RunResult> = Vec::new();
    for result in candidates {
        if !variants.iter().any(|variant| alike(variant, result)) {
            variants.push(result);
        }
    }
    variants
        .into_iter()
        .map(|variant| {
            let members: Vec<&RunResult> = results.iter().copied().filter(|result| alike(result, variant)).collect();
            let words: Vec<String> = differing.iter().filter_map(|facet| (facet.value)(variant)).collect();
            Group { suffix: words.join("-"), ..group(&members, results) }
        })
        .collect()
}

/// `all` are the results of every picture, by which looks and the need of a run's name are decided.
fn group<'a>(members: &[&'a RunResult], all: &[&RunResult]) -> Group<'a> {
    let differing = varying(members, FACETS);
    let several_runs = all.iter().any(|result| result.label != all[0].label);
    let name = |result: &RunResult| {
        let mut words = vec![result.framework.clone()];
        words.extend(differing.iter().filter_map(|facet| facet.say(result)));
        if several_runs {
            words.push(format!("({})", result.label));
        }
        words.join(" ")
    };
    let mut series: Vec<Series<'a>> = Vec::new();
    for result in members {
        let name = name(result);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.results.push(result),
            None => series.push(Series { look: 0, name, results: vec![result] }),
        }
    }
    let several_variants = !differing.is_empty();
    for (at, series) in series.iter_mut().enumerate() {
        series.look = if several_variants { at } else { rank(series.results[0], all) };
    }
    let unsaid: Vec<&facets::Facet> = differing.iter().copied().chain([&RATE]).collect();
    // A bare echo has no serialization to name.
    let common = members.iter().map(|result| facets::phrases(result, &unsaid)).max_by_key(Vec::len).unwrap_or_default();
    Group { series, suffix: String::new(), common }
}

/// Which of the frameworks and runs a result belongs to, counted in their order of appearance.
fn rank(result: &RunResult, all: &[&RunResult]) -> usize {
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for other in all {
        let kind = (other.framework.as_str(), other.label.as_str());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.iter().position(|kind| *kind == (result.framework.as_str(), result.label.as_str())).unwrap_or(0)
}
