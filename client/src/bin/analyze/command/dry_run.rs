//! What a suite will measure and how long that takes, without measuring it.

use std::time::Duration;

use analyze::units::{format_duration, thousands};

use super::columns::aligned;
use crate::plan::{Origin, Plan, Subject, cells};

const HEADS: [&str; 10] =
    ["cell", "framework", "payload", "serialization", "compression", "calls", "mode", "rate", "rounds", "time"];

/// A line for each cell that is left, in the order of measuring, then what is left out, then how long all of it takes.
pub(super) fn text(plan: &Plan) -> String {
    let mut rows = vec![HEADS.map(str::to_owned)];
    let mut number = 0;
    for group in &plan.groups {
        rows.extend(group.subjects.iter().map(|subject| {
            number += 1;
            row(number, subject)
        }));
    }
    let mut text = if number == 0 { "nothing is left to measure\n".to_owned() } else { aligned(&rows) };
    for refused in &plan.refused {
        text += &format!("not measured: {}\n", refused.say());
    }
    if number > 0 {
        let (cells, length) = (cells(number), format_duration(whole(plan.length())));
        text += &format!("{cells}, about {length}; cells of the same values are measured in turn\n");
    }
    text
}

fn row(number: usize, subject: &Subject) -> [String; 10] {
    let case = &subject.case;
    let server = match &subject.origin {
        Origin::Start(_) => subject.framework.to_string(),
        Origin::Attach { addr, .. } => format!("{} at {addr}", subject.framework),
    };
    let mode = match case.stream_length() {
        Some(messages) if messages != Default::default() => format!("streaming {messages}"),
        _ => case.mode.to_string(),
    };
    let known = |value: String| if !subject.framework.has_messages() { "–".to_owned() } else { value };
    let profiles = if subject.profiled { " + profiles" } else { "" };
    [
        number.to_string(),
        server,
        case.scenario.payload.to_string(),
        known(case.serialization.to_string()),
        known(case.compression.to_string()),
        thousands(u64::from(case.scenario.concurrency)),
        known(mode),
        case.window.rate.map_or_else(|| "most".to_owned(), |rate| format!("{}/s", thousands(rate as u64))),
        format!("{}{profiles}", subject.rounds),
        format_duration(whole(subject.length())),
    ]
}

/// In whole seconds; nobody knows it better.
fn whole(length: Duration) -> Duration {
    Duration::from_secs((length.as_millis() as u64).div_ceil(1000))
}
