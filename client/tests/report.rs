//! Reports against golden files. `UPDATE_GOLDEN=1 cargo test -p analyze --test report` rewrites them.

mod results;

use std::{path::Path, time::Duration};

use analyze::{
    load::{End, Sharing},
    measure::result::{RunResult, Which},
    report::{self, Refused, Style},
};
use results::{
    assert_golden, at_a_rate, attached_without_counters, call, full, no_rounds, ramp, requested_only, zero_success,
};

const DATA_DIR: &str = "data/t";

#[test]
fn a_whole_report_at_120_columns() {
    let text = report::text(&full(), Path::new(DATA_DIR), Style::default());
    assert_golden("report_120.txt", &text);
}

#[test]
fn a_whole_report_at_80_columns() {
    let text = report::text(&full(), Path::new(DATA_DIR), Style { width: 80, ..Style::default() });
    assert_golden("report_80.txt", &text);
    let tables = text.split("Files").next().unwrap();
    for line in tables.lines() {
        assert!(line.chars().count() <= 80, "{line:?} is too long");
    }
}

#[test]
fn of_compressed_messages_the_wire_is_shown_too() {
    let mut results = full();
    for (result, encoding) in results.iter_mut().zip(["gzip", "identity"]) {
        result.compression = "default".to_owned();
        let wire = result.wire.as_mut().unwrap();
        (wire.request_encoding, wire.response_encoding) = ("gzip".to_owned(), encoding.to_owned());
    }
    let wide = report::table(&results, Style { width: 160, ..Style::default() });
    let narrow = report::table(&results, Style { width: 80, ..Style::default() });
    assert_golden("wire.txt", &format!("{wide}\n{narrow}"));
}

#[test]
fn a_matrix_says_where_frameworks_spoke_different_wires() {
    let mut results = full();
    results[0].wire.as_mut().unwrap().response_encoding = "gzip".to_owned();
    results[0].wire_use.as_mut().unwrap().compressed_replies = Which::All;
    let note = "Different wires, whose difference is in the figures: reply encoding: gzip (triple), identity (grpc).";
    let style = Style { width: 160, ..Style::default() };
    assert!(report::matrix(&results, &[], style).contains(note));
    assert!(report::matrix_markdown(&results, &[]).contains(note));
    assert!(!report::matrix(&full(), &[], style).contains("Different wires"));
}

#[test]
fn what_was_not_measured_is_said() {
    let results = [requested_only(), zero_success(), attached_without_counters(), no_rounds()];
    let text = report::text(&results, Path::new(DATA_DIR), Style::default());
    assert_golden("report_gaps.txt", &text);
}

#[test]
fn colour_only_when_asked_for() {
    let results = [zero_success()];
    let plain = report::text(&results, Path::new(DATA_DIR), Style::default());
    let coloured = report::text(&results, Path::new(DATA_DIR), Style { color: true, ..Style::default() });
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[1m") && coloured.contains("\x1b[33m"));
    let stripped =
        ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain, "colour changes nothing else");
}

#[test]
fn scenarios_have_tables_of_their_own() {
    let mut results = full();
    results[1].scenario = "1MiB-100".to_owned();
    let text = report::table(&results, Style::default());
    assert_eq!(text.matches("framework ").count(), 2);
    let (first, second) = text.split_once("1MiB-100:").unwrap();
    assert!(first.contains("\ntriple ") && first.contains("\nraw ") && !first.contains("\ngrpc "));
    assert!(second.contains("\ngrpc "));
}

#[test]
fn a_table_says_who_was_measured_in_fewer_rounds() {
    let mut results = full();
    results[0].rounds.clear();
    let head = |results: &[RunResult]| report::table(results, Style::default()).lines().next().map(str::to_owned);
    let start = "128B-50: 128B payload, 50 calls in flight, protobuf, unary; ";
    assert_eq!(head(&results), Some(format!("{start}3 rounds, triple 0")));
    results[1].rounds.truncate(1);
    assert_eq!(head(&results), Some(format!("{start}3 rounds, triple 0, grpc 1")));
    assert_eq!(head(&results[1..2]), Some(format!("{start}1 round")));
}

/// Each call has a connection of its own, whatever their number.
#[test]
fn as_many_connections_as_calls_do_not_tell_concurrencies_apart() {
    let at = |connections, concurrency, sharing| {
        let mut result = full().remove(0);
        result.concurrency = concurrency;
        result.scenario = format!("128B-{concurrency}");
        (result.load.connections, result.load.sharing) = (connections, sharing);
        result
    };
    let (pool, mux) = (Sharing::Pool, Sharing::Mux);
    let matrix = |results: &[RunResult]| report::matrix(results, &[], Style::default());
    let pooled = matrix(&[at(10, 10, pool), at(50, 50, pool), at(100, 50, pool)]);
    assert!(pooled.starts_with("128B payload: protobuf, unary, per-call connections, pool\n"), "{pooled}");
    assert_eq!(pooled.lines().filter(|line| line.starts_with("10 ") || line.starts_with("50 ")).count(), 2);
    let shared = matrix(&[at(4, 4, mux), at(4, 50, mux)]);
    assert!(shared.starts_with("128B payload: protobuf, unary, 4 connections\n"), "{shared}");
    let more = matrix(&[at(100, 10, mux), at(100, 50, mux)]);
    assert!(more.starts_with("128B payload: protobuf, unary, per-call connections\n"), "100 are not opened: {more}");
    let one = matrix(&[at(1, 1, mux), at(1, 50, mux)]);
    assert!(one.starts_with("128B payload: protobuf, unary\n"), "{one}");
    let fewer = matrix(&[at(10, 10, pool), at(10, 50, pool)]);
    assert!(fewer.contains("calls  connections ") && fewer.contains("50     10 "), "{fewer}");
}

#[test]
fn markdown_for_github() {
    assert_golden("report.md", &report::markdown(&full()));
    let mut result = zero_success();
    result.warnings = vec!["a|b *c*".to_owned()];
    assert!(report::markdown(&[result]).contains(r"triple: a\|b \*c\*"));
}

#[test]
fn csv_has_the_keys_of_the_json() {
    let text = report::csv(&[full(), vec![attached_without_counters()]].concat()).unwrap();
    assert_golden("report.csv", &text);
    let fields = text.lines().map(|line| line.split(',').count()).collect::<Vec<_>>();
    assert_eq!(fields, [fields[0]; 5]);
    assert_eq!(report::csv(&[]).unwrap(), "");
    let text = report::csv(&[full(), vec![call()]].concat()).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.contains(",my.Greeter/SayHello,") && last.split(',').count() == fields[0], "{last}");
}

#[test]
fn json_reads_back_as_it_was() {
    let results = [full(), vec![zero_success(), attached_without_counters(), no_rounds(), requested_only()]].concat();
    let back: Vec<analyze::measure::result::RunResult> =
        serde_json::from_str(&report::json(&results).unwrap()).unwrap();
    assert_eq!(back, results);
}

/// The largest figures that the published suites have, so that the widths hold for them too.
#[test]
fn large_figures_fit_into_120_columns_unfolded() {
    let mut results = full();
    for result in &mut results {
        result.figures.qps = Some(118_044.0);
        result.figures.latency_p999_ms = Some(2_400.4);
        result.figures.bytes_per_op = Some(16_777_216.0);
        result.figures.requested_bytes_per_op = Some(16_777_216.0);
        result.figures.allocs_per_op = Some(1_406.94);
        result.figures.server_cpu_us_per_op = Some(11_120.0);
    }
    let text = report::table(&results, Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(
        text.lines().any(|line| line.contains("118,044") && line.contains("16,777,216") && line.contains("1,406.94")),
        "{text}"
    );
}

/// A triple result in every cell, gRPC where it can, and the raw echo, which knows neither serialization nor compression.
fn suite() -> Vec<RunResult> {
    let mut results = Vec::new();
    for (payload, scenario) in [(128, "128B"), (1_048_576, "1MiB")] {
        for concurrency in [100, 50] {
            for (serialization, compression) in [("protobuf", "none"), ("protobuf", "best"), ("hessian2", "none")] {
                for (mut result, at) in full().into_iter().zip(0..) {
                    let serialization = if result.framework == "raw" { "none" } else { serialization };
                    if (at == 1 && serialization == "hessian2") || (at == 2 && compression != "none") {
                        continue;
                    }
                    result.payload_size = payload;
                    result.concurrency = concurrency;
                    result.scenario = format!("{scenario}-{concurrency}");
                    result.serialization = serialization.to_owned();
                    result.compression = compression.to_owned();
                    results.push(result);
                }
            }
        }
    }
    results
}

fn refused() -> Vec<Refused> {
    let refuse = |framework: &str, what: &str, reason: &str| Refused {
        framework: framework.to_owned(),
        what: what.to_owned(),
        reason: reason.to_owned(),
    };
    vec![refuse("grpc", "hessian2", "gRPC has protobuf only"), refuse("grpc", "msgpack", "gRPC has protobuf only")]
}

#[test]
fn a_suite_is_a_table_for_each_payload() {
    let at = |width| report::matrix(&suite(), &refused(), Style { width, ..Style::default() });
    for (width, name) in [(120, "matrix_120.txt"), (80, "matrix_80.txt")] {
        let text = at(width);
        assert_golden(name, &text);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    assert_golden("matrix.md", &report::matrix_markdown(&suite(), &refused()));
}

#[test]
fn a_suite_of_one_kind_has_no_columns_for_what_does_not_differ() {
    let text = report::matrix(&full(), &[], Style::default());
    assert!(text.starts_with("128B payload: protobuf, unary\n"), "{text}");
    assert_eq!(text.lines().nth(3).map(|head| head.split_whitespace().next()), Some(Some("calls")));
    assert_eq!(report::matrix(&[], &refused(), Style::default()), "");
}

#[test]
fn two_runs_in_a_matrix_stand_side_by_side() {
    let mut after = full();
    after.iter_mut().for_each(|result| result.label = "after".to_owned());
    let text = report::matrix(&[full(), after].concat(), &[], Style { width: 400, ..Style::default() });
    assert!(text.contains("triple (t)") && text.contains("raw (after)"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("50 ")).count(), 1, "{text}");
}

/// A bare echo fits every row of its concurrency; listed first it must not stand for them.
#[test]
fn a_matrix_has_every_cell_in_whatever_order_the_frameworks_come() {
    let [triple, _, raw] = <[RunResult; 3]>::try_from(full()).unwrap();
    let unary = |serialization: &str| RunResult { serialization: serialization.to_owned(), ..triple.clone() };
    let streams = |messages: u64| RunResult {
        call_mode: "streaming".to_owned(),
        messages_per_stream: Some(messages.to_string().parse().unwrap()),
        concurrency: 100,
        ..triple.clone()
    };
    let results = [raw, unary("protobuf"), unary("hessian2"), streams(1), streams(100)];
    let text = report::matrix(&results, &[], Style::default());
    for row in ["50     protobuf       unary ", "50     hessian2       unary "] {
        assert!(text.contains(row), "{text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("100 ")).count(), 2, "{text}");
}

#[test]
fn a_curve_takes_no_table_from_results_that_are_in_none() {
    let at_one_rate = RunResult { framework: "grpc".to_owned(), ..ramp("triple", 15_000.0, 20_000).remove(0) };
    let mut other = full();
    other.iter_mut().for_each(|result| result.scenario = "1MiB-50".to_owned());
    let ramp = ramp("triple", 15_000.0, 20_000);
    let text = |results: &[RunResult]| report::text(results, Path::new(DATA_DIR), Style::default());
    let all = text(&[ramp.clone(), vec![at_one_rate], other].concat());
    assert!(all.starts_with("triple at 10 rates: "), "{all}");
    for head in ["128B-50: 128B payload, 50 calls in flight, protobuf, unary, at 1,000/s; ", "1MiB-50: 1MiB payload, "]
    {
        assert_eq!(all.matches(&format!("\n\n{head}")).count(), 1, "{all}");
    }
    assert_eq!(all.matches("\nframework ").count(), 2, "those of the curve have no table: {all}");
    let twice = text(&[ramp.clone(), ramp].concat());
    assert!(!twice.contains("\nframework "), "a rate that was measured again is the curve's: {twice}");
}

#[test]
fn a_ramp_is_a_curve_with_its_knee() {
    let results = [ramp("triple", 15_000.0, 20_000), full()].concat();
    for (width, name) in [(120, "curve_120.txt"), (80, "curve_80.txt")] {
        let text = report::curve(&results, Style { width, ..Style::default() });
        assert_golden(name, &text);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    assert_eq!(report::curve(&full(), Style::default()), "", "no rates, no curve");
    assert_eq!(report::curve(&ramp("triple", 9e3, 9_000)[..1], Style::default()), "", "one rate is no curve");
}

#[test]
fn a_curve_without_a_knee_says_why() {
    let beyond = report::curve(&ramp("triple", 1e6, 20_000), Style::default());
    assert!(beyond.contains("The knee is beyond 20,000/s, the highest rate tried."), "{beyond}");
    let overrun = report::curve(&ramp("triple", 500.0, 20_000), Style::default());
    assert!(overrun.contains("No knee: the lowest rate, 1,000/s, was not reached already."), "{overrun}");
    let mut unknown = ramp("triple", 15_000.0, 20_000);
    unknown[0].figures.response_p99_ms = None;
    let unknown = report::curve(&unknown, Style::default());
    assert!(unknown.contains("No knee: there is no p99 response time at the lowest rate"), "{unknown}");
}

#[test]
fn a_rate_is_reached_when_its_calls_were_answered() {
    let missed = |qps, missed| {
        let mut results = ramp("triple", 1e6, 20_000);
        results[9].figures.qps = Some(qps);
        results[9].missed_requests = Some(missed);
        report::curve(&results, Style::default()).contains("\nmissed  ")
    };
    assert!(!missed(19_000.0, 0), "all were answered, the last of them late");
    assert!(missed(20_000.0, 4), "302 of 306");
    assert!(!missed(20_000.0, 3), "302 of 305");
}

#[test]
fn results_at_a_rate_have_the_rate_and_both_views_of_time() {
    let results = ramp("triple", 15_000.0, 20_000);
    let text = report::table(&results[..2], Style::default());
    assert!(
        text.contains("128B-50: 128B payload, 50 calls in flight, protobuf, unary, at 1,000/s; 3 rounds"),
        "{text}"
    );
    assert_eq!(text.matches("framework ").count(), 2, "a table for each rate: {text}");
    assert!(text.contains("Response time: from the moment a call was"), "{text}");
}

#[test]
fn slow_calls_are_counted_in_both_views() {
    let results = [full().remove(0), at_a_rate(9_000, End::After(Duration::from_secs(1)))];
    assert_golden("slow.txt", &report::slow(&results, Style::default()));
    assert_eq!(report::slow(&full(), Style::default()), "");
}

#[test]
fn a_suites_report_has_its_tables_and_the_folders_of_its_files() {
    let text = report::suite(&suite(), &refused(), Path::new("data/t"), Style::default());
    assert!(text.starts_with("128B payload: unary\n") && text.contains("[1] grpc hessian2:"), "{text}");
    let files = text.split("\nFiles\n").nth(1).expect("the folders");
    assert_eq!(files, "      28 in data/t\n      20 in profiles/t\n      20 in flamegraphs/t\n      20 in logs/t\n");
}

#[test]
fn what_was_sent_differently_is_not_in_one_table() {
    let mut results = full();
    results[1].serialization = "hessian2".to_owned();
    results[2].serialization = "none".to_owned();
    let text = report::table(&results, Style::default());
    assert_eq!(text.matches("framework ").count(), 2, "{text}");
    assert!(text.contains("50 calls in flight, hessian2, unary"), "{text}");
}

#[test]
fn csv_begins_with_the_columns_of_kitex_benchmark() {
    let text = report::csv(&full()).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    assert!(head.starts_with("Kind,Concurrency,Data_Size,TPS,AVG,P99,Server_CPU,Client_CPU,schema_version,"));
    let result = &full()[0];
    let row: Vec<&str> = rows.lines().next().unwrap().split(',').take(8).collect();
    assert_eq!(row[..3], ["triple", "50", "128"]);
    let number = |at: usize| row[at].parse::<f64>().ok();
    assert_eq!(
        [number(3), number(4), number(5)],
        [result.figures.qps, result.figures.latency_avg_ms, result.figures.latency_p99_ms]
    );
    // 10 and 9 µs a call of 6,000 in 1.1 s, on one CPU each.
    for (at, percent) in [(6, 6.0 / 1.1), (7, 5.4 / 1.1)] {
        assert!((number(at).unwrap() - percent).abs() < 1e-9, "{row:?}");
    }
}
