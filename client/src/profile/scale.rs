//! Values in the units people read, after pprof's `internal/measurement`: the same text for the same value.

use crate::units::thousands;

/// The unit a table's values are shown in.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// What a value is multiplied by.
    factor: f64,
    suffix: String,
}

/// Names a profile may use for a unit, what it is shown as, and its size in the smallest of its kind.
type Unit = (&'static [&'static str], &'static str, f64);

const MEMORY: &[Unit] = &[
    (&["b", "byte"], "B", 1.0),
    (&["kb", "kbyte", "kilobyte"], "kB", 1024.0),
    (&["mb", "mbyte", "megabyte"], "MB", 1_048_576.0),
    (&["gb", "gbyte", "gigabyte"], "GB", 1_073_741_824.0),
    (&["tb", "tbyte", "terabyte"], "TB", 1_099_511_627_776.0),
    (&["pb", "pbyte", "petabyte"], "PB", 1_125_899_906_842_624.0),
];

const TIME: &[Unit] = &[
    (&["ns", "nanosecond"], "ns", 1.0),
    (&["μs", "us", "microsecond"], "us", 1e3),
    (&["ms", "millisecond"], "ms", 1e6),
    (&["s", "sec", "second"], "s", 1e9),
    (&["hour", "hr"], "hrs", 3.6e12),
];

/// Units that go without saying.
const UNNAMED: [&str; 3] = ["count", "sample", "unit"];

impl Scale {
    /// The unit in which the smallest of `values` still shows, and the total doesn't need more digits than anyone reads: that of
    /// pprof's `-unit=minimum`.
    pub fn fitting(unit: &str, values: impl Iterator<Item = i64>, total: i64) -> Self {
        let total = total.unsigned_abs();
        let least = values.map(i64::unsigned_abs).filter(|v| *v > 0).min().unwrap_or(total);
        let (small, large) = (Self::of(unit, least), Self::of(unit, total));
        if small != large && least.saturating_mul(100) < total {
            Self::of(unit, least.saturating_mul(100))
        } else {
            small
        }
    }

    /// The largest unit of which `value` holds one.
    fn of(unit: &str, value: u64) -> Self {
        let Some((kind, base)) = kind_of(unit) else {
            let suffix = if UNNAMED.contains(&unit) { "" } else { unit };
            return Self { factor: 1.0, suffix: suffix.to_owned() };
        };
        let amount = value as f64 * base;
        let fits = kind.iter().rev().find(|(_, _, size)| amount >= *size);
        // What is too small for all, that is zero, pprof shows in bytes or in seconds.
        let default = if kind == TIME { &TIME[3] } else { &kind[0] };
        let (_, suffix, size) = fits.unwrap_or(default);
        Self { factor: base / size, suffix: (*suffix).to_owned() }
    }

    /// A value with two decimals where it needs them, and its unit: `512.17kB`; nothing is `0`.
    pub fn format(&self, value: i64) -> String {
        let text = format!("{:.2}", value as f64 * self.factor);
        match text.strip_suffix(".00").unwrap_or(&text) {
            "0" | "-0" => "0".to_owned(),
            number => format!("{number}{}", self.suffix),
        }
    }
}

/// `value` in percent of `total`, six characters or more: two decimals from 1 % on, two significant digits below.
pub fn percentage(value: i64, total: i64) -> String {
    let percent = if total == 0 { 0.0 } else { (value as f64 / total as f64).abs() * 100.0 };
    match percent {
        p if (99.95..=100.05).contains(&p) => "  100%".to_owned(),
        p if p >= 1.0 => format!("{p:5.2}%"),
        p => format!("{:>5}%", two_digits(p)),
    }
}

/// Whole numbers as they are, others with at least three significant digits: `23,094`, `38.1`, `4.06`, `0.123`.
pub fn three_digits(value: f64) -> String {
    match value {
        v if v.fract() == 0.0 || v >= 100.0 => thousands(v.round() as u64),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v if v >= 0.001 => format!("{v:.3}"),
        _ => "<0.001".to_owned(),
    }
}

/// Counts per op, of which a hundredth is exact.
pub fn two_decimals(value: f64) -> String {
    let hundredths = (value * 100.0).round().max(0.0) as u64;
    format!("{}.{:02}", thousands(hundredths / 100), hundredths % 100)
}

/// A difference, with its sign before what `figure` makes of its size: `+64`, `−1,470`, `0`.
pub fn signed(difference: f64, figure: impl Fn(f64) -> String) -> String {
    match difference {
        0.0 => "0".to_owned(),
        d if d < 0.0 => format!("−{}", figure(-d)),
        d => format!("+{}", figure(d)),
    }
}

/// A change as a share of what was before: `+0.23%`, `−59.5%`, `+200%`.
pub fn signed_percent(share: f64) -> String {
    signed(share, |share| match share {
        share if share < 0.000_05 => "<0.01%".to_owned(),
        share if share < 0.009_95 => format!("{:.2}%", share * 100.0),
        share if share < 0.995 => format!("{:.1}%", share * 100.0),
        share => format!("{}%", three_digits((share * 100.0).round())),
    })
}

/// C's `%.2g` for values from 0 to 1.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.1e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    if exponent < -4 {
        format!("{}e-{:02}", trim(mantissa), -exponent)
    } else {
        let decimals = usize::try_from(1 - exponent).unwrap_or(0);
        let text = format!("{value:.decimals$}");
        if decimals == 0 { text } else { trim(&text) }
    }
}

/// The kind of unit, and how large this one is. `None` for counts and whatever else has no larger unit.
fn kind_of(unit: &str) -> Option<(&'static [Unit], f64)> {
    let lower = unit.to_lowercase();
    let singular = if lower.len() > 2 { lower.strip_suffix('s').unwrap_or(&lower) } else { &lower };
    [MEMORY, TIME].into_iter().find_map(|kind| {
        let (_, _, size) = kind.iter().find(|(names, _, _)| names.contains(&singular))?;
        Some((kind, *size))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_read_as_pprofs() {
        for (value, total, text) in [
            (1, 1, "  100%"),
            (9_996, 10_000, "  100%"),
            (9_994, 10_000, "99.94%"),
            (1, 100, " 1.00%"),
            (5, 1_000, "  0.5%"),
            (48, 100_000, "0.048%"),
            (1, 10_000_000, "1e-05%"),
            (999, 100_000, "    1%"),
            (0, 7, "    0%"),
            (7, 0, "    0%"),
            (-1, 4, "25.00%"),
        ] {
            assert_eq!(percentage(value, total), text, "{value} of {total}");
        }
    }

    #[test]
    fn the_unit_fits_the_smallest_and_the_largest() {
        let bytes = |values: &[i64]| Scale::fitting("bytes", values.iter().copied(), values.iter().sum());
        assert_eq!(bytes(&[524_288, 1_048_576]).format(524_463), "512.17kB");
        assert_eq!(bytes(&[20_480, 10 << 20]).format(10 << 20), "10MB");
        assert_eq!(bytes(&[512, 2_000]).format(2_000), "2000B");
        assert_eq!(
            Scale::fitting("nanoseconds", [10_000_000, 5_000_000_000].into_iter(), 5_010_000_000).format(10_000_000),
            "0.01s"
        );
        assert_eq!(Scale::fitting("count", [1, 70_000].into_iter(), 70_001).format(70_000), "70000");
        assert_eq!(bytes(&[]).format(0), "0");
    }
}
