//! A profile's functions, as `go tool pprof -top` prints them.

use crate::profile::{Inlined, Scale, TopRow, TopTable, percentage};

/// The table, from the line that says its type on.
pub fn top(table: &TopTable) -> String {
    let scale = Scale::fitting(&table.unit, table.rows.iter().map(least), table.total);
    let shown = table.rows.iter().map(|row| row.flat).fold(0, i64::saturating_add);
    let mut text = format!("Type: {}\n", table.kind);
    if !table.filters.is_empty() {
        text += "Active filters:\n";
        table.filters.iter().for_each(|filter| text += &format!("   {filter}\n"));
    }
    text += &format!(
        "Showing nodes accounting for {}, {} of {} total\n",
        scale.format(shown),
        percentage(shown, table.total).trim(),
        scale.format(table.total)
    );
    if table.dropped > 0 && table.total != 0 {
        let plural = if table.dropped == 1 { "" } else { "s" };
        text += &format!("Dropped {} node{plural} (cum <= {})\n", table.dropped, scale.format(table.cutoff));
    }
    if table.rows.len() < table.of {
        text += &format!("Showing top {} nodes out of {}\n", table.rows.len(), table.of);
    }
    text += "      flat  flat%   sum%        cum   cum%\n";
    let mut sum = 0i64;
    for row in &table.rows {
        sum = sum.saturating_add(row.flat);
        let inlined = match row.inlined {
            Inlined::No => "",
            Inlined::Partly => " (partial-inline)",
            Inlined::Yes => " (inline)",
        };
        text += &format!(
            "{:>10} {} {} {:>10} {}  {}{inlined}\n",
            scale.format(row.flat),
            percentage(row.flat, table.total),
            percentage(sum, table.total),
            scale.format(row.cum),
            percentage(row.cum, table.total),
            row.name,
        );
    }
    text
}

/// The smallest value of a row that isn't 0.
fn least(row: &TopRow) -> i64 {
    if row.flat == 0 { row.cum } else { row.flat }
}
