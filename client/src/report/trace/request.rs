//! The request's steps, and where others differ.

use super::{names_of, number, with_sites};
use crate::{
    profile::{Compared, Lifetime, Step, StepKind, Trace, Variant, Whose},
    report::{Style, columns::UNKNOWN, table::fold},
    units::{format_duration, thousands},
};

/// Terminals of this width show usable bytes too.
const WIDE: usize = 100;
/// Kinds of other requests that are listed.
const MOST_VARIANTS: usize = 5;
/// Differences of each that are listed.
const MOST_DIFFERENCES: usize = 6;

/// The table of a request's steps, with those of the next one that differ.
pub(super) fn request(subject: &str, trace: &Trace, style: Style) -> String {
    let request = &trace.request;
    let title = format!("{subject}: request {} of {} under the glass", request.number, trace.ops);
    let alone: Vec<Compared>;
    let steps = match &trace.next {
        Some(steps) => steps,
        None => {
            alone = request.steps.iter().map(|&step| Compared { side: Whose::Both, step }).collect();
            &alone
        }
    };
    let summary = format!(
        "{} of {} B ({} asked for) and {} in {}; at most {} B live at a time. {}",
        counted(request.allocs, "allocation"),
        thousands(request.bytes),
        thousands(request.requested_bytes),
        counted(request.frees, "free"),
        duration(request.length_ns),
        thousands(request.peak_bytes.max(0) as u64),
        alike(trace),
    );
    let mut text = format!("{}\n{}{}", style.bold(&title), fold(&summary, style), table(trace, steps, style));
    text += &fold(&next(trace), style);
    text
}

fn alike(trace: &Trace) -> String {
    if trace.same == 1 {
        return "No two requests did the same.".to_owned();
    }
    format!("{} of {} requests did exactly this.", thousands(trace.same), thousands(trace.ops))
}

/// What the request after it did.
fn next(trace: &Trace) -> String {
    let after = trace.request.number + 1;
    match &trace.next {
        None => "It was the last; none can be set against it.".to_owned(),
        Some(steps) if steps.iter().all(|compared| compared.side == Whose::Both) => {
            format!("Request {after} did the same.")
        }
        Some(_) => format!("- this request only; + request {after} only, at its own times; all else both did."),
    }
}

fn table(trace: &Trace, steps: &[Compared], style: Style) -> String {
    let wide = style.width >= WIDE;
    let head = if wide {
        ["", "#", "µs", "+µs", "event", "requested", "usable", "live B", "lives"].map(str::to_owned).to_vec()
    } else {
        ["", "#", "µs", "+µs", "event", "bytes", "live B", "lives"].map(str::to_owned).to_vec()
    };
    let mut rows = vec![(head, "site".to_owned(), "file:line".to_owned())];
    let (mut before, mut place) = (0, 0);
    for Compared { side, step } in steps {
        // Only the request's own steps have numbers and a time since the last: the other's clock is another.
        let (at, since) = if *side == Whose::Second {
            (String::new(), String::new())
        } else {
            place += 1;
            (place.to_string(), micros(step.at_ns - std::mem::replace(&mut before, step.at_ns)))
        };
        let requested = match (step.requested, step.from) {
            (Some(requested), Some(from)) => format!("{}→{}", thousands(from), thousands(requested)),
            (requested, _) => requested.map(thousands).unwrap_or_default(),
        };
        let mark = match side {
            Whose::Both => "",
            Whose::First => "-",
            Whose::Second => "+",
        };
        let mut cells = vec![mark.to_owned(), at, micros(step.at_ns), since, event(step, *side), requested];
        if wide {
            cells.push(
                step.usable.map_or_else(|| if step.requested.is_some() { UNKNOWN } else { "" }.into(), thousands),
            );
        }
        cells.push(if *side == Whose::Second { String::new() } else { signed(step.live_bytes) });
        cells.push(lives(step));
        let (function, file) = names_of(trace, step);
        rows.push((cells, format!("{} {function}", number(step.site)).trim().to_owned(), file));
    }
    with_sites(rows, &[0, 4], style.width)
}

fn event(step: &Step, side: Whose) -> String {
    match step.kind {
        StepKind::Alloc => "alloc".to_owned(),
        StepKind::AllocZeroed => "zeroed".to_owned(),
        StepKind::Realloc => if step.moved == Some(false) { "in place" } else { "realloc" }.to_owned(),
        StepKind::Free => match step.other.filter(|_| side != Whose::Second) {
            Some(other) => format!("free #{}", other + 1),
            None => "free".to_owned(),
        },
        StepKind::Start => "→ handler".to_owned(),
        StepKind::Ok => "← ok".to_owned(),
        StepKind::Error => "← error".to_owned(),
    }
}

/// How long the block lives.
fn lives(step: &Step) -> String {
    match (step.kind, step.lifetime) {
        (StepKind::Start | StepKind::Ok | StepKind::Error, _) => String::new(),
        (_, Some(Lifetime { ns, ops: 0 })) => duration(ns),
        (_, Some(Lifetime { ops, .. })) => counted(ops, "op"),
        (StepKind::Free, None) => "older".to_owned(),
        (_, None) => "kept".to_owned(),
    }
}

/// Requests that did otherwise than most.
pub(super) fn variants(trace: &Trace, style: Style) -> String {
    if trace.variants.is_empty() {
        return String::new();
    }
    let others: usize = trace.variants.iter().map(|variant| variant.requests.len()).sum();
    let mut text =
        style.bold(&format!("{} of {} requests did otherwise", thousands(others as u64), thousands(trace.ops)));
    text += "\n";
    for variant in trace.variants.iter().take(MOST_VARIANTS) {
        text += &fold(&heading(variant), style);
        let rows: Vec<_> =
            variant.differences.iter().take(MOST_DIFFERENCES).map(|difference| row(trace, difference)).collect();
        text += &with_sites(rows, &[0, 1], style.width);
        if let Some(more) = variant.differences.len().checked_sub(MOST_DIFFERENCES).filter(|&more| more > 0) {
            text += &fold(&format!("and {more} more"), style);
        }
    }
    if let Some(more) = trace.variants.len().checked_sub(MOST_VARIANTS).filter(|&more| more > 0) {
        let requests: usize = trace.variants[MOST_VARIANTS..].iter().map(|variant| variant.requests.len()).sum();
        text += &fold(&format!("and {more} kinds more, of {} requests", thousands(requests as u64)), style);
    }
    text
}

fn heading(variant: &Variant) -> String {
    let first = variant.requests[0];
    let which = match variant.requests.len() {
        1 => format!("request {first}"),
        many => format!("{many} requests, the first {first}"),
    };
    format!("{which}: {} of {} B", counted(variant.allocs, "allocation"), thousands(variant.bytes))
}

fn row(trace: &Trace, Compared { side, step }: &Compared) -> (Vec<String>, String, String) {
    let mark = if *side == Whose::First { "-" } else { "+" };
    let bytes = match (step.requested, step.from) {
        (Some(requested), Some(from)) => format!("{}→{}", thousands(from), thousands(requested)),
        (requested, _) => requested.map(thousands).unwrap_or_default(),
    };
    let (function, file) = names_of(trace, step);
    let site = format!("{} {function}", number(step.site)).trim().to_owned();
    (vec![format!("   {mark}"), event(step, Whose::Second), bytes], site, file)
}

fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

fn duration(ns: u64) -> String {
    format_duration(std::time::Duration::from_nanos(ns))
}

fn micros(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e3)
}

fn signed(bytes: i64) -> String {
    let digits = thousands(bytes.unsigned_abs());
    if bytes < 0 { format!("-{digits}") } else { digits }
}
