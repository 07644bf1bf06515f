//! The throughput-latency curve: what was achieved along x, how long replies took along y.

use super::{
    axis::{Axis, Scale},
    picture::{Form, Key, Line, Mark, Panel, Picture, Point, Spread},
    series::{Group, groups},
};
use crate::{
    measure::result::{Figures, RunResult},
    report::{
        curve::{Curve, curves, per_second, step},
        facets::{calls, payload},
    },
    stats::{REACHED, SLOWED},
};

/// A percentile with its name.
type Percentile = (&'static str, fn(&Figures) -> Option<f64>);

const PERCENTILES: [Percentile; 3] =
    [("p50", |f| f.response_p50_ms), ("p99", |f| f.response_p99_ms), ("p99.9", |f| f.response_p999_ms)];

/// A picture for each scenario that was measured at several rates.
pub(super) fn pictures(results: &[&RunResult]) -> Vec<Picture> {
    let mut scenarios: Vec<&str> = Vec::new();
    for result in results {
        if !scenarios.contains(&result.scenario.as_str()) {
            scenarios.push(&result.scenario);
        }
    }
    let of = |scenario: &str| results.iter().copied().filter(|result| result.scenario == scenario).collect::<Vec<_>>();
    scenarios.into_iter().flat_map(|scenario| groups(&of(scenario))).filter_map(|group| picture(&group)).collect()
}

fn picture(group: &Group) -> Option<Picture> {
    let drawn: Vec<(usize, &str, Curve)> = group
        .series
        .iter()
        .flat_map(|series| curves(&series.results).into_iter().map(|curve| (series.look, series.name.as_str(), curve)))
        .collect();
    let panels: Vec<Panel> = PERCENTILES.iter().filter_map(|percentile| panel(percentile, &drawn)).collect();
    let first = group.results().next().filter(|_| !panels.is_empty())?;
    let shown = |look: usize| panels.iter().any(|panel| panel.has(look));
    let legend = drawn.iter().filter(|(look, ..)| shown(*look));
    let legend: Vec<Key> =
        legend.map(|(look, name, curve)| Key { series: *look, text: format!("{name}, {}", knee(curve)) }).collect();
    let suffix = if group.suffix.is_empty() { String::new() } else { format!("_{}", group.suffix) };
    let mut words = vec![format!("payload {}", payload(first)), format!("at most {}", calls(first))];
    words.extend(group.common.iter().cloned());
    Some(Picture {
        name: format!("curve_{}_{}{suffix}", file_name(&payload(first)), first.concurrency),
        title: format!("Throughput and latency ({})", words.join(", ")),
        legend,
        notes: notes(&drawn, &panels, group),
        columns: panels.len(),
        panels,
    })
}

fn panel((name, of): &Percentile, drawn: &[(usize, &str, Curve)]) -> Option<Panel> {
    let lines: Vec<Line> = drawn.iter().map(|(look, _, curve)| line(*look, curve, *of)).collect();
    let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    Some(Panel {
        title: format!("{name} of response time"),
        x: Axis::measured(points().map(|point| point.x), Scale::Linear)?,
        y: Axis::measured(points().flat_map(|point| point.y.reach()), Scale::Logarithmic)?,
        x_is: "achieved rate, 1/s".to_owned(),
        y_is: format!("{name}, ms"),
        form: Form::Lines(lines),
    })
}

/// In the order of the rates asked for: past the knee a server may achieve less of more.
fn line(series: usize, curve: &Curve, of: fn(&Figures) -> Option<f64>) -> Line {
    let point = |(at, result): (usize, &&RunResult)| {
        let mark = if curve.knee == Some(at) {
            Mark::Knee
        } else if step(result).reached() {
            Mark::Plain
        } else {
            Mark::Missed
        };
        Some(Point { x: result.achieved_rate()?, y: Spread::new(of(&result.figures)?, of(&result.spread)), mark })
    };
    Line { series, points: curve.steps.iter().enumerate().filter_map(point).collect() }
}

/// `knee at 12,000/s`
fn knee(curve: &Curve) -> String {
    let rate = |at: usize| curve.steps[at].load.qps.unwrap_or_default();
    match curve.knee {
        Some(at) if at + 1 == curve.steps.len() => format!("knee beyond {}", per_second(rate(at))),
        Some(at) => format!("knee at {}", per_second(rate(at))),
        None => "no knee".to_owned(),
    }
}

fn notes(drawn: &[(usize, &str, Curve)], panels: &[Panel], group: &Group) -> Vec<String> {
    let percent = REACHED * 100.0;
    let mut notes = vec![format!(
        "Ring: the knee, the highest rate reached ({percent:.0} % or more) whose p99 is at most {SLOWED:.0} times that of \
         the lowest rate."
    )];
    if drawn.iter().any(|(_, _, curve)| curve.steps.iter().any(|result| !step(result).reached())) {
        notes.push(format!("Hollow: less than {percent:.0} % of the rate was reached."));
    }
    notes.push("Response time: from the moment a call was to start, to its reply.".to_owned());
    if panels.iter().any(Panel::has_spread) {
        notes.push(super::SPREAD_NOTE.to_owned());
    }
    notes.extend(super::machines(group.results()));
    notes
}

/// A payload's name as part of a file's: no colons, percents or signs.
fn file_name(payload: &str) -> String {
    payload.replace(':', "x").replace('%', "").replace('+', "-")
}
