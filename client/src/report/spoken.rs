//! Which wires the rows of a table spoke, and where these differ.

use std::collections::BTreeMap;

use super::{columns::whole, facets::has_calls};
use crate::{
    compare::spoken::{SPOKEN, Spoken, lifetime, telling},
    load::FrameType,
    measure::result::{FramesPerOp, Http2Figures, RunResult},
    profile::two_decimals,
};

/// Rarer ones are left out, and in the JSON.
const RARE: f64 = 0.005;

/// What each row sent and received per op, a sentence each, where it was counted.
pub(super) fn frames(results: &[&RunResult]) -> Vec<String> {
    let of = |result: &&RunResult| {
        Some(format!("{}: {}.", result.framework, said(result.wire_use.as_ref()?.http2.as_ref()?)))
    };
    results.iter().filter_map(of).collect()
}

/// In what rows spoke different wires, so that a difference between their figures is the wire's, too. That each framework has a
/// protocol of its own is not among it. `None` where there is no difference.
pub(super) fn different_wires(results: &[&RunResult]) -> Option<String> {
    let differ = |spoken: &Spoken| {
        let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
        for result in results.iter().filter(|result| has_calls(result)) {
            let Some(value) = (spoken.of)(result) else { continue };
            match rows.iter_mut().find(|(known, _)| *known == value) {
                Some((_, frameworks)) => frameworks.push(&result.framework),
                None => rows.push((value, vec![&result.framework])),
            }
        }
        (rows.len() > 1).then_some((spoken.what, rows))
    };
    let differences = telling(SPOKEN.iter().filter(|spoken| !spoken.is_protocol).filter_map(differ).collect());
    let row = |(value, frameworks): &(String, Vec<&str>)| format!("{value} ({})", frameworks.join(", "));
    let said = differences
        .iter()
        .map(|(what, rows)| format!("{what}: {}", rows.iter().map(row).collect::<Vec<_>>().join(", ")))
        .collect::<Vec<_>>()
        .join("; ");
    (!said.is_empty()).then(|| format!("Different wires, whose difference is in the figures: {said}."))
}

/// `per op sent: 1.00 DATA of 144 B, 1.00 HEADERS of 18 B; received: …; streams one a call`
fn said(http2: &Http2Figures) -> String {
    let frames = |frames: &BTreeMap<FrameType, FramesPerOp>| {
        let usual = frames.iter().filter(|(_, frame)| frame.frames_per_op >= RARE);
        let said = usual.map(|(kind, frame)| {
            let (count, bytes) = (two_decimals(frame.frames_per_op), whole(frame.bytes_per_op / frame.frames_per_op));
            format!("{count} {} of {bytes} B", kind.name())
        });
        said.collect::<Vec<_>>().join(", ")
    };
    format!(
        "per op sent: {}; received: {}; streams {}",
        frames(&http2.sent),
        frames(&http2.received),
        lifetime(http2.streams)
    )
}
