//! Known numbers of allocations of known sizes, on several threads, some of which end, while the debug endpoints are read
//! all the time: the counters, the census and the log of allocations must equal the truth exactly.
//!
//! A process of its own with one test, and no test harness: the harness' threads would allocate too.

#[allow(dead_code, reason = "each test uses a part")]
mod support;

use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc},
    collections::HashMap,
    error::Error,
    hint::black_box,
    net::SocketAddr,
    ptr,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use debug_pprof::{
    CountingAlloc, Counts, Jemalloc, Options, exclude_current_thread,
    ops::{self, Method},
    serving_counts,
};
use echo_proto::profile::Profile;
use serde_json::{Value, json};
use support::{comments, decode, get, sums};

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

/// What one round of [`work`] does, by hand: three sizes with their jemalloc classes, and a realloc from 100 to 5,000
/// bytes. Small classes are four a doubling; since jemalloc 5.3.1 large ones are whole pages.
const ROUND: [(usize, usize); 3] = [(24, 32), (100, 112), (70_000, 73_728)];
const REALLOC: (usize, usize) = (5_000, 5_120);
const ROUNDS: u64 = 2_000;
const THREADS: u64 = 4;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).expect("a valid layout")
}

#[inline(never)]
fn work() {
    for _ in 0..ROUNDS {
        // SAFETY: every block is given back with the layout it has, and none is used after.
        unsafe {
            let small = black_box(alloc(layout(ROUND[0].0)));
            let zeroed = black_box(alloc_zeroed(layout(ROUND[1].0)));
            assert!((0..ROUND[1].0).all(|index| *zeroed.add(index) == 0));
            let large = black_box(alloc(layout(ROUND[2].0)));
            for (block, (_, class)) in [small, zeroed, large].into_iter().zip(ROUND) {
                assert_eq!(tikv_jemalloc_sys::malloc_usable_size(block.cast()), class);
            }
            let grown = black_box(realloc(zeroed, layout(ROUND[1].0), REALLOC.0));
            dealloc(small, layout(ROUND[0].0));
            dealloc(large, layout(ROUND[2].0));
            dealloc(grown, layout(REALLOC.0));
        }
    }
}

/// What `threads` threads' work comes to.
fn truth(threads: u64) -> Counts {
    let rounds = threads * ROUNDS;
    let requested: usize = ROUND.iter().map(|(asked, _)| asked).sum::<usize>() + REALLOC.0;
    let usable: usize = ROUND.iter().map(|(_, class)| class).sum::<usize>() + REALLOC.1;
    Counts {
        allocs: 2 * rounds,
        zeroed_allocs: rounds,
        reallocs: rounds,
        frees: 4 * rounds,
        requested_bytes: rounds * requested as u64,
        usable_bytes: Some(rounds * usable as u64),
    }
}

/// Has [`THREADS`] threads do [`work`] within a census of so many seconds. Returns what the counters gained, and the census;
/// nothing where the work took longer than the census.
fn run_threads(addr: SocketAddr, seconds: u64) -> Result<Option<(Counts, Profile)>, Box<dyn Error>> {
    let (ready, go, done, finish) = (Barrier::new(5), Barrier::new(5), Barrier::new(5), Barrier::new(3));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (ready, go, done, finish) = (&ready, &go, &done, &finish);
            scope.spawn(move || {
                ready.wait();
                go.wait();
                work();
                // What std does to start and end a thread is not what is counted here.
                exclude_current_thread();
                done.wait();
                if number % 2 == 0 {
                    // Half of the threads have ended when the counters are read, half have not.
                    finish.wait();
                }
            });
        }
        let census = scope.spawn(move || {
            exclude_current_thread();
            get(addr, &format!("/debug/pprof/allocs?seconds={seconds}&rate=1")).map_err(|error| error.to_string())
        });
        while !census.is_finished() && !is_recording(addr, "census")? {}
        ready.wait();
        let before = serving_counts().ok_or("counting")?;
        go.wait();
        done.wait();
        let after = serving_counts().ok_or("counting")?;
        let has_all = is_recording(addr, "census")?;
        finish.wait();
        let profile = census.join().map_err(|_| "the census thread panicked")??;
        Ok(has_all.then_some((after.since(&before), decode(&profile)?)))
    })
}

/// A request of known events: a block, one that grows, and one that the next request gives back.
#[inline(never)]
fn work_in_order(method: &'static Method, rounds: u64) {
    let mut kept: *mut u8 = ptr::null_mut();
    for _ in 0..rounds {
        let op = method.start();
        // SAFETY: every block is given back with the layout it has, and none is used after.
        unsafe {
            let small = black_box(alloc(layout(24)));
            let zeroed = black_box(alloc_zeroed(layout(100)));
            let grown = black_box(realloc(zeroed, layout(100), 5_000));
            dealloc(small, layout(24));
            dealloc(grown, layout(5_000));
            if !kept.is_null() {
                dealloc(kept, layout(7));
            }
            kept = black_box(alloc(layout(7)));
        }
        op.ok();
    }
    // SAFETY: as above.
    unsafe { dealloc(kept, layout(7)) };
}

/// Events that a round of [`work_in_order`] makes, the last one's and its end together.
const EVENTS: u64 = 10;

/// The log of so many threads that do [`work_in_order`].
fn log_of(addr: SocketAddr, threads: u64, rounds: u64) -> Result<Value, Box<dyn Error>> {
    let method = ops::method("calibration.Work");
    let (ready, go) = (Barrier::new(threads as usize + 1), Barrier::new(threads as usize + 1));
    let log = thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                ready.wait();
                go.wait();
                work_in_order(method, rounds);
                // What std does to start and end a thread is not what is logged here.
                exclude_current_thread();
            });
        }
        ready.wait();
        let log = scope.spawn(move || {
            exclude_current_thread();
            let path = format!("/debug/allocations?ops={}&seconds=600", threads * rounds);
            get(addr, &path).map_err(|error| error.to_string())
        });
        while !log.is_finished() && !is_recording(addr, "allocation_log")? {}
        go.wait();
        log.join().map_err(|_| "the thread of the log panicked")?.map_err(Box::<dyn Error>::from)
    })?;
    Ok(serde_json::from_slice(&log)?)
}

/// A log in which everything has its place.
fn check_log(addr: SocketAddr) -> Result<(), Box<dyn Error>> {
    let rounds = 300;
    let log = log_of(addr, 1, rounds)?;
    assert_eq!((&log["ended"], &log["dropped"]), (&json!("ops"), &json!(0)));
    assert_eq!(log["ops"], json!({"started": rounds, "ok": rounds, "error": 0}));
    let counters = json!({"allocs": 2 * rounds, "zeroed_allocs": rounds, "reallocs": rounds, "frees": 4 * rounds,
        "requested_bytes": rounds * (24 + 100 + 5_000 + 7), "usable_bytes": rounds * (32 + 112 + 5_120 + 8)});
    assert_eq!(log["counters"], counters);
    assert_eq!(log["methods"], json!(["calibration.Work"]));
    let events = log["events"].as_array().ok_or("events")?;
    assert_eq!(events.len() as u64, rounds * EVENTS);
    let facts = |event: &Value| {
        (event["kind"].as_str().unwrap_or("").to_owned(), event["requested"].as_u64(), event["usable"].as_u64())
    };
    let handed_out = |kind: &str, requested, usable| (kind.to_owned(), Some(requested), Some(usable));
    let given_back = |kind: &str, requested| (kind.to_owned(), Some(requested), None);
    // From the second round on.
    let round = [
        ("op_start".to_owned(), None, None),
        handed_out("alloc", 24, 32),
        handed_out("alloc_zeroed", 100, 112),
        given_back("realloc_from", 100),
        handed_out("realloc", 5_000, 5_120),
        given_back("free", 24),
        given_back("free", 5_000),
        given_back("free", 7),
        handed_out("alloc", 7, 8),
        ("op_ok".to_owned(), None, None),
    ];
    for events in events[EVENTS as usize - 1..].chunks_exact(EVENTS as usize) {
        assert_eq!(events.iter().map(facts).collect::<Vec<_>>(), round);
        let address = |at: usize| events[at]["address"].as_u64();
        assert_eq!([address(1), address(2), address(4)], [address(5), address(3), address(6)]);
        let stack = events[1]["stack"].as_u64().ok_or("a stack")?;
        let functions = log["stacks"][stack as usize].as_array().ok_or("frames")?;
        assert!(functions.iter().any(|frame| frame["function"] == "calibration::work_in_order"), "{functions:?}");
    }
    assert!(events.is_sorted_by_key(|event| event["at_ns"].as_u64()));
    Ok(())
}

/// A log that becomes full, of threads that write it at the same time: nothing is lost uncounted, and what is there has its order.
fn check_full_log(addr: SocketAddr) -> Result<(), Box<dyn Error>> {
    let (threads, rounds) = (3, 10_000);
    let log = log_of(addr, threads, rounds)?;
    let events = log["events"].as_array().ok_or("events")?;
    assert_eq!(log["ended"], "full");
    let counted = |key: &str| log["counters"][key].as_u64().unwrap_or(0);
    let calls = counted("allocs") + counted("zeroed_allocs") + counted("reallocs") + counted("frees");
    let all = events.len() as u64 + log["dropped"].as_u64().ok_or("dropped")?;
    let marks = ["started", "ok"].map(|key| log["ops"][key].as_u64().unwrap_or(0)).iter().sum::<u64>();
    // The log was switched off after the counters were read, but for an event of each thread that was counted and not logged yet.
    assert!(all + threads >= calls + marks, "{all} events of {calls} calls and {marks} marks");
    assert!(all <= threads * rounds * EVENTS);
    let mut live = HashMap::new();
    for event in events {
        let address = event["address"].as_u64();
        match event["kind"].as_str() {
            Some("alloc" | "alloc_zeroed" | "realloc") => {
                assert_eq!(live.insert(address, event["requested"].as_u64()), None, "handed out twice: {event}");
            }
            Some("free" | "realloc_from") => assert_eq!(live.remove(&address), Some(event["requested"].as_u64())),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a census is being taken, or the log of allocations.
fn is_recording(addr: SocketAddr, what: &str) -> Result<bool, Box<dyn Error>> {
    Ok(String::from_utf8(get(addr, "/debug/vars")?)?.contains(&format!("\"{what}\":{{\"active\":true}}")))
}

fn main() -> Result<(), Box<dyn Error>> {
    exclude_current_thread();
    let options = Options { addr: ([127, 0, 0, 1], 0).into(), allow_remote: false };
    let addr = debug_pprof::serve(options)?.local_addr();

    let stop = AtomicBool::new(false);
    let stop = &stop;
    let (counted, profile) = thread::scope(|scope| {
        let readers = ["/debug/vars", "/debug/pprof/allocs?debug=1", "/debug/pprof/", "/metrics", "/debug/pprof/heap"]
            .map(|path| {
                scope.spawn(move || {
                    exclude_current_thread();
                    while !stop.load(Relaxed) {
                        get(addr, path).map_err(|error| error.to_string())?;
                    }
                    Ok::<_, String>(())
                })
            });
        // How long the work takes is the machine's affair.
        let result = [3, 15, 60, 240].into_iter().find_map(|seconds| run_threads(addr, seconds).transpose());
        stop.store(true, Relaxed);
        for reader in readers {
            reader.join().map_err(|_| "a reader panicked")??;
        }
        result.unwrap_or_else(|| Err("the work took longer than every census".into()))
    })?;

    assert_eq!(counted, truth(THREADS), "the counters");

    let truth = truth(THREADS);
    let expected =
        [truth.allocations() as i64, truth.usable_bytes.expect("jemalloc tells") as i64, truth.requested_bytes as i64];
    assert_eq!(sums(&profile, "calibration::work"), expected, "the census");
    for comment in comments(&profile) {
        assert!(!comment.contains("have no stack"), "{comment}");
    }

    // The same work once more, estimated: over 150 MB a thread, so the sampled bytes lie within a few per cent.
    let before = sums(&decode(&get(addr, "/debug/pprof/allocs")?)?, "calibration::work");
    for _ in 0..4 {
        thread::spawn(work).join().map_err(|_| "a worker panicked")?;
    }
    let after = sums(&decode(&get(addr, "/debug/pprof/allocs")?)?, "calibration::work");
    let (bytes, true_bytes) = ((after[1] - before[1]) as f64, truth.usable_bytes.expect("jemalloc tells") as f64);
    assert!((bytes / true_bytes - 1.0).abs() < 0.25, "sampled {bytes} of {true_bytes}");
    assert!(after[3] < 1 << 24, "{} bytes in use though all were given back", after[3]);

    // Last: threads beyond those of the first part would be in its counts.
    check_log(addr)?;
    check_full_log(addr)?;
    println!("counters, census, samples and log agree with the truth: {truth:?}");
    println!("1 passed, 0 failed");
    Ok(())
}
