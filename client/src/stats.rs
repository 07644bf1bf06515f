//! Order statistics over a handful of rounds, whether two handfuls differ ([`mann_whitney`], [`shift`]), and the [`knee`] of a curve.
//!
//! Every function of rounds takes the values in any order, copies and sorts them (rounds are few), and returns `None` for an
//! empty slice or one that holds a NaN: a figure that can't be computed is absent, never zero.

mod knee;
mod mann_whitney;

pub use self::{
    knee::{REACHED, SLOWED, Step, knee, reached},
    mann_whitney::{Shift, least_p, mann_whitney, shift, size, values_needed},
};

/// The least value.
pub fn min(values: &[f64]) -> Option<f64> {
    sorted(values)?.first().copied()
}

/// The greatest value.
pub fn max(values: &[f64]) -> Option<f64> {
    sorted(values)?.last().copied()
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The `q`-quantile (`0 <= q <= 1`, else `None`), interpolated linearly between order statistics: definition 7 of
/// Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), which is the
/// default of R and NumPy. With `h = (n - 1) q` counted from zero it is `x[⌊h⌋] + (h - ⌊h⌋)(x[⌊h⌋ + 1] - x[⌊h⌋])`.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let sorted = sorted(values)?;
    let h = (sorted.len() - 1) as f64 * q;
    let below = sorted[h.floor() as usize];
    let above = sorted[h.ceil() as usize];
    // Equal neighbours may be infinite, whose difference is NaN.
    Some(if below == above { below } else { below + h.fract() * (above - below) })
}

/// Half the range over the median, a fraction: `0.02` reads "± 2 %". `None` where the median is zero.
///
/// With the three to seven rounds of a run the range says more than an estimated standard deviation, whose own error
/// at n = 5 is a third.
pub fn spread(values: &[f64]) -> Option<f64> {
    let median = median(values)?;
    (median != 0.0).then_some((max(values)? - min(values)?) / 2.0 / median.abs())
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: [f64; 6] = [3.0, 9.5, 1.0, 4.0, 1.5, 5.0];

    /// The expected values come from Python's `statistics.quantiles(SAMPLE, n=20, method="inclusive")`, which is
    /// definition 7 written by others.
    #[test]
    fn quantiles_agree_with_an_independent_implementation() {
        for (q, expected) in [(0.05, 1.125), (0.25, 1.875), (0.5, 3.5), (0.75, 4.75), (0.95, 8.375)] {
            let got = quantile(&SAMPLE, q).unwrap();
            assert!((got - expected).abs() < 1e-12, "q = {q}: {got}, expected {expected}");
        }
    }

    #[test]
    fn the_ends_are_the_least_and_the_greatest() {
        assert_eq!((quantile(&SAMPLE, 0.0), quantile(&SAMPLE, 1.0)), (min(&SAMPLE), max(&SAMPLE)));
        assert_eq!((min(&SAMPLE), max(&SAMPLE)), (Some(1.0), Some(9.5)));
    }

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one() {
        assert_eq!(median(&[7.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn spread_is_half_the_range_over_the_median() {
        assert_eq!(spread(&[90.0, 100.0, 130.0]), Some(0.2));
        assert_eq!(spread(&[5.0]), Some(0.0));
        assert_eq!(spread(&[-1.0, 0.0, 1.0]), None, "a median of zero");
    }

    #[test]
    fn what_cannot_be_computed_is_absent() {
        for f in [min, max, median, spread] {
            assert_eq!(f(&[]), None);
            assert_eq!(f(&[1.0, f64::NAN]), None);
        }
        assert_eq!(quantile(&SAMPLE, 1.1), None);
        assert_eq!(quantile(&SAMPLE, f64::NAN), None);
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
    }
}
