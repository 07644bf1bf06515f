//! Axes: their range, where their ticks stand and what these say.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Values span decades when the largest is so many times the least.
const DECADE: f64 = 10.0;
/// The least [`margin`].
const LOG_MARGIN: f64 = 1.15;
/// Labels along x stand no closer than this share of the axis.
const LEAST_GAP: f64 = 0.085;

/// How values are laid out along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Equal differences, equal lengths; from 0.
    Linear,
    /// Equal factors, equal lengths.
    Logarithmic,
}

impl Scale {
    /// Logarithmic for values that span a decade or more.
    pub(super) fn fitting(values: impl IntoIterator<Item = f64>) -> Self {
        match range(values) {
            Some((Some(least), greatest, _)) if greatest >= least * DECADE => Self::Logarithmic,
            _ => Self::Linear,
        }
    }
}

/// The least value above 0, the greatest value, and whether 0 is among them.
fn range(values: impl IntoIterator<Item = f64>) -> Option<(Option<f64>, f64, bool)> {
    let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite() && *v >= 0.0).collect();
    let greatest = values.iter().copied().reduce(f64::max)?;
    let least = values.iter().copied().filter(|v| *v > 0.0).reduce(f64::min);
    Some((least, greatest, values.contains(&0.0)))
}

/// A value axis, of x or of y.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
    /// Values with what stands beside them, in ascending order.
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis for measured values. On a logarithmic one 0 has its place at the foot, labelled so. `None` without a finite value.
    pub(super) fn measured(values: impl IntoIterator<Item = f64>, scale: Scale) -> Option<Self> {
        let (least, greatest, zero) = range(values)?;
        Some(match (scale, least) {
            (Scale::Logarithmic, Some(least)) => Self::logarithmic(least, greatest, zero),
            _ => Self::from_zero(greatest),
        })
    }

    /// An axis from 0, for bars: their length is their value.
    pub(super) fn from_zero(greatest: f64) -> Self {
        let greatest = if greatest > 0.0 { greatest } else { 1.0 };
        let step = nice_step(greatest / 5.0);
        let last = (greatest * 1.02 / step).ceil();
        let ticks = (0..=last as u32).map(|n| f64::from(n) * step).map(|at| (at, label(at))).collect();
        Self { from: 0.0, to: last * step, logarithmic: false, ticks }
    }

    /// An axis for chosen values, which are its ticks. Logarithmic always: sizes and numbers of calls grow by factors. Labels that
    /// would stand too close to the one before are left out. `None` without a value above 0.
    pub(super) fn chosen(values: impl IntoIterator<Item = f64>, label: impl Fn(f64) -> String) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite() && *v > 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (&first, &last) = (values.first()?, values.last()?);
        let margin = margin(first, last);
        let mut axis = Self { from: first / margin, to: last * margin, logarithmic: true, ticks: Vec::new() };
        let mut labelled = f64::NEG_INFINITY;
        for value in values {
            let place = axis.place(value);
            if place - labelled >= LEAST_GAP {
                labelled = place;
                axis.ticks.push((value, label(value)));
            }
        }
        Some(axis)
    }

    /// An axis with `count` places for bars, without labels.
    pub(super) fn places(count: usize) -> Self {
        Self { from: -0.5, to: count as f64 - 0.5, logarithmic: false, ticks: Vec::new() }
    }

    fn logarithmic(least: f64, greatest: f64, with_zero: bool) -> Self {
        let margin = margin(least, greatest);
        let (from, to) = (least / margin, greatest * margin);
        let decades = (to / from).log10();
        let mantissas: &[f64] = match decades {
            d if d < 1.5 => &[1.0, 2.0, 3.0, 5.0],
            d if d < 3.2 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = (decades / 7.0).ceil().max(1.0) as i32;
        let powers = (from.log10().floor() as i32)..=(to.log10().ceil() as i32);
        let mut ticks: Vec<(f64, String)> = powers
            .filter(|power| power.rem_euclid(every) == 0)
            .flat_map(|power| mantissas.iter().map(move |mantissa| mantissa * 10f64.powi(power)))
            .filter(|at| (from..=to).contains(at))
            .map(|at| (at, label(at)))
            .collect();
        if ticks.len() < 2 {
            ticks = steps_between(from, to);
        }
        let mut axis = Self { from, to, logarithmic: true, ticks: Vec::new() };
        if with_zero {
            axis.from = from / (to / from).powf(0.15);
            ticks.insert(0, (axis.from, "0".to_owned()));
        }
        Self { ticks, ..axis }
    }

    /// Where a value stands: 0 at the axis' start, 1 at its end. What is outside stands at the nearer end.
    fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// The longest of the ticks' labels.
    pub(super) fn widest_label(&self) -> &str {
        self.ticks.iter().map(|(_, label)| label.as_str()).max_by_key(|label| label.chars().count()).unwrap_or("")
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        start + (f64::from(end - start) * self.place(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(at, _)| at == value).map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// The room beside the outermost values of a logarithmic axis, as a factor: a twentieth of its length, so that no mark is cut.
fn margin(least: f64, greatest: f64) -> f64 {
    (greatest / least).powf(0.05).max(LOG_MARGIN)
}

/// Ticks at equal differences: two at least, since a nice step is at most twice a quarter of the range.
fn steps_between(from: f64, to: f64) -> Vec<(f64, String)> {
    let step = nice_step((to - from) / 4.0);
    let (first, last) = ((from / step).ceil() as u64, (to / step).floor() as u64);
    (first..=last).map(|n| n as f64 * step).map(|at| (at, label(at))).collect()
}

/// The next number at or above `step` that is 1, 2, 2.5 or 5 times a power of ten.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

/// A tick's value in a few characters: `0.05`, `2,000`, `50k`, `1.5M`.
pub(super) fn label(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 999_999.5 => (v / 1e6, "M"),
        v if v >= 9_999.5 => (v / 1e3, "k"),
        v => (v, ""),
    };
    let text = match scaled {
        v if v >= 1_000.0 => crate::units::thousands(v.round() as u64),
        0.0 => "0".to_owned(),
        v => {
            // Three significant digits and no zeros at the end.
            let decimals = (2 - v.log10().floor() as i32).clamp(0, 9) as usize;
            let text = format!("{v:.decimals$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
    };
    text + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn values_of_one_magnitude_start_at_zero() {
        let axis = Axis::measured([40.0, 95.0], Scale::Linear).unwrap();
        assert_eq!(labels(&axis), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(axis.place(0.0), 0.0);
        let axis = Axis::measured([0.0], Scale::Logarithmic).unwrap();
        assert_eq!((axis.from, axis.to > 0.0), (0.0, true), "nothing but 0 has an axis too");
    }

    #[test]
    fn values_over_decades_are_logarithmic() {
        assert_eq!(Scale::fitting([310.0, 118_044.0, 0.0]), Scale::Logarithmic);
        assert_eq!(Scale::fitting([40.0, 95.0, 0.0]), Scale::Linear);
        let axis = Axis::measured([310.0, 118_044.0], Scale::Logarithmic).unwrap();
        assert_eq!(labels(&axis), ["500", "1,000", "2,000", "5,000", "10k", "20k", "50k", "100k"]);
        let (a, b, c) = (axis.place(1_000.0), axis.place(10_000.0), axis.place(100_000.0));
        assert!((b - a - (c - b)).abs() < 1e-9, "equal factors, equal distances");
        assert_eq!(labels(&Axis::measured([0.9, 9.5], Scale::Logarithmic).unwrap()), ["1", "2", "3", "5", "10"]);
    }

    /// All values of a curve may lie between two of 1, 2, 3, 5 and 10.
    #[test]
    fn a_logarithmic_axis_has_two_labels_at_least_wherever_its_values_lie() {
        let axis = |least, greatest| Axis::measured([least, greatest], Scale::Logarithmic).unwrap();
        assert_eq!(labels(&axis(0.6, 0.75)), ["0.6", "0.7", "0.8"]);
        for hundredths in -600..1_200 {
            let least = 10f64.powf(f64::from(hundredths) / 100.0);
            for factor in (0..120).map(|n| 10f64.powf(f64::from(n) / 20.0)) {
                let axis = axis(least, least * factor);
                let labels = labels(&axis);
                assert!((2..=12).contains(&labels.len()), "{least} to {}: {labels:?}", least * factor);
                assert!(labels.windows(2).all(|pair| pair[0] != pair[1]), "{least}: {labels:?}");
                assert!(axis.ticks.iter().all(|(at, _)| (axis.from..=axis.to).contains(at)), "{least}: {labels:?}");
            }
        }
    }

    #[test]
    fn a_measured_zero_is_at_the_foot_and_said_so() {
        let axis = Axis::measured([0.0, 5.0, 500.0], Scale::Logarithmic).unwrap();
        assert_eq!(axis.ticks[0].1, "0");
        assert_eq!(axis.place(0.0), 0.0);
        assert!(axis.place(5.0) > 0.1);
    }

    #[test]
    fn what_is_no_number_has_no_axis() {
        assert_eq!(Axis::measured([], Scale::Linear), None);
        assert_eq!(Axis::measured([f64::NAN], Scale::Linear), None);
        assert_eq!(Axis::chosen([0.0], label), None);
    }

    #[test]
    fn chosen_values_are_the_ticks_unless_too_close() {
        let axis = Axis::chosen([1_000.0, 50.0, 100.0, 500.0, 2_000.0, 50.0], label).unwrap();
        assert_eq!(labels(&axis), ["50", "100", "500", "1,000", "2,000"]);
        let axis = Axis::chosen([10.0, 10.1, 10_000.0], label).unwrap();
        assert_eq!(labels(&axis), ["10", "10k"]);
        let axis = Axis::chosen([128.0], label).unwrap();
        assert!((axis.place(128.0) - 0.5).abs() < 1e-9, "a single value is in the middle");
    }

    #[test]
    fn pixels_stay_within_the_axis() {
        let axis = Axis::measured([1.0, 100.0], Scale::Logarithmic).unwrap();
        assert_eq!(axis.map(&-5.0, (400, 0)), 400);
        assert_eq!(axis.map(&1e9, (400, 0)), 0);
        assert_eq!(axis.map(&f64::NAN, (400, 0)), 400);
    }

    #[test]
    fn labels_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (0.001, "0.001"),
            (2.5, "2.5"),
            (5_000.0, "5,000"),
            (10_000.0, "10k"),
            (1_500_000.0, "1.5M"),
            (20_000_000.0, "20M"),
        ] {
            assert_eq!(label(value), text);
        }
    }
}
