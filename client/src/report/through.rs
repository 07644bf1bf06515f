//! What a gateway adds: each server called through it beside the same server called directly, in turn with it in the same run.

use super::{
    Style,
    blocks::{Block, Column, Table, notes, texts},
    columns::{UNKNOWN, cell, whole},
    facets,
    table::{finish, fold, plain_table},
};
use crate::{
    measure::result::{Added, Figures, Gateway, OverRounds, RunResult, ServerOrigin},
    profile::{signed, three_digits, two_decimals},
    units::thousands,
};

const HEADS: [&str; 5] = ["", "direct", "through", "added", "in single rounds"];

/// A table for each result through a gateway whose server was called directly, too. Empty without one.
pub fn through(results: &[RunResult], style: Style) -> String {
    let all: Vec<&RunResult> = results.iter().collect();
    let tables: Vec<String> = pairs(&all)
        .iter()
        .map(|pair| {
            let mut table = plain_table();
            table.set_header(HEADS);
            for row in pair.rows() {
                table.add_row(row);
            }
            let notes: String = pair.notes().iter().map(|note| fold(note, style)).collect();
            format!("{}\n{}{notes}", style.bold(&pair.heading()), finish(table, HEADS.len(), 1))
        })
        .collect();
    tables.join("\n")
}

/// The same as blocks of a report.
pub(super) fn blocks(results: &[&RunResult]) -> Vec<Block> {
    let block = |pair: Pair<'_>| {
        let heads = HEADS[1..].iter().map(|head| Column::figures(*head));
        let table = Table {
            columns: [Column::words(HEADS[0])].into_iter().chain(heads).collect(),
            rows: pair.rows().into_iter().map(texts).collect(),
            sums: 0,
        };
        [Block::Heading(pair.heading()), Block::Table(table), notes(pair.notes())]
    };
    pairs(results).into_iter().flat_map(block).collect()
}

/// The same server under the same load, called directly and through a gateway.
struct Pair<'a> {
    direct: &'a RunResult,
    via: &'a RunResult,
    gateway: &'a Gateway,
    added: &'a Added,
}

fn pairs<'a>(results: &[&'a RunResult]) -> Vec<Pair<'a>> {
    let pair = |via: &&'a RunResult| {
        let gateway = via.gateway.as_ref()?;
        let direct = results.iter().find(|direct| direct.is_direct_of(via))?;
        Some(Pair { direct, via, gateway, added: gateway.added.as_ref()? })
    };
    results.iter().filter_map(pair).collect()
}

impl Pair<'_> {
    /// `Through nginx 1.22.1 with 1 worker: grpc 128B-50, 5 rounds in turn with calls to the server`
    fn heading(&self) -> String {
        let said = [format!("{} {}", self.via.framework, self.via.scenario)];
        let words = said.into_iter().chain(facets::phrases(self.via, &[&facets::GATEWAY]));
        let rounds = self.added.rounds;
        let plural = if rounds == 1 { "" } else { "s" };
        let words = words.collect::<Vec<_>>().join(", ");
        format!("Through {}: {words}; {rounds} round{plural} in turn", self.gateway.describe())
    }

    fn rows(&self) -> Vec<[String; 5]> {
        let Added { service, response, qps_ratio, .. } = self.added;
        let mut rows = Vec::new();
        if let Some(response) = response {
            rows.push(self.latency("response p50 ms", |f| f.response_p50_ms, &response.p50_ms));
            rows.push(self.latency("p90 ms", |f| f.response_p90_ms, &response.p90_ms));
            rows.push(self.latency("p99 ms", |f| f.response_p99_ms, &response.p99_ms));
            rows.push(self.latency("p99.9 ms", |f| f.response_p999_ms, &response.p999_ms));
            rows.push(self.latency("max ms", |f| f.response_max_ms, &response.max_ms));
        }
        let first = if response.is_some() { "service p50 ms" } else { "p50 ms" };
        rows.push(self.latency(first, |f| f.latency_p50_ms, &service.p50_ms));
        rows.push(self.latency("p90 ms", |f| f.latency_p90_ms, &service.p90_ms));
        rows.push(self.latency("p99 ms", |f| f.latency_p99_ms, &service.p99_ms));
        rows.push(self.latency("p99.9 ms", |f| f.latency_p999_ms, &service.p999_ms));
        rows.push(self.latency("max ms", |f| f.latency_max_ms, &service.max_ms));
        let ratio = |value: f64| format!("×{value:.2}");
        let qps = cell(qps_ratio.value, ratio);
        rows.push(self.row("QPS 1/s", |f| f.qps, three_digits, qps, range(qps_ratio, ratio)));
        rows.push(self.figure("B/op", |f| f.bytes_per_op, whole));
        rows.push(self.figure("allocs/op", |f| f.allocs_per_op, two_decimals));
        rows.push(self.figure("server CPU µs/op", |f| f.server_cpu_us_per_op, three_digits));
        rows.push(self.figure("connections/op", |f| f.connections_per_op, four_decimals));
        rows.push(self.figure("gateway CPU µs/op", |f| f.gateway_cpu_us_per_op, three_digits));
        rows.push(self.figure("gateway RSS MiB", |f| f.gateway_memory_avg_mb, three_digits));
        rows
    }

    fn latency(&self, name: &str, of: fn(&Figures) -> Option<f64>, added: &OverRounds) -> [String; 5] {
        let difference = |value: f64| signed(value, three_digits);
        self.row(name, of, three_digits, cell(added.value, difference), range(added, difference))
    }

    /// One that isn't set against each other round by round.
    fn figure(&self, name: &str, of: fn(&Figures) -> Option<f64>, format: fn(f64) -> String) -> [String; 5] {
        let (direct, via) = (of(&self.direct.figures), of(&self.via.figures));
        let added = direct.zip(via).map(|(direct, via)| signed(via - direct, format)).unwrap_or_default();
        self.row(name, of, format, added, String::new())
    }

    fn row(
        &self,
        name: &str,
        of: fn(&Figures) -> Option<f64>,
        format: fn(f64) -> String,
        added: String,
        range: String,
    ) -> [String; 5] {
        [name.to_owned(), cell(of(&self.direct.figures), format), cell(of(&self.via.figures), format), added, range]
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "added: the difference between the same percentiles of both, not a percentile of what a call takes longer; QPS: the \
             median of the rounds' ratios."
                .to_owned(),
        ];
        let begun = self.via.rounds.first().and_then(|round| round.server.as_ref()?.before.connections);
        if let Some(accepted) = begun.filter(|_| self.via.environment.server == ServerOrigin::Started) {
            let plural = if accepted == 1 { "" } else { "s" };
            let accepted = thousands(accepted);
            notes.push(format!(
                "The gateway had opened {accepted} connection{plural} to the server before the first timed round; connections/op are those \
                 of the rounds."
            ));
        }
        if [self.via.figures.gateway_cpu_us_per_op, self.via.figures.connections_per_op].contains(&None) {
            notes.push(format!(
                "{UNKNOWN} not measured: a gateway's CPU and memory are known where its processes are of this machine, connections \
                 where the server counts them."
            ));
        }
        notes
    }
}

/// The least and the greatest, `+0.98 … +1.20`.
fn range(over: &OverRounds, format: fn(f64) -> String) -> String {
    over.min.zip(over.max).map(|(min, max)| format!("{} … {}", format(min), format(max))).unwrap_or_default()
}

/// Connections per op are few: one in a thousand ops is `0.0010`, none `0`.
fn four_decimals(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.4}") }
}
