//! What a gateway adds, of results of which it is known.

mod results;

use analyze::{
    compare::differences,
    measure::result::{OverRounds, RunResult},
    report::{self, Style},
};
use results::{assert_golden, full, through_nginx};

fn close(value: Option<f64>, expected: f64) {
    assert!(
        value.is_some_and(|value| (value - expected).abs() < 1e-2 * expected.abs().max(1.0)),
        "{value:?} {expected}"
    );
}

#[test]
fn what_a_gateway_takes_is_by_all_its_processes_and_the_servers_count() {
    let [direct, via] = through_nginx();
    close(via.figures.gateway_cpu_us_per_op, 20.0);
    close(via.figures.gateway_memory_avg_mb, 10.0);
    close(via.figures.connections_per_op, 0.01);
    close(direct.figures.connections_per_op, 0.0);
    assert_eq!((direct.figures.gateway_cpu_us_per_op, direct.figures.gateway_memory_avg_mb), (None, None));
}

#[test]
fn rounds_of_the_same_number_are_set_against_each_other() {
    let [_, via] = through_nginx();
    let added = via.gateway.and_then(|gateway| gateway.added).expect("what it adds");
    assert_eq!(added.rounds, 3);
    // 1800 ÷ 5880, 3000 ÷ 6000, 3120 ÷ 6240.
    let OverRounds { value, min, max } = added.qps_ratio;
    close(value, 0.5);
    close(min, 1_800.0 / 5_880.0);
    close(max, 0.5);
    // From 1 ms on in steps of 1 µs, and from 1.5 ms on with so many calls fewer.
    close(added.service.max_ms.value, (1.5 + 3.12) - (1.0 + 6.24));
    close(added.service.max_ms.min, (1.5 + 1.8) - (1.0 + 5.88));
    close(added.service.max_ms.max, (1.5 + 3.0) - (1.0 + 6.0));
}

#[test]
fn only_the_same_server_under_the_same_load_is_its_direct_twin() {
    let [direct, via] = through_nginx();
    assert!(direct.is_direct_of(&via));
    assert!(!via.is_direct_of(&via) && !via.is_direct_of(&direct) && !direct.is_direct_of(&direct));
    let grpc = &full()[1];
    assert!(!grpc.is_direct_of(&via));
    let more = RunResult { concurrency: 51, ..direct.clone() };
    assert!(!more.is_direct_of(&via));
}

#[test]
fn a_process_whose_time_is_unknown_makes_the_sum_unknown() {
    let [_, mut via] = through_nginx();
    for round in &mut via.rounds {
        if let Some(processes) = &mut round.gateway_processes {
            processes[0].cpu_ns = None;
        }
    }
    assert!(via.figures_by_round().iter().all(|figures| figures.gateway_cpu_us_per_op.is_none()));
}

#[test]
fn shared_cpus_are_a_warning() {
    let [_, via] = through_nginx();
    let shared: Vec<&String> =
        via.warnings.iter().filter(|warning| warning.starts_with("the gateway shares")).collect();
    assert_eq!(shared.len(), 1, "{:?}", via.warnings);
    assert!(shared[0].starts_with("the gateway shares CPU 0 with the server: "), "{shared:?}");
}

#[test]
fn results_with_a_gateway_are_unlike_those_without() {
    let [direct, via] = through_nginx();
    let said: Vec<String> = differences(&direct, &via).iter().map(ToString::to_string).collect();
    assert_eq!(said, ["gateway: none against nginx 1.22.1 with 1 worker"]);
    let mut newer = via.clone();
    newer.gateway.as_mut().expect("a gateway").version = Some("1.29.0".to_owned());
    assert_eq!(differences(&via, &newer).len(), 1);
    let mut elsewhere = via.clone();
    elsewhere.gateway.as_mut().expect("a gateway").cpus = Some(vec![3]);
    let said: Vec<String> = differences(&via, &elsewhere).iter().map(ToString::to_string).collect();
    assert_eq!(said, ["the gateway's CPUs: [0] against [3]"]);
    assert!(differences(&via, &via).is_empty());
}

#[test]
fn the_report_has_both_side_by_side() {
    let results = through_nginx();
    assert_golden("through.txt", &report::through(&results, Style::default()));
    assert_eq!(report::through(&results[..1], Style::default()), "");
    let markdown = report::markdown(&results);
    assert!(markdown.contains("### Through nginx 1.22.1 with 1 worker: triple 128B-50"), "{markdown}");
}

#[test]
fn one_command_measures_both_again() {
    let results = through_nginx();
    let lines = report::repeat(&results, Some("t"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("--via nginx") && !lines[0].contains("--via-cpus"), "{lines:?}");
}
