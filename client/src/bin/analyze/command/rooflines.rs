//! The machine's own limit: QPS of the bare TCP echo, once for each payload and concurrency of a run.
//!
//! How messages are written, compressed or streamed changes nothing for a server that only knows bytes. So the echo is
//! measured in the first group of its payload and concurrency, and later groups of these are set against the same figure.

use std::collections::HashMap;

use analyze::{
    measure::result::{LoadKind, RunResult, ServerOrigin},
    scenario::Framework,
};

/// QPS of the bare echoes that we started, by scenario.
#[derive(Debug, Default)]
pub(super) struct Rooflines(HashMap<String, f64>);

impl Rooflines {
    /// Takes note of a result.
    pub(super) fn learn(&mut self, result: &RunResult) {
        if result.framework == Framework::Raw.name()
            && is_limited(result)
            && let Some(qps) = result.figures.qps
        {
            self.0.insert(result.scenario.clone(), qps);
        }
    }

    /// Sets a result against the echo of its scenario, where that is known.
    pub(super) fn apply(&self, result: &mut RunResult) {
        let qps = self.0.get(&result.scenario).copied().filter(|_| is_limited(result));
        result.set_roofline(qps);
    }
}

/// Only servers that we started share a machine and its CPUs with the echo that we started, and only a load that waits for
/// nothing else is limited by the machine.
fn is_limited(result: &RunResult) -> bool {
    let load = &result.load;
    result.environment.server == ServerOrigin::Started && load.kind == LoadKind::Closed && load.think_ms == 0.0
}
