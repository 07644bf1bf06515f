//! Tables of the lines that allocate.

use super::{
    Style,
    columns::{percent, whole},
    name,
    table::plain_table,
};
use crate::{
    measure::result::{PerOp, RunResult, Site, SiteTable},
    profile::two_decimals,
    units::format_size,
};

/// Of the width left for names, the most that file and line take.
const FILE_SHARE: f64 = 0.45;
/// Names are cut to no less than this, however narrow the terminal.
const MIN_NAMES: usize = 30;

/// A table for each result that has an allocation profile, largest sites first, ending in what they add up to.
pub fn sites(results: &[RunResult], style: Style) -> String {
    results
        .iter()
        .filter_map(|result| {
            let table = result.sites.as_ref()?;
            let title = format!("Where {} allocates{}", name(result), sampled(table));
            Some(format!("{}\n{}", style.bold(&title), site_table(table, style.width)))
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// ` (sampled, one in 512KiB: ±2.4%)`; nothing where every allocation is in the table.
pub(super) fn sampled(sites: &SiteTable) -> String {
    sites.sampling.map_or_else(String::new, |sampling| {
        let error = sampling.bytes_error.map(|error| format!(": ±{}", percent(error))).unwrap_or_default();
        format!(" (sampled, one in {}{error})", format_size(sampling.period_bytes))
    })
}

fn site_table(sites: &SiteTable, width: usize) -> String {
    let rows: Vec<[String; 5]> = rows(sites);
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let figures: usize = (0..3).map(|column| widest(column) + 2).sum();
    let names = width.saturating_sub(figures + 2).max(MIN_NAMES);
    let file_width = widest(4).min((names as f64 * FILE_SHARE) as usize);
    let function_width = widest(3).min(names - file_width);

    let mut table = plain_table();
    for [bytes, allocs, share, function, file] in rows {
        table.add_row([bytes, allocs, share, keep_end(&function, function_width), keep_end(&file, file_width)]);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        if at < 3 {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
        column.set_padding((if at == 0 { 0 } else { 1 }, if at == 4 { 0 } else { 1 }));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Head, sites, the rest and the sum, as text.
fn rows(sites: &SiteTable) -> Vec<[String; 5]> {
    let row = |per_op: PerOp, function: String, file: String| {
        let share = if sites.total.bytes_per_op > 0.0 {
            percent(per_op.bytes_per_op / sites.total.bytes_per_op)
        } else {
            "–".to_owned()
        };
        [whole(per_op.bytes_per_op), two_decimals(per_op.allocs_per_op), share, function, file]
    };
    let mut rows = vec![["B/op", "allocs/op", "share", "function", "file:line"].map(str::to_owned)];
    rows.extend(sites.rows.iter().map(|site| row(site.per_op, site.function.clone(), place(site))));
    if sites.others.sites > 0 {
        let plural = if sites.others.sites == 1 { "" } else { "s" };
        rows.push(row(sites.others.per_op, format!("({} other site{plural})", sites.others.sites), String::new()));
    }
    rows.push(row(sites.total, "(all)".to_owned(), String::new()));
    rows
}

/// `file:line`, as much of it as is known.
pub(super) fn place(site: &Site) -> String {
    match (&site.file, site.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    }
}

/// The end of a path or of a function's name, which says most, in at most `width` characters; `…` for what is cut off before. It
/// begins with a whole part where that leaves more than half of the room used.
pub(crate) fn keep_end(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let from = text.char_indices().nth(length - width.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let kept = &text[from..];
    let part = kept
        .find("::")
        .or_else(|| kept.find('/'))
        .map(|at| &kept[at..])
        .filter(|part| part.chars().count() > width / 2);
    format!("…{}", part.unwrap_or(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_their_start() {
        assert_eq!(keep_end("h2::codec::framed_read::decode", 12), "…::decode");
        assert_eq!(keep_end("h2::codec::framed_read::go", 12), "…ed_read::go");
        assert_eq!(keep_end("h2-0.4.20/src/codec/framed_read.rs:213", 26), "…/codec/framed_read.rs:213");
        assert_eq!(keep_end("µs::µs", 4), "…:µs");
        assert_eq!(keep_end("short", 5), "short");
        assert_eq!(keep_end("none", 0), "…");
    }
}
