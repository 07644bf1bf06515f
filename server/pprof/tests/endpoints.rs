//! Every debug endpoint of a live server, its formats and its refusals.

#[allow(dead_code, reason = "each test uses a part")]
mod support;

use std::{
    error::Error,
    hint::black_box,
    net::SocketAddr,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use debug_pprof::{CountingAlloc, Jemalloc, Options};
use support::{ask, comments, decode, get, sums};

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

debug_pprof::jemalloc_conf!(c"prof:true,prof_active:true,lg_prof_sample:12,prof_accum:true,prof_unbias:false");

static SERVER: LazyLock<SocketAddr> = LazyLock::new(|| {
    let options = Options { addr: ([127, 0, 0, 1], 0).into(), allow_remote: false };
    debug_pprof::serve(options).expect("a debug server").local_addr()
});

type Outcome = Result<(), Box<dyn Error>>;

#[inline(never)]
fn spin(stop: &AtomicBool) -> u64 {
    let mut sum = 0u64;
    while !stop.load(Relaxed) {
        for n in 0..1_000 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(n));
        }
    }
    sum
}

/// Keeps a mebibyte in use.
#[inline(never)]
fn hold() -> Vec<Box<[u8; 4096]>> {
    (0..256).map(|_| Box::new([1; 4096])).collect()
}

#[test]
fn a_cpu_profile_finds_what_used_the_cpu_and_a_second_one_waits_its_turn() -> Outcome {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| spin(&stop));
        let first =
            scope.spawn(|| get(*SERVER, "/debug/pprof/profile?seconds=2&hz=200").map_err(|error| error.to_string()));
        // Until the first one has begun, this one may be taken in its place; it is too short to keep it waiting.
        let refused = (0..20).find_map(|_| {
            let answer = ask(*SERVER, "/debug/pprof/profile?seconds=0&hz=0").ok()?;
            assert_eq!(answer.status, 400, "{}", String::from_utf8_lossy(&answer.body));
            thread::sleep(Duration::from_millis(25));
            let answer = ask(*SERVER, "/debug/pprof/profile?seconds=1").ok()?;
            (answer.status == 409).then_some(answer)
        });
        let profile = first.join().expect("the request");
        stop.store(true, Relaxed);
        let refused = refused.ok_or("nobody was told that a profile is being taken")?;
        let text = String::from_utf8(refused.body)?;
        assert!(text.contains("being taken already: one of 2 s, with"), "{text}");

        let profile = decode(&profile?)?;
        let [samples, nanoseconds] = sums(&profile, "endpoints::spin")[..] else { panic!("two kinds") };
        let [all_samples, all_nanoseconds] =
            [0, 1].map(|kind| profile.sample.iter().map(|s| s.value[kind]).sum::<i64>());
        assert!(samples > 10, "{samples} samples of the spinning thread");
        assert_eq!(nanoseconds, samples * profile.period);
        // Other tests run at the same time; the thread that spins all the time has the largest part.
        assert!(samples * 4 > all_samples, "{samples} of {all_samples}");
        let cpu =
            comments(&profile).find_map(|c| c.split(" samples in ").nth(1)?.split(' ').next()?.parse::<f64>().ok());
        let cpu = cpu.ok_or("no CPU time in the comments")?;
        assert!((all_nanoseconds as f64 / 1e9 / cpu - 1.0).abs() < 0.01, "samples add up to the {cpu} s of CPU time");
        Ok(())
    })
}

#[test]
fn profiles_have_addresses_mappings_and_lines() -> Outcome {
    let held = hold();
    let profile = decode(&get(*SERVER, "/debug/pprof/heap?gc=1")?)?;
    drop(held);
    let text = |index: i64| profile.string_table[index as usize].as_str();
    let kinds: Vec<&str> = profile.sample_type.iter().map(|kind| text(kind.r#type)).collect();
    assert_eq!(kinds, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
    assert_eq!(text(profile.default_sample_type), "inuse_space");
    let in_use = sums(&profile, "endpoints::hold")[3];
    assert!((700_000..1_500_000).contains(&in_use), "{in_use} bytes in use of a mebibyte");

    let function = profile.function.iter().find(|f| text(f.name) == "endpoints::hold").ok_or("hold")?;
    assert!(text(function.filename).ends_with("tests/endpoints.rs"), "{}", text(function.filename));
    let location =
        profile.location.iter().find(|l| l.line.iter().any(|line| line.function_id == function.id)).ok_or("hold")?;
    assert!(location.line.iter().all(|line| line.line > 0), "{location:?}");
    let mapping = &profile.mapping[location.mapping_id as usize - 1];
    assert!((mapping.memory_start..mapping.memory_limit).contains(&location.address));
    assert!(text(mapping.build_id).len() >= 16 && text(mapping.filename).contains("endpoints"));
    assert!(mapping.has_functions && mapping.has_filenames && mapping.has_line_numbers && mapping.has_inline_frames);
    let allocator = profile.function.iter().filter(|f| text(f.name).starts_with("debug_pprof::alloc"));
    let used: Vec<u64> = allocator.map(|f| f.id).collect();
    let leaf =
        |sample: &echo_proto::profile::Sample| profile.location[sample.location_id[0] as usize - 1].line[0].function_id;
    assert!(profile.sample.iter().all(|sample| !used.contains(&leaf(sample))), "the allocator itself is left out");
    Ok(())
}

#[test]
fn text_profiles_end_in_mem_stats() -> Outcome {
    for path in ["/debug/pprof/allocs?debug=1", "/debug/pprof/heap?debug=1"] {
        let text = String::from_utf8(get(*SERVER, path)?)?;
        assert!(text.starts_with("heap profile: "), "{path}: {}", &text[..text.len().min(80)]);
        for field in ["# runtime.MemStats\n", "# TotalAlloc = ", "# Mallocs = ", "# HeapAlloc = "] {
            assert!(text.contains(field), "{path} lacks {field}");
        }
    }
    Ok(())
}

#[test]
fn spans_are_as_long_as_asked_for() -> Outcome {
    for path in
        ["allocs?seconds=1", "allocs?seconds=1&rate=1", "heap?seconds=1"].map(|path| format!("/debug/pprof/{path}"))
    {
        let path = &path;
        let began = Instant::now();
        let profile = decode(&get(*SERVER, path)?)?;
        assert!(began.elapsed() >= Duration::from_secs(1), "{path}");
        assert!(profile.duration_nanos >= 1_000_000_000, "{path}: {} ns", profile.duration_nanos);
    }
    Ok(())
}

#[test]
fn what_cannot_be_had_is_refused_in_a_sentence() -> Outcome {
    let refusals = [
        (501, "/debug/pprof/goroutine", "goroutines"),
        (501, "/debug/pprof/block", "block"),
        (501, "/debug/pprof/mutex", "contention"),
        (501, "/debug/pprof/trace?seconds=1", "trace"),
        (400, "/debug/pprof/profile?seconds=x", "seconds=\"x\""),
        (400, "/debug/pprof/profile?hz=5000", "1 to 1000"),
        (400, "/debug/pprof/allocs?rate=1", "needs seconds"),
        (400, "/debug/pprof/allocs?seconds=1&rate=2", "only 1"),
        (400, "/debug/pprof/flamegraph?type=stack", "cpu, allocs or heap"),
        (400, "/debug/pprof/heap?seconds=1&debug=1", "not together with debug"),
        (400, "/debug/allocations?ops=x", "ops=\"x\""),
        (400, "/debug/allocations?seconds=3601", "0 to 3600"),
        (404, "/debug/pprof/nothing", ""),
    ];
    for (status, path, part) in refusals {
        let answer = ask(*SERVER, path)?;
        let text = String::from_utf8(answer.body)?;
        assert!(answer.status == status && text.contains(part), "{path}: {} {text}", answer.status);
    }
    Ok(())
}

#[test]
fn there_is_one_log_of_allocations_at_a_time() -> Outcome {
    let first = thread::spawn(|| get(*SERVER, "/debug/allocations?seconds=2").map_err(|error| error.to_string()));
    // Whichever of the two comes first, the other is refused while it lasts.
    let second = loop {
        let second = ask(*SERVER, "/debug/allocations?seconds=1")?;
        if second.status == 409 || first.is_finished() {
            break second;
        }
    };
    let first = first.join().expect("the request");
    let refused = match &first {
        Err(error) => error.clone(),
        Ok(_) => String::from_utf8(second.body)?,
    };
    assert!(refused.contains("for somebody else already"), "{refused}");
    if let Ok(log) = first {
        let log: serde_json::Value = serde_json::from_slice(&log)?;
        assert_eq!((&log["schema_version"], &log["ended"]), (&1.into(), &"seconds".into()));
        assert!(log["duration_ns"].as_u64() > Some(2_000_000_000));
    }
    Ok(())
}

#[test]
fn the_small_endpoints_answer_as_gos() -> Outcome {
    let index = String::from_utf8(get(*SERVER, "/debug/pprof/")?)?;
    for link in ["allocs", "heap", "profile", "threadcreate", "cmdline", "flamegraph"] {
        assert!(index.contains(&format!("href=\"{link}")), "{link}");
    }
    assert!(String::from_utf8(get(*SERVER, "/debug/pprof/cmdline")?)?.contains("endpoints"));
    assert_eq!(get(*SERVER, "/debug/pprof/symbol")?, b"num_symbols: 1\n");
    assert_eq!(get(*SERVER, "/debug/pprof/symbol?0xffffffffffffffff")?, b"num_symbols: 1\n");
    let address = hold as *const () as usize;
    let symbol = String::from_utf8(get(*SERVER, &format!("/debug/pprof/symbol?{address:#x}"))?)?;
    assert!(symbol.contains(&format!("{address:#x} endpoints::hold\n")), "{symbol}");
    let threads = decode(&get(*SERVER, "/debug/pprof/threadcreate")?)?;
    assert!(threads.sample.len() >= 2);
    let vars: serde_json::Value = serde_json::from_slice(&get(*SERVER, "/debug/vars")?)?;
    assert!(vars["memstats"]["TotalAlloc"].as_u64() > Some(0));
    assert!(vars["counters"]["serving"]["requested_bytes"].as_u64() > Some(0));
    assert!(vars["counters"]["excluded"]["allocs"].as_u64() > Some(0));
    assert_eq!(vars["process"]["pid"].as_u64(), Some(u64::from(std::process::id())));
    let metrics = String::from_utf8(get(*SERVER, "/metrics")?)?;
    assert!(metrics.contains("# TYPE debug_allocations_total counter\ndebug_allocations_total{threads=\"serving\"} "));
    let stats = get(*SERVER, "/debug/jemalloc/stats?json")?;
    assert!(serde_json::from_slice::<serde_json::Value>(&stats)?["jemalloc"]["version"].is_string());
    assert!(String::from_utf8(get(*SERVER, "/debug/jemalloc/stats")?)?.contains("jemalloc statistics"));
    let svg = ask(*SERVER, "/debug/pprof/flamegraph?type=heap")?;
    assert!(svg.headers.contains("content-type: image/svg+xml") && svg.body.windows(4).any(|bytes| bytes == b"<svg"));
    assert_eq!(ask(*SERVER, "/healthz")?.status, 503);
    debug_pprof::set_ready(true);
    assert_eq!(ask(*SERVER, "/healthz")?.status, 200);
    Ok(())
}

#[test]
fn another_address_than_loopback_must_be_asked_for() {
    let addr = ([0, 0, 0, 0], 0).into();
    let error = debug_pprof::serve(Options { addr, allow_remote: false }).expect_err("refused");
    assert!(error.to_string().contains("0.0.0.0:0 is not loopback"), "{error}");
    let taken = debug_pprof::serve(Options { addr: *SERVER, allow_remote: false }).expect_err("taken");
    assert!(taken.to_string().contains(&SERVER.to_string()), "{taken}");
}
