//! Which functions changed from one profile to another.

use super::{
    Style,
    csv::{CsvError, fail},
    markdown::{code, escape, row},
    sites::keep_end,
    table::{finish, fold, plain_table},
};
use crate::profile::{Both, Diff, DiffTable, Values};

/// What stands for rows when there are none.
const UNCHANGED: &str = "No function changed.";
const COLUMNS: usize = 5;
/// Names are cut to no less than this, however narrow the terminal.
const MIN_NAMES: usize = 30;

/// A table for terminals, what changed most first, ending in what both profiles add up to. At most `limit` functions.
pub fn diff(diff: &Diff, values: Values, limit: Option<usize>, style: Style) -> String {
    let table = diff.table(values, limit);
    let [a, b] = diff.names();
    let mut text = style.bold(&format!("{}: A {a} → B {b}", diff.subject())) + "\n";
    if table.rows.is_empty() {
        text += UNCHANGED;
        text += "\n";
    }
    let rows = rows(diff, &table);
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let figures: usize = (1..COLUMNS).map(|column| widest(column) + 2).sum();
    let names = style.width.saturating_sub(figures).max(MIN_NAMES);
    let mut grid = plain_table();
    for [function, a, b, difference, percent] in rows {
        grid.add_row([keep_end(&function, names), a, b, difference, percent]);
    }
    text += &finish(grid, COLUMNS, 1);
    table.notes.iter().for_each(|note| text += &fold(&format!("! {note}"), Style { color: false, ..style }));
    text
}

/// The same table as GitHub's Markdown.
pub fn diff_markdown(diff: &Diff, values: Values, limit: Option<usize>) -> String {
    let table = diff.table(values, limit);
    let [a, b] = diff.names().map(escape);
    let mut text = format!("### {}: {a} → {b}\n\n", escape(&diff.subject()));
    if table.rows.is_empty() {
        text += UNCHANGED;
        text += "\n\n";
    }
    let mut rows = rows(diff, &table).into_iter();
    rows.next().into_iter().for_each(|head| text += &row(head));
    text += &row(["---", "---:", "---:", "---:", "---:"].map(str::to_owned));
    for [function, a, b, difference, percent] in rows {
        let function = if function.starts_with('(') { function } else { code(&function) };
        text += &row([function, a, b, difference, percent]);
    }
    let notes: String = table.notes.iter().map(|each| format!("- ⚠ {}\n", escape(each))).collect();
    if notes.is_empty() { text } else { text + "\n" + &notes }
}

/// The same table as CSV, values as they are. The ratio of what was nothing before is empty.
///
/// # Errors
/// Those of writing to memory, which a table doesn't have.
pub fn diff_csv(diff: &Diff, values: Values, limit: Option<usize>) -> Result<String, CsvError> {
    let table = diff.table(values, limit);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(["function", "a", "b", "difference", "ratio", "change"]).map_err(fail)?;
    for (function, both) in lines(&table) {
        let ratio = both.ratio().map(|ratio| ratio.to_string()).unwrap_or_default();
        let values = [both.a, both.b, both.difference()].map(|value| value.to_string());
        let [a, b, difference] = values;
        writer.write_record([function, a, b, difference, ratio, both.change().word().to_owned()]).map_err(fail)?;
    }
    String::from_utf8(writer.into_inner().map_err(fail)?).map_err(fail)
}

/// The same table as JSON.
///
/// # Errors
/// Those of serialising, which a table doesn't have.
pub fn diff_json(diff: &Diff, values: Values, limit: Option<usize>) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&diff.table(values, limit))? + "\n")
}

/// Functions, the rest and the sum.
fn lines(table: &DiffTable) -> Vec<(String, Both)> {
    let mut lines: Vec<(String, Both)> = table.rows.iter().map(|row| (row.function.clone(), row.value)).collect();
    if let Some(others) = table.others.filter(|_| table.other_functions > 0) {
        let plural = if table.other_functions == 1 { "" } else { "s" };
        lines.push((format!("({} other function{plural})", table.other_functions), others));
    }
    lines.push(("(all)".to_owned(), table.total));
    lines
}

/// Head and lines as text.
fn rows(diff: &Diff, table: &DiffTable) -> Vec<[String; COLUMNS]> {
    let mut rows = vec![["function", "A", "B", "difference", "change"].map(str::to_owned)];
    rows.extend(lines(table).into_iter().map(|(function, both)| {
        [function, diff.figure(both.a), diff.figure(both.b), diff.difference(both), both.percent()]
    }));
    rows
}
