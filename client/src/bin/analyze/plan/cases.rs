//! What is sent, from the flags: a case for each scenario and rate.

use std::{fmt::Display, str::FromStr, time::Duration};

use analyze::{
    load::{Call, CallMode, Case, End, MessagesPerStream, Sharing, Window},
    scenario::{Payload, PayloadPattern, Scenario},
    units::format_duration,
};

use super::{UsageError, call::payload};
use crate::{
    cli::{LoadArgs, SentArgs},
    values,
};

const DURATION: Duration = Duration::from_secs(5);

/// Every case that the flags ask for, rates innermost.
pub(super) fn cases(sent: &SentArgs, load: &LoadArgs, call: Option<&Call>) -> Result<Vec<Case>, UsageError> {
    let scenarios = match call {
        Some(call) => scenarios_of_call(sent, call)?,
        None => scenarios(sent)?,
    };
    let windows = windows(load)?;
    let mode = read("--mode", &sent.mode, CallMode::from_str)?;
    let sharing = match (load.pool, load.mux) {
        (true, true) => return Err(UsageError("--pool: not with --mux, its opposite".to_owned())),
        (true, false) => Sharing::Pool,
        (false, _) => Sharing::Mux,
    };
    let connections = optional("--connections", &load.connections, values::callers)?;
    let template = Case {
        serialization: optional("--serialization", &sent.serialization, str::parse)?.unwrap_or_default(),
        compression: read("--compression", &sent.compression, str::parse)?,
        accept_gzip: sent.accept_gzip,
        pattern: match call {
            Some(_) => PayloadPattern::Given,
            None => read("--payload-pattern", &sent.payload_pattern, str::parse)?,
        },
        response_size: optional("--response-size", &sent.response_size, values::response_size)?,
        sleep: sleep(sent, load)?,
        mode,
        messages_per_stream: messages_per_stream(sent, mode)?,
        sharing,
        ..Case::new(scenarios[0], DURATION)
    };
    let case = |scenario: Scenario, window| {
        let connections = connections_of(connections, sharing, scenario.concurrency);
        Case { scenario, window, connections, ..template }
    };
    Ok(scenarios.into_iter().flat_map(|scenario| windows.iter().map(move |&window| case(scenario, window))).collect())
}

/// Connections for so many calls in flight: unless asked for, one, and with a pool one for each call.
pub(super) fn connections_of(asked: Option<u32>, sharing: Sharing, concurrency: u32) -> usize {
    let usual = if sharing == Sharing::Pool { concurrency } else { 1 };
    asked.unwrap_or(usual) as usize
}

/// The call's message with each concurrency.
fn scenarios_of_call(sent: &SentArgs, call: &Call) -> Result<Vec<Scenario>, UsageError> {
    if sent.concurrency.is_empty() {
        let problem = "--concurrency is missing: the calls in flight, as in --concurrency 50";
        return Err(UsageError(problem.to_owned()));
    }
    let payload = payload(call).ok_or_else(|| UsageError("--data: must be 16 MiB at most".to_owned()))?;
    let levels = concurrencies(sent)?;
    Ok(levels.into_iter().map(|concurrency| Scenario { payload, concurrency }).collect())
}

fn concurrencies(sent: &SentArgs) -> Result<Vec<u32>, UsageError> {
    let level = |text: &String| read("--concurrency", text, values::callers);
    sent.concurrency.iter().map(level).collect::<Result<_, _>>().map(unique)
}

/// Either way of saying what is sent; never empty.
fn scenarios(sent: &SentArgs) -> Result<Vec<Scenario>, UsageError> {
    match (sent.scenario.is_empty(), sent.payload.is_empty(), sent.concurrency.is_empty()) {
        (false, true, true) => read_all("--scenario", &sent.scenario),
        (true, false, false) => {
            let mut payloads = Vec::new();
            for text in &sent.payload {
                payloads.extend(read("--payload", text, payload_list)?);
            }
            let (payloads, levels) = (unique(payloads), concurrencies(sent)?);
            let with_each = |payload| levels.iter().map(move |&concurrency| Scenario { payload, concurrency });
            Ok(payloads.into_iter().flat_map(with_each).collect())
        }
        (true, true, true) => Err(UsageError(
            "--scenario is missing: a size and a concurrency, as in --scenario 1MiB-100; --help lists the flags"
                .to_owned(),
        )),
        (true, false, true) => Err(UsageError(
            "--payload: --concurrency is missing, the calls in flight, as in --concurrency 100".to_owned(),
        )),
        (true, true, false) => {
            Err(UsageError("--concurrency: --payload is missing, the size, as in --payload 1MiB".to_owned()))
        }
        (false, ..) => Err(UsageError(
            "--scenario: not with --payload and --concurrency, which are another way to say the same".to_owned(),
        )),
    }
}

/// Payloads with commas between them, and within a mix: sizes with a percent belong to one mix until they reach 100.
fn payload_list(text: &str) -> Result<Vec<Payload>, String> {
    let mut payloads = Vec::new();
    let mut mix: Vec<&str> = Vec::new();
    let mut percents = 0;
    for part in text.split(',') {
        let percent = part.split_once(':').filter(|_| !part.contains('+')).map(|(_, percent)| percent);
        match percent {
            Some(percent) => {
                mix.push(part);
                percents += percent.trim_end_matches('%').parse().unwrap_or(100);
            }
            None => payloads.push(part.parse::<Payload>().map_err(|error| error.to_string())?),
        }
        if !mix.is_empty() && (percent.is_none() || percents >= 100) {
            payloads.push(mix.join(",").parse::<Payload>().map_err(|error| error.to_string())?);
            (mix, percents) = (Vec::new(), 0);
        }
    }
    if !mix.is_empty() {
        payloads.push(mix.join(",").parse::<Payload>().map_err(|error| error.to_string())?);
    }
    Ok(payloads)
}

fn windows(load: &LoadArgs) -> Result<Vec<Window>, UsageError> {
    let requests = optional("--requests", &load.requests, values::requests)?;
    let duration = optional("--duration", &load.duration, values::round_length)?;
    let end = match (requests, duration) {
        (Some(requests), Some(_)) => {
            return Err(UsageError(format!("--requests {requests}: not with --duration: a round ends by one of them")));
        }
        (Some(requests), None) => End::Requests(requests),
        (None, duration) => End::After(duration.unwrap_or(DURATION)),
    };
    let think = optional("--think", &load.think, values::pause)?;
    let Some(qps) = &load.qps else {
        return Ok(vec![Window { end, rate: None, think: think.unwrap_or_default() }]);
    };
    if let Some(think) = think {
        let think = format_duration(think);
        return Err(UsageError(format!(
            "--think {think}: not with --qps, where the rate alone says when a call starts"
        )));
    }
    let rates = read("--qps", qps, values::rate_list)?;
    Ok(rates.into_iter().map(|rate| Window { end, rate: Some(f64::from(rate)), think: Duration::ZERO }).collect())
}

fn messages_per_stream(sent: &SentArgs, mode: CallMode) -> Result<MessagesPerStream, UsageError> {
    match optional("--messages-per-stream", &sent.messages_per_stream, MessagesPerStream::from_str)? {
        Some(messages) if mode != CallMode::Streaming => {
            Err(UsageError(format!("--messages-per-stream {messages}: goes with --mode streaming")))
        }
        messages => Ok(messages.unwrap_or_default()),
    }
}

fn sleep(sent: &SentArgs, load: &LoadArgs) -> Result<Duration, UsageError> {
    let Some(sleep) = optional("--sleep", &sent.sleep, values::sleep)? else {
        return Ok(Duration::ZERO);
    };
    let timeout = read("--timeout", &load.timeout, values::timeout)?;
    if sleep >= timeout {
        let (sleep, timeout) = (format_duration(sleep), format_duration(timeout));
        return Err(UsageError(format!("--sleep {sleep}: must be less than --timeout, {timeout}")));
    }
    Ok(sleep)
}

/// A flag's value.
pub(crate) fn read<T, E: Display>(
    flag: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, UsageError> {
    parse(text).map_err(|error| UsageError(format!("{flag}: {error}")))
}

/// The value of a flag that may be left out.
pub(super) fn optional<T, E: Display>(
    flag: &str,
    text: &Option<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, UsageError> {
    text.as_deref().map(|text| read(flag, text, parse)).transpose()
}

/// Different values of a list, in its order.
pub(super) fn read_all<T: FromStr<Err: Display> + PartialEq>(
    flag: &str,
    given: &[String],
) -> Result<Vec<T>, UsageError> {
    given.iter().map(|text| read(flag, text, str::parse)).collect::<Result<_, _>>().map(unique)
}

fn unique<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut unique = Vec::with_capacity(values.len());
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_and_mixes_stand_in_one_list() {
        let names = |text| payload_list(text).map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(names("128B,1MiB"), Ok(vec!["128B".to_owned(), "1MiB".to_owned()]));
        assert_eq!(names("128B:80%,1MiB:20%"), Ok(vec!["128B:80%+1MiB:20%".to_owned()]));
        assert_eq!(
            names("1KiB,128B:80%,1MiB:20%,1B:50%,2B:50%,16KiB").map(|names| names.join(" ")),
            Ok("1KiB 128B:80%+1MiB:20% 1B:50%+2B:50% 16KiB".to_owned())
        );
        assert_eq!(names("1KiB,128B:80%+1MiB:20%").map(|names| names.len()), Ok(2));
        for text in ["", "1KiB,", "128B:80%", "128B:80%,1MiB", "128B:80%,1MiB:30%", "128B:x,1MiB", "17MiB"] {
            assert!(names(text).expect_err(text).contains("must be a size of 1B to 16MiB"), "{text}");
        }
    }
}
