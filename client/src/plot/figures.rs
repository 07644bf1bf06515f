//! Speed and memory by payload and by concurrency.

use super::{
    axis::{Axis, Scale},
    picture::{Bar, Form, Line, Mark, Panel, Picture, Point, Spread},
    series::{Group, groups},
};
use crate::{
    measure::result::{BytesBasis, Figures, RunResult},
    profile::{three_digits, two_decimals},
    report::facets::{calls, payload},
    units::format_size,
};

/// What a set of pictures shows.
struct Metric {
    /// For file names.
    name: &'static str,
    title: &'static str,
    measures: &'static [Measure],
}

/// A figure with its name and unit.
struct Measure {
    /// For panels, where a picture has several measures.
    title: &'static str,
    axis: &'static str,
    of: fn(&Figures) -> Option<f64>,
    text: fn(f64) -> String,
}

const METRICS: [Metric; 4] = [
    Metric {
        name: "qps",
        title: "QPS",
        measures: &[Measure { title: "", axis: "QPS, 1/s", of: |f| f.qps, text: three_digits }],
    },
    Metric {
        name: "latency",
        title: "Latency: p99 and p99.9 of service time",
        measures: &[
            Measure { title: "p99", axis: "p99, ms", of: |f| f.latency_p99_ms, text: three_digits },
            Measure { title: "p99.9", axis: "p99.9, ms", of: |f| f.latency_p999_ms, text: three_digits },
        ],
    },
    Metric {
        name: "bytes_per_op",
        title: "B/op",
        measures: &[Measure {
            title: "",
            axis: "B/op, bytes",
            of: |f| f.bytes_per_op,
            text: |v| three_digits(v.round()),
        }],
    },
    Metric {
        name: "allocs_per_op",
        title: "allocs/op",
        measures: &[Measure { title: "", axis: "allocs/op", of: |f| f.allocs_per_op, text: two_decimals }],
    },
];

/// What the points of a panel differ in, and what its panels do.
struct Direction {
    /// For file names and titles.
    name: &'static str,
    axis: &'static str,
    /// The place on the axis. `None` for what has none there.
    at: fn(&RunResult) -> Option<f64>,
    label: fn(f64) -> String,
    /// What all points of a panel share: a number to sort by, and words.
    panel: fn(&RunResult) -> (u64, String),
}

const BY_PAYLOAD: Direction = Direction {
    name: "payload",
    axis: "payload",
    // A mix of sizes has no place on an axis of sizes.
    at: |r| r.payload_mix.is_none().then_some(r.payload_size as f64),
    label: |size| format_size(size as u64),
    panel: |r| (u64::from(r.concurrency), calls(r)),
};

const BY_CONCURRENCY: Direction = Direction {
    name: "concurrency",
    axis: "calls in flight",
    at: |r| Some(f64::from(r.concurrency)),
    label: super::axis::label,
    panel: |r| (r.payload_size, format!("payload {}", payload(r))),
};

/// The pictures of results that were measured as fast as they would go. What wasn't measured is left out.
pub(super) fn pictures(results: &[&RunResult]) -> Vec<Picture> {
    if results.is_empty() {
        return Vec::new();
    }
    let mut pictures = Vec::new();
    for group in groups(results) {
        let directions: Vec<Direction> =
            [BY_PAYLOAD, BY_CONCURRENCY].into_iter().filter(|direction| direction.has_lines(&group)).collect();
        for metric in &METRICS {
            pictures.extend(directions.iter().filter_map(|direction| lines(metric, direction, &group)));
            if directions.is_empty() {
                pictures.extend(bars(metric, &group));
            }
        }
    }
    pictures
}

impl Direction {
    /// Whether a line of two points comes about.
    fn has_lines(&self, group: &Group) -> bool {
        group.series.iter().any(|series| {
            series.results.iter().any(|a| {
                let beside = |b: &&&RunResult| (self.at)(b).is_some() && (self.at)(a) != (self.at)(b);
                (self.at)(a).is_some()
                    && series.results.iter().filter(beside).any(|b| (self.panel)(a) == (self.panel)(b))
            })
        })
    }

    fn panels(&self, group: &Group) -> Vec<(u64, String)> {
        let placed = group.results().filter(|result| (self.at)(result).is_some());
        let mut panels: Vec<(u64, String)> = placed.map(self.panel).collect();
        panels.sort();
        panels.dedup();
        panels
    }
}

fn lines(metric: &Metric, direction: &Direction, group: &Group) -> Option<Picture> {
    let charts: Vec<_> = direction
        .panels(group)
        .into_iter()
        .flat_map(|panel| metric.measures.iter().map(move |measure| (panel.clone(), measure)))
        .map(|(panel, measure)| (titled(&panel.1, measure), measure, series_lines(measure, direction, &panel, group)))
        .collect();
    // One scale for all: panels are compared with each other.
    let spans = |lines: &[Line]| Scale::fitting(reach(lines)) == Scale::Logarithmic;
    let scale = if charts.iter().any(|(_, _, lines)| spans(lines)) { Scale::Logarithmic } else { Scale::Linear };
    let panels = charts.into_iter().filter_map(|(title, measure, lines)| {
        let x = lines.iter().flat_map(|line| &line.points).map(|point| point.x);
        Some(Panel {
            title,
            x: Axis::chosen(x, direction.label)?,
            y: Axis::measured(reach(&lines), scale)?,
            x_is: direction.axis.to_owned(),
            y_is: measure.axis.to_owned(),
            form: Form::Lines(lines),
        })
    });
    picture(metric, &format!("_by_{}", direction.name), &format!(" by {}", direction.name), panels.collect(), group)
}

fn reach(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| &line.points).flat_map(|point| point.y.reach())
}

fn series_lines(measure: &Measure, direction: &Direction, panel: &(u64, String), group: &Group) -> Vec<Line> {
    let lines = group.series.iter().map(|series| {
        let mut points: Vec<Point> = Vec::new();
        for result in series.results.iter().filter(|result| (direction.panel)(result) == *panel) {
            let Some((x, y)) = (direction.at)(result).zip(spread(measure, result)) else { continue };
            // Measured twice, the later one counts.
            points.retain(|point| point.x != x);
            points.push(Point { x, y, mark: Mark::Plain });
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Line { series: series.look, points }
    });
    lines.filter(|line| !line.points.is_empty()).collect()
}

fn bars(metric: &Metric, group: &Group) -> Option<Picture> {
    let mut scenarios: Vec<&RunResult> = Vec::new();
    for result in group.results() {
        if !scenarios.iter().any(|other| other.scenario == result.scenario) {
            scenarios.push(result);
        }
    }
    let mut panels = Vec::new();
    for scenario in scenarios {
        for measure in metric.measures {
            let bars: Vec<Bar> = group
                .series
                .iter()
                .filter_map(|series| {
                    let result = series.results.iter().rev().find(|result| result.scenario == scenario.scenario)?;
                    let y = spread(measure, result)?;
                    Some(Bar { series: series.look, y, text: (measure.text)(y.value) })
                })
                .collect();
            let Some(greatest) = bars.iter().flat_map(|bar| bar.y.reach()).reduce(f64::max) else { continue };
            panels.push(Panel {
                title: titled(&format!("{}, {}", payload(scenario), calls(scenario)), measure),
                x: Axis::places(bars.len()),
                y: Axis::from_zero(greatest * 1.08),
                x_is: String::new(),
                y_is: measure.axis.to_owned(),
                form: Form::Bars(bars),
            });
        }
    }
    picture(metric, "", "", panels, group)
}

/// `None` without panels: nothing of it was measured.
fn picture(metric: &Metric, name: &str, title: &str, panels: Vec<Panel>, group: &Group) -> Option<Picture> {
    let suffix = if group.suffix.is_empty() { String::new() } else { format!("_{}", group.suffix) };
    let columns = if metric.measures.len() > 1 { metric.measures.len() } else { columns(panels.len()) };
    let common = if group.common.is_empty() { String::new() } else { format!(" ({})", group.common.join(", ")) };
    let legend = group.legend(|look| panels.iter().any(|panel| panel.has(look)));
    (!panels.is_empty()).then(|| Picture {
        name: format!("{}{name}{suffix}", metric.name),
        title: format!("{}{title}{common}", metric.title),
        legend,
        notes: notes(metric, &panels, group),
        columns,
        panels,
    })
}

fn notes(metric: &Metric, panels: &[Panel], group: &Group) -> Vec<String> {
    let mut notes = Vec::new();
    if panels.iter().any(Panel::has_spread) {
        notes.push(super::SPREAD_NOTE.to_owned());
    }
    let requested = |result: &RunResult| result.bytes_per_op_basis == Some(BytesBasis::Requested);
    let names = group.series.iter().filter(|series| series.results.iter().any(|result| requested(result)));
    let names: Vec<&str> = names.map(|series| series.name.as_str()).collect();
    if metric.name == "bytes_per_op" && !names.is_empty() {
        notes.push(format!("Requested bytes, not those handed out: {}.", names.join(", ")));
    }
    notes.extend(super::machines(group.results()));
    notes
}

/// The figure with its spread over the rounds.
fn spread(measure: &Measure, result: &RunResult) -> Option<Spread> {
    (measure.of)(&result.figures).map(|value| Spread::new(value, (measure.of)(&result.spread)))
}

fn titled(title: &str, measure: &Measure) -> String {
    if measure.title.is_empty() { title.to_owned() } else { format!("{}, {title}", measure.title) }
}

/// Panels side by side: about as many as rows, at most three.
fn columns(panels: usize) -> usize {
    (1..3).find(|columns| columns * columns >= panels).unwrap_or(if panels <= 4 { 2 } else { 3 })
}
