//! Results against their published schema, and a store's files against both.

mod results;

use std::{path::Path, time::Duration};

use analyze::{
    load::End,
    measure::result::{
        BytesBasis, Interval, MemoryUse, PerOp, ProcessUse, RunMeta, RunResult, ServerOrigin, ServerReading,
    },
    scenario::Compression,
    store::{Artifact, Store, StoreError, load_result},
};
use jsonschema::Validator;
use results::{
    Costs, at_a_rate, attached_without_counters, full, meta, no_rounds, requested_only, sample, zero_success,
};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../result.schema.json")).expect("JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("a schema")
}

fn every_shape() -> Vec<RunResult> {
    let others = [
        requested_only(),
        zero_success(),
        attached_without_counters(),
        no_rounds(),
        at_a_rate(9_000, End::After(Duration::from_secs(1))),
    ];
    [full(), others.to_vec()].concat()
}

#[test]
fn the_schema_is_one_itself() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn results_of_every_shape_are_valid() {
    let validator = validator();
    for result in every_shape() {
        let value = serde_json::to_value(&result).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", result.framework);
    }
}

/// Each key of each object, taken away or joined by one that isn't in the schema, must make the result invalid.
#[test]
fn no_key_may_be_missing_and_none_may_be_added() {
    let validator = validator();
    let mut whole = serde_json::to_value(&full()[0]).unwrap();
    let rate = serde_json::to_value(at_a_rate(9_000, End::After(Duration::from_secs(1)))).unwrap();
    for key in ["payload_mix", "slow_calls", "rounds"] {
        // There they hold what is null here.
        whole[key] = rate[key].clone();
    }
    let mut objects = Vec::new();
    object_paths(&whole, String::new(), &mut objects);
    assert!(objects.len() > 30, "{objects:?}");
    for path in objects {
        // Maps by name: their keys are data.
        if path == "/environment/crates" || path.ends_with("/ops") {
            continue;
        }
        let keys: Vec<String> = whole.pointer(&path).unwrap().as_object().unwrap().keys().cloned().collect();
        let edited = |edit: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let mut value = whole.clone();
            edit(value.pointer_mut(&path).unwrap().as_object_mut().unwrap());
            validator.is_valid(&value)
        };
        assert!(!edited(&|object| drop(object.insert("surprise".to_owned(), json!(1)))), "{path} takes any key");
        for key in keys {
            assert!(!edited(&|object| drop(object.remove(&key))), "{path}/{key} may be missing");
        }
    }
}

fn object_paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                object_paths(value, format!("{path}/{key}"), found);
            }
            found.push(path);
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| object_paths(value, format!("{path}/{at}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_key_of_the_schema_is_described() {
    fn check(value: &Value, path: &str) {
        for (key, property) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
            assert!(property.get("description").is_some_and(Value::is_string), "{path}/{key} has no description");
            check(property, &format!("{path}/{key}"));
        }
    }
    let schema = schema();
    check(&schema, "");
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        check(definition, name);
    }
}

#[test]
fn figures_follow_from_the_rounds() {
    let [triple, grpc, raw] = &full()[..] else { panic!("three results") };
    let figures = &triple.figures;
    // Rounds of 5,880, 6,000 and 6,240 requests in a second.
    assert_eq!((figures.qps, triple.spread.qps), (Some(6_000.0), Some(0.03)));
    assert_eq!((figures.allocs_per_op, triple.spread.allocs_per_op), (Some(4.0), Some(0.0)));
    assert_eq!((figures.bytes_per_op, figures.requested_bytes_per_op), (Some(1_024.0), Some(979.0)));
    assert_eq!((figures.frees_per_op, figures.copies_per_op), (Some(4.0), Some(979.0 / 128.0)));
    assert_eq!((figures.server_cpu_us_per_op, figures.client_cpu_us_per_op), (Some(10.0), Some(9.0)));
    assert_eq!(figures.cpu_avg_percent.map(|p| (p * 1e6).round()), Some(5_454_545.0), "60 ms in 1.1 s");
    assert_eq!(
        figures.client_cpu_utilisation_percent.map(|p| (p * 1e6).round()),
        Some(4_909_091.0),
        "54 ms in 1.1 s of one CPU"
    );
    assert_eq!((triple.success_rate, triple.total_requests, triple.success_requests), (Some(100.0), 18_120, 18_120));
    assert_eq!((triple.roofline_ratio, raw.roofline_ratio), (Some(6_000.0 / 9_000.0), Some(1.0)));
    assert_eq!((triple.memory_peak_mb, triple.bytes_per_op_basis), (Some(24.0), Some(BytesBasis::Usable)));
    assert_eq!((figures.latency_min_ms, figures.latency_max_ms), (Some(1.001), Some(7.24)), "of all rounds together");
    assert_eq!((raw.figures.allocs_per_op, raw.spread.allocs_per_op), (Some(0.0), Some(0.0)));
    assert_eq!((triple.slow_calls.service.over_1ms, triple.slow_calls.service.over_10ms), (18_120, 0));
    assert_eq!((triple.slow_calls.response, triple.missed_requests), (None, None));
    assert_eq!(grpc.warnings, [""; 0]);
}

#[test]
fn what_the_processes_used_is_per_op() {
    let [triple, grpc, _] = &full()[..] else { panic!("three results") };
    let figures = &triple.figures;
    assert_eq!((figures.context_switches_per_op, figures.client_context_switches_per_op), (Some(0.25), Some(0.5)));
    assert_eq!((figures.page_faults_per_op, figures.client_page_faults_per_op), (Some(0.125), Some(0.25)));
    assert_eq!((figures.sent_bytes_per_op, figures.received_bytes_per_op), (Some(170.0), Some(165.0)));
    assert_eq!((figures.memory_avg_mb, triple.memory_peak_mb), (Some(20.0), Some(24.0)));
    assert_eq!((figures.client_memory_avg_mb, figures.client_memory_peak_mb), (Some(40.0), Some(44.0)));
    assert_eq!((figures.syscalls_per_op, figures.client_syscalls_per_op), (Some(1.5), Some(2.0)));
    assert_eq!((grpc.figures.syscalls_per_op, grpc.syscalls), (None, None), "none were counted");
}

#[test]
fn cpu_time_is_the_kernels_or_else_what_the_server_tells() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 15 };
    let mut sample = sample(1, 1_000, &costs);
    // Answering for the counters takes the server time, too.
    sample.server_process.as_mut().unwrap().cpu_ns = Some(10_000_000);
    assert_eq!(RunResult::derive(meta("triple", 1), &[sample.clone()]).figures.server_cpu_us_per_op, Some(10.0));
    sample.server_process = None;
    assert_eq!(RunResult::derive(meta("triple", 1), &[sample]).figures.server_cpu_us_per_op, Some(15.0));
}

#[test]
fn at_a_rate_both_views_and_what_was_missed_are_told() {
    let mut result = at_a_rate(9_000, End::After(Duration::from_secs(1)));
    let figures = &result.figures;
    assert_eq!((figures.latency_min_ms, figures.response_min_ms), (Some(1.001), Some(3.001)));
    assert_eq!((figures.latency_max_ms, figures.response_max_ms), (Some(10.0), Some(12.0)));
    assert_eq!(figures.response_avg_ms.map(|ms| (ms * 1e4).round()), Some(75_005.0));
    assert_eq!(result.slow_calls.response.map(|over| over.over_1ms), Some(18_000));
    assert_eq!(result.missed_requests, Some(2_000));
    assert_eq!(
        result.warnings,
        [
            "the rate was not reached: 10,000 calls/s asked for, 9,000 achieved: 2,000 calls of the schedule never started, \
             because all 50 in flight waited. They have no response time, so that the response times flatter",
        ]
    );
    result.set_roofline(Some(20_000.0));
    assert_eq!(result.roofline_ratio, None, "the rate is that of the load");
    let reached = at_a_rate(9_950, End::After(Duration::from_secs(1)));
    assert_eq!(reached.missed_requests, Some(100));
    let late = "calls started 2.0 ms late on average, with all 50 in flight waiting or the load generator busy: response times \
                hold it, service times don't";
    let missed = "100 calls of the schedule never started, because all 50 in flight waited. They have no response time, so that the \
                  response times flatter";
    assert_eq!(reached.warnings, [missed, late]);
}

#[test]
fn a_rate_is_reached_by_its_schedule_and_of_a_count_by_when_its_last_call_started() {
    let judged = |result: &RunResult| (result.achieved_rate().map(f64::round), result.reached_rate());
    assert_eq!(judged(&at_a_rate(9_900, End::After(Duration::from_secs(1)))), (Some(9_900.0), Some(true)));
    assert_eq!(judged(&at_a_rate(9_899, End::After(Duration::from_secs(1)))), (Some(9_899.0), Some(false)));
    // A fifth of a second, at whose end a tenth of the calls were in flight: their replies are no less the rate's.
    let mut short = at_a_rate(10_000, End::After(Duration::from_secs(1)));
    short.figures.qps = Some(9_000.0);
    assert_eq!(judged(&short), (Some(10_000.0), Some(true)));
    let mut counted = at_a_rate(9_800, End::Requests(9_800));
    assert_eq!(judged(&counted), (Some(10_000.0), Some(true)), "whenever the last reply came");
    assert!(!counted.warnings.iter().any(|warning| warning.contains("rate")), "{:?}", counted.warnings);
    counted.rounds.iter_mut().for_each(|round| round.last_start_ns = Some(1_224_900_000));
    assert_eq!(judged(&counted), (Some(8_000.0), Some(false)), "9,800 in 1.225 s");
    assert_eq!(full()[0].reached_rate(), None, "a closed loop has none to reach");
}

#[test]
fn copies_are_of_the_payload_that_was_sent_or_of_a_larger_reply() {
    let mix = at_a_rate(9_000, End::After(Duration::from_secs(1)));
    assert_eq!(mix.figures.copies_per_op, Some(979.0 / 320.0), "and not of the mean that was to be");
    let copies = |response_size| {
        let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
        let mut meta = meta("triple", 1);
        meta.case.response_size = response_size;
        RunResult::derive(meta, &[sample(1, 1_000, &costs)]).figures.copies_per_op
    };
    assert_eq!([Some(16), Some(512)].map(copies), [979.0 / 128.0, 979.0 / 512.0].map(Some));
}

#[test]
fn peaks_of_memory_are_those_of_all_rounds() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let samples = [40, 90, 50].map(|mib| {
        let mut sample = sample(1, 1_000, &costs);
        sample.client_process = Some(ProcessUse {
            memory: Some(MemoryUse { avg_bytes: 1 << 20, peak_bytes: mib << 20 }),
            ..ProcessUse::default()
        });
        sample
    });
    assert_eq!(RunResult::derive(meta("triple", 3), &samples).figures.client_memory_peak_mb, Some(90.0));
}

#[test]
fn what_was_asked_for_and_is_not_so_is_a_warning() {
    let warnings = |edit: &dyn Fn(&mut RunMeta)| {
        let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
        let mut meta = meta("grpc", 1);
        edit(&mut meta);
        RunResult::derive(meta, &[sample(1, 1_000, &costs)]).warnings.join("\n")
    };
    let gzip = |meta: &mut RunMeta| {
        let wire = meta.wire.as_mut().unwrap();
        (wire.request_encoding, wire.response_encoding) = ("gzip".to_owned(), "gzip".to_owned());
    };
    let compress = |meta: &mut RunMeta, how| meta.case.compression = how;
    assert_eq!(
        warnings(&|meta| compress(meta, Compression::Default)),
        "replies are not compressed, though the client offers gzip\n\
         requests are not compressed, though compression default was asked for"
    );
    assert_eq!(
        warnings(&|meta| meta.case.accept_gzip = true),
        "replies are not compressed, though the client offers gzip"
    );
    let applied = warnings(&|meta| {
        gzip(meta);
        compress(meta, Compression::Default);
    });
    assert_eq!(applied, "");
    let level = |framework, server, how| {
        warnings(&|meta| {
            gzip(meta);
            compress(meta, how);
            (meta.framework, meta.environment.server) = (String::from(framework), server);
        })
    };
    let (started, attached) = (ServerOrigin::Started, ServerOrigin::Attached);
    assert_eq!(
        level("grpc", started, Compression::Fastest),
        "replies are compressed at level 6, the only one of tonic, though --compression fastest asks for level 1"
    );
    for framework in ["grpc", "triple"] {
        assert_eq!(
            level(framework, attached, Compression::Best),
            "replies are compressed at the attached server's own level: --compression best sets that of requests only"
        );
        assert_eq!(level(framework, attached, Compression::Default), "");
    }
    assert_eq!(level("triple", started, Compression::Best), "");
    let overlap = warnings(&|meta| meta.environment.server_cpus = Some(vec![0, 1]));
    assert_eq!(overlap, "server and load generator share CPU 1: each is measured with the other in its way");
    let unknown = warnings(&|meta| meta.environment.server_cpus = None);
    assert!(unknown.contains("it is not known which CPUs the server has"), "{unknown}");
}

#[test]
fn no_success_leaves_the_cost_of_an_op_unknown() {
    let result = zero_success();
    assert_eq!((result.success_rate, result.failure_requests, result.figures.qps), (Some(0.0), 500, None));
    assert_eq!(
        (result.figures.allocs_per_op, result.figures.bytes_per_op, result.figures.latency_p99_ms),
        (None, None, None)
    );
    assert!(result.warnings.contains(&"no call succeeded".to_owned()));
    assert!(result.warnings.iter().any(|w| w.contains("no such method")), "{:?}", result.warnings);
}

#[test]
fn a_round_without_a_success_does_not_move_a_median() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let mut samples = [sample(1, 1_000, &costs), sample(2, 1_000, &costs), sample(3, 0, &costs)];
    samples[2].load.started = 5;
    samples[2].load.error = 5;
    let result = RunResult::derive(meta("triple", 3), &samples);
    assert_eq!((result.figures.qps, result.spread.qps), (Some(1_000.0), Some(0.0)));
    assert_eq!(result.figures.server_cpu_us_per_op, Some(10.0));
    assert_eq!((result.rounds.len(), result.total_requests, result.failure_requests), (3, 2_005, 5));
}

#[test]
fn without_the_servers_counters_nothing_is_made_up() {
    let result = attached_without_counters();
    let figures = result.figures;
    assert_eq!((figures.allocs_per_op, figures.bytes_per_op, figures.server_cpu_us_per_op), (None, None, None));
    assert_eq!((figures.qps, figures.client_cpu_us_per_op, figures.cpu_avg_percent), (Some(4_000.0), Some(9.0), None));
    assert_eq!((result.bytes_per_op_basis, result.wire, result.sites), (None, None, None));
    assert_eq!(result.warnings, ["the server doesn't count its allocations: B/op and allocs/op are unknown"]);
    let requested = requested_only();
    assert_eq!(
        (requested.figures.bytes_per_op, requested.bytes_per_op_basis),
        (Some(979.0), Some(BytesBasis::Requested))
    );
}

#[test]
fn no_rounds_are_a_result_all_the_same() {
    let result = no_rounds();
    assert_eq!((result.total_requests, result.success_rate, result.figures.qps), (0, None, None));
    assert_eq!(result.warnings, ["0 of 3 rounds were measured"]);
}

#[test]
fn what_disturbs_a_figure_is_a_warning() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let derived = |edit: &dyn Fn(&mut analyze::measure::result::RunSample)| {
        let mut samples = [sample(1, 1_000, &costs), sample(2, 1_000, &costs)];
        samples.iter_mut().for_each(edit);
        RunResult::derive(meta("triple", 2), &samples).warnings.join("\n")
    };
    assert_eq!(derived(&|_| {}), "");
    for (warning, expected) in [
        (derived(&|s| s.client.after.cpu_ns = Some(1_090_000_000)), "the load generator's CPUs were 99 % busy"),
        (derived(&|s| s.load.started += 3), "1003 calls started but 1000 accounted for"),
        (
            derived(&|s| {
                s.load.unfinished = 3;
                s.load.started += 3
            }),
            "6 calls were never answered",
        ),
        (derived(&|s| s.load.ok_in_window = 1_000 * u64::from(s.round)), "QPS varies by ±33 % over the rounds"),
        (derived(&|s| s.load.latency.record(61_000_000_000)), "2 calls took longer than the histogram's 60 s"),
        (
            derived(&|s| s.server.iter_mut().for_each(|i| i.after.ops = None)),
            "per-op figures use the load generator's count",
        ),
        (
            derived(&|s| {
                s.server
                    .iter_mut()
                    .flat_map(|i| &mut i.after.ops)
                    .flat_map(|o| o.values_mut())
                    .for_each(|c| c.ok += 100)
            }),
            "the server completed 1100 requests, the load generator got 1000 answers",
        ),
    ] {
        assert!(warning.contains(expected), "{expected:?} is not in {warning:?}");
    }
}

#[test]
fn a_server_that_was_restarted_has_no_figures() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let mut sample = sample(1, 1_000, &costs);
    sample.server = sample.server.map(|Interval { before, after }| Interval { before: after, after: before });
    let server = sample.server.as_ref().unwrap();
    assert_eq!((server.ops(), server.cpu_ns()), (None, None));
    assert_eq!(RunResult::derive(meta("triple", 1), &[sample]).figures.allocs_per_op, None);
}

#[test]
fn sites_that_do_not_add_up_are_a_warning() {
    let mut result = full().remove(0);
    let mut sites = result.sites.clone().unwrap();
    sites.total.allocs_per_op = 4.5;
    let counted = PerOp { bytes_per_op: sites.total.bytes_per_op, allocs_per_op: 4.5 };
    result.set_sites(sites.clone(), Some(counted));
    let rounds = "the sites add up to 4.50 allocs/op, the timed rounds, which are other requests, had 4.00: +12.5 %";
    assert_eq!(result.warnings, [rounds]);
    result.warnings.clear();
    result.set_sites(sites, Some(PerOp { allocs_per_op: 5.0, ..counted }));
    let same = "the sites add up to 4.50 allocs/op, the counters of the same requests say 5.00: -10.0 %";
    assert_eq!(result.warnings, [same, rounds]);
}

#[test]
fn a_store_writes_what_the_schema_says_and_reads_it_back() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path(), "t".parse().unwrap()).unwrap();
    let validator = validator();
    for mut result in every_shape() {
        store.keep(Artifact::CpuProfile, &mut result, b"profile").unwrap();
        store.enter(Artifact::ServerLog, &mut result);
        let path = store.save(&result).unwrap();
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert!(validator.is_valid(&value));
        assert_eq!(load_result(&path).unwrap(), result);
        let profile = path.parent().unwrap().join(result.files.cpu_profile.unwrap());
        assert_eq!(std::fs::read(profile).unwrap(), b"profile", "paths are relative to the JSON");
    }
    let names = |folder: &str| {
        let mut names: Vec<String> = std::fs::read_dir(root.path().join(folder))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let stems = ["grpc_128", "raw_128", "triple_128", "triple_128x80-1024x20"].map(|of| {
        let rate = if of.contains('x') { "_q10000" } else { "" };
        format!("{of}_protobuf_none_50_unary{rate}")
    });
    assert_eq!(names("data/t"), stems.clone().map(|s| s + ".json"), "nothing half written is left");
    assert_eq!(names("profiles/t"), stems.map(|s| s + ".cpu.pb.gz"));
}

#[test]
fn latest_leads_to_the_newest_run() {
    let root = tempfile::tempdir().unwrap();
    for label in ["a", "b"] {
        Store::open(root.path(), label.parse().unwrap()).unwrap().link_latest().unwrap();
        for folder in ["data", "profiles", "flamegraphs", "logs"] {
            assert_eq!(std::fs::read_link(root.path().join(folder).join("latest")).unwrap(), Path::new(label));
        }
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Store::open(&file, "t".parse().unwrap()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("can't write {}", file.join("data/t").display())), "{error}");

    let store = Store::open(root.path(), "t".parse().unwrap()).unwrap();
    std::fs::create_dir(root.path().join("profiles/latest")).unwrap();
    let error = store.link_latest().unwrap_err().to_string();
    assert!(error.contains("profiles/latest"), "{error}");
    assert_eq!(std::fs::read_dir(root.path().join("profiles")).unwrap().count(), 2, "no other link is left");
}

#[test]
fn what_is_no_result_is_named() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.json");
    assert!(matches!(load_result(&path), Err(StoreError::Read { .. })));
    std::fs::write(&path, "{}").unwrap();
    let error = load_result(&path).unwrap_err();
    assert!(matches!(error, StoreError::Format { .. }) && error.to_string().contains("schema_version"), "{error}");
}

/// Go and others have other counters; what they lack stays unknown.
#[test]
fn counters_of_other_runtimes_are_read_as_far_as_they_go() {
    let reading: ServerReading =
        serde_json::from_value(json!({"counters": {"allocs": 5, "usable_bytes": 640}, "ops": null, "cpu_ns": null}))
            .unwrap();
    let counters = reading.counters.unwrap();
    assert_eq!((counters.allocs, counters.usable_bytes, counters.requested_bytes), (Some(5), Some(640), None));
}
