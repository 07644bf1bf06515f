//! Whose the values of profiles are: sums that can be counted by hand, and those of `go tool pprof`.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod profiles;
mod results;

use std::{
    collections::HashMap,
    num::NonZeroU64,
    path::{Path, PathBuf},
    process::Command,
};

use analyze::{
    profile::{
        self, Amounts, Attribution, BUILTIN_LAYERS, By, Filter, Layers, Profile, attribute, covered_ops, sites, top,
    },
    report::{self, Attributed, Basis, Style},
};
use profiles::{Builder, go_top, golden_profile};
use regex::Regex;
use results::assert_golden;

const ALL: [By; 8] = [
    By::Function { split: false },
    By::Function { split: true },
    By::Line { split: false },
    By::Line { split: true },
    By::Crate,
    By::Layer,
    By::Type { split: false },
    By::Type { split: true },
];
const FUNCTION: By = By::Function { split: false };
const TYPE: By = By::Type { split: false };

const H2: &str = "/r/h2-0.4.20/src/server.rs";
const VEC: &str = "/rustc/0/library/alloc/src/vec/mod.rs";
const ALLOC: &str = "/rustc/0/library/alloc/src/alloc.rs";

/// Ten ops of a server: what each sample is, leaf first.
fn server() -> Profile {
    let mut builder = Builder::new(&[("alloc_objects", "count"), ("alloc_space", "bytes")]);
    let main = ("echo_server::main", "server/src/main.rs", 5);
    let poll = ("<tokio::task::Core<T> as core::future::Future>::poll", "/r/tokio-1.54.1/src/task.rs", 9);
    let decode = |name| (name, H2, 7);
    let read = ("<tonic::codec::decode::Streaming<M> as core::Stream>::poll", "/r/tonic-0.14.9/src/codec/decode.rs", 3);
    builder
        // Two instances of one function.
        .sample(
            &[
                &[("alloc::alloc::alloc", ALLOC, 1)],
                &[("<alloc::raw_vec::RawVec<u8>>::grow_one", VEC, 2), decode("h2::frame::load::<h2::Head<u8>>")],
                &[poll],
                &[main],
            ],
            &[10, 1_000],
        )
        .sample(
            &[
                &[("alloc::alloc::alloc", ALLOC, 1)],
                &[("alloc::vec::Vec<T,A>::push", VEC, 3), decode("h2::frame::load::<h2::Head<u16>>")],
                &[poll],
                &[main],
            ],
            &[20, 600],
        )
        // A function that is in the stack twice counts once.
        .sample(
            &[
                &[("alloc::alloc::alloc", ALLOC, 1), ("<alloc::boxed::Box<tonic::Status>>::new", ALLOC, 4)],
                &[read],
                &[read],
                &[main],
            ],
            &[5, 300],
        )
        .sample(&[&[("<[u8; 2] as core::default::Default>::default", "", 0)], &[main]], &[1, 60])
        .sample(&[&[("alloc::alloc::alloc", ALLOC, 1)]], &[1, 30])
        .sample(&[], &[3, 10]);
    builder.decoded().unwrap()
}

fn layers() -> Layers {
    Layers::parse(BUILTIN_LAYERS).unwrap()
}

/// A profile's bytes, attributed; of another profile its default type.
fn attributed(profile: &Profile, by: By) -> Attribution {
    let space = profile.type_index(Some("alloc_space")).or_else(|_| profile.type_index(None)).unwrap();
    attribute(profile, space, by, &layers())
}

/// Name, flat and cumulative bytes of each row.
fn rows(table: &Attribution) -> Vec<(&str, i128, i128)> {
    table.rows.iter().map(|row| (&*row.name, row.flat[0], row.cum[0])).collect()
}

#[test]
fn functions_have_what_they_asked_for_and_what_they_called() {
    let profile = server();
    let table = attributed(&profile, FUNCTION);
    assert_eq!(table.total, [2_000, 40]);
    assert_eq!(
        rows(&table)[..6],
        [
            ("h2::frame::load", 1_600, 1_600),
            ("tonic::codec::decode::Streaming::poll", 300, 300),
            ("echo_server::main", 60, 1_960),
            ("alloc::alloc::alloc", 30, 1_930),
            ("<no stack>", 10, 0),
            ("tokio::task::Core::poll", 0, 1_600),
        ]
    );
    assert!(table.rows[0].is_folded && table.rows.iter().skip(1).all(|row| !row.is_folded));
    let split = attributed(&profile, By::Function { split: true });
    assert_eq!(
        rows(&split)[..2],
        [("h2::frame::load::<h2::Head<u8>>", 1_000, 1_000), ("h2::frame::load::<h2::Head<u16>>", 600, 600)]
    );
    let default = split.rows.iter().find(|row| row.name.contains("default")).unwrap();
    assert_eq!((&*default.name, default.cum), ("<[u8; 2] as core::default::Default>::default", [60, 1]));
}

#[test]
fn crates_layers_and_types_of_a_server() {
    let profile = server();
    let flat = |by| -> Vec<(String, i128)> {
        let rows = attributed(&profile, by).rows.into_iter();
        rows.map(|row| (row.name, row.flat[0])).filter(|(_, bytes)| *bytes != 0).collect()
    };
    let named = |rows: &[(&str, i128)]| -> Vec<(String, i128)> {
        rows.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect()
    };
    let crates = named(&[("h2", 1_600), ("tonic", 300), ("echo_server", 60), ("alloc", 30), ("<no stack>", 10)]);
    assert_eq!(flat(By::Crate), crates);
    assert_eq!(flat(By::Layer), named(&[("application", 60), ("codec", 300), ("HTTP/2", 1_600), ("std", 40)]));
    assert_eq!(flat(TYPE), named(&[("[u8]", 1_000), ("<unknown>", 700), ("tonic::Status", 300)]));
    let core = attributed(&profile, By::Crate).rows.into_iter().find(|row| row.name == "core").unwrap();
    assert_eq!((core.flat[0], core.cum[0]), (0, 60), "of <[u8; 2] as Default>::default");
}

#[test]
fn lines_have_places() {
    let table = attributed(&server(), By::Line { split: false });
    let first = &table.rows[0];
    assert_eq!(
        (first.place.as_deref(), first.flat, first.cum),
        (Some("h2-0.4.20/src/server.rs:7"), [1_600, 30], [1_600, 30])
    );
}

fn real_profiles() -> Vec<(PathBuf, &'static str)> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiles/reference");
    let ours = |kind: &str| reference.join(format!("triple_128_protobuf_none_50_unary.{kind}.pb.gz"));
    vec![
        (ours("allocs"), "alloc_space"),
        (ours("allocs"), "requested_space"),
        (ours("cpu"), "cpu"),
        (ours("heap"), "inuse_space"),
        (golden_profile("go_cpu.pb.gz"), "cpu"),
        (golden_profile("go_allocs.pb.gz"), "alloc_objects"),
        (golden_profile("go_heap.pb.gz"), "alloc_space"),
    ]
}

#[test]
fn every_table_adds_up_to_its_profile() {
    let filters = [(None, None), (Some("h2|flate"), Some("hyper|json")), (Some("nothing at all"), None)];
    for (path, kind) in real_profiles() {
        let profile = profile::load(&path).unwrap();
        let at = profile.type_index(Some(kind)).unwrap();
        for (focus, ignore) in filters {
            let regex = |text: Option<&str>| text.map(|text| Regex::new(text).unwrap());
            let part = Filter { focus: regex(focus), ignore: regex(ignore) }.apply(&profile);
            for by in ALL {
                let table = attribute(&part, at, by, &layers());
                let sum =
                    table.rows.iter().fold(Amounts::default(), |sum, row| [sum[0] + row.flat[0], sum[1] + row.flat[1]]);
                assert_eq!((sum, table.total[0]), (table.total, part.total(at)), "{} {kind} {by:?}", path.display());
                assert!(
                    table
                        .rows
                        .iter()
                        .all(|row| row.cum[0] >= row.flat[0] || ["<no stack>", "std"].contains(&&*row.name))
                );
            }
        }
    }
}

#[test]
fn the_layers_of_a_real_server_leave_nothing_over() {
    for (path, kind) in real_profiles().into_iter().filter(|(_, kind)| ["alloc_space", "cpu"].contains(kind)) {
        let profile = profile::load(&path).unwrap();
        let table = attribute(&profile, profile.type_index(Some(kind)).unwrap(), By::Layer, &layers());
        assert!(table.rows.iter().all(|row| row.name != "other"), "{}: {:?}", path.display(), table.rows);
    }
}

#[test]
fn layers_of_ones_own_take_the_place_of_those_built_in() {
    let layers = Layers::parse("mine: echo_server # and theirs\ntheirs: h2 tonic\nstd: alloc core").unwrap();
    let profile = server();
    let table = attribute(&profile, 1, By::Layer, &layers);
    assert_eq!(
        rows(&table).iter().map(|row| (row.0, row.1)).collect::<Vec<_>>(),
        [("mine", 60), ("theirs", 1_900), ("std", 40)]
    );
}

#[test]
fn a_focus_is_that_of_go_tool_pprof() {
    for (name, focus, ignore) in [
        ("focus", Some("flate"), None),
        ("ignore", None, Some("json|reflect")),
        ("both", Some("compress/"), Some("huffman")),
    ] {
        let (path, kind) = (golden_profile("go_cpu.pb.gz"), "cpu");
        let golden = golden_profile(&format!("go_cpu.cpu.{name}.top.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let flags: Vec<String> = [("focus", focus), ("ignore", ignore)]
                .into_iter()
                .filter_map(|(flag, text)| Some(format!("-{flag}={}", text?)))
                .collect();
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            std::fs::write(&golden, go_top(&path, kind, &flags)).unwrap();
        }
        let profile = profile::load(&path).unwrap();
        let regex = |text: Option<&str>| text.map(|text| Regex::new(text).unwrap());
        let filter = Filter { focus: regex(focus), ignore: regex(ignore) };
        let table = top(&profile, &filter, profile.type_index(Some(kind)).unwrap(), None);
        assert_eq!(report::top(&table), std::fs::read_to_string(&golden).unwrap());
    }
}

#[test]
fn cumulative_values_are_those_of_go_tool_pprof() {
    let profile = profile::load(&golden_profile("go_allocs.pb.gz")).unwrap();
    let objects = profile.type_index(Some("alloc_objects")).unwrap();
    let table = attribute(&profile, objects, By::Function { split: true }, &layers());
    let ours: HashMap<&str, i128> = table.rows.iter().map(|row| (&*row.name, row.cum[0])).collect();
    let golden = std::fs::read_to_string(golden_profile("go_allocs.alloc_objects.top.txt")).unwrap();
    let rows: Vec<Vec<&str>> = golden.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = rows.iter().position(|row| row.first() == Some(&"flat")).unwrap();
    assert!(rows.len() > head + 10);
    for row in &rows[head + 1..] {
        assert_eq!(ours.get(row[5]).map(i128::to_string).as_deref(), Some(row[3]), "{row:?}");
    }
}

#[test]
fn the_ops_of_a_profile_are_those_its_sites_were_divided_by() {
    let profile = profile::load(&real_profiles()[0].0).unwrap();
    for ops in [1, 7, 303_268, 1_000_003] {
        let ops = NonZeroU64::new(ops).unwrap();
        let table = sites(&profile, ops, 5).unwrap();
        assert_eq!(covered_ops(&profile, &table), Some(ops));
        let mut another = table.clone();
        another.total.allocs_per_op *= 1.01;
        assert_eq!(covered_ops(&profile, &another), None);
    }
    let nothing = Builder::new(&[("alloc_objects", "count"), ("alloc_space", "bytes")]).decoded().unwrap();
    assert_eq!(covered_ops(&nothing, &sites(&nothing, NonZeroU64::MIN, 5).unwrap()), None);
}

/// All tables that a person may see of one profile, in a terminal so wide.
fn shown(width: usize) -> String {
    let profile = server();
    let cpu = profile::load(&real_profiles()[2].0).unwrap();
    let style = Style { width, color: false };
    let show = |profile: &Profile, by: By, basis: Basis<'_>, part: Option<&str>| {
        let table = attributed(profile, by);
        let whole = if profile.types().len() == 2 && part.is_none() { table.total } else { [4_000, 80] };
        let what = Attributed { subject: "triple 128B-50, unary", table: &table, whole, basis, part, is_below: false };
        report::attribution(what, Some(6), style)
    };
    [
        show(&profile, FUNCTION, Basis::Ops(10), None),
        show(&profile, By::Line { split: false }, Basis::Ops(10), Some("focus=h2")),
        show(&profile, By::Layer, Basis::Ops(10), None),
        show(&profile, TYPE, Basis::Total(Some("why")), None),
        show(&cpu, FUNCTION, Basis::CpuPerOp(18.9), None),
        show(&cpu, By::Layer, Basis::Total(None), None),
    ]
    .join("\n")
}

#[test]
fn tables_fit_the_terminal() {
    for width in [80, 120] {
        let text = shown(width);
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= width, "{widest}");
        assert_golden(&format!("attribution_{width}.txt"), &text);
    }
}

/// A run with a result that has the reference profiles, over so many ops, and one that has none.
fn saved_run(ops: u64) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data/t");
    std::fs::create_dir_all(&folder).unwrap();
    let [mut triple, _, raw]: [_; 3] = results::full().try_into().unwrap();
    let path = |at: usize| real_profiles()[at].0.to_str().map(str::to_owned);
    (triple.files.allocs_profile, triple.files.cpu_profile) = (path(0), path(2));
    let profile = profile::load(&real_profiles()[0].0).unwrap();
    triple.set_sites(sites(&profile, NonZeroU64::new(ops).unwrap(), 3).unwrap(), None);
    for result in [triple, raw] {
        std::fs::write(folder.join(result.file_name()), serde_json::to_vec(&result).unwrap()).unwrap();
    }
    root
}

/// What the program prints, and its exit code.
fn analyze_top(args: &[&str], folder: &Path) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_analyze"));
    let output = command.arg("top").args(args).current_dir(folder).env("COLUMNS", "120").output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

#[test]
fn a_run_is_told_per_op() {
    let root = saved_run(303_268);
    let (text, code) = analyze_top(&["t", "-n", "3"], root.path());
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "  768    1.00    43%  1,659    3.06    93%  hyper::proto::h2::server::Serving::poll_server",
        "1,779    5.06   100%                        (all)",
        "  Per op, over the 303,268 ops that the profile covers.",
        "1,476    3.02    83%  HTTP/2         hyper, h2, http",
        "1,779    5.06   100%  (all)",
        "No allocation profile: raw 128B-50, protobuf",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let file = root.path().join("data/t").join(results::full()[0].file_name());
    let (of_file, code) = analyze_top(&[file.to_str().unwrap(), "-n", "3"], Path::new("."));
    assert!(code == Some(0) && text.starts_with(&of_file), "{of_file}");
    let out = root.path().to_str().unwrap();
    assert_eq!(analyze_top(&["t", "--out", out, "-n", "3"], Path::new(".")), (text, code));
    let (text, code) = analyze_top(&["t", "--type", "cpu", "--by", "layer"], root.path());
    assert!(code == Some(0) && text.contains("   10   100%  (all)\n") && !text.contains(" by function"), "{text}");
}

#[test]
fn where_ops_are_not_known_totals_are_printed() {
    let root = saved_run(303_268);
    let file = root.path().join("data/t").join(results::full()[0].file_name());
    let mut result: analyze::measure::result::RunResult =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    result.sites = None;
    result.figures.server_cpu_us_per_op = None;
    std::fs::write(&file, serde_json::to_vec(&result).unwrap()).unwrap();
    for (args, total, why) in [
        (&["t"][..], "539,642,272  1,535,103   100%", "  Totals of the profile, not per op: it is sampled or cut, "),
        (&["t", "--type", "cpu"], "4,826   100%", "  Totals of the profile, not per op: the server's CPU time "),
    ] {
        let (text, code) = analyze_top(args, root.path());
        assert!(code == Some(0) && text.contains(total) && text.contains(why), "{text}");
    }
}

#[test]
fn what_cannot_be_told_is_said() {
    let root = saved_run(1);
    std::fs::write(root.path().join("map"), "codec prost").unwrap();
    for (args, error) in [
        (
            &["none"][..],
            "error: none: must be a profile, a result's file, a folder of results, or a label that is a folder in ./data\n",
        ),
        (&["t", "--by", "type"], "error: --by type: no stack of the profile names what it allocates; "),
        (&["t", "--by", "type", "--type", "cpu"], "error: --by type: cpu is no memory; "),
        (&["t", "--focus", "a("], "error: invalid value 'a(' for '--focus <REGEX>': "),
        (&["t", "--layers", "map"], "error: --layers map: line 1: \"codec prost\": must be "),
        (&["t", "--layers", "none"], "error: --layers none: "),
        (&["t", "--type", "inuse_space"], "error: --type inuse_space: "),
    ] {
        let (text, code) = analyze_top(args, root.path());
        assert!(code == Some(2) && text.starts_with(error), "{args:?}: {code:?} {text}");
    }
}
