//! Results as the blocks of a report.

use super::{
    blocks::{Block, Cell, Column, Note, Table, texts},
    by_scenario,
    columns::{self, footnotes, groups, whole},
    heading,
    sites::{place, sampled},
    through,
};
use crate::{
    measure::result::{PerOp, RunResult, SiteTable},
    profile::two_decimals,
};

/// For each load a table of the frameworks with its footnotes and warnings, and the allocation sites folded away under it.
pub(super) fn by_load(results: &[&RunResult]) -> Vec<Block> {
    by_scenario(results).iter().flat_map(|group| load(group)).chain(through::blocks(results)).collect()
}

fn load(results: &[&RunResult]) -> Vec<Block> {
    let columns: Vec<&columns::Column> = groups(results).into_iter().flatten().collect();
    let row = |result: &&RunResult| {
        texts([result.framework.clone()].into_iter().chain(columns.iter().map(|column| (column.cell)(result))))
    };
    let heads = columns.iter().map(|column| Column::figures(column.head.join(" ").trim()));
    let table = Table {
        columns: [Column::words("framework")].into_iter().chain(heads).collect(),
        rows: results.iter().map(row).collect(),
        sums: 0,
    };
    let warning = |result: &&RunResult, warning: &String| Note::Warning(format!("{}: {warning}", result.framework));
    let warnings = results.iter().flat_map(|result| result.warnings.iter().map(move |text| warning(result, text)));
    let notes = footnotes(results).into_iter().map(Note::Plain).chain(warnings).collect();
    let sites = results.iter().filter_map(|result| {
        let sites = result.sites.as_ref()?;
        Some(Block::Folded(
            format!("Where {} allocates{}", result.framework, sampled(sites)),
            vec![Block::Table(site_table(sites))],
        ))
    });
    [Block::Heading(heading(results)), Block::Table(table), Block::Notes(notes)].into_iter().chain(sites).collect()
}

fn site_table(sites: &SiteTable) -> Table {
    let row = |per_op: PerOp, function: Cell, file: String| {
        let figures = texts([whole(per_op.bytes_per_op), two_decimals(per_op.allocs_per_op)]);
        figures.into_iter().chain([function, Cell::Code(file)]).collect::<Vec<_>>()
    };
    let named = sites.rows.iter().map(|site| row(site.per_op, Cell::Code(site.function.clone()), place(site)));
    let sum = |per_op: PerOp, name: String| row(per_op, Cell::Text(name), String::new());
    let others = (sites.others.sites > 0).then(|| sum(sites.others.per_op, format!("({} others)", sites.others.sites)));
    let all = sum(sites.total, "(all)".to_owned());
    Table {
        columns: vec![
            Column::figures("B/op"),
            Column::figures("allocs/op"),
            Column::words("function"),
            Column::words("file:line"),
        ],
        sums: 1 + usize::from(others.is_some()),
        rows: named.chain(others).chain([all]).collect(),
    }
}
