//! Reports against golden files. `UPDATE_GOLDEN=1 cargo test -p analyze --test report` rewrites them.

mod results;

use std::path::Path;

use analyze::report::{self, Style};
use results::{assert_golden, attached_without_counters, full, no_rounds, requested_only, zero_success};

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
