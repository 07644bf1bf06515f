//! Single values of flags and of config keys: from their text, or a sentence that says what is allowed.

use std::{
    ops::{Range, RangeInclusive},
    time::Duration,
};

use analyze::{
    load::{Address, MAX_RATE},
    scenario::{MAX_CONCURRENCY, MAX_PAYLOAD},
    units::{UnitError, format_duration, parse_duration, parse_size},
};
use regex::Regex;

/// A day: the longest of any time.
const DAY: Duration = Duration::from_secs(86_400);
/// The longest a handler of ours waits.
const MAX_SLEEP: Duration = Duration::from_secs(3600);
/// The shortest time that a rate can be told from.
const MIN_ROUND: Duration = Duration::from_millis(100);
/// The shortest time that anything can be waited for.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
/// A request that is held up longer than this is out of order.
const LONGEST_TRACE_PAUSE: Duration = Duration::from_secs(10);
/// The most rounds of a cell.
const MAX_ROUNDS: u32 = 1000;
/// The most calls of a round.
const MAX_REQUESTS: u64 = 1_000_000_000;
/// The largest process id that Linux can be set to give.
const MAX_PID: u32 = 1 << 22;
/// The fastest rate; no machine of today sends as much over TCP.
const MAX_QPS: u32 = MAX_RATE as u32;
/// The most rates between two.
const MAX_STEPS: u32 = 1000;
/// CPUs that the kernel's set has room for.
const MAX_CPUS: u32 = 1024;

/// Rounds of a cell.
pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    count(1..=MAX_ROUNDS)(text)
}

/// The length of a round.
pub(crate) fn round_length(text: &str) -> Result<Duration, String> {
    time_within(MIN_ROUND, (DAY, "24h"), text)
}

/// Calls of a round.
pub(crate) fn requests(text: &str) -> Result<u64, String> {
    whole(1..=MAX_REQUESTS)(text)
}

/// Whether so many calls at so many a second take longer than a round may.
pub(crate) fn exceed_a_day(requests: u64, rate: f64) -> bool {
    requests as f64 / rate > DAY.as_secs_f64()
}

/// The longest that something may take.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    time_within(MIN_TIMEOUT, (DAY, "24h"), text)
}

/// A time that may be none: of a warm-up, or between calls.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    time_within(Duration::ZERO, (DAY, "24h"), text)
}

/// The pause between requests that are told apart by it. The runtime's clock ticks once a millisecond.
pub(crate) fn trace_pause(text: &str) -> Result<Duration, String> {
    time_within(MIN_TIMEOUT, (LONGEST_TRACE_PAUSE, "10s"), text)
}

/// How long a handler waits.
pub(crate) fn sleep(text: &str) -> Result<Duration, String> {
    time_within(Duration::ZERO, (MAX_SLEEP, "1h"), text)
}

/// Calls in flight, or the connections for them.
pub(crate) fn callers(text: &str) -> Result<u32, String> {
    count(1..=MAX_CONCURRENCY)(text)
}

/// Bytes of payload in a reply.
pub(crate) fn response_size(text: &str) -> Result<u64, String> {
    size(0..=MAX_PAYLOAD)(text)
}

/// The id of a process.
pub(crate) fn pid(text: &str) -> Result<u32, String> {
    count(1..=MAX_PID)(text)
}

pub(crate) fn whole(allowed: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, String> {
    move |text| {
        digits(text)
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| format!("{text:?}: must be a whole number, {} to {}", allowed.start(), allowed.end()))
    }
}

/// The same where it is held in 32 bits, which the largest allowed fits in.
pub(crate) fn count(allowed: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> {
    let read = whole(u64::from(*allowed.start())..=u64::from(*allowed.end()));
    move |text| read(text).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

pub(crate) fn truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("{text:?}: must be true or false"))
}

fn size(allowed: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, String> {
    move |text| match parse_size(text) {
        Ok(bytes) if allowed.contains(&bytes) => Ok(bytes),
        Ok(_) => Err(format!("{text:?}: must be {} to {} bytes", allowed.start(), allowed.end())),
        Err(error) => Err(error.to_string()),
    }
}

/// A time as Go's `time.ParseDuration` takes it, without a sign: `1m30s` is a minute and a half. The longest comes with its
/// name.
fn time_within(low: Duration, (high, longest): (Duration, &str), text: &str) -> Result<Duration, String> {
    match go_duration(text) {
        Ok(time) if (low..=high).contains(&time) => Ok(time),
        Ok(_) if low.is_zero() => Err(format!("{text:?}: must be {longest} at most")),
        Ok(_) => Err(format!("{text:?}: must be {} to {longest}", format_duration(low))),
        Err(error) => Err(error.to_string()),
    }
}

fn go_duration(text: &str) -> Result<Duration, UnitError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut rest = text;
    let mut total = Duration::ZERO;
    loop {
        let unit = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        let end = rest[unit..].find(is_number).map_or(rest.len(), |at| unit + at);
        let (part, after) = rest.split_at(end);
        // Go takes the Greek letter as well as the sign.
        let part = parse_duration(&part.replace('μ', "µ")).ok();
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(|| UnitError::Duration(text.to_owned()))?;
        if after.is_empty() {
            return Ok(total);
        }
        rest = after;
    }
}

/// One rate, or several: `1000..20000/10` is ten, evenly spaced from 1000 to 20000, in whole calls a second.
pub(crate) fn rates(text: &str) -> Result<Vec<u32>, String> {
    match text.split_once("..") {
        None => rate(text).map(|rate| vec![rate]),
        Some((from, rest)) => spaced(from, rest).ok_or_else(|| {
            format!(
                "{text:?}: must be FROM..TO/STEPS, as 1000..20000/10: rates of 1 to {MAX_QPS} that rise, and 2 to \
                 {MAX_STEPS} steps of at least 1"
            )
        }),
    }
}

/// Several with commas between them, each more than the one before.
pub(crate) fn rate_list(text: &str) -> Result<Vec<u32>, String> {
    let rates: Vec<Vec<u32>> = text.split(',').map(rates).collect::<Result<_, _>>()?;
    let rates = rates.concat();
    match rates.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("{text:?}: {} after {}: rates must rise", pair[1], pair[0])),
        None => Ok(rates),
    }
}

/// One of a list.
pub(crate) fn rate(text: &str) -> Result<u32, String> {
    count(1..=MAX_QPS)(text)
        .map_err(|_| format!("{text:?}: must be calls a second, 1 to {MAX_QPS}, or rates as 1000..20000/10"))
}

fn spaced(from: &str, rest: &str) -> Option<Vec<u32>> {
    let (to, steps) = rest.split_once('/')?;
    let (from, to) = (rate(from).ok()?, rate(to).ok()?);
    let steps = count(2..=MAX_STEPS)(steps).ok()?;
    let span = to.checked_sub(from).filter(|span| *span >= steps - 1)?;
    let at = |step: u32| {
        // To the nearest; of at most ten million times a thousand.
        let offset = (u64::from(span) * u64::from(step) * 2 + u64::from(steps - 1)) / (u64::from(steps - 1) * 2);
        from + u32::try_from(offset).unwrap_or(span)
    };
    Some((0..steps).map(at).collect())
}

/// A probability of false alarms that leaves room for verdicts.
pub(crate) fn alpha(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|alpha| (0.000_1..=0.5).contains(alpha));
    number.ok_or_else(|| format!("{text:?}: must be a probability from 0.0001 to 0.5, as 0.05"))
}

/// The smallest changes that count, shares: of counts and of times, where they are said. One for both is `2%`.
pub(crate) fn smallest(text: &str) -> Result<(Option<f64>, Option<f64>), String> {
    let wrong = || format!("{text:?}: must be 0% to 100%, as 2% or counts=0.5%,times=2%");
    let share = |text: &str| -> Option<f64> {
        let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
        (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
    };
    if let Some(both) = share(text) {
        return Ok((Some(both), Some(both)));
    }
    let (mut counts, mut times) = (None, None);
    for part in text.split(',') {
        let (kind, value) = part.split_once('=').ok_or_else(wrong)?;
        let place = match kind {
            "counts" => &mut counts,
            "times" => &mut times,
            _ => return Err(wrong()),
        };
        if place.replace(share(value).ok_or_else(wrong)?).is_some() {
            return Err(wrong());
        }
    }
    Ok((counts, times))
}

/// A regular expression; what is wrong with one is the last of the lines that its reader says.
pub(crate) fn expression(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let error = error.to_string();
        let why = error.lines().last().unwrap_or("").trim_start_matches("error: ");
        format!("{text:?}: must be a regular expression, as '^h2::': {why}")
    })
}

/// CPU numbers as `taskset` writes them, `0,2-3`, ascending.
pub(crate) fn cpus(text: &str) -> Result<Vec<u32>, String> {
    let part = |part: &str| -> Option<Range<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let cpu = count(0..=MAX_CPUS - 1);
        let (first, last) = (cpu(first).ok()?, cpu(last).ok()?);
        (first <= last).then(|| first..last + 1)
    };
    let parts: Option<Vec<_>> = text.split(',').map(part).collect();
    let mut cpus: Vec<u32> = parts
        .ok_or_else(|| format!("{text:?}: must be CPU numbers below {MAX_CPUS} and ranges of them, as 0,2-3"))?
        .into_iter()
        .flatten()
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// `HOST:PORT`, an IPv6 address in brackets, or `unix:PATH`. Nothing is looked up.
pub(crate) fn address(text: &str) -> Result<String, String> {
    if Address::unix(text).is_some() {
        return Ok(text.to_owned());
    }
    let wrong = || format!("{text:?}: must be HOST:PORT, as 127.0.0.1:20000 or [::1]:20000, or unix:PATH");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match name {
        Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
    };
    let is_port = digits(port).is_some_and(|port| (1..=65_535).contains(&port));
    if is_host && is_port { Ok(text.to_owned()) } else { Err(wrong()) }
}

/// `str::parse` also takes a leading `+`.
fn digits(text: &str) -> Option<u64> {
    Some(text).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_reads_them() {
        let nanos = |text| go_duration(text).map(|time| time.as_nanos()).ok();
        for (text, expected) in [
            ("10s", 10_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1h0m0.5s", 3_600_500_000_000),
            ("1.5h", 5_400_000_000_000),
            ("3us2ns", 3_002),
            ("7µs", 7_000),
            ("7μs", 7_000),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(nanos(text), Some(expected), "{text}");
        }
        for text in ["", "5", "s", "-1s", "+1s", "1m30", "1 m", "1s,2s", "1.2.3s", "1d", "9999999h9999999h", "１s"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }

    #[test]
    fn rates_are_spaced_evenly() {
        assert_eq!(rates("5000"), Ok(vec![5000]));
        assert_eq!(rates("1000..2000/2"), Ok(vec![1000, 2000]));
        assert_eq!(rates("1..1000000/3"), Ok(vec![1, 500_001, 1_000_000]));
        let ten = rates("1000..20000/10").expect("ten rates");
        assert_eq!(ten, [1000, 3111, 5222, 7333, 9444, 11556, 13667, 15778, 17889, 20000]);
        assert_eq!(rates("1..1000/1000").map(|rates| rates.len()), Ok(1000));
        for text in [
            "0",
            "-5",
            "+5",
            "1e3",
            "5..5/2",
            "1000..20000",
            "1000../3",
            "9..1/3",
            "1..9/1",
            "1..9/1001",
            "1..3/4",
            "..",
            "1..2/+2",
        ] {
            let error = rates(text).expect_err(text);
            assert!(error.starts_with(&format!("{text:?}: must be ")) && error.contains("1000..20000/10"), "{error}");
        }
    }

    #[test]
    fn rates_of_a_list_rise() {
        assert_eq!(rate_list("1000,2000,3000..4000/2"), Ok(vec![1000, 2000, 3000, 4000]));
        assert_eq!(rate_list("2000,1000"), Err("\"2000,1000\": 1000 after 2000: rates must rise".to_owned()));
        assert_eq!(rate_list("5,5"), Err("\"5,5\": 5 after 5: rates must rise".to_owned()));
    }

    #[test]
    fn an_alpha_is_a_probability() {
        assert_eq!((alpha("0.05"), alpha("0.5")), (Ok(0.05), Ok(0.5)));
        for text in ["0", "1", "-0.1", "NaN", "inf", "5%", ""] {
            assert!(alpha(text).expect_err(text).ends_with("0.0001 to 0.5, as 0.05"), "{text}");
        }
    }

    #[test]
    fn the_smallest_change_is_of_all_or_of_each_kind() {
        assert_eq!(smallest("2%"), Ok((Some(0.02), Some(0.02))));
        assert_eq!(smallest("0%"), Ok((Some(0.0), Some(0.0))));
        assert_eq!(smallest("times=3%"), Ok((None, Some(0.03))));
        assert_eq!(smallest("times=3%,counts=0.5%"), Ok((Some(0.005), Some(0.03))));
        for text in ["", "2", "101%", "-1%", "NaN%", "times", "times=2", "all=2%", "times=1%,times=2%", "times=1%,"] {
            assert!(smallest(text).expect_err(text).ends_with("as 2% or counts=0.5%,times=2%"), "{text}");
        }
    }

    #[test]
    fn an_expression_is_one() {
        assert!(expression("^h2::.*poll").is_ok_and(|regex| regex.is_match("h2::server::poll")));
        let error = expression("a(b").expect_err("open");
        assert_eq!(error, "\"a(b\": must be a regular expression, as '^h2::': unclosed group");
    }

    #[test]
    fn cpus_are_numbers_and_ranges() {
        assert_eq!(cpus("0"), Ok(vec![0]));
        assert_eq!(cpus("3,0-2,2"), Ok(vec![0, 1, 2, 3]));
        for text in ["", ",", "1-", "3-1", "1024", "0-99999999999", "a", "0, 1", "-1"] {
            assert!(cpus(text).expect_err(text).ends_with("as 0,2-3"), "{text}");
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for text in
            ["127.0.0.1:20000", "localhost:1", "[::1]:65535", "echo-1.lab:80", "unix:/run/my.sock", "unix:my.sock"]
        {
            assert_eq!(address(text), Ok(text.to_owned()));
        }
        for text in [
            "",
            ":1",
            "host",
            "host:",
            "host:0",
            "host:65536",
            "::1:80",
            "[::g]:80",
            "a b:1",
            "http://a:1",
            "a:+1",
            "unix:",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
