//! Plans of configs: the cells, what is left out, and what can't go on as what.

use analyze::{load::Window, scenario::PayloadPattern};

use super::{super::*, CPUS};
use crate::{cli::suite_args, config::Config};

fn plan_of(yaml: &str, flags: &[&str]) -> Result<Plan, String> {
    let args = suite_args(flags);
    let frameworks = frameworks(&args).map_err(|error| error.0)?;
    let config = Config::read("t.yaml", yaml.as_bytes(), frameworks).map_err(|error| error.to_string())?;
    Plan::of_suite(&args, config, &CPUS).map_err(|error| error.0)
}

fn plan(yaml: &str, flags: &[&str]) -> Plan {
    plan_of(yaml, flags).expect("a plan")
}

fn names(plan: &Plan) -> Vec<Vec<String>> {
    plan.groups.iter().map(|group| group.subjects.iter().map(Subject::name).collect()).collect()
}

const SMALL: &str = "\
payload_sizes: [128]
serializations: [hessian2, protobuf]
call_modes: [unary, streaming]
concurrency_levels: [5]
benchmark: {warmup_duration: 0s, test_duration: 100ms}
rounds: 1
";

#[test]
fn a_suite_is_every_combination_and_the_bare_echo_once_a_scenario() {
    let small = plan(SMALL, &[]);
    let expected = [
        vec!["128B-5 triple hessian2", "128B-5 raw"],
        vec!["128B-5 triple hessian2 streaming"],
        vec!["128B-5 triple", "128B-5 grpc"],
        vec!["128B-5 triple streaming", "128B-5 grpc streaming"],
    ];
    assert_eq!(names(&small), expected);
    let refused = &small.refused[0];
    assert_eq!(
        (refused.framework, refused.what, refused.cells, small.refused.len()),
        (Framework::Grpc, "hessian2", 2, 1)
    );
    assert!(small.subjects().all(|subject| !subject.profiled && subject.rounds == 1));
    let stems: Vec<String> = small.subjects().map(|subject| subject.file_stem(&small.label)).collect();
    assert_eq!(stems[..2], ["triple_128_hessian2_none_5_unary", "raw_128_none_none_5_unary"]);
    let names_with = |yaml: &str| names(&plan(&format!("{SMALL}{yaml}"), &[])).concat();
    assert!(!names_with("roofline: false").contains(&"128B-5 raw".to_owned()));
    let asked = names_with("roofline: false\nframeworks: [raw, triple]");
    assert_eq!(asked.iter().filter(|name| *name == "128B-5 raw").count(), 1);
}

#[test]
fn the_config_of_suite_a_is_planned_whole() {
    let yaml = include_str!("../../../../../tests/configs/suite-a.yaml");
    let plan = plan(yaml, &[]);
    // 4 payloads, 5 concurrencies, 3 compressions, 2 modes: with 3 serializations for Triple and one for gRPC.
    assert_eq!(plan.subjects().filter(|subject| subject.framework == Framework::Triple).count(), 360);
    assert_eq!(plan.subjects().filter(|subject| subject.framework == Framework::Grpc).count(), 120);
    assert_eq!(plan.subjects().filter(|subject| subject.framework == Framework::Raw).count(), 20);
    assert_eq!(plan.refused.iter().map(|refused| refused.cells).sum::<usize>(), 240);
    let mut stems: Vec<String> = plan.subjects().map(|subject| subject.file_stem(&plan.label)).collect();
    stems.sort();
    stems.dedup();
    assert_eq!(stems.len(), 500, "each cell has files of its own");
}

#[test]
fn flags_override_the_config_and_its_changes() {
    let yaml =
        format!("{SMALL}profiles: true\nlabel: before\nout: there\ncells: [{{match: {{payload: 128}}, rounds: 7}}]");
    let as_written = plan(&yaml, &[]);
    assert!(as_written.subjects().all(|subject| subject.rounds == 7));
    assert_eq!(as_written.subjects().filter(|subject| subject.profiled).count(), 6, "not of the roofline");
    assert_eq!((as_written.label.as_str(), as_written.out.to_str()), ("before", Some("there")));
    let flags =
        "--rounds 2 --duration 1s --warmup 3s --timeout 3m --framework grpc --no-profiles --label after --out here";
    let flagged = plan(&yaml, &flags.split(' ').collect::<Vec<_>>());
    assert_eq!(names(&flagged), [vec!["128B-5 grpc", "128B-5 raw"], vec!["128B-5 grpc streaming"]]);
    for subject in flagged.subjects() {
        assert_eq!((subject.rounds, subject.warmup, subject.profiled), (2, Duration::from_secs(3), false));
        assert_eq!(subject.round_length(), Duration::from_secs(1));
        assert_eq!(subject.request_timeout, Duration::from_secs(180));
    }
    assert_eq!((flagged.label.as_str(), flagged.out.to_str()), ("after", Some("here")));
}

#[test]
fn cells_can_be_skipped_and_rates_are_cells() {
    let yaml = format!(
        "{SMALL}frameworks: triple\nprofiles: true\nload: {{qps: [100, 200]}}\n\
                        cells: [{{match: {{call_mode: streaming}}, skip: true}}]"
    );
    let rates = plan(&yaml, &[]);
    let expected =
        ["128B-5 triple hessian2 100/s", "128B-5 triple hessian2 200/s", "128B-5 triple 100/s", "128B-5 triple 200/s"];
    assert_eq!(names(&rates).concat(), expected);
    assert_eq!(
        rates.notes,
        ["4 cells are skipped, as cells of the config say", "no profiles are taken at several rates"]
    );
    assert!(rates.subjects().all(|subject| !subject.profiled));
    let of_a_cell = format!("{SMALL}load: {{qps: [100, 200]}}\ncells: [{{match: {{qps: 100}}, profiles: true}}]");
    assert_eq!(plan(&of_a_cell, &[]).notes, ["no profiles are taken at several rates"]);
    assert_eq!(plan(&of_a_cell, &["--no-profiles"]).notes, [""; 0]);
}

#[test]
fn the_bare_echo_is_changed_by_what_is_about_it_and_no_other_cell() {
    let all = format!("{SMALL}frameworks: [triple, raw]\n");
    let echo = |cells: &str| {
        let plan = plan(&format!("{all}cells: [{cells}]"), &[]);
        let rounds = plan.subjects().find(|subject| subject.framework == Framework::Raw).map(|subject| subject.rounds);
        (rounds, plan.notes)
    };
    let unchanged = (Some(1), Vec::new());
    // It is measured in the group of hessian2, and is none of it.
    assert_eq!(echo("{match: {serialization: hessian2}, rounds: 7}"), unchanged);
    assert_eq!(echo("{match: {call_mode: unary}, rounds: 7}"), unchanged);
    for about_it in ["framework: raw", "payload: 128", "concurrency: 5", "framework: raw, concurrency: 5"] {
        assert_eq!(echo(&format!("{{match: {{{about_it}}}, rounds: 7}}")), (Some(7), Vec::new()), "{about_it}");
    }
    let skipped = |cells: &str| vec![format!("{cells} skipped, as cells of the config say")];
    assert_eq!(echo("{match: {framework: raw}, skip: true}"), (None, skipped("1 cell is")));
    assert_eq!(echo("{match: {serialization: hessian2}, skip: true}"), (Some(1), skipped("2 cells are")));
    assert_eq!(
        plan_of(&format!("{all}cells:\n- match: {{framework: raw, call_mode: unary}}\n  rounds: 7"), &[])
            .expect_err("no use"),
        "t.yaml:9:38: cells[0].match.call_mode: can't go with framework raw, which knows nothing of how messages are written \
         and sent"
    );
}

#[test]
fn notes_are_of_what_is_measured() {
    let ports = format!(
        "{SMALL}service: {{port: {{grpc: 1}}}}\nservers: {{triple: {{addr: \"127.0.0.1:1\"}}}}\n\
                         load: {{sleep: 1ms, connections: 9, accept_gzip: true}}"
    );
    let notes = |flags: &[&str]| plan(&ports, flags).notes;
    let idle = "load.connections 9: 5 with 5 calls in flight";
    let told = "config.yaml:9:15: load.sleep: not set on the server of servers.triple, which runs already";
    let free = "config.yaml:7:24: service.port.grpc: not used: the server that we start takes a free port";
    assert_eq!(notes(&[]), [free, told, idle]);
    assert_eq!(notes(&["--framework", "grpc"]), [free, idle]);
    let unmeasured = "config.yaml:7:24: service.port.grpc: not used: grpc is not among the frameworks measured";
    assert_eq!(notes(&["--framework", "triple"]), [unmeasured, told, idle]);
    let gzip = "config.yaml:9:49: load.accept_gzip: not used: raw alone is measured, which never compresses";
    assert_eq!(notes(&["--framework", "raw"]), [unmeasured, gzip, idle]);
}

#[test]
fn callers_are_checked_as_those_of_flags() {
    let mut config = Config::read("t.yaml", SMALL.as_bytes(), None).expect("a configuration");
    // What the reader of the file lets through.
    config.load.requests = Some(4);
    let error = Plan::of_suite(&suite_args(&[]), config, &CPUS).expect_err("too few").0;
    assert_eq!(error, "load.requests 4: fewer than the 5 calls in flight of 128B-5");
}

#[test]
fn a_result_counts_only_as_what_was_asked_for() {
    let now = plan(&format!("{SMALL}roofline: false\nframeworks: triple"), &[]);
    let subject = now.subjects().next().expect("a cell");
    let mut meta = subject.meta(&now.label, now.started, Environment::default());
    meta.rounds = 0;
    let measured = RunResult::derive(meta, &[]);
    let none = Subject { rounds: 0, ..subject.clone() };
    assert!(none.is_measured(&measured));
    assert!(PlanRecord::of(&now).took(&measured));
    assert!(!subject.is_measured(&measured), "a round is missing");
    let case = subject.case;
    for other in [
        Subject { warmup: Duration::from_secs(9), ..none.clone() },
        Subject { case: Case { connections: 2, ..case }, ..none.clone() },
        Subject { case: Case { sleep: Duration::from_millis(1), ..case }, ..none.clone() },
        Subject { case: Case { response_size: Some(1), ..case }, ..none.clone() },
        Subject { case: Case { pattern: PayloadPattern::Zeros, ..case }, ..none.clone() },
        Subject { case: Case { window: Window::lasting(Duration::from_secs(9)), ..case }, ..none.clone() },
        Subject {
            case: Case { window: Window { think: Duration::from_millis(1), ..case.window }, ..case },
            ..none.clone()
        },
    ] {
        assert!(!other.is_measured(&measured), "{other:?}");
    }
    let failed = RunResult { failure: Some("it ended".to_owned()), ..measured };
    assert!(!none.is_measured(&failed));

    // When a suite is gone on with, its cells are those of either time.
    let later = Plan { started: now.started + Duration::from_secs(1), ..now.clone() };
    let of_later = RunResult { timestamp: later.started.to_string(), ..failed.clone() };
    assert!(!PlanRecord::of(&now).took(&of_later));
    let resumed = PlanRecord::of(&later).resuming(PlanRecord::of(&now));
    assert!(resumed.took(&failed) && resumed.took(&of_later));
    assert_eq!(resumed.differences(&PlanRecord::of(&now)), [""; 0]);
}

#[test]
fn a_plan_goes_on_only_with_the_same_builds() {
    let attached = |server: &str| plan(&format!("frameworks: grpc\nservers: {{grpc: {server}}}"), &[]);
    let now = PlanRecord::of(&attached("{addr: '127.0.0.1:1', debug: 'http://127.0.0.1:2'}"));
    let mut earlier = serde_json::to_value(&now).expect("JSON");
    earlier["common"]["build"]["commit"] = "before".into();
    let earlier = serde_json::from_value(earlier).expect("a record");
    assert_eq!(now.differences(&earlier), [format!("build.commit {:?}, was \"before\"", crate::BUILD.commit)]);
    let pid = std::process::id();
    let other = PlanRecord::of(&attached(&format!("{{addr: '127.0.0.1:1', pid: {pid}}}")));
    assert_eq!(
        now.differences(&other),
        [
            "server.debug \"http://127.0.0.1:2\", was null (8 cells)".to_owned(),
            format!("server.pid null, was {pid} (8 cells)")
        ]
    );
}

#[test]
fn servers_that_run_already_are_attached_to() {
    let yaml = format!(
        "{SMALL}serializations: protobuf\nframeworks: [triple, grpc]\n\
                        servers: {{grpc: {{addr: \"127.0.0.1:1\", debug: \"http://127.0.0.1:2\"}}}}"
    );
    let yaml = yaml.replacen("serializations: [hessian2, protobuf]\n", "", 1);
    let plan = plan(&yaml, &[]);
    let attached: Vec<&Subject> = plan.subjects().filter(|subject| !subject.is_ours()).collect();
    assert!(attached.len() == 2 && attached.iter().all(|subject| subject.framework == Framework::Grpc));
}

#[test]
fn what_can_not_be_planned_is_one_line() {
    for (yaml, flags, line) in [
        (SMALL, &["--resume"][..], "--resume: goes with --label, the suite to go on with"),
        (SMALL, &["--rounds", "0"], "--rounds: \"0\": must be a whole number, 1 to 1000"),
        ("server_cpus: 9", &[], "server_cpus 9: CPU 9 may not be used: allowed are 0-3"),
        (
            "load: {requests: 100}",
            &["--duration", "1s"],
            "--duration 1 s: the config's load.requests, 100, ends rounds",
        ),
        ("load: {sleep: 2s}", &["--timeout", "2s"], "--timeout 2 s: must be more than the config's load.sleep, 2 s"),
        (
            "frameworks: grpc\nserializations: msgpack",
            &["--config", "x.yaml"],
            "--config x.yaml: no cell is left to measure",
        ),
    ] {
        assert_eq!(plan_of(yaml, flags).expect_err(line), line);
    }
}

#[test]
fn a_plan_goes_on_only_as_itself() {
    let differences = |yaml: &str, flags: &[&str]| {
        let now = PlanRecord::of(&plan(yaml, flags));
        // As it is written and read.
        let text = serde_json::to_string(&PlanRecord::of(&plan(SMALL, &[]))).expect("JSON");
        now.differences(&serde_json::from_str(&text).expect("a record"))
    };
    assert_eq!(differences(SMALL, &[]), [""; 0]);
    assert_eq!(differences(SMALL, &["--rounds", "3"]), ["rounds 3, was 1 (7 cells)"]);
    assert_eq!(differences(SMALL, &["--framework", "triple"]), ["2 cells gone, as grpc_128_protobuf_none_5_unary"]);
    assert_eq!(differences(&format!("{SMALL}server_cpus: 0"), &[])[0], "server_cpus [0], was [0,1]");
    let larger = SMALL.replace("[128]", "[128, 129]");
    assert_eq!(differences(&larger, &[]), ["7 cells new, as triple_129_hessian2_none_5_unary"]);
    let think = format!("{SMALL}load: {{think: 2ms}}");
    assert_eq!(
        differences(&think, &[]),
        ["load.think_ms 2.0, was 0.0 (6 cells)", "1 cell gone, as raw_128_none_none_5_unary"]
    );
}
