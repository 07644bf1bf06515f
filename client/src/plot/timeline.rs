//! A traced request as a picture: the bytes that are live, and under them a bar for each block, from being handed out to being
//! given back. An SVG of its own, whose parts say more under the mouse.

use std::fmt::Write;

use super::look::{AXIS, GRID, Look, QUIET, TEXT};
use crate::{
    profile::{Request, Step, StepKind, Trace, TraceSite},
    report::{OLDER, Traced, keep_end},
    units::{format_duration, thousands},
};

const WIDTH: f64 = 1200.0;
/// Where time begins and ends; the names of blocks are to the left of it.
const LEFT: f64 = 400.0;
const RIGHT: f64 = WIDTH - 24.0;
/// The curve of live bytes.
const CURVE_TOP: f64 = 84.0;
const CURVE_HEIGHT: f64 = 130.0;
/// From the curve to the bars: the marks of the time axis.
const AXIS_ROOM: f64 = 34.0;
const ROW: f64 = 17.0;
const BAR: f64 = 11.0;
/// More blocks than anyone would look through.
const MOST_BARS: usize = 300;
/// Characters of a name.
const NAME: usize = 42;
/// About so many marks on an axis.
const MARKS: f64 = 6.0;

/// Draws the typical request of a trace. The same trace gives the same text.
pub fn timeline(traced: &Traced) -> String {
    let trace = &traced.trace;
    let bars = bars(&trace.request);
    let shown = &bars[..bars.len().min(MOST_BARS)];
    let rows_top = CURVE_TOP + CURVE_HEIGHT + AXIS_ROOM;
    let bottom = rows_top + ROW * shown.len() as f64;
    let height = bottom + 40.0;
    let drawing = Drawing { request: &trace.request, span: (trace.request.length_ns as f64).max(1.0), bottom };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"{}\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n",
        color(TEXT)
    );
    svg += &heading(traced);
    svg += &drawing.handler();
    svg += &drawing.time_axis();
    svg += &drawing.live_bytes();
    for (row, bar) in shown.iter().enumerate() {
        svg += &drawing.bar(trace, bar, rows_top + ROW * row as f64);
    }
    let hidden = bars.len() - shown.len();
    let note = match hidden {
        0 => "Bars: blocks from being handed out to being given back. Pale ends: from an earlier request, or to a later one."
            .to_owned(),
        hidden => format!("{} blocks more are not drawn.", thousands(hidden as u64)),
    };
    svg += &text((LEFT, bottom + 24.0), "", QUIET, &note);
    svg + "</svg>\n"
}

/// A block's life in a request, by its step there.
struct Bar {
    /// Where it is named: its first step in the request.
    step: usize,
    /// `None`: before the request.
    born: Option<u64>,
    /// `None`: after it.
    died: Option<u64>,
}

/// In the order of their first step.
fn bars(request: &Request) -> Vec<Bar> {
    let bar = |(at, step): (usize, &Step)| match step.kind {
        StepKind::Alloc | StepKind::AllocZeroed | StepKind::Realloc => {
            Some(Bar { step: at, born: Some(step.at_ns), died: step.other.map(|other| request.steps[other].at_ns) })
        }
        StepKind::Free if step.other.is_none() => Some(Bar { step: at, born: None, died: Some(step.at_ns) }),
        StepKind::Free | StepKind::Start | StepKind::Ok | StepKind::Error => None,
    };
    request.steps.iter().enumerate().filter_map(bar).collect()
}

fn heading(Traced { framework, scenario, label, trace, .. }: &Traced) -> String {
    let request = &trace.request;
    let title = format!("{framework} {scenario}: request {} of {}", request.number, trace.ops);
    let subtitle = format!(
        "Run {label}. {} allocations of {} B, {} frees, in {}; {} of {} requests did exactly this.",
        request.allocs,
        thousands(request.bytes),
        request.frees,
        length(request.length_ns),
        trace.same,
        trace.ops
    );
    text((24.0, 30.0), " font-size=\"17\" font-weight=\"bold\"", TEXT, &title)
        + &text((24.0, 52.0), "", QUIET, &subtitle)
}

struct Drawing<'a> {
    request: &'a Request,
    span: f64,
    bottom: f64,
}

impl Drawing<'_> {
    fn x(&self, at_ns: u64) -> f64 {
        LEFT + (RIGHT - LEFT) * at_ns as f64 / self.span
    }

    /// The time in which the handler ran.
    fn handler(&self) -> String {
        let mut steps = self.request.steps.iter().skip_while(|step| step.kind != StepKind::Start);
        let start = steps.next();
        let end = steps.find(|step| matches!(step.kind, StepKind::Ok | StepKind::Error));
        let (Some(start), Some(end)) = (start, end) else {
            return String::new();
        };
        let (from, to) = (self.x(start.at_ns), self.x(end.at_ns));
        format!(
            "<rect x=\"{from:.1}\" y=\"{CURVE_TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#EEF2F7\"><title>the handler: {}\
             </title></rect>\n{}",
            to - from,
            self.bottom - CURVE_TOP,
            length(end.at_ns - start.at_ns),
            text((from + 3.0, CURVE_TOP - 5.0), "", QUIET, "handler")
        )
    }

    fn time_axis(&self) -> String {
        let base = CURVE_TOP + CURVE_HEIGHT;
        let mut svg = String::new();
        for mark in marks(self.span) {
            let x = self.x(mark as u64);
            // Writing to a String can't fail.
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {CURVE_TOP}V{:.1}\" stroke=\"{}\"/>{}",
                self.bottom,
                color(GRID),
                text((x, base + 16.0), " text-anchor=\"middle\"", QUIET, &length(mark as u64)).trim_end()
            );
        }
        svg
    }

    /// Steps from event to event, over a line at what was live before the request.
    fn live_bytes(&self) -> String {
        let live = self.request.steps.iter().map(|step| step.live_bytes);
        let (low, high) = live.fold((0i64, 1i64), |(low, high), bytes| (low.min(bytes), high.max(bytes)));
        let y = |bytes: i64| CURVE_TOP + CURVE_HEIGHT * (high - bytes) as f64 / (high - low) as f64;
        let mut svg = String::new();
        for mark in marks(high as f64).into_iter().filter(|mark| *mark > 0.0) {
            let at = y(mark as i64);
            let label =
                text((LEFT - 6.0, at + 4.0), " text-anchor=\"end\"", QUIET, &format!("{} B", thousands(mark as u64)));
            let _ =
                writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"{}\"/>{}", color(GRID), label.trim_end());
        }
        let mut path = format!("M{LEFT} {:.1}", y(0));
        for step in &self.request.steps {
            let _ = write!(path, "H{:.1}V{:.1}", self.x(step.at_ns), y(step.live_bytes));
        }
        let _ = writeln!(
            svg,
            "<path d=\"{path}H{RIGHT}V{:.1}H{LEFT}Z\" fill=\"{fill}\" fill-opacity=\"0.25\"/>\n<path d=\"{path}H{RIGHT}\" fill=\"none\" \
             stroke=\"{fill}\" stroke-width=\"1.5\"/>\n<path d=\"M{LEFT} {:.1}H{RIGHT}\" stroke=\"{}\"/>",
            y(0),
            y(0),
            color(AXIS),
            fill = color(Look::of(0).color)
        );
        svg + &text((24.0, CURVE_TOP + 14.0), "", TEXT, "Live bytes, beyond those before")
            + &text((24.0, CURVE_TOP + CURVE_HEIGHT + AXIS_ROOM - 8.0), " font-weight=\"bold\"", TEXT, "Block")
    }

    fn bar(&self, trace: &Trace, bar: &Bar, top: f64) -> String {
        let step = &self.request.steps[bar.step];
        let (from, to) = (bar.born.map_or(LEFT, |at| self.x(at)), bar.died.map_or(RIGHT, |at| self.x(at)));
        let site = step.site.and_then(|site| trace.sites.get(site));
        let function = site.map_or(OLDER, |site| site.function.as_str());
        let size = match (step.from, step.requested) {
            (Some(from), Some(requested)) => format!("{}→{} B", thousands(from), thousands(requested)),
            (_, requested) => format!("{} B", thousands(requested.unwrap_or(0))),
        };
        let whole = bar.born.is_some() && bar.died.is_some();
        let fill = step.site.map_or(QUIET, |site| Look::of(site + 1).color);
        let name = text(
            (LEFT - 6.0, top + BAR - 1.0),
            " text-anchor=\"end\"",
            TEXT,
            &format!("{}  {size}", keep_end(function, NAME)),
        );
        format!(
            "<g><title>{}</title>{}<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"{}/></g>\n",
            escape(&tooltip(bar, step, site)),
            name.trim_end(),
            (to - from).max(1.5),
            color(fill),
            if whole { "" } else { " fill-opacity=\"0.45\"" }
        )
    }
}

fn tooltip(bar: &Bar, step: &Step, site: Option<&TraceSite>) -> String {
    let place = site.map(|site| {
        let line = site.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}\n{}{line}\n", site.function, site.file.as_deref().unwrap_or_default())
    });
    let usable = step.usable.map(|usable| format!(", {} B handed out", thousands(usable))).unwrap_or_default();
    let lives = match (step.lifetime, bar.born, bar.died) {
        (Some(lifetime), Some(_), Some(_)) => format!("lives {}", length(lifetime.ns)),
        (Some(lifetime), ..) => format!("lives {}, to {} request(s) later", length(lifetime.ns), lifetime.ops),
        (None, None, _) => OLDER.to_owned(),
        (None, ..) => "not given back by the end of the log".to_owned(),
    };
    format!("{}{} B asked for{usable}; {lives}", place.unwrap_or_default(), thousands(step.requested.unwrap_or(0)))
}

/// Round numbers from 0 to `end`: 1, 2 or 5 times a power of ten apart.
fn marks(end: f64) -> Vec<f64> {
    let rough = (end / MARKS).max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= rough).unwrap_or(rough);
    (0u32..).map(|n| f64::from(n) * step).take_while(|mark| *mark <= end).collect()
}

fn text((x, y): (f64, f64), attributes: &str, fill: plotters::style::RGBColor, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\"{attributes}>{}</text>\n", color(fill), escape(text))
}

fn color(plotters::style::RGBColor(r, g, b): plotters::style::RGBColor) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

fn length(ns: u64) -> String {
    format_duration(std::time::Duration::from_nanos(ns))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(marks(1_500.0), [0.0, 500.0, 1_000.0, 1_500.0]);
        assert_eq!(marks(640_000.0), [0.0, 200_000.0, 400_000.0, 600_000.0]);
        assert_eq!(marks(1.0), [0.0, 1.0]);
        for end in [1.0, 3.0, 77.0, 12_345.0, 9e12] {
            assert!((2..=8).contains(&marks(end).len()), "{end}");
        }
    }
}
