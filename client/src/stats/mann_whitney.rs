//! The Mann–Whitney U test and the confidence interval that belongs to it.
//!
//! H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the
//! Other", Annals of Mathematical Statistics 18 (1947). The interval for the shift between two samples is got by
//! inverting the test over all pairwise differences: J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on
//! Rank Tests", Annals of Mathematical Statistics 34 (1963); M. Hollander, D. A. Wolfe and E. Chicken, "Nonparametric
//! Statistical Methods", 3rd ed. (2014), section 4.3.

use super::median;

/// Up to so many values on both sides together the distribution is counted out, ties and all; beyond, it is taken to be normal,
/// which then is right to the third digit.
const EXACT_VALUES: usize = 60;

/// By how much one sample lies above another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of all pairwise differences `b - a`.
    pub estimate: f64,
    /// An interval that holds the shift with at least the confidence asked for. `None` where so few values give none.
    pub interval: Option<(f64, f64)>,
}

/// The two-sided probability that two samples of one distribution differ in rank as much as these, or more. Ties are counted as
/// they are. `None` for an empty side, or one that holds a NaN.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    let ranks = Ranks::of(a, b)?;
    if ranks.all_equal() {
        return Some(1.0);
    }
    Some(if a.len() + b.len() <= EXACT_VALUES { ranks.exact_p() } else { ranks.normal_p() })
}

/// The least two-sided p that so many values can have, when all of one side lie below all of the other and none are tied:
/// 2 ÷ the number of ways to choose the one side.
pub fn least_p(a: usize, b: usize) -> f64 {
    let ways = (1..=a).fold(1.0, |ways, i| ways * (b + i) as f64 / i as f64);
    (2.0 / ways).min(1.0)
}

/// How many values each side needs so that [`least_p`] is at most `alpha`.
pub fn values_needed(alpha: f64) -> usize {
    (1..EXACT_VALUES).find(|&n| least_p(n, n) <= alpha).unwrap_or(EXACT_VALUES)
}

/// How likely two samples of one distribution, so many values each and none tied, have a p of at most `alpha`: less than `alpha`, as
/// p comes in steps. Of five and five it is 0.032 for an `alpha` of 0.05.
pub fn size(a: usize, b: usize, alpha: f64) -> f64 {
    let (Some(cut), true) = (outside(a, b, alpha), a + b <= EXACT_VALUES) else {
        return if a + b > EXACT_VALUES { alpha } else { 0.0 };
    };
    let counts = statistic(a, b);
    2.0 * counts[..=cut].iter().sum::<f64>() / counts.iter().sum::<f64>()
}

/// By how much `b` lies above `a`, with an interval of at least `1 - alpha` confidence. `None` for an empty side, or one that
/// holds a value that is not finite.
pub fn shift(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    if !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    let mut differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
    differences.sort_by(f64::total_cmp);
    let estimate = median(&differences)?;
    let cut = outside(a.len(), b.len(), alpha);
    let interval = cut.map(|cut| (differences[cut], differences[differences.len() - 1 - cut]));
    Some(Shift { estimate, interval })
}

/// How many of the ordered differences lie outside of the interval, at each end. `None` when even none is too many.
fn outside(a: usize, b: usize, alpha: f64) -> Option<usize> {
    if a + b > EXACT_VALUES {
        let (n, m) = (a as f64, b as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let below = n * m / 2.0 - normal_quantile(alpha / 2.0) * deviation;
        // The first of the differences is number 1.
        return (below.max(0.0).floor() as usize).checked_sub(1);
    }
    let counts = statistic(a, b);
    let all: f64 = counts.iter().sum();
    let mut below = 0.0;
    // As many as keep P(U ≤ cut) ≤ α/2.
    let mut cut = None;
    for (u, ways) in counts.into_iter().enumerate() {
        below += ways;
        if below / all > alpha / 2.0 {
            break;
        }
        cut = Some(u);
    }
    cut
}

/// How many ways there are to each U from 0 to `a * b`, without ties.
fn statistic(a: usize, b: usize) -> Vec<f64> {
    // U is the rank sum less its least value.
    let ranks: Vec<usize> = (1..=a + b).collect();
    let counts = rank_sums(&ranks, a);
    let least = a * (a + 1) / 2;
    counts[least..=least + a * b].to_vec()
}

/// The ranks of two samples in both together. Tied values share the mean of theirs; all are doubled, to be whole.
struct Ranks {
    doubled: Vec<usize>,
    /// How many values are `a`'s, and their doubled ranks' sum.
    a: usize,
    sum: usize,
    /// Σ (t³ - t) over groups of t tied values.
    ties: f64,
}

impl Ranks {
    fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| value.is_nan()) {
            return None;
        }
        let mut values: Vec<(f64, bool)> = a.iter().map(|&v| (v, true)).chain(b.iter().map(|&v| (v, false))).collect();
        values.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let (mut doubled, mut sum, mut ties) = (Vec::with_capacity(values.len()), 0, 0.0);
        for tied in values.chunk_by(|(a, _), (b, _)| a == b) {
            // The mean of the ranks first..=last, twice.
            let rank = (doubled.len() + 1) + (doubled.len() + tied.len());
            sum += rank * tied.iter().filter(|(_, is_a)| *is_a).count();
            doubled.extend(std::iter::repeat_n(rank, tied.len()));
            ties += (tied.len() as f64).powi(3) - tied.len() as f64;
        }
        Some(Self { doubled, a: a.len(), sum, ties })
    }

    fn all_equal(&self) -> bool {
        self.doubled.windows(2).all(|two| two[0] == two[1])
    }

    /// Twice the share of all ways to choose side `a`'s ranks whose sum lies as far out on the same side.
    fn exact_p(&self) -> f64 {
        let counts = rank_sums(&self.doubled, self.a);
        let all: f64 = counts.iter().sum();
        let (below, above): (f64, f64) = (counts[..=self.sum].iter().sum(), counts[self.sum..].iter().sum());
        (2.0 * below.min(above) / all).min(1.0)
    }

    /// By the normal distribution, corrected for ties and for continuity.
    fn normal_p(&self) -> f64 {
        let (n, a) = (self.doubled.len() as f64, self.a as f64);
        let b = n - a;
        let variance = a * b / 12.0 * ((n + 1.0) - self.ties / (n * (n - 1.0)));
        let far = (self.sum as f64 / 2.0 - a * (n + 1.0) / 2.0).abs() - 0.5;
        (2.0 * normal_tail(far.max(0.0) / variance.sqrt())).min(1.0)
    }
}

/// How much of the standard normal distribution lies above `z`.
fn normal_tail(z: f64) -> f64 {
    libm::erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// The `z` with so much of the standard normal distribution above it, for `tail` from 0 to 1/2.
fn normal_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if normal_tail(middle) > tail { low = middle } else { high = middle }
    }
    low
}

/// How many ways there are to choose `chosen` of the ranks so that they add up to each sum.
fn rank_sums(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (at, &rank) in ranks.iter().enumerate() {
        for size in (1..=chosen.min(at + 1)).rev() {
            let (smaller, larger) = ways.split_at_mut(size);
            let (from, to) = (&smaller[size - 1], &mut larger[0]);
            for sum in rank..=most {
                to[sum] += from[sum - rank];
            }
        }
    }
    ways.swap_remove(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expected: f64) -> bool {
        (got - expected).abs() < 1e-12
    }

    /// By SciPy 1.17: `mannwhitneyu(a, b, method="exact")`.
    #[test]
    fn p_agrees_with_an_independent_implementation() {
        for (a, b, p) in [
            (&[1.0, 2.0, 3.0][..], &[4.0, 5.0, 6.0][..], 0.1),
            (&[1.5, 2.5, 3.5, 9.0], &[2.0, 3.0, 4.0, 5.0, 6.0], 0.730_158_730_158_730_2),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 0.007_936_507_936_507_936),
            (&[3.0, 1.0, 4.0, 1.5, 9.2], &[2.6, 5.3, 5.8, 9.7, 9.3, 2.3], 0.246_753_246_753_246_75),
        ] {
            assert!(near(mann_whitney(a, b).unwrap(), p), "{a:?} {b:?} {:?}", mann_whitney(a, b));
            assert_eq!(mann_whitney(a, b), mann_whitney(b, a), "either way round");
        }
    }

    /// By SciPy 1.17: `mannwhitneyu(a, b, method=PermutationMethod(n_resamples=inf))`, which takes every permutation.
    #[test]
    fn ties_are_counted_as_they_are() {
        for (a, b, p) in [
            (&[1.0, 1.0, 2.0, 3.0][..], &[2.0, 2.0, 3.0, 4.0][..], 0.314_285_714_285_714_3),
            (&[5.0; 5], &[5.0, 5.0, 5.0, 5.0, 6.0], 1.0),
            (&[1.0; 5], &[2.0; 5], 0.007_936_507_936_507_936),
            (&[1.0, 2.0, 2.0, 3.0, 3.0, 3.0], &[3.0, 4.0, 4.0, 1.0], 0.285_714_285_714_285_7),
            (&[7.0; 3], &[7.0; 4], 1.0),
        ] {
            assert!(near(mann_whitney(a, b).unwrap(), p), "{a:?} {b:?} {:?}", mann_whitney(a, b));
        }
    }

    /// By SciPy 1.17: `mannwhitneyu(a, b, method="asymptotic")`, with and without ties.
    #[test]
    fn many_values_are_taken_to_be_normal() {
        let a: Vec<f64> = (0..40).map(f64::from).collect();
        let b: Vec<f64> = (0..40).map(|v| f64::from(v) + 7.5).collect();
        assert!((mann_whitney(&a, &b).unwrap() - 0.008_988_007_122_138_847).abs() < 1e-9);
        let a: Vec<f64> = (0..40).map(|v| f64::from(v / 3)).collect();
        let b: Vec<f64> = (0..35).map(|v| f64::from(v / 3 + 2)).collect();
        assert!((mann_whitney(&a, &b).unwrap() - 0.197_519_837_305_434_3).abs() < 1e-9);
    }

    /// The critical values of U at 0.05, two-sided, of the published tables (Hollander, Wolfe and Chicken, table A.6, and many more).
    #[test]
    fn intervals_are_cut_at_the_critical_values() {
        for (a, b, cut) in [(3, 3, None), (4, 4, Some(0)), (5, 5, Some(2)), (5, 8, Some(6)), (10, 10, Some(23))] {
            assert_eq!((outside(a, b, 0.05), outside(b, a, 0.05)), (cut, cut), "{a} {b}");
        }
        // 20 and 20 by the table is 127; both ways to come by it must agree where they meet.
        assert_eq!(outside(20, 20, 0.05), Some(127));
        assert!(outside(40, 40, 0.05).unwrap().abs_diff(596) <= 1, "{:?}", outside(40, 40, 0.05));
    }

    #[test]
    fn a_shift_is_the_median_difference_with_its_interval() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.5]);
        assert_eq!(shift(&a, &b, 0.05), Some(Shift { estimate: 10.0, interval: Some((7.0, 13.5)) }));
        assert_eq!(shift(&a[..3], &b[..3], 0.05), Some(Shift { estimate: 10.0, interval: None }));
        assert_eq!(shift(&[5.0; 5], &[5.0; 5], 0.05), Some(Shift { estimate: 0.0, interval: Some((0.0, 0.0)) }));
    }

    #[test]
    fn how_many_values_it_takes() {
        assert!(near(least_p(3, 3), 0.1) && near(least_p(4, 4), 2.0 / 70.0) && near(least_p(1, 1), 1.0));
        assert_eq!((values_needed(0.05), values_needed(0.01), values_needed(0.1)), (4, 5, 3));
    }

    /// Twice the cumulative distribution of U at its critical value, by SciPy 1.17's exact `mannwhitneyu`.
    #[test]
    fn how_often_chance_is_significant() {
        for (a, b, chance) in [(4, 4, 2.0 / 70.0), (5, 5, 8.0 / 252.0), (3, 3, 0.0), (1, 1, 0.0), (40, 40, 0.05)] {
            assert!(near(size(a, b, 0.05), chance), "{a} {b}: {}", size(a, b, 0.05));
        }
    }

    #[test]
    fn what_cannot_be_computed_is_absent() {
        assert_eq!((mann_whitney(&[], &[1.0]), mann_whitney(&[f64::NAN], &[1.0])), (None, None));
        assert_eq!((shift(&[], &[1.0], 0.05), shift(&[f64::INFINITY], &[1.0], 0.05)), (None, None));
    }
}
