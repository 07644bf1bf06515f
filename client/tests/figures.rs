//! What follows from the rounds: figures, and the warnings about them.

mod results;

use std::time::Duration;

use analyze::{
    load::End,
    measure::result::{
        AllocCounters, BytesBasis, Interval, MemoryUse, PerOp, ProcessUse, RunMeta, RunResult, Sampling, ServerOrigin,
        ServerReading,
    },
    scenario::Compression,
};
use results::{
    Costs, at_a_rate, attached_without_counters, full, meta, no_rounds, requested_only, sample, zero_success,
};
use serde_json::json;

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

/// A health check of a server that counts those alone.
#[test]
fn a_count_of_other_methods_is_no_count_of_these_calls() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let mut sample = sample(1, 1_000, &costs);
    let counted =
        sample.server.iter_mut().flat_map(|interval| &mut interval.after.ops).flat_map(|ops| ops.values_mut());
    counted.for_each(|counts| counts.ok -= 999);
    let result = RunResult::derive(meta("triple", 1), &[sample]);
    assert_eq!((result.figures.allocs_per_op, result.figures.bytes_per_op), (Some(4.0), Some(1_024.0)));
    let warnings = result.warnings.join("\n");
    assert!(
        warnings.contains("its counters are of other calls, and per-op figures are by the load generator's"),
        "{warnings}"
    );
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
fn sampled_sites_may_be_off_by_chance() {
    let mut result = full().remove(0);
    let mut sites = result.sites.clone().unwrap();
    let counted = sites.total;
    sites.total.bytes_per_op *= 1.05;
    sites.total.allocs_per_op *= 0.9;
    let sampling = Sampling { period_bytes: 1 << 19, bytes_error: Some(0.02), allocs_error: Some(0.01) };
    sites.sampling = Some(sampling);
    result.set_sites(sites.clone(), Some(counted));
    // The bytes are within three errors; the allocations aren't, nor are they the counters' in a Go server.
    let [warning] = result.warnings.as_slice() else { panic!("{:?}", result.warnings) };
    assert!(warning.contains("allocs/op, the counters of the same requests say"), "{warning}");
    assert!(warning.contains(": -10.0 %. Go's profiler leaves out objects"), "{warning}");
    result.warnings.clear();
    sites.sampling = Some(Sampling { bytes_error: Some(0.005), allocs_error: Some(0.04), ..sampling });
    result.set_sites(sites, Some(counted));
    let [warning] = result.warnings.as_slice() else { panic!("{:?}", result.warnings) };
    assert!(warning.contains("B/op, the counters of the same requests say"), "{warning}");
}

#[test]
fn what_a_reading_allocates_is_not_the_calls() {
    let costs = Costs { requests: 1_000, allocs: 4, requested: 979, usable: Some(1_024), cpu_us: 10 };
    let with_cost = |bytes: u64| {
        let mut meta = meta("grpc", 1);
        let cost = AllocCounters { allocs: Some(50), usable_bytes: Some(bytes), ..AllocCounters::default() };
        meta.environment.reading_cost = Some(cost);
        RunResult::derive(meta, &[sample(1, 1_000, &costs)])
    };
    let result = with_cost(20_000);
    assert_eq!((result.figures.bytes_per_op, result.figures.allocs_per_op), (Some(1_004.0), Some(3.95)));
    let warning =
        "the server allocates 20,000 B to answer a reading of its counters, 2.0 % of what they say of a round";
    assert!(result.warnings.iter().any(|said| said.starts_with(warning)), "{:?}", result.warnings);
    let result = with_cost(1_000);
    assert_eq!(result.figures.bytes_per_op, Some(1_023.0));
    assert!(!result.warnings.iter().any(|said| said.contains("reading")), "{:?}", result.warnings);
}

/// A JVM counts bytes, no allocations.
#[test]
fn a_jvm_has_bytes_and_no_allocations() {
    let mut sample =
        sample(1, 1_000, &Costs { requests: 1_000, allocs: 0, requested: 0, usable: Some(512), cpu_us: 1 });
    let server = sample.server.as_mut().unwrap();
    for reading in [&mut server.before, &mut server.after] {
        let bytes = reading.counters.unwrap().usable_bytes;
        reading.counters = Some(AllocCounters { usable_bytes: bytes, ..AllocCounters::default() });
    }
    let result = RunResult::derive(meta("grpc", 1), &[sample]);
    assert_eq!((result.figures.bytes_per_op, result.figures.allocs_per_op), (Some(512.0), None));
    assert_eq!((result.figures.frees_per_op, result.bytes_per_op_basis), (None, Some(BytesBasis::Usable)));
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
