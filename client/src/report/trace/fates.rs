//! What became of the blocks, by site.

use super::{names, number, with_sites};
use crate::{
    measure::result::PerOp,
    profile::{Growth, SiteFate, Trace, two_decimals},
    report::{Style, columns::whole, table::fold},
    units::thousands,
};

/// Sites with a row of their own.
const MOST_SITES: usize = 20;

/// Bytes per op by site: given back within the request, later, or not at all.
pub(super) fn fates(trace: &Trace, style: Style) -> String {
    let fates = &trace.fates;
    if fates.rows.is_empty() {
        return String::new();
    }
    let title = format!(
        "What became of it: B/op of the first {} requests, watched for {} more",
        thousands(fates.ops),
        thousands(fates.watched)
    );
    let head = ["B/op", "allocs/op", "same op", "later", "kept"].map(str::to_owned).to_vec();
    let mut rows = vec![(head, "site".to_owned(), "file:line".to_owned())];
    rows.extend(fates.rows.iter().take(MOST_SITES).map(|row| {
        let (function, file) = names(trace, row.site);
        (figures(row), format!("{} {function}", number(row.site)), file)
    }));
    let rest = fates.rows.get(MOST_SITES..).unwrap_or(&[]);
    if !rest.is_empty() {
        rows.push((figures(&sum(rest)), format!("({} more sites)", rest.len()), String::new()));
    }
    rows.push((figures(&fates.total), "(all)".to_owned(), String::new()));
    let note = "same op: given back, or given another size, within the request that asked for it; later: in a later one; kept: not by the \
                end.";
    format!("{}\n{}{}", style.bold(&title), with_sites(rows, &[], style.width), fold(note, style))
}

fn figures(row: &SiteFate) -> Vec<String> {
    let bytes = |per_op: PerOp| if per_op.allocs_per_op == 0.0 { "·".to_owned() } else { whole(per_op.bytes_per_op) };
    vec![
        whole(row.total.bytes_per_op),
        two_decimals(row.total.allocs_per_op),
        bytes(row.within),
        bytes(row.later),
        bytes(row.kept),
    ]
}

pub(in crate::report) fn sum(rows: &[SiteFate]) -> SiteFate {
    let of = |part: fn(&SiteFate) -> PerOp| PerOp {
        bytes_per_op: rows.iter().map(|row| part(row).bytes_per_op).sum(),
        allocs_per_op: rows.iter().map(|row| part(row).allocs_per_op).sum(),
    };
    SiteFate {
        site: None,
        total: of(|r| r.total),
        within: of(|r| r.within),
        later: of(|r| r.later),
        kept: of(|r| r.kept),
    }
}

/// What is said of a site's growth.
pub(in crate::report) const GROWTH_HEADS: [&str; 5] = ["copied B/op", "blocks/op", "steps", "first B", "last B"];

/// The figures under [`GROWTH_HEADS`].
pub(in crate::report) fn growth_figures(growth: &Growth) -> [String; 5] {
    [
        whole(growth.copied_bytes_per_op),
        two_decimals(growth.chains_per_op),
        steps(growth),
        range(growth.first),
        range(growth.last),
    ]
}

/// Blocks that were made larger.
pub(super) fn growth(trace: &Trace, style: Style) -> String {
    if trace.growth.is_empty() {
        return String::new();
    }
    let head = GROWTH_HEADS.map(str::to_owned).to_vec();
    let mut rows = vec![(head, "site".to_owned(), "file:line".to_owned())];
    rows.extend(trace.growth.iter().take(MOST_SITES).map(|growth| {
        let (function, file) = names(trace, Some(growth.site));
        (growth_figures(growth).to_vec(), format!("{} {function}", number(Some(growth.site))), file)
    }));
    let note = "A step is a realloc; what it moves is copied. Asked for at once at their last size they would take none. What grows \
                into a new block and gives back the old one, as hash maps do, isn't seen here.";
    let title = style.bold("What grew, of all requests");
    format!("{title}\n{}{}", with_sites(rows, &[], style.width), fold(note, style))
}

fn steps(growth: &Growth) -> String {
    if growth.steps == growth.most_steps as f64 {
        return growth.most_steps.to_string();
    }
    format!("{:.1}, most {}", growth.steps, growth.most_steps)
}

fn range((low, high): (u64, u64)) -> String {
    if low == high { thousands(low) } else { format!("{}–{}", thousands(low), thousands(high)) }
}
