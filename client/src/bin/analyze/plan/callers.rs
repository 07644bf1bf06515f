//! Whether calls in flight, rounds and connections fit each other.

use analyze::{
    load::{Case, End, MessagesPerStream, Sharing},
    scenario::Scenario,
};

use super::{Names, UsageError};
use crate::values;

/// What leaves some of the calls in flight without work, and rounds that nobody waits for.
pub(super) fn check_callers(case: &Case, names: Names) -> Result<(), UsageError> {
    let (Scenario { concurrency, .. }, connections) = (case.scenario, case.connections);
    if let End::Requests(requests) = case.window.end {
        let name = names.of_load("requests");
        if requests < u64::from(concurrency) {
            let scenario = case.scenario;
            return Err(UsageError(format!(
                "{name} {requests}: fewer than the {concurrency} calls in flight of {scenario}"
            )));
        }
        if let Some(rate) = case.window.rate.filter(|rate| values::exceed_a_day(requests, *rate)) {
            let qps = names.of_load("qps");
            return Err(UsageError(format!("{name} {requests}: at {rate} a second of {qps} must take 24h at most")));
        }
    }
    let held = case.stream_length() == Some(MessagesPerStream::Unbounded);
    if held && case.sharing == Sharing::Pool && connections < concurrency as usize {
        return Err(UsageError(format!(
            "{} unbounded: not with a pool of {connections} connections: {connections} streams would hold them for good, and \
             the other calls of {concurrency} in flight never start; {} {concurrency} is enough",
            names.of_load("messages_per_stream"),
            names.of_load("connections")
        )));
    }
    Ok(())
}

/// A note on connections that were asked for and are not opened, because no call would use them.
pub(super) fn idle_connections<'a>(cases: impl Iterator<Item = &'a Case>, names: Names) -> Option<String> {
    let idle = cases.filter(|case| case.connections > case.scenario.concurrency as usize);
    let Case { scenario: Scenario { concurrency, .. }, connections, .. } =
        idle.min_by_key(|case| case.scenario.concurrency)?;
    let calls = if *concurrency == 1 { "call" } else { "calls" };
    Some(format!("{} {connections}: {concurrency} with {concurrency} {calls} in flight", names.of_load("connections")))
}
