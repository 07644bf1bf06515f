//! The machine's own limit: QPS of the bare TCP echo, once for each payload and concurrency of a run.
//!
//! How messages are written, compressed or streamed changes nothing for a server that only knows bytes. So the echo is
//! measured in the first group of its payload and concurrency, and later groups of these are set against the same figure.

use std::collections::HashMap;

use analyze::{
    measure::result::{RunResult, ServerOrigin},
    scenario::Framework,
};

/// QPS of the bare echoes that we started, by scenario.
#[derive(Debug, Default)]
pub(super) struct Rooflines(HashMap<String, f64>);

impl Rooflines {
    /// Takes note of a result of which every round was measured: half an echo is no limit.
    pub(super) fn learn(&mut self, result: &RunResult) {
        if result.framework == Framework::Raw.name()
            && is_started(result)
            && let Some(qps) = result.figures.qps
        {
            self.0.insert(result.scenario.clone(), qps);
        }
    }

    /// Sets a result against the echo of its scenario, where that is known.
    pub(super) fn apply(&self, result: &mut RunResult) {
        let qps = self.0.get(&result.scenario).copied().filter(|_| is_started(result));
        result.set_roofline(qps);
    }
}

/// Only servers that we started share a machine and its CPUs with the echo that we started.
fn is_started(result: &RunResult) -> bool {
    result.environment.server == ServerOrigin::Started
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use analyze::{
        load::Case,
        measure::result::{Environment, RunMeta},
    };

    use super::*;

    /// Of a closed loop that was measured with these replies a second.
    fn result(framework: Framework, server: ServerOrigin, scenario: &str, qps: f64) -> RunResult {
        let case = Case::new(scenario.parse().expect("a scenario"), Duration::from_secs(1));
        let meta = RunMeta {
            label: "t".to_owned(),
            framework: framework.to_string(),
            case,
            call: None,
            serialization: "protobuf".to_owned(),
            started: jiff::Timestamp::UNIX_EPOCH,
            rounds: 0,
            wire: None,
            gateway: None,
            environment: Environment { server, ..Environment::default() },
            warnings: Vec::new(),
        };
        let mut result = RunResult::derive(meta, &[]);
        result.figures.qps = Some(qps);
        result
    }

    #[test]
    fn the_roofline_is_for_servers_on_the_same_cpus_and_the_same_scenario() {
        let ratio = |raw: ServerOrigin, framework, server, scenario| {
            let mut rooflines = Rooflines::default();
            rooflines.learn(&result(Framework::Raw, raw, "128B-1", 200.0));
            let mut result = result(framework, server, scenario, 50.0);
            rooflines.apply(&mut result);
            result.roofline_ratio
        };
        let (started, attached) = (ServerOrigin::Started, ServerOrigin::Attached);
        assert_eq!(ratio(started, Framework::Triple, started, "128B-1"), Some(0.25));
        assert_eq!(ratio(started, Framework::Raw, started, "128B-1"), Some(0.25));
        assert_eq!(ratio(started, Framework::Triple, started, "128B-2"), None);
        assert_eq!(ratio(started, Framework::Grpc, attached, "128B-1"), None);
        assert_eq!(ratio(attached, Framework::Triple, started, "128B-1"), None);
    }
}
