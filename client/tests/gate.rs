//! `analyze gate`: each word, what it prints, and its exit codes. `UPDATE_GOLDEN=1 cargo test -p analyze --test gate` rewrites the
//! files.

mod results;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use analyze::{
    compare::{
        Bound, Budget, Cells, Check, Criteria, Floor, Limit, Metric, Noise, Outcome, Smallest, Tolerance, Verdict,
        compare, gate, updates,
    },
    measure::result::RunResult,
    report::{self, Style},
    store::Store,
};
use results::{Costs, attached_without_counters, full, meta, sample};
use tempfile::TempDir;

fn metric(key: &str) -> &'static Metric {
    Metric::by_key(key).expect("a metric")
}

fn limit(key: &str, bound: f64) -> Limit {
    let metric = metric(key);
    Limit { metric, bound: Bound::Value(bound), tolerance: None, hard: metric.is_hard() }
}

fn budget(framework: &str, limits: Vec<Limit>) -> Budget {
    let cells = Cells { framework: Some(framework.to_owned()), ..Cells::default() };
    Budget { cells, limits, baseline: Vec::new(), optional: false }
}

/// The only check of a limit against Triple, whose rounds have 5,880, 6,000 and 6,240 QPS, 1,024 B/op and 4 allocs/op.
fn checked(limit: Limit) -> (Outcome, f64, Option<f64>) {
    let results = full();
    let checks = gate(&[budget("triple", vec![limit])], &results, &Smallest::default(), false).expect("a budget of it");
    let [Check { outcome, tolerance, room, .. }] = checks.as_slice() else { panic!("{checks:?}") };
    let exact = |value: f64| (value * 1e6).round() / 1e6;
    (*outcome, exact(*tolerance), room.map(exact))
}

#[test]
fn without_a_tolerance_it_is_what_the_rounds_show() {
    // Half of 6,240 - 5,880.
    assert_eq!(checked(limit("qps", 6_000.0)), (Outcome::Ok, 180.0, Some(0.0)));
    assert_eq!(checked(limit("qps", 6_180.0)), (Outcome::Ok, 180.0, Some(-0.029126)));
    assert_eq!(checked(limit("qps", 6_181.0)), (Outcome::AdvisoryBreach, 180.0, Some(-0.029283)));
    // All rounds are the same: the smallest change that counts, 0.5 % or the last digit shown.
    assert_eq!(checked(limit("allocs_per_op", 3.99)), (Outcome::Ok, 0.01995, Some(-0.002506)));
    assert_eq!(checked(limit("allocs_per_op", 3.97)), (Outcome::Breach, 0.01985, Some(-0.007557)));
    assert_eq!(checked(limit("bytes_per_op", 1_018.0)), (Outcome::Breach, 5.09, Some(-0.005894)));
    assert_eq!(checked(limit("bytes_per_op", 2_048.0)), (Outcome::Ok, 10.24, Some(0.5)));
    assert_eq!(checked(limit("allocs_per_op", 0.0)), (Outcome::Breach, 0.01, None));
    // An allocation more than there were is a breach whatever the number.
    assert_eq!(checked(limit("allocs_per_op", 3.0)).0, Outcome::Breach);
}

#[test]
fn a_measured_noise_floor_is_the_tolerance() {
    let floor = |metric: &str, noise_floor| Floor { metric: metric.to_owned(), noise_floor };
    let metrics =
        vec![floor("qps", Some(0.05)), floor("server_cpu_us_per_op", Some(0.001)), floor("bytes_per_op", None)];
    let noise = Noise { alpha: 0.05, cells: Vec::new(), runs: 25, metrics };
    let smallest = Smallest { noise: Some(noise), ..Smallest::default() };
    let results = full();
    let limits = [("qps", 6_180.0), ("server_cpu_us_per_op", 10.0), ("bytes_per_op", 1_024.0)];
    let limits = limits.map(|(key, bound)| limit(key, bound)).to_vec();
    let checks = gate(&[budget("triple", limits)], &results, &smallest, false).expect("a budget of it");
    let tolerances: Vec<_> = checks.iter().map(|check| check.tolerance).collect();
    // In place of the half range of 180; no less than what counts; and where none was measured as without.
    assert_eq!(tolerances, [309.0, 0.1, 5.12]);
}

/// What compare calls negligible is no breach, and what it calls worse is one.
#[test]
fn a_gate_and_a_comparison_agree() {
    let run = |usable: u64| {
        let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(usable), cpu_us: 10 };
        let samples: Vec<_> = (1..=5).map(|round| sample(round, costs.requests, &costs)).collect();
        [RunResult::derive(meta("triple", 5), &samples)]
    };
    let base = run(1_024);
    for (usable, verdict, outcome) in [
        (1_024, Verdict::Negligible, Outcome::Ok),
        (1_029, Verdict::Negligible, Outcome::Ok),
        (1_030, Verdict::Worse, Outcome::Breach),
    ] {
        let head = run(usable);
        let comparison = compare(&base, &head, &Criteria::default());
        assert_eq!(comparison.pairs[0].judgements[0].verdict, verdict, "{usable}");
        let limits = vec![Limit { bound: Bound::Change(0.0), ..limit("bytes_per_op", 0.0) }];
        let budget = Budget { baseline: base.to_vec(), ..budget("triple", limits) };
        let checks = gate(&[budget], &head, &Smallest::default(), false).expect("a budget of it");
        assert_eq!(checks[0].outcome, outcome, "{usable}");
    }
}

#[test]
fn a_tolerance_that_is_said_counts() {
    let within = |tolerance| Limit { tolerance: Some(tolerance), ..limit("bytes_per_op", 1_000.0) };
    assert_eq!(checked(within(Tolerance::Share(0.024))).0, Outcome::Ok);
    assert_eq!(checked(within(Tolerance::Share(0.0239))).0, Outcome::Breach);
    assert_eq!(checked(within(Tolerance::Value(24.0))).0, Outcome::Ok);
    assert_eq!(checked(within(Tolerance::Value(0.0))).0, Outcome::Breach);
    let hard = |key: &str, hard| checked(Limit { hard, ..limit(key, if key == "qps" { 1e9 } else { 0.0 }) }).0;
    assert_eq!((hard("qps", true), hard("qps", false)), (Outcome::Breach, Outcome::AdvisoryBreach));
    assert_eq!(hard("allocs_per_op", false), Outcome::AdvisoryBreach);
}

#[test]
fn what_was_not_measured_is_a_breach_where_it_is_hard() {
    let results = [attached_without_counters()];
    let outcomes = |hard: bool, results: &[RunResult]| {
        let limits = ["allocs_per_op", "server_cpu_us_per_op", "qps"].map(|key| Limit { hard, ..limit(key, 1.0) });
        let checks =
            gate(&[budget("grpc", limits.to_vec())], results, &Smallest::default(), false).expect("a budget of it");
        checks.iter().map(|check| (check.outcome, check.notes.join("; "))).collect::<Vec<_>>()
    };
    let unmeasured = "not measured, which under a hard budget is a breach".to_owned();
    let ok = (Outcome::Ok, String::new());
    assert_eq!(
        outcomes(true, &results),
        [(Outcome::Breach, unmeasured.clone()), (Outcome::Breach, unmeasured.clone()), ok.clone()]
    );
    let silent = (Outcome::NotMeasured, String::new());
    assert_eq!(outcomes(false, &results), [silent.clone(), silent, ok]);
    // Rounds before a failure are not the run that was to be measured.
    let mut failed = results;
    failed[0].failure = Some("the server ended".to_owned());
    let note = format!("the measurement failed: the server ended; {unmeasured}");
    assert_eq!(outcomes(true, &failed)[2], (Outcome::Breach, note));
}

#[test]
fn a_relative_limit_is_held_against_the_baseline() {
    let results = full();
    let of = |share: f64, key: &str, baseline: Vec<RunResult>| {
        let limit = Limit { bound: Bound::Change(share), ..limit(key, 0.0) };
        gate(&[Budget { baseline, ..budget("triple", vec![limit]) }], &results, &Smallest::default(), false)
    };
    let mut baseline = full();
    baseline[0].rounds.truncate(1);
    let checks = of(0.02, "qps", baseline.clone()).expect("a baseline");
    // 2 % more than the 5,880 of its one round.
    assert_eq!((checks[0].limit, checks[0].change, checks[0].outcome), (5_997.6, Some(0.02), Outcome::Ok));
    assert!(checks[0].notes.is_empty(), "{:?}", checks[0].notes);
    baseline[0].environment.kernel = Some("Linux 5".to_owned());
    let checks = of(0.5, "qps", baseline.clone()).expect("a baseline");
    assert_eq!(checks[0].outcome, Outcome::AdvisoryBreach);
    assert_eq!(checks[0].notes, ["the baseline was measured otherwise: kernel: Linux 5 against Linux 6.1.0"]);
    let misfit = |key: &str, baseline| of(0.02, key, baseline).expect_err("no baseline")[0].problem.clone();
    assert_eq!(
        misfit("qps", baseline[1..2].to_vec()),
        "is relative, and the baseline has no triple_128_protobuf_none_50_unary: it has grpc_128_protobuf_none_50_unary"
    );
    assert!(misfit("response_p99_ms", baseline).ends_with("of the baseline hasn't its figure"));
}

#[test]
fn a_baseline_that_spoke_another_wire_is_none_unless_it_is_told_to_be() {
    let mut results = full();
    results[0].wire.as_mut().unwrap().response_encoding = "gzip".to_owned();
    let limit = Limit { bound: Bound::Change(0.02), ..limit("qps", 0.0) };
    let budget = Budget { baseline: full(), ..budget("triple", vec![limit]) };
    let checked = |force| gate(std::slice::from_ref(&budget), &results, &Smallest::default(), force);
    assert_eq!(
        checked(false).expect_err("another wire")[0].problem,
        "is relative, and triple_128_protobuf_none_50_unary of the baseline spoke another wire (--force holds it all the same): reply \
         encoding: identity against gzip"
    );
    let forced = checked(true).expect("a baseline");
    assert_eq!(forced[0].notes, ["the baseline was measured otherwise: reply encoding: identity against gzip"]);
}

#[test]
fn an_update_takes_the_worst_of_what_a_budget_is_of() {
    let results = full();
    let any = Budget {
        cells: Cells::default(),
        limits: vec![limit("allocs_per_op", 50.0), limit("qps", 1.0), limit("bytes_per_op", 23_712.0)],
        baseline: Vec::new(),
        optional: false,
    };
    let checks = gate(&[any], &results, &Smallest::default(), false).expect("a budget of all");
    let updates = updates(&checks);
    let of: Vec<_> = updates.iter().map(|u| (u.metric.key, u.to, u.is_looser(), u.cell.split_once('_'))).collect();
    let rest = "128_protobuf_none_50_unary";
    assert_eq!(
        of,
        [("allocs_per_op", 38.0, false, Some(("grpc", rest))), ("qps", 4_000.0, false, Some(("grpc", rest)))]
    );
}

/// Every word and form: two budgets of Triple, one of all.
fn checks(results: &[RunResult]) -> Vec<Check<'_>> {
    let within = |key, bound, tolerance| Limit { tolerance: Some(tolerance), ..limit(key, bound) };
    let triple = vec![
        within("bytes_per_op", 1_000.0, Tolerance::Share(0.05)),
        limit("allocs_per_op", 3.5),
        limit("qps", 7_000.0),
        Limit { hard: true, ..limit("response_p99_ms", 3.0) },
    ];
    let relative = Limit { bound: Bound::Change(-0.005), ..limit("latency_p50_ms", 0.0) };
    let relative = Budget { baseline: full(), ..budget("triple", vec![relative]) };
    let any = Budget {
        cells: Cells::default(),
        limits: vec![limit("server_cpu_us_per_op", 12.0), limit("response_p50_ms", 1.0)],
        baseline: Vec::new(),
        optional: false,
    };
    gate(&[budget("triple", triple), relative, any], results, &Smallest::default(), false).expect("budgets of these")
}

#[test]
fn the_table_and_markdown() {
    let results = full();
    let checks = checks(&results);
    results::assert_golden("gate_120.txt", &report::gate(&checks, &Smallest::default(), Style::default()));
    results::assert_golden(
        "gate_60.txt",
        &report::gate(&checks, &Smallest::default(), Style { width: 60, ..Style::default() }),
    );
    results::assert_golden("gate.md", &report::gate_markdown(&checks, &Smallest::default()));
    let colored = report::gate(&checks, &Smallest::default(), Style { color: true, ..Style::default() });
    assert!(colored.contains("\u{1b}[33madvisory breach\u{1b}[0m\n"), "{colored}");
    let json: serde_json::Value =
        serde_json::from_str(&report::gate_json(&checks, &Smallest::default()).unwrap()).unwrap();
    let first = &json["checks"][0];
    assert_eq!((&json["passed"], &json["outcomes"]["breach"]), (&false.into(), &2.into()));
    assert_eq!((&first["metric"], &first["bound"]), (&"bytes_per_op".into(), &"max".into()));
    assert_eq!((&first["limit"], &first["measured"]), (&1_000.0.into(), &1_024.0.into()));
}

/// A folder with a run `t` of Triple, gRPC and the bare echo, and budgets.
fn folder(budgets: &str) -> TempDir {
    let dir = TempDir::new().expect("a folder");
    let store = Store::open(dir.path(), "t".parse().expect("a label")).expect("folders");
    full().iter().for_each(|result| {
        store.save(result).expect("a result");
    });
    fs::write(dir.path().join("budgets.toml"), budgets).expect("budgets");
    dir
}

fn run(dir: &TempDir, flags: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_analyze"))
        .arg("gate")
        .args(flags)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .output()
        .expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

const WITHIN: &str = "\
[[budget]]
framework = \"triple\"
allocs_per_op = 4.00
qps = 1_000_000   # a machine nobody has
";

#[test]
fn only_a_hard_breach_fails() {
    let dir = folder(WITHIN);
    let (code, stdout, stderr) = run(&dir, &["t"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.ends_with("2 budgets: 1 ok, 1 advisory breach\n"), "{stdout}");

    fs::write(dir.path().join("budgets.toml"), WITHIN.replace("4.00", "3.00")).expect("budgets");
    for format in ["table", "json", "markdown"] {
        let (code, stdout, stderr) = run(&dir, &["t", "--format", format]);
        assert_eq!((code, stderr.as_str()), (Some(1), "budgets.toml: 2 budgets: 1 breach, 1 advisory breach\n"));
        assert!(stdout.contains("breach"), "{stdout}");
    }
    // A single file, from elsewhere.
    let elsewhere = TempDir::new().expect("a folder");
    let (run_file, budgets) =
        (dir.path().join("data/t/triple_128_protobuf_none_50_unary.json"), dir.path().join("budgets.toml"));
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    assert_eq!(run(&elsewhere, &[&path(&run_file), "--budgets", &path(&budgets)]).0, Some(1));
    assert_eq!(run(&elsewhere, &["t", "--budgets", &path(&budgets), "--out", &path(dir.path())]).0, Some(1));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let none = "[[budget]]\nframework = \"tripel\"\nqps = 1\n";
    let have = "the run has triple_128_protobuf_none_50_unary, grpc_128_protobuf_none_50_unary, raw_128_protobuf_none_50_unary";
    let baseline = "[[budget]]\nbaseline = \"gone\"\nqps = \"-5%\"\n";
    for (budgets, flags, said) in [
        (
            "[[budget]]\nqpss = 1\nqps = 1\n",
            &["t"][..],
            "budgets.toml:2:1: unknown key \"qpss\": must be one of ".to_owned(),
        ),
        (none, &["t"], format!("budgets.toml:1:1: the budget is of no result: {have}; optional = true lets it\n")),
        (baseline, &["t"], "budgets.toml:2:12: baseline: run gone: must be a result's file".to_owned()),
        (WITHIN, &["nope"], "run nope: must be a result's file".to_owned()),
        (WITHIN, &["t", "--budgets", "no.toml"], "--budgets no.toml: No such file".to_owned()),
    ] {
        let dir = folder(budgets);
        let (code, stdout, stderr) = run(&dir, flags);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.starts_with(&format!("error: {said}")), "{stderr}");
        assert_eq!(run(&dir, &[flags, &["--update"]].concat()).0, Some(2));
        assert_eq!(fs::read_to_string(dir.path().join("budgets.toml")).expect("budgets"), budgets);
    }
    let optional = folder(&none.replace("qps", "optional = true\nqps"));
    assert_eq!(run(&optional, &["t"]).0, Some(0));
    assert_eq!(run(&optional, &["t", "--update", "--format", "json"]).0, Some(2));
}

#[test]
fn a_baseline_is_found_from_the_file_and_an_update_leaves_it() {
    let text = "\
# Costs of every request.
[[budget]]  # Triple
baseline = \"base\"
framework = \"triple\"
bytes_per_op = { max = \"-50%\", tolerance = \"0%\" }  # half of it
allocs_per_op = 5.10  # was 7 once
qps = { min = 10_000 }
response_p50_ms = 1
";
    let dir = folder("");
    let ci = dir.path().join("ci");
    fs::create_dir_all(ci.join("base")).expect("a folder");
    let mut baseline = full().remove(0);
    let doubled = results::Costs { requests: 6_000, allocs: 4, requested: 979, usable: Some(2_048), cpu_us: 10 };
    baseline.rounds = vec![(&sample(1, 6_000, &doubled)).into()];
    let json = serde_json::to_string(&baseline).expect("a result");
    fs::write(ci.join("base/a.json"), json).expect("a result");
    fs::write(ci.join("budgets.toml"), text).expect("budgets");
    let (code, stdout, stderr) = run(&dir, &["t", "--budgets", "ci/budgets.toml"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("≤ 1,024 (−50%)"), "{stdout}");

    let (code, stdout, stderr) = run(&dir, &["t", "--budgets", "ci/budgets.toml", "--update"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let cell = "triple_128_protobuf_none_50_unary";
    assert_eq!(
        stdout,
        format!(
            "ci/budgets.toml:6: allocs_per_op 5.10 → 4.00, tighter ({cell})\n\
             ci/budgets.toml:7: qps 10_000 → 6_000, looser ({cell})\n\
             {cell}: response_p50_ms not measured, stays\n"
        )
    );
    let updated = fs::read_to_string(ci.join("budgets.toml")).expect("budgets");
    assert_eq!(updated, text.replace("5.10", "4.00").replace("10_000", "6_000"));
    fs::write(ci.join("budgets.toml"), "[[budget]]\nframework = \"triple\"\nallocs_per_op = 4\n").expect("budgets");
    let unchanged = run(&dir, &["t", "--budgets", "ci/budgets.toml", "--update"]);
    assert_eq!(unchanged, (Some(0), "ci/budgets.toml: nothing to change\n".to_owned(), String::new()));
}
