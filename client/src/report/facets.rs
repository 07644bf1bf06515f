//! What besides framework, payload and concurrency tells one measurement from another, and how it is said.

use std::time::Duration;

use crate::{
    load::Sharing,
    measure::result::{Gateway, RunResult},
    profile::three_digits,
    scenario::Framework,
    units::{format_duration, format_size},
};

/// One such thing.
pub(crate) struct Facet {
    /// The head of its column.
    pub(crate) head: &'static str,
    /// Its value, short. `None` where it has no meaning: a bare echo has no serialization, and no calls.
    pub(crate) value: fn(&RunResult) -> Option<String>,
    /// What stands before and after the value in a phrase.
    phrase: [&'static str; 2],
    /// The value that headings leave out.
    usual: &'static str,
}

/// All but the rate, in the order of columns and phrases.
pub(crate) const FACETS: &[Facet] = &[
    Facet { head: "call", value: |r| r.call.as_ref().map(|call| call.method.clone()), phrase: ["", ""], usual: "" },
    Facet {
        head: "serialization",
        value: |r| Some(r.serialization.clone()).filter(|name| name != "none"),
        phrase: ["", ""],
        usual: "",
    },
    Facet {
        head: "compression",
        value: |r| Some(r.compression.clone()).filter(|_| has_calls(r)),
        phrase: ["compression ", ""],
        usual: "none",
    },
    Facet { head: "mode", value: |r| Some(r.call_mode.clone()).filter(|_| has_calls(r)), phrase: ["", ""], usual: "" },
    Facet {
        head: "messages",
        value: |r| r.messages_per_stream.filter(|_| has_calls(r)).map(|messages| messages.to_string()),
        phrase: ["", " messages a stream"],
        usual: "1",
    },
    Facet {
        head: "pattern",
        value: |r| Some(r.payload_pattern.to_string()).filter(|_| r.call.is_none()),
        phrase: ["payload of ", ""],
        usual: "random",
    },
    Facet {
        head: "reply",
        value: |r| Some(r.response_size.map_or_else(|| "echo".to_owned(), format_size)),
        phrase: ["reply ", ""],
        usual: "echo",
    },
    Facet { head: "connections", value: |r| Some(connections(r)), phrase: ["", " connections"], usual: "1" },
    Facet { head: "sharing", value: |r| Some(r.load.sharing.to_string()), phrase: ["", ""], usual: "mux" },
    Facet { head: "sleep", value: |r| ms(r.load.sleep_ms), phrase: ["handler sleeps ", ""], usual: "0 ns" },
    GATEWAY,
    Facet { head: "think", value: |r| ms(r.load.think_ms), phrase: ["think time ", ""], usual: "0 ns" },
];

/// What calls go through.
pub(crate) const GATEWAY: Facet = Facet {
    head: "gateway",
    value: |r| Some(r.gateway.as_ref().map_or_else(|| "none".to_owned(), Gateway::describe)),
    phrase: ["through ", ""],
    usual: "none",
};

/// No more connections are opened than there are calls in flight. Of one for each call the number follows from the concurrency and
/// would only tell each concurrency from the others. Shared ones that happen to be as many keep the number that all have.
fn connections(result: &RunResult) -> String {
    let (connections, calls) = (result.load.connections, result.concurrency as usize);
    let per_call = match result.load.sharing {
        Sharing::Pool => connections >= calls,
        Sharing::Mux => connections > calls,
    };
    if per_call { "per-call".to_owned() } else { connections.to_string() }
}

/// Whether there are calls, which can be compressed and streamed: a bare echo has only bytes.
pub(super) fn has_calls(result: &RunResult) -> bool {
    result.framework != Framework::Raw.name()
}

/// The rate asked for.
pub(crate) const RATE: Facet = Facet {
    head: "rate",
    value: |r| Some(r.load.qps.map_or_else(|| "most".to_owned(), |qps| three_digits(qps) + "/s")),
    phrase: ["at ", ""],
    usual: "most",
};

impl Facet {
    /// The value as words in a line, `compression best`.
    pub(crate) fn say(&self, result: &RunResult) -> Option<String> {
        let [before, after] = self.phrase;
        (self.value)(result).map(|value| format!("{before}{value}{after}"))
    }

    fn varies(&self, results: &[&RunResult]) -> bool {
        let mut values = results.iter().filter_map(|result| (self.value)(result));
        values.next().is_some_and(|first| values.any(|value| value != first))
    }

    fn agrees(&self, a: &RunResult, b: &RunResult) -> bool {
        (self.value)(a).zip((self.value)(b)).is_none_or(|(a, b)| a == b)
    }
}

/// Those of `facets` whose value is not the same in all results.
pub(crate) fn varying(results: &[&RunResult], facets: &'static [Facet]) -> Vec<&'static Facet> {
    facets.iter().filter(|facet| facet.varies(results)).collect()
}

/// What a heading says of a result: all but what is usual, and but the facets left out.
pub(crate) fn phrases(result: &RunResult, without: &[&Facet]) -> Vec<String> {
    FACETS
        .iter()
        .chain([&RATE])
        .filter(|facet| without.iter().all(|other| other.head != facet.head))
        .filter(|facet| (facet.value)(result).is_some_and(|value| value != facet.usual))
        .filter_map(|facet| facet.say(result))
        .collect()
}

/// A result of a run: `triple 128B-50: unary, protobuf`.
pub(crate) fn cell(result: &RunResult) -> String {
    let name = format!("{} {}", result.framework, result.scenario);
    match phrases(result, &[]) {
        phrases if phrases.is_empty() => name,
        phrases => format!("{name}: {}", phrases.join(", ")),
    }
}

/// Whether two results differ in no facet, the rate aside, that has a meaning for both.
pub(crate) fn alike(a: &RunResult, b: &RunResult) -> bool {
    FACETS.iter().all(|facet| facet.agrees(a, b))
}

/// The payload as people write it: `1MiB`, or the mix.
pub(crate) fn payload(result: &RunResult) -> String {
    let name = result.scenario.rsplit_once('-').map(|(payload, _)| payload.to_owned());
    name.unwrap_or_else(|| format_size(result.payload_size))
}

/// `50 calls in flight`
pub(crate) fn calls(result: &RunResult) -> String {
    let plural = if result.concurrency == 1 { "" } else { "s" };
    format!("{} call{plural} in flight", crate::units::thousands(u64::from(result.concurrency)))
}

fn ms(ms: f64) -> Option<String> {
    Duration::try_from_secs_f64(ms / 1e3).ok().map(format_duration)
}
