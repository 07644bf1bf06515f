//! Whole reports of runs. `UPDATE_GOLDEN=1 cargo test -p analyze --test document` rewrites the files.

mod results;

use analyze::{
    compare::{Criteria, Smallest, compare},
    measure::result::{RunResult, ServerOrigin},
    report::{Against, Document, pull_request, repeat},
};
use results::{assert_golden, full, ramp};

/// The same figures, measured an hour before, at another commit.
fn base() -> Vec<RunResult> {
    let mut results = full();
    for result in &mut results {
        result.label = "base".to_owned();
        result.timestamp = "2026-01-31T16:05:09.5Z".to_owned();
        result.environment.commit = Some("fedcba9876543210".to_owned());
        result.environment.dirty = Some(true);
    }
    results
}

fn report(base: Option<&[RunResult]>, results: &[RunResult]) -> String {
    let comparison = base.map(|base| compare(base, results, &Criteria::default()));
    let against = base.zip(comparison.as_ref()).map(|(results, comparison)| Against { results, comparison });
    pull_request(&Document { results, against, traces: &[] })
}

#[test]
fn a_run_by_itself() {
    assert_golden("document.md", &report(None, &full()));
}

#[test]
fn a_run_against_another() {
    let text = report(Some(&base()), &full());
    assert_golden("document_against.md", &text);
    assert!(text.starts_with("## t against base\n\n- 27 figures: cannot judge 27.\n"), "verdicts first: {text}");
}

#[test]
fn a_report_is_judged_again_by_the_same_criteria() {
    let (base, results) = (base(), full());
    let smallest = Smallest { counts: 0.007, times: 0.02, noise: None };
    let comparison = compare(&base, &results, &Criteria { alpha: 0.01, smallest });
    let against = Some(Against { results: &base, comparison: &comparison });
    let text = pull_request(&Document { results: &results, against, traces: &[] });
    assert!(text.contains("analyze compare base t --alpha 0.01 --smallest counts=0.7%,times=2%\n"), "{text}");
    assert!(report(Some(&base), &results).contains("analyze compare base t\n"));
}

#[test]
fn results_of_one_run_are_called_by_their_frameworks() {
    let (triple, grpc) = (&full()[..1], &full()[1..2]);
    let text = report(Some(grpc), triple);
    assert!(text.starts_with("## triple against grpc\n"), "{text}");
    assert!(text.contains("|  | grpc | triple |"), "{text}");
    assert!(text.contains("were measured in turn") && !text.contains("began at"), "{text}");
    assert!(!text.contains("analyze compare"), "{text}");
}

#[test]
fn runs_of_ab_are_measured_again_by_it() {
    let (mut base, mut head) = (base()[..2].to_vec(), full()[..2].to_vec());
    base.iter_mut().for_each(|result| result.timestamp = "2026-01-31T17:05:08.9Z".to_owned());
    for result in base.iter_mut().chain(&mut head) {
        result.environment.server_restarted = true;
        result.roofline_ratio = None;
    }
    let text = report(Some(&base), &head);
    assert!(text.contains("- base and t were measured over the same time.\n") && !text.contains("began at"), "{text}");
    assert!(text.contains("| server | started anew for each round | the same |\n"), "{text}");
    let again = "analyze ab --base BASE --head HEAD --scenario 128B-50 --rounds 3 --duration 1s --warmup 200ms\n";
    assert!(text.contains(again) && !text.contains("--label"), "{text}");
    assert!(report(None, &head).contains(again));
}

#[test]
fn many_loads_are_a_matrix_first() {
    let at = |concurrency: u32| {
        full().into_iter().map(move |mut result| {
            result.concurrency = concurrency;
            result.scenario = format!("128B-{concurrency}");
            result
        })
    };
    let few: Vec<RunResult> = [1, 10, 50].into_iter().flat_map(at).collect();
    let many: Vec<RunResult> = [1, 10, 50, 100].into_iter().flat_map(at).collect();
    assert!(!report(None, &few).contains("### 128B payload: "));
    let text = report(None, &many);
    let (matrix, folded) = text.split_once("<details><summary>Each load by itself</summary>").unwrap();
    assert!(matrix.contains("### 128B payload: protobuf, unary\n") && folded.contains("### 128B-100: "), "{text}");
}

#[test]
fn rates_are_a_curve() {
    let mut results = ramp("triple", 15_000.0, 20_000);
    results[3].warnings.push("odd".to_owned());
    let text = report(None, &results);
    assert!(text.contains("### triple at 10 rates: ") && text.contains("\n| knee | 11,556 | "), "{text}");
    assert!(text.contains("- ⚠ triple at 7,333/s: odd\n"), "{text}");
    assert!(text.contains("--qps 1000,3111,5222,7333,9444,11556,13667,15778,17889,20000"), "{text}");
}

#[test]
fn of_servers_that_ran_already_some_flags_are_not_known() {
    let mut results = full();
    results[1].environment.server = ServerOrigin::Attached;
    let text = report(None, &results[1..2]);
    let lines = "# grpc ran already: --debug and --pid, if they were given, are not recorded\nanalyze --scenario 128B-50 \
                 --framework grpc --rounds 3 --duration 1s --warmup 200ms --addr grpc=127.0.0.1:20000\n";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn text_of_others_stays_text() {
    let mut results = full();
    results[0].label = "a'b; rm -rf ~ ```".to_owned();
    results[0].warnings = vec!["<script>alert(1)</script>\n# |x|".to_owned()];
    results[0].framework = "<b>".to_owned();
    results[0].environment.commit = Some("12\nrm".to_owned());
    let base = base();
    let text = report(Some(&base), &results[..1]);
    let (prose, commands) = text.split_once("## To measure it again").unwrap();
    let markup = ["<script", "\n# |x|", "<b>"];
    assert!(!markup.iter().any(|markup| prose.replace("\\<", "").contains(markup)), "{prose}");
    assert!(text.contains("<summary>Where &lt;b&gt; allocates</summary>"), "{text}");
    assert!(commands.contains("\n````sh\n") && commands.contains(r"--label 'a'\''b; rm -rf ~ ```'"), "{text}");
    assert!(commands.contains("\n# at 12rm\n"), "{commands}");
}

#[test]
fn the_fewest_commands_measure_all_of_it() {
    let lines = |results: &[RunResult]| repeat(results, None);
    let short = "--rounds 3 --duration 1s --warmup 200ms";
    assert_eq!(lines(&full()), [format!("analyze --scenario 128B-50 {short}")], "some of it with profiles");
    let mut two = [full(), full()].concat();
    two[3..].iter_mut().for_each(|result| result.scenario = "1MiB-100".to_owned());
    assert_eq!(lines(&two), [format!("analyze --scenario 128B-50,1MiB-100 {short}")]);
    assert_eq!(lines(&full()[1..2]), [format!("analyze --scenario 128B-50 --framework grpc {short}")]);
    two[3].payload_pattern = analyze::scenario::PayloadPattern::Zeros;
    two[5].payload_pattern = analyze::scenario::PayloadPattern::Zeros;
    assert_eq!(
        lines(&two),
        [
            format!("analyze --scenario 128B-50 {short}"),
            format!("analyze --scenario 1MiB-100 --framework triple --payload-pattern zeros {short}"),
            format!("analyze --scenario 1MiB-100 --framework grpc {short}"),
        ]
    );
}
