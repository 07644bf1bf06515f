//! Results as GitHub's Markdown, for pull requests.

use super::{
    by_scenario,
    columns::{Column, footnotes, groups, whole},
    heading,
    sites::place,
};
use crate::{
    measure::result::{PerOp, RunResult, SiteTable},
    profile::two_decimals,
};

/// For each scenario a table of the frameworks with its footnotes, and the allocation sites folded away under it.
pub fn markdown(results: &[RunResult]) -> String {
    let results: Vec<&RunResult> = results.iter().collect();
    by_scenario(&results).iter().map(|group| scenario(group)).collect::<Vec<_>>().join("\n")
}

fn scenario(results: &[&RunResult]) -> String {
    let columns: Vec<&Column> = groups(results).into_iter().flatten().collect();
    let heads = columns.iter().map(|column| column.head.join(" ").trim().to_owned());
    let mut text = format!("### {}\n\n", heading(results));
    text += &row(std::iter::once("framework".to_owned()).chain(heads));
    text += &row(std::iter::once("---".to_owned()).chain(columns.iter().map(|_| "---:".to_owned())));
    for result in results {
        text +=
            &row(std::iter::once(escape(&result.framework)).chain(columns.iter().map(|column| (column.cell)(result))));
    }
    text += "\n";
    for note in footnotes(results) {
        text += &format!("- {}\n", self::note(&note));
    }
    for result in results {
        for warning in &result.warnings {
            text += &format!("- ⚠ {}: {}\n", escape(&result.framework), escape(warning));
        }
    }
    for result in results {
        if let Some(sites) = &result.sites {
            text += &folded_sites(result, sites);
        }
    }
    text
}

fn folded_sites(result: &RunResult, sites: &SiteTable) -> String {
    let line = |per_op: PerOp, function: String, file: String| {
        row([whole(per_op.bytes_per_op), two_decimals(per_op.allocs_per_op), function, file])
    };
    let mut text = format!("\n<details><summary>Where {} allocates</summary>\n\n", escape(&result.framework));
    text += &row(["B/op", "allocs/op", "function", "file:line"].map(str::to_owned));
    text += &row(["---:", "---:", "---", "---"].map(str::to_owned));
    for site in &sites.rows {
        text += &line(site.per_op, code(&site.function), code(&place(site)));
    }
    if sites.others.sites > 0 {
        text += &line(sites.others.per_op, format!("({} others)", sites.others.sites), String::new());
    }
    text += &line(sites.total, "(all)".to_owned(), String::new());
    text + "\n</details>\n"
}

pub(super) fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A note may begin with the mark it explains, which Markdown would take for a list.
pub(super) fn note(text: &str) -> String {
    text.replace('*', "\\*")
}

/// Within code, GitHub still splits a table's cells at `|`; a backtick would end it.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", text.replace('|', "\\|").replace('`', "'")) }
}

pub(super) fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| ("|*_`<>[]\\".contains(c)).then_some('\\').into_iter().chain([c]))
        .collect::<String>()
        .replace('\n', " ")
}
