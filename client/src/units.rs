//! Quantities as people write and read them: sizes, durations, grouped digits, signed percents.

use std::time::Duration;

/// Bytes in a KiB.
pub const KIB: u64 = 1 << 10;
/// Bytes in a MiB.
pub const MIB: u64 = 1 << 20;

/// Units of a size, largest first. Decimal units (`kB`, `MB`) are refused: suites disagree on what they mean.
const SIZE_UNITS: [(&str, u64); 3] = [("MiB", MIB), ("KiB", KIB), ("B", 1)];

/// Units of a duration with their nanoseconds, longest first; `ms` and friends come before the `s` they end in.
const DURATION_UNITS: [(&str, u64); 7] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// A quantity that can't be read. The texts name the value and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not `<digits>[B|KiB|MiB]`, or beyond 64 bits.
    #[error("size {0:?}: must be bytes or a whole number with B, KiB or MiB, as in 128B, 16KiB or 1048576")]
    Size(String),
    /// Not `<number><unit>`, or beyond 64 bits of nanoseconds.
    #[error("duration {0:?}: must be a number with ns, us, ms, s, m or h, as in 500ms or 2.5s")]
    Duration(String),
}

/// Reads a size in bytes: `128B`, `1KiB`, `16KiB`, `1MiB` or plain bytes.
///
/// # Errors
/// [`UnitError::Size`] for signs, fractions, blanks, other units and sizes beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (digits, unit) =
        SIZE_UNITS.iter().find_map(|&(name, bytes)| text.strip_suffix(name).map(|n| (n, bytes))).unwrap_or((text, 1));
    whole_number(digits).and_then(|n| n.checked_mul(unit)).ok_or_else(|| UnitError::Size(text.to_owned()))
}

/// The shortest exact way to write a size, in the largest unit that divides it: `1MiB`, `1536B`. [`parse_size`] reads it back.
pub fn format_size(bytes: u64) -> String {
    let (name, unit) =
        SIZE_UNITS.into_iter().find(|&(_, unit)| bytes >= unit && bytes.is_multiple_of(unit)).unwrap_or(("B", 1));
    format!("{}{name}", bytes / unit)
}

/// Reads a duration: a decimal number and one unit, `500ms`, `2.5s`, `1m`.
///
/// # Errors
/// [`UnitError::Duration`] for a missing unit, signs, exponents and durations beyond 64 bits of nanoseconds (584 years).
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let refuse = || UnitError::Duration(text.to_owned());
    let (number, unit) = DURATION_UNITS
        .iter()
        .find_map(|&(name, nanos)| text.strip_suffix(name).map(|n| (n, nanos)))
        .ok_or_else(refuse)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = whole_number(whole).and_then(|n| n.checked_mul(unit)).ok_or_else(refuse)?;
    // Eighteen digits fit in 64 bits, and no unit here has more places than that.
    if fraction.len() > 18 {
        return Err(refuse());
    }
    let places = 10u128.pow(fraction.len() as u32);
    let fraction = u128::from(whole_number(fraction).ok_or_else(refuse)?) * u128::from(unit) / places;
    whole.checked_add(fraction as u64).map(Duration::from_nanos).ok_or_else(refuse)
}

/// A duration for people, in three significant digits at most: `870 ns`, `12.3 µs`, `4.57 ms`, `2.5 s`, `3 m 20 s`.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos() as f64;
    // The limits lie where rounding to three digits would reach the next unit.
    match nanos {
        n if n < 999.5 => format!("{n} ns"),
        n if n < 999.5e3 => format!("{} µs", three_digits(n / 1e3)),
        n if n < 999.5e6 => format!("{} ms", three_digits(n / 1e6)),
        n if n < 59.95e9 => format!("{} s", three_digits(n / 1e9)),
        _ => {
            let seconds = duration.as_secs() + u64::from(duration.subsec_millis() >= 500);
            format!("{} m {} s", thousands(seconds / 60), seconds % 60)
        }
    }
}

/// Digits in groups of three: `1,048,576`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A ratio's change in percent with its sign and one decimal: `signed_percent(0.034)` is `+3.4 %`; what rounds to nothing has no sign.
pub fn signed_percent(change: f64) -> String {
    let tenths = (change * 1000.0).round();
    if tenths == 0.0 { "0.0 %".to_owned() } else { format!("{:+.1} %", tenths / 10.0) }
}

/// `str::parse` also takes a leading `+`.
fn whole_number(digits: &str) -> Option<u64> {
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Three significant digits without trailing zeros, for values from 1 to 999.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_unit() {
        for (text, bytes) in [("128B", 128), ("128", 128), ("1KiB", 1024), ("16KiB", 16_384), ("1MiB", MIB), ("0", 0)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn other_sizes_are_refused_with_the_value_and_what_is_allowed() {
        for text in ["", "B", "1MB", "1kB", "-1", "+1", "1.5KiB", " 1", "1 B", "18446744073709551615KiB", "1KiBB"] {
            let error = parse_size(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("KiB or MiB"), "{error}");
        }
    }

    #[test]
    fn sizes_are_written_exactly_and_read_back() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1024, "1KiB"),
            (1536, "1536B"),
            (2 * MIB, "2MiB"),
            (u64::MAX, "18446744073709551615B"),
        ] {
            assert_eq!(format_size(bytes), text);
            assert_eq!(parse_size(text), Ok(bytes));
        }
    }

    #[test]
    fn durations_are_read_to_the_nanosecond() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("2.5s", 2_500_000_000),
            ("1m", 60_000_000_000),
            ("0.000001ms", 1),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in ["", "5", "s", "-1s", "1e3s", "1.s.s", "1..5s", "999999999999h", "0.0000000000000000001s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_written_in_three_digits() {
        for (nanos, text) in [
            (0, "0 ns"),
            (870, "870 ns"),
            (999_499, "999 µs"),
            (999_500, "1 ms"),
            (12_340, "12.3 µs"),
            (4_567_000, "4.57 ms"),
            (2_500_000_000, "2.5 s"),
            (59_949_000_000, "59.9 s"),
            (59_950_000_000, "1 m 0 s"),
            (200_000_000_000, "3 m 20 s"),
        ] {
            assert_eq!(format_duration(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn digits_are_grouped() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_048_576, "1,048,576"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(thousands(n), text);
        }
    }

    #[test]
    fn percents_carry_their_sign_unless_they_round_to_nothing() {
        for (change, text) in
            [(0.034, "+3.4 %"), (-0.027, "-2.7 %"), (0.0004, "0.0 %"), (-0.0004, "0.0 %"), (12.0, "+1200.0 %")]
        {
            assert_eq!(signed_percent(change), text);
        }
    }
}
