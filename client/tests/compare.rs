//! Two runs against each other, as people read them. `UPDATE_GOLDEN=1 cargo test -p analyze --test compare` rewrites the files.

mod results;

use analyze::{
    compare::{Criteria, FalseAlarms, Floor, Noise, Smallest, Verdict, compare, wire_differences},
    measure::result::{Lifetime, RunResult, ServerOrigin, Which, WireFigures},
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
    let comparison = compare(&a, &b, &Criteria::default());
    let verdict = |key: &str| {
        let judgement = comparison.pairs[0].judgements.iter().find(|judgement| judgement.metric == key).unwrap();
        (judgement.verdict, (judgement.change.unwrap().estimate * 1e4).round() / 1e4)
    };
    assert_eq!(verdict("bytes_per_op"), (Verdict::Better, -0.0588));
    assert_eq!(verdict("allocs_per_op"), (Verdict::Better, -0.0833));
    assert_eq!(verdict("qps"), (Verdict::Worse, -0.0334));
    assert_eq!(verdict("server_cpu_us_per_op"), (Verdict::Negligible, 0.0));
    let (wide, narrow) = (Style::default(), Style { width: 80, ..Style::default() });
    assert_golden("compare_120.txt", &report::comparison(&comparison, wide));
    assert_golden("compare_80.txt", &report::comparison(&comparison, narrow));
    assert_golden("compare.md", &report::comparison_markdown(&comparison));
    assert_golden("compare.bench.txt", &report::benchstat(&comparison));
}

#[test]
fn one_round_against_one_says_how_many_it_takes() {
    let (a, b) = ([before(1)], [after(1)]);
    let text = report::comparison(&compare(&a, &b, &Criteria::default()), Style::default());
    assert!(text.contains("cannot judge") && text.contains("it takes 4 rounds on each side"), "{text}");
    assert!(!text.contains("better") && !text.contains("worse") && !text.contains("NaN"), "{text}");
}

#[test]
fn a_measurement_that_failed_is_said_to_have() {
    let (a, mut b) = ([before(5)], [after(5)]);
    b[0].failure = Some("the server ended".to_owned());
    let text = report::comparison(&compare(&a, &b, &Criteria::default()), Style::default());
    let said = "! the measurement of the second run failed, and its rounds before that are judged: the server ended";
    assert!(text.contains(said), "{text}");
}

#[test]
fn no_more_than_noise_floors_is_no_verdict() {
    let (a, b) = ([before(5)], [after(5)]);
    let floor = |metric: &str, noise_floor| Floor { metric: metric.to_owned(), noise_floor };
    let metrics = vec![floor("qps", Some(0.05)), floor("latency_p50_ms", Some(0.02)), floor("bytes_per_op", None)];
    let noise = Noise { alpha: 0.05, cells: vec!["triple".to_owned()], runs: 25, metrics };
    let criteria = Criteria { smallest: Smallest { noise: Some(noise), ..Smallest::default() }, ..Criteria::default() };
    let comparison = compare(&a, &b, &criteria);
    let verdict = |key: &str| {
        comparison.pairs[0]
            .judgements
            .iter()
            .find(|judgement| judgement.metric == key)
            .map(|judgement| judgement.verdict)
    };
    assert_eq!(verdict("qps"), Some(Verdict::Negligible), "3.3 % less");
    assert_eq!(verdict("latency_p50_ms"), Some(Verdict::Better), "2.5 % less");
    assert_eq!(verdict("bytes_per_op"), Some(Verdict::Better));
    let text = report::comparison_markdown(&comparison);
    let said = "no less than the noise floors of 25 runs of triple";
    assert!(text.contains(said), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report::comparison_json(&comparison).unwrap()).unwrap();
    assert_eq!((&json["alpha"], &json["smallest"]["counts"]), (&0.05.into(), &0.005.into()));
    assert_eq!(json["smallest"]["noise"]["runs"], 25);
}

/// A server against itself: the same results with other rounds on either side, so often that some differ by chance.
#[test]
fn false_alarms_are_counted_before_and_after_the_smallest_change() {
    let costs = |requests| Costs { requests, allocs: 6, requested: 979, usable: Some(1_088), cpu_us: 10 };
    let mut alarms = FalseAlarms::new(Criteria::default());
    for run in 0..25 {
        let requests = match run {
            // Significant, and 0.9 %.
            0 => 6_054,
            // Significant, and 2 %.
            1 => 6_120,
            _ => 6_000,
        };
        let (a, b) = ([triple("base", 5, &costs(6_000))], [triple("head", 5, &costs(requests))]);
        alarms.count(&compare(&a, &b, &Criteria::default()));
    }
    let qps = alarms.metrics.iter().find(|alarms| alarms.metric == "qps").unwrap();
    assert_eq!((qps.judged, qps.significant, qps.better, qps.worse), (25, 2, 1, 0));
    // 8 of the 252 ways to choose five of ten.
    assert!((qps.size - 8.0 / 252.0).abs() < 1e-12);
    // Of 23 zeros, 0.9 % and 2 % the 0.95-quantile lies 0.8 of the way from the last zero to the 0.9 %.
    assert!((qps.noise_floor.unwrap() - 0.0072).abs() < 1e-4, "{qps:?}");
    let floors = alarms.noise();
    assert_eq!((floors.runs, floors.cells.as_slice()), (25, &["triple_128_protobuf_none_50_unary".to_owned()][..]));
    let narrow = Style { width: 80, ..Style::default() };
    assert_golden("alarms_80.txt", &report::false_alarms(&alarms, narrow));
    // What is printed as JSON has all that --noise takes.
    let json = report::false_alarms_json(&alarms).unwrap();
    assert_eq!(serde_json::from_str::<Noise>(&json).unwrap(), floors);
}

#[test]
fn cells_that_only_one_run_has_are_named() {
    let (a, b) = (full(), full()[1..].to_vec());
    let comparison = compare(&a, &b, &Criteria::default());
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
        let comparison = compare(std::slice::from_ref(&a), std::slice::from_ref(&b), &Criteria::default());
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
fn runs_that_spoke_different_wires_are_unlike_and_how_many_frames_it_took_is_no_difference() {
    let unlike = |change: fn(&mut RunResult, &mut RunResult)| {
        let (mut a, mut b) = (before(5), after(5));
        change(&mut a, &mut b);
        let said: Vec<String> = wire_differences(&a, &b).iter().map(ToString::to_string).collect();
        let all: Vec<String> =
            compare(&[a], &[b], &Criteria::default()).pairs[0].unlike.iter().map(ToString::to_string).collect();
        assert!(said.iter().all(|difference| all.contains(difference)), "{all:?}");
        said.join("; ")
    };
    fn used(result: &mut RunResult, change: fn(&mut WireFigures)) {
        change(result.wire_use.as_mut().unwrap());
    }
    fn gzip(result: &mut RunResult) {
        result.wire.as_mut().unwrap().response_encoding = "gzip".to_owned();
        used(result, |it| it.compressed_replies = Which::All);
    }
    assert_eq!(
        unlike(|_, b| used(b, |it| {
            let http2 = it.http2.as_mut().unwrap();
            http2.sent.clear();
            http2.received.values_mut().for_each(|frames| frames.frames_per_op *= 65.0);
        })),
        ""
    );
    assert_eq!(unlike(|_, b| gzip(b)), "reply encoding: identity against gzip");
    assert_eq!(
        unlike(|_, b| used(b, |it| it.compressed_replies = Which::Some)),
        "compressed replies: none against some"
    );
    assert_eq!(
        unlike(|_, b| used(b, |it| it.http2.as_mut().unwrap().streams = Lifetime::Kept)),
        "streams: one a call against kept over calls"
    );
    assert_eq!(
        unlike(|_, b| used(b, |it| it.connections = Lifetime::PerCall)),
        "connections: kept over calls against one a call"
    );
    // What an older result doesn't tell is no difference.
    let older = |a: &mut RunResult, b: &mut RunResult| {
        a.wire_use = None;
        used(b, |it| it.http2.as_mut().unwrap().streams = Lifetime::Kept);
    };
    assert_eq!(unlike(older), "");
    let no_preflight = |a: &mut RunResult, b: &mut RunResult| {
        (a.wire_use, a.wire) = (None, None);
        gzip(b);
    };
    assert_eq!(unlike(no_preflight), "");
}

#[test]
fn a_comparison_as_json_has_what_it_is_made_of() {
    let (a, b) = ([before(5)], [after(5)]);
    let json: serde_json::Value =
        serde_json::from_str(&report::comparison_json(&compare(&a, &b, &Criteria::default())).unwrap()).unwrap();
    let bytes = &json["pairs"][0]["judgements"][0];
    assert_eq!((&bytes["metric"], &bytes["verdict"]), (&"bytes_per_op".into(), &"better".into()));
    assert_eq!(bytes["a"]["values"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["pairs"][0]["cell"], "triple_128_protobuf_none_50_unary");
}
