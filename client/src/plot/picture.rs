//! What a picture shows, before it is drawn: numbers and words, no pixels.

use super::axis::Axis;

/// A picture: panels that share a title, a legend and notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The name of its files, without an ending.
    pub name: String,
    pub(super) title: String,
    pub(super) legend: Vec<Key>,
    /// Read from left to right, then down.
    pub(super) panels: Vec<Panel>,
    /// Panels side by side.
    pub(super) columns: usize,
    pub(super) notes: Vec<String>,
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) series: usize,
    pub(super) text: String,
}

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// What is on the axis, with its unit. Empty = nothing to say.
    pub(super) x_is: String,
    pub(super) y_is: String,
    pub(super) form: Form,
}

/// How a panel shows its values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// A line a series.
    Lines(Vec<Line>),
    /// A bar a series, in the places 0, 1, … of x, with its value above it.
    Bars(Vec<Bar>),
}

/// The points of a series, in the order in which a line joins them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) series: usize,
    pub(super) points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: Spread,
    pub(super) mark: Mark,
}

/// How a point is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Filled.
    Plain,
    /// Hollow: a rate that was not reached.
    Missed,
    /// Filled, within a ring.
    Knee,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) series: usize,
    pub(super) y: Spread,
    /// The value as text.
    pub(super) text: String,
}

/// A value and how far the rounds lie apart around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) value: f64,
    /// The ends of the error bar. `None` with fewer than two rounds.
    pub(super) ends: Option<(f64, f64)>,
}

impl Spread {
    /// `ratio` is half the rounds' range ÷ median, as results have it.
    pub(super) fn new(value: f64, ratio: Option<f64>) -> Self {
        Self { value, ends: ratio.map(|ratio| ((value * (1.0 - ratio)).max(0.0), value * (1.0 + ratio))) }
    }

    /// The value and the upper end, to which an axis must reach. The lower end of a wide spread may be 0, which isn't worth decades
    /// of an axis: it is drawn as far as there is one.
    pub(super) fn reach(self) -> impl Iterator<Item = f64> {
        [Some(self.value), self.ends.map(|(_, high)| high)].into_iter().flatten()
    }
}

impl Panel {
    /// Whether a series is in it.
    pub(super) fn has(&self, series: usize) -> bool {
        match &self.form {
            Form::Lines(lines) => lines.iter().any(|line| line.series == series),
            Form::Bars(bars) => bars.iter().any(|bar| bar.series == series),
        }
    }

    /// Whether it has an error bar.
    pub(super) fn has_spread(&self) -> bool {
        match &self.form {
            Form::Lines(lines) => lines.iter().flat_map(|line| &line.points).any(|point| point.y.ends.is_some()),
            Form::Bars(bars) => bars.iter().any(|bar| bar.y.ends.is_some()),
        }
    }
}
