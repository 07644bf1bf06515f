//! What stands between load generator and server, and what it adds.

use serde::{Deserialize, Serialize};

use super::{Environment, Figures, ProcessUse, Round, RunResult, ServerOrigin, derive::ratio};
use crate::{measure::cpu_list, scenario::GatewayKind, stats};

/// A gateway that the calls of a result went through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gateway {
    /// Which.
    pub kind: GatewayKind,
    /// What its process is called: `nginx`. `None` where its processes aren't known.
    pub name: Option<String>,
    /// Its version, where we started it.
    pub version: Option<String>,
    /// Where the calls are sent.
    pub address: Option<String>,
    /// Who started it.
    pub origin: ServerOrigin,
    /// Its processes or threads that serve, as it was told. `None` of one that ran already.
    pub workers: Option<usize>,
    /// Its processes that hold the listening socket. `None` where they aren't known.
    pub processes: Option<usize>,
    /// The CPUs they may run on. `None` where it is not known.
    pub cpus: Option<Vec<u32>>,
    /// What it adds to the server called directly in the same run. `None` until both were measured.
    pub added: Option<Added>,
}

/// Calls through a gateway against calls that went to the server, in turn with them in the same run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// Rounds that both have.
    pub rounds: usize,
    /// Service time through the gateway less service time without, by percentile.
    pub service: Percentiles,
    /// The same of response times. `None` without a rate.
    pub response: Option<Percentiles>,
    /// QPS through the gateway ÷ QPS without: the median of the rounds' ratios.
    pub qps_ratio: OverRounds,
}

/// Differences between the same percentiles of two distributions, ms. They are not percentiles of what a call takes longer: no call is
/// in both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Between the medians.
    pub p50_ms: OverRounds,
    /// 90th percentile.
    pub p90_ms: OverRounds,
    /// 99th percentile.
    pub p99_ms: OverRounds,
    /// 99.9th percentile.
    pub p999_ms: OverRounds,
    /// Between the longest.
    pub max_ms: OverRounds,
}

/// A figure of two results, with the range of what each round says with the round of the same number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct OverRounds {
    /// Of latencies, that of all rounds' calls together; of rates, the median of the rounds.
    pub value: Option<f64>,
    /// The least of any round.
    pub min: Option<f64>,
    /// The greatest of any round.
    pub max: Option<f64>,
}

impl Gateway {
    /// Which it is, as people say it: `nginx 1.22.1 with 1 worker`, `envoy that ran already`.
    pub fn describe(&self) -> String {
        let mut text = self.name.clone().unwrap_or_else(|| self.kind.to_string());
        if let Some(version) = &self.version {
            text += &format!(" {version}");
        }
        match (self.origin, self.workers) {
            (ServerOrigin::Attached, _) => text + " that ran already",
            (ServerOrigin::Started, Some(1)) => text + " with 1 worker",
            (ServerOrigin::Started, Some(workers)) => text + &format!(" with {workers} workers"),
            (ServerOrigin::Started, None) => text,
        }
    }
}

impl RunResult {
    /// Whether `self` is what `via` went through a gateway with: the same server under the same load, called directly.
    pub fn is_direct_of(&self, via: &Self) -> bool {
        let suffix = via.gateway.as_ref().map(|gateway| format!("_via-{}", gateway.kind));
        let stem = via.file_stem();
        self.gateway.is_none() && suffix.and_then(|suffix| stem.strip_suffix(&suffix)) == Some(&self.file_stem())
    }

    /// Sets what the gateway adds to `direct`, a result of the same server under the same load without it.
    pub fn set_direct(&mut self, direct: &Self) {
        let added = added(direct, self);
        if let Some(gateway) = &mut self.gateway {
            gateway.added = added;
        }
    }
}

/// `None` where no round is in both.
fn added(direct: &RunResult, via: &RunResult) -> Option<Added> {
    let others = direct.numbered_figures();
    let twin = |round: u32| others.iter().find(|(number, _)| *number == round).map(|(_, figures)| *figures);
    let rounds: Vec<[Figures; 2]> =
        via.numbered_figures().into_iter().filter_map(|(round, figures)| Some([twin(round)?, figures])).collect();
    if rounds.is_empty() {
        return None;
    }
    let added = |of: fn(&Figures) -> Option<f64>| {
        let difference = |[direct, via]: [&Figures; 2]| Some(of(via)? - of(direct)?);
        let each: Vec<f64> = rounds.iter().filter_map(|round| difference(round.each_ref())).collect();
        OverRounds::of(difference([&direct.figures, &via.figures]), &each)
    };
    let ratios: Vec<f64> = rounds.iter().filter_map(|[direct, via]| ratio(via.qps?, direct.qps?)).collect();
    Some(Added {
        rounds: rounds.len(),
        service: Percentiles {
            p50_ms: added(|f| f.latency_p50_ms),
            p90_ms: added(|f| f.latency_p90_ms),
            p99_ms: added(|f| f.latency_p99_ms),
            p999_ms: added(|f| f.latency_p999_ms),
            max_ms: added(|f| f.latency_max_ms),
        },
        response: via.load.qps.map(|_| Percentiles {
            p50_ms: added(|f| f.response_p50_ms),
            p90_ms: added(|f| f.response_p90_ms),
            p99_ms: added(|f| f.response_p99_ms),
            p999_ms: added(|f| f.response_p999_ms),
            max_ms: added(|f| f.response_max_ms),
        }),
        qps_ratio: OverRounds::of(stats::median(&ratios), &ratios),
    })
}

/// Whose CPUs the gateway has, a sentence for each side.
pub(super) fn warnings(result: &RunResult) -> Vec<String> {
    let of_gateway = result.gateway.as_ref().and_then(|gateway| gateway.cpus.as_deref()).unwrap_or_default();
    let shared = |side: &Option<Vec<u32>>| -> Option<String> {
        let side = side.as_deref().unwrap_or_default();
        let both: Vec<u32> = of_gateway.iter().copied().filter(|cpu| side.contains(cpu)).collect();
        let cpus = if both.len() == 1 { "CPU" } else { "CPUs" };
        (!both.is_empty()).then(|| format!("{cpus} {}", cpu_list(&both)))
    };
    let Environment { server_cpus, client_cpus, .. } = &result.environment;
    let server = shared(server_cpus).map(|cpus| {
        format!(
            "the gateway shares {cpus} with the server: what it takes of them is in the QPS ratio and the added latency"
        )
    });
    let client = shared(client_cpus).map(|cpus| {
        format!("the gateway shares {cpus} with the load generator: each is measured with the other in its way")
    });
    server.into_iter().chain(client).collect()
}

impl OverRounds {
    fn of(value: Option<f64>, rounds: &[f64]) -> Self {
        Self { value, min: stats::min(rounds), max: stats::max(rounds) }
    }
}

impl Round {
    /// CPU time of all of the gateway's processes. `None` where any's is unknown.
    pub(super) fn gateway_cpu_ns(&self) -> Option<u64> {
        self.gateway_sum(|process| process.cpu_ns)
    }

    /// Their resident memory on average.
    pub(super) fn gateway_memory_bytes(&self) -> Option<u64> {
        self.gateway_sum(|process| process.memory.map(|memory| memory.avg_bytes))
    }

    fn gateway_sum(&self, of: fn(&ProcessUse) -> Option<u64>) -> Option<u64> {
        self.gateway_processes.as_deref().filter(|processes| !processes.is_empty())?.iter().map(of).sum()
    }
}
