//! Files that are read, refused and rewritten.

use analyze::compare::{Bound, METRICS, Tolerance};

use super::*;

fn read(text: &str) -> Result<Budgets, Invalid> {
    Budgets::read("b.toml".to_owned(), text.as_bytes().to_vec())
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    let invalid = read(text).expect_err(text);
    let expected: Vec<String> = expected.iter().map(|line| format!("b.toml:{line}")).collect();
    assert_eq!(invalid.to_string().lines().collect::<Vec<_>>(), expected, "{text}");
}

const GOOD: &str = r#"# What it may cost.
[[budget]]
framework = "triple"
scenario = "1024B-50"
serialization = "none"
compression = "best"
mode = "streaming"
rate = 5000
tolerance = "1%"
allocs_per_op = 5.10
bytes_per_op = { max = 1_800, tolerance = 16 }
qps = { min = 40_000, hard = true }

[[budget]]
baseline = "base"
optional = true
allocs_per_op = "+2%"
latency_p99_ms.max = "-0.5%"

[budget.qps]
min = "-5%"
tolerance = "0.5%"
"#;

#[test]
fn a_file_with_every_key() {
    let budgets = read(GOOD).expect("budgets");
    let [first, second] = budgets.given.as_slice() else { panic!("{budgets:?}") };
    let cells = &first.cells;
    assert_eq!(cells.scenario.map(|scenario| scenario.to_string()).as_deref(), Some("1KiB-50"));
    assert_eq!((cells.framework.as_deref(), cells.serialization.as_deref()), (Some("triple"), Some("none")));
    assert_eq!((cells.rate, first.optional, first.baseline.is_none()), (Some(5000.0), false, true));
    let limits = |given: &Given| -> Vec<_> {
        let limit = |limit: Limit| (limit.metric.key, limit.bound, limit.tolerance, limit.hard);
        given.limits().into_iter().map(limit).collect()
    };
    let percent = Some(Tolerance::Share(0.01));
    assert_eq!(
        limits(first),
        [
            ("bytes_per_op", Bound::Value(1_800.0), Some(Tolerance::Value(16.0)), true),
            ("allocs_per_op", Bound::Value(5.1), percent, true),
            ("qps", Bound::Value(40_000.0), percent, true),
        ]
    );
    assert_eq!(
        limits(second),
        [
            ("allocs_per_op", Bound::Change(0.02), None, true),
            ("qps", Bound::Change(-0.05), Some(Tolerance::Share(0.005)), false),
            ("latency_p99_ms", Bound::Change(-0.005), None, false),
        ]
    );
    assert_eq!(second.baseline.as_ref().map(|(path, _)| path.as_str()), Some("base"));
    assert!(second.optional && second.cells == Cells::default());
    let at = |metric| (second.mark(metric).line, second.mark(metric).column);
    assert_eq!((at(None), at(Some("allocs_per_op")), at(Some("qps"))), ((14, 1), (17, 17), (20, 1)));
}

#[test]
fn what_is_no_budgets_file() {
    refused("", &["1:1: no budget: must have one [[budget]] or more"]);
    refused("budget = 5", &["1:10: budget: must be tables, each below a line [[budget]]"]);
    refused("[budget]\nqps = 5", &["1:1: budget: must be tables, each below a line [[budget]]"]);
    refused("[[budgets]]\nqps = 5", &["1:3: unknown key \"budgets\": must be one of budget"]);
    let not_toml = read("[[budget]]\nqps = \n").expect_err("no value").to_string();
    assert!(not_toml.starts_with("b.toml:2:7: not TOML: "), "{not_toml}");
    let twice = read("[[budget]]\nqps = 1\nqps = 2\n").expect_err("twice").to_string();
    assert!(twice.starts_with("b.toml:3:1: not TOML: duplicate key"), "{twice}");
    let deep = format!("[[budget]]\nqps = {}", "[".repeat(30_000));
    assert!(read(&deep).expect_err("too deep").to_string().starts_with("b.toml:2:"));
    refused(&"#".repeat(MAX_TEXT + 1), &["1:1: more than 65536 bytes"]);
    let not_text = Budgets::read("b.toml".to_owned(), vec![0xff]).expect_err("no text");
    assert_eq!(not_text.to_string(), "b.toml:1:1: not UTF-8");
    assert_eq!(
        Budgets::open(Path::new("no/such.toml")).expect_err("no file").to_string(),
        "--budgets no/such.toml: No such file or directory (os error 2)"
    );
}

#[test]
fn wrong_keys_and_values_are_all_said_with_their_place() {
    let keys: Vec<&str> = METRICS.iter().map(|metric| metric.key).collect();
    let keys = keys.join(", ");
    refused(
        "[[budget]]\nframework = 5\nscenario = \"128B\"\ncompression = \"zip\"\nallocs = 5\n",
        &[
            &format!("1:1: limits nothing: must have one or more of {keys}"),
            "2:13: framework: 5: must be a text in quotes",
            "3:12: scenario \"128B\": size must be bytes or a number with B, KiB or MiB, 1B to 16MiB; concurrency 1 to 10000; as in \
             1MiB-100",
            "4:15: compression \"zip\": must be one of none, default, fastest, best",
            &format!(
                "5:1: unknown key \"allocs\": must be one of framework, scenario, serialization, compression, mode, rate, tolerance, \
                 baseline, optional, {keys}"
            ),
        ],
    );
    refused(
        "[[budget]]\nserialization = \"json\"\nmode = \"\"\nrate = 0\noptional = 1\ntolerance = 0.5\nqps = true\n",
        &[
            "2:17: serialization \"json\": must be one of protobuf, hessian2, msgpack, thrift, none",
            "3:8: mode: \"\": must be a text in quotes",
            "4:8: rate: 0: must be calls a second, as 5000",
            "5:12: optional: 1: must be true or false",
            "6:13: tolerance: 0.5: must be a share, as \"1%\"",
            "7:7: qps: true: must be a number, 0 or more, or relative to a baseline, as \"+2%\"",
        ],
    );
    let bound = "must be a number, 0 or more, or relative to a baseline, as \"+2%\"";
    let of_figure = |unit: &str| format!("must be a share, as \"1%\", or a number in {unit}, 0 or more");
    refused(
        "[[budget]]\nqps = { max = 5 }\nallocs_per_op = { max = -1, tolerance = \"1\" , hard = \"yes\"}\nbytes_per_op = [1]\n\
         latency_p50_ms = { max = nan, tolerance = -0.5 }\nlatency_p99_ms = \"+2%\"\n",
        &[
            "2:7: qps: min is missing",
            "2:9: qps: unknown key \"max\": must be one of min, tolerance, hard",
            &format!("3:25: max: -1: {bound}"),
            &format!("3:41: tolerance: \"1\": {}", of_figure("allocs/op")),
            "3:54: hard: \"yes\": must be true or false",
            &format!("4:16: bytes_per_op: a value of kind array: {bound}"),
            &format!("5:26: max: nan: {bound}"),
            &format!("5:43: tolerance: -0.5: {}", of_figure("ms")),
            "6:18: latency_p99_ms: \"+2%\": is relative: the budget must have a baseline",
        ],
    );
    for text in ["2%", "+2", "+x%", "-101%", "+1e2%", "+inf%", "+2000%", "", "\\u001b"] {
        let file = format!("[[budget]]\nbaseline = \"b\"\nqps = \"{text}\"\n");
        let invalid = read(&file).expect_err(text).to_string();
        assert!(invalid.starts_with("b.toml:3:7: qps: ") && invalid.ends_with(bound), "{invalid}");
        assert!(!invalid.contains('\u{1b}'), "{invalid:?}");
    }
}

#[test]
fn an_update_changes_numbers_alone() {
    let budgets = read(GOOD).expect("budgets");
    let update = |key: &str, from: f64, to: f64| {
        let metric = METRICS.iter().find(|metric| metric.key == key).expect("a metric");
        Update { budget: 0, metric, from, to, cell: "triple_1024".to_owned() }
    };
    let updates = [
        update("allocs_per_op", 5.1, 5.0),
        update("bytes_per_op", 1800.0, 1934.0),
        update("qps", 40_000.0, 1_041_000.0),
    ];
    let (text, lines) = budgets.updated(&updates);
    let expected =
        GOOD.replace("= 5.10", "= 5.00").replace("max = 1_800,", "max = 1_934,").replace("= 40_000", "= 1_041_000");
    assert_eq!(text, expected);
    assert_eq!(
        lines,
        [
            "b.toml:10: allocs_per_op 5.10 → 5.00, tighter (triple_1024)",
            "b.toml:11: bytes_per_op 1_800 → 1_934, looser (triple_1024)",
            "b.toml:12: qps 40_000 → 1_041_000, tighter (triple_1024)",
        ]
    );
    // Comments at the end of a line, odd spacing, and no figure's digits lost.
    let odd =
        "[[budget]]   # first\nlatency_p50_ms =   0.9  # ms\n  allocs_per_op = { max=5,hard = false } # e\n# end\n";
    let budgets = read(odd).expect("budgets");
    let updates = [update("latency_p50_ms", 0.9, 0.876), update("allocs_per_op", 5.0, 4.0)];
    let (text, _) = budgets.updated(&updates);
    assert_eq!(text, odd.replace("0.9", "0.876").replace("max=5", "max=4.00"));
    let windows = "\u{feff}[[budget]]\r\nqps = 5 # ö\r\n";
    let (text, _) = read(windows).expect("budgets").updated(&[update("qps", 5.0, 7.0)]);
    assert_eq!(text, windows.replace('5', "7.00"));
}
