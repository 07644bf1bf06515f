//! Two runs against each other, as people read them. `UPDATE_GOLDEN=1 cargo test -p analyze --test compare` rewrites the files.

mod results;

use analyze::{
    compare::{ALPHA, Verdict, compare},
    measure::result::{RunResult, ServerOrigin},
    report::{self, Style},
    scenario::PayloadPattern,
};
use results::{Costs, assert_golden, full, meta, sample};

/// A Triple result of so many rounds around these costs; a round differs from the next by a thousandth of its requests.
fn triple(label: &str, rounds: u32, costs: &Costs) -> RunResult {
    let samples: Vec<_> = (1..=rounds)
        .map(|round| sample(round, costs.requests + u64::from(round) * costs.requests / 1000, costs))
        .collect();
    let mut meta = meta("triple", rounds);
    meta.label = label.to_owned();
    RunResult::derive(meta, &samples)
}

fn before(rounds: u32) -> RunResult {
    triple("before", rounds, &Costs { requests: 6_000, allocs: 6, requested: 979, usable: Some(1_088), cpu_us: 10 })
}

/// An allocation of 64 bytes less, and 3 % slower.
fn after(rounds: u32) -> RunResult {
    triple("after", rounds, &Costs { requests: 5_800, allocs: 5, requested: 915, usable: Some(1_024), cpu_us: 10 })
}

#[test]
fn a_change_is_told_with_its_size_and_a_word() {
    let (a, b) = ([before(5)], [after(5)]);
    let comparison = compare(&a, &b, ALPHA);
    let verdict = |key: &str| {
        let judgement = comparison.pairs[0].judgements.iter().find(|judgement| judgement.metric == key).unwrap();
        (judgement.verdict, (judgement.change.unwrap().estimate * 1e4).round() / 1e4)
    };
    assert_eq!(verdict("bytes_per_op"), (Verdict::Better, -0.0588));
    assert_eq!(verdict("allocs_per_op"), (Verdict::Better, -0.0833));
    assert_eq!(verdict("qps"), (Verdict::Worse, -0.0334));
    assert_eq!(verdict("server_cpu_us_per_op"), (Verdict::WithinNoise, 0.0));
    let (wide, narrow) = (Style::default(), Style { width: 80, ..Style::default() });
    assert_golden("compare_120.txt", &report::comparison(&comparison, wide));
    assert_golden("compare_80.txt", &report::comparison(&comparison, narrow));
    assert_golden("compare.md", &report::comparison_markdown(&comparison));
    assert_golden("compare.bench.txt", &report::benchstat(&comparison));
}

#[test]
fn one_round_against_one_says_how_many_it_takes() {
    let (a, b) = ([before(1)], [after(1)]);
    let text = report::comparison(&compare(&a, &b, ALPHA), Style::default());
    assert!(text.contains("cannot judge") && text.contains("it takes 4 rounds on each side"), "{text}");
    assert!(!text.contains("better") && !text.contains("worse") && !text.contains("NaN"), "{text}");
}

#[test]
fn cells_that_only_one_run_has_are_named() {
    let (a, b) = (full(), full()[1..].to_vec());
    let comparison = compare(&a, &b, ALPHA);
    let cells: Vec<_> = comparison.pairs.iter().map(|pair| pair.cell.as_str()).collect();
    assert_eq!(cells, ["grpc_128_protobuf_none_50_unary", "raw_128_protobuf_none_50_unary"]);
    assert_eq!(comparison.only_a, ["triple_128_protobuf_none_50_unary"]);
    let text = report::comparison(&comparison, Style::default());
    assert!(text.contains("Only in the first run: triple_128_protobuf_none_50_unary"), "{text}");
}

#[test]
fn runs_that_were_measured_otherwise_are_unlike() {
    let unlike = |change: fn(&mut RunResult)| {
        let (a, mut b) = (before(5), after(5));
        change(&mut b);
        let comparison = compare(std::slice::from_ref(&a), std::slice::from_ref(&b), ALPHA);
        comparison.pairs[0].unlike.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(unlike(|_| ()), "");
    assert_eq!(unlike(|b| b.environment.commit = None), "", "the change itself");
    assert_eq!(unlike(|b| b.payload_pattern = PayloadPattern::Zeros), "payload pattern: random against zeros");
    assert_eq!(unlike(|b| b.environment.server_cpus = Some(vec![0, 1])), "the server's CPUs: [0] against [0,1]");
    assert_eq!(unlike(|b| b.environment.cpu_model = None), "CPU model: Some CPU against unknown");
    assert_eq!(
        unlike(|b| b.environment.server = ServerOrigin::Attached),
        "who started the server: started against attached"
    );
    let wire = unlike(|b| {
        let wire = b.wire.as_mut().unwrap();
        wire.response_content_type = Some("application/grpc".to_owned());
        wire.request_header_names.push("user-agent".to_owned());
    });
    assert_eq!(
        wire,
        "reply content-type: application/grpc+proto against application/grpc; request headers: :method :path content-type te \
         against :method :path content-type te user-agent"
    );
}

#[test]
fn a_comparison_as_json_has_what_it_is_made_of() {
    let (a, b) = ([before(5)], [after(5)]);
    let json: serde_json::Value =
        serde_json::from_str(&report::comparison_json(&compare(&a, &b, ALPHA)).unwrap()).unwrap();
    let bytes = &json["pairs"][0]["judgements"][0];
    assert_eq!((&bytes["metric"], &bytes["verdict"]), (&"bytes_per_op".into(), &"better".into()));
    assert_eq!(bytes["a"]["values"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["pairs"][0]["cell"], "triple_128_protobuf_none_50_unary");
}
