//! Known numbers of allocations of known sizes, on several threads, some of which end, while the debug endpoints are read
//! all the time: the counters and the census must equal the truth exactly.
//!
//! A process of its own with one test, and no test harness: the harness' threads would allocate too.

#[allow(dead_code, reason = "each test uses a part")]
mod support;

use std::{
    alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc},
    error::Error,
    hint::black_box,
    net::SocketAddr,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use debug_pprof::{CountingAlloc, Counts, Jemalloc, Options, exclude_current_thread, serving_counts};
use echo_proto::profile::Profile;
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
        while !census.is_finished() && !is_counting(addr)? {}
        ready.wait();
        let before = serving_counts().ok_or("counting")?;
        go.wait();
        done.wait();
        let after = serving_counts().ok_or("counting")?;
        let has_all = is_counting(addr)?;
        finish.wait();
        let profile = census.join().map_err(|_| "the census thread panicked")??;
        Ok(has_all.then_some((after.since(&before), decode(&profile)?)))
    })
}

/// Whether a census is being taken.
fn is_counting(addr: SocketAddr) -> Result<bool, Box<dyn Error>> {
    Ok(String::from_utf8(get(addr, "/debug/vars")?)?.contains("\"census\":{\"active\":true}"))
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
    println!("counters, census and samples agree with the truth: {truth:?}");
    println!("1 passed, 0 failed");
    Ok(())
}
