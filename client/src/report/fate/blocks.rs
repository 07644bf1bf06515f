//! What becomes of what is allocated, and what grows, as blocks of a report.

use super::{FATES, GROWTH, basis, bytes_per_op, share, shares};
use crate::{
    measure::result::{PerOp, RunResult},
    profile::{By, FateSums, FateTable, Filter, Growth, Layers, SiteFate, Trace, fate_table, two_decimals},
    report::{
        blocks::{Block, Cell, Column, Table, notes, texts},
        columns::whole,
        facets,
        trace::{Traced, fates, site},
    },
};

/// More cells than these are folded away.
const FEW: usize = 4;
/// Sites with a row of their own.
const SITES: usize = 10;

/// The trace of a result.
#[derive(Debug, Clone)]
pub struct CellTrace {
    /// Which result of the run.
    pub cell: String,
    /// Calls in flight when it was measured.
    pub concurrency: u32,
    /// The trace.
    pub traced: Traced,
    /// What became of what each layer allocated.
    pub by_layer: FateTable,
}

impl CellTrace {
    /// Of a result.
    pub fn new(result: &RunResult, traced: Traced, layers: &Layers) -> Self {
        let by_layer = fate_table(&traced.trace, &Filter::default(), By::Layer, layers);
        Self { cell: facets::cell(result), concurrency: result.concurrency, traced, by_layer }
    }
}

/// A section of fates and one of growth; nothing where nothing is allocated.
pub(in crate::report) fn blocks(traces: &[CellTrace]) -> Vec<Block> {
    let allocating: Vec<&CellTrace> = traces.iter().filter(|cell| !cell.by_layer.rows.is_empty()).collect();
    let growing: Vec<&CellTrace> = traces.iter().filter(|cell| !cell.traced.trace.growth.is_empty()).collect();
    let mut blocks = Vec::new();
    if !allocating.is_empty() {
        blocks.push(Block::Title("What becomes of it".to_owned()));
        blocks.extend(cells(&allocating, fates_of));
        blocks.push(notes([FATES.to_owned()]));
    }
    if !growing.is_empty() {
        blocks.push(Block::Title("Growth".to_owned()));
        blocks.extend(cells(&growing, |cell| vec![Block::Table(growth(&cell.traced.trace))]));
        blocks.push(notes([GROWTH.to_owned()]));
    }
    blocks
}

fn cells(cells: &[&CellTrace], of: impl Fn(&CellTrace) -> Vec<Block>) -> Vec<Block> {
    let one = |cell: &&CellTrace| {
        let (name, blocks) = (cell.cell.clone(), of(cell));
        if cells.len() > FEW {
            vec![Block::Folded(name, blocks)]
        } else {
            [vec![Block::Heading(name)], blocks].concat()
        }
    };
    cells.iter().flat_map(one).collect()
}

fn fates_of(cell: &CellTrace) -> Vec<Block> {
    let trace = &cell.traced.trace;
    vec![
        Block::Table(layers(trace, &cell.by_layer)),
        notes([basis(trace, Some(cell.concurrency))]),
        Block::Folded("By line".to_owned(), vec![Block::Table(sites(trace))]),
    ]
}

const FIGURES: [&str; 5] = ["B/op", "allocs/op", "same op", "later", "kept"];

fn layers(trace: &Trace, table: &FateTable) -> Table {
    let row = |name: &str, sums: &FateSums| {
        let allocs = two_decimals(sums.blocks as f64 / trace.fates.ops.max(1) as f64);
        let figures = [bytes_per_op(trace, sums), allocs].into_iter().chain(shares(sums));
        texts([name.to_owned()].into_iter().chain(figures))
    };
    let layers = table.rows.iter().map(|of| row(&of.row.name, &of.sums));
    Table {
        columns: [Column::words("layer")].into_iter().chain(FIGURES.map(Column::figures)).collect(),
        rows: layers.chain([row("(all)", &table.total)]).collect(),
        sums: 1,
    }
}

fn sites(trace: &Trace) -> Table {
    let row = |fate: &SiteFate, [function, place]: [Cell; 2]| {
        let share = |part: PerOp| share(part.bytes_per_op, fate.total.bytes_per_op);
        let total = [whole(fate.total.bytes_per_op), two_decimals(fate.total.allocs_per_op)];
        let figures = total.into_iter().chain([fate.within, fate.later, fate.kept].map(share));
        texts(figures).into_iter().chain([function, place]).collect::<Vec<_>>()
    };
    let (shown, rest) = trace.fates.rows.split_at(trace.fates.rows.len().min(SITES));
    let sum = |name: String| [Cell::Text(name), Cell::Text(String::new())];
    let others = (!rest.is_empty()).then(|| row(&fates::sum(rest), sum(format!("({} others)", rest.len()))));
    Table {
        columns: FIGURES.map(Column::figures).into_iter().chain(["function", "file:line"].map(Column::words)).collect(),
        sums: 1 + usize::from(others.is_some()),
        rows: shown
            .iter()
            .map(|fate| row(fate, site(trace, fate.site).map(Cell::Code)))
            .chain(others)
            .chain([row(&trace.fates.total, sum("(all)".to_owned()))])
            .collect(),
    }
}

fn growth(trace: &Trace) -> Table {
    let row = |growth: &Growth| {
        let names = site(trace, Some(growth.site)).map(Cell::Code);
        texts(fates::growth_figures(growth)).into_iter().chain(names).collect()
    };
    let words = ["function", "file:line"].map(Column::words);
    Table {
        columns: fates::GROWTH_HEADS.map(Column::figures).into_iter().chain(words).collect(),
        rows: trace.growth.iter().take(SITES).map(row).collect(),
        sums: 0,
    }
}
