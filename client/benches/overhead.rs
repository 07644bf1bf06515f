//! What looking costs: the server's CPU time per request with plain jemalloc, with counting, with the census on, with CPU
//! profiling, and with jemalloc's own profiler, against each other.
//!
//! `cargo bench -p analyze --bench overhead [-- ROUNDS SECONDS]`
//!
//! First, free of all that makes servers noisy: what an allocation and its free take on one thread, 20 calls deep.
//!
//! Then the servers. They are this program again, one with and one without counting, on the same CPU; each variant is measured for
//! some seconds in turn, there and back again, and compared with its reference within the same round. Printed are the
//! median of the ratios and their range. A switch that is tested at each allocation chooses between the allocators, so
//! plain jemalloc pays for one predicted branch here that it wouldn't pay otherwise.

use std::{
    alloc::{GlobalAlloc, Layout},
    env,
    error::Error,
    hint::black_box,
    io::{Read, Write},
    net::TcpStream,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use analyze::{
    load::{Case, Driver, Live, LoadSpec, Window},
    measure::{
        DebugClient, ServerProcess, ServerStart, Target, bind_to, bound_cpus, cpu_list, measure_round,
        result::RunSample, split_cpus,
    },
    scenario::{Framework, Scenario},
    stats,
};
use clap::Parser;
use debug_pprof::{CountingAlloc, Jemalloc};

debug_pprof::jemalloc_conf!(c"prof:true,prof_active:false,lg_prof_sample:19,prof_accum:true,prof_unbias:false");

static COUNTING: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();
static PLAIN: AtomicBool = AtomicBool::new(false);

/// Counting or plain jemalloc; both hand out jemalloc's blocks, so either takes back what the other gave.
struct Switch;

#[global_allocator]
static ALLOC: Switch = Switch;

// SAFETY: every call goes unchanged to one of two allocators that are the same jemalloc underneath.
unsafe impl GlobalAlloc for Switch {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is theirs.
        unsafe { if PLAIN.load(Relaxed) { Jemalloc.alloc(layout) } else { COUNTING.alloc(layout) } }
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is theirs.
        unsafe { if PLAIN.load(Relaxed) { Jemalloc.alloc_zeroed(layout) } else { COUNTING.alloc_zeroed(layout) } }
    }
    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is theirs.
        unsafe { if PLAIN.load(Relaxed) { Jemalloc.dealloc(ptr, layout) } else { COUNTING.dealloc(ptr, layout) } }
    }
    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's contract is theirs.
        unsafe {
            if PLAIN.load(Relaxed) { Jemalloc.realloc(ptr, layout, size) } else { COUNTING.realloc(ptr, layout, size) }
        }
    }
}

/// What is running while a variant is measured, and which server it is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Plain,
    Counting,
    Census,
    Cpu99,
    HeapProfiler,
}

use Variant::{Census, Counting, Cpu99, HeapProfiler, Plain};

const VARIANTS: [Variant; 5] = [Plain, Counting, Census, Cpu99, HeapProfiler];

/// Each variant's name, and what it is compared with.
impl Variant {
    fn name(self) -> &'static str {
        match self {
            Plain => "plain jemalloc",
            Counting => "counting and sampling, as always on",
            Census => "census",
            Cpu99 => "CPU profile, 99 Hz",
            HeapProfiler => "jemalloc's own profiler, 512 KiB",
        }
    }

    fn reference(self) -> Variant {
        if self == Counting { Plain } else { Counting }
    }

    /// The endpoint that does its work for so many seconds.
    fn endpoint(self, seconds: u64) -> Option<String> {
        match self {
            Plain | Counting | HeapProfiler => None,
            Census => Some(format!("/debug/pprof/allocs?seconds={seconds}&rate=1")),
            Cpu99 => Some(format!("/debug/pprof/profile?seconds={seconds}&hz=99")),
        }
    }
}

#[derive(Parser)]
struct ServerCli {
    #[command(subcommand)]
    serve: echo_server::cli::Serve,
}

fn main() -> ExitCode {
    let mut args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if args.first().is_some_and(|arg| arg == "serve-plain" || arg == "serve") {
        PLAIN.store(args.remove(0) == "serve-plain", Relaxed);
        return match ServerCli::try_parse_from([vec!["overhead".to_owned()], args].concat()) {
            Ok(cli) => echo_server::cli::serve(cli.serve),
            Err(error) => echo_server::cli::explain(&error),
        };
    }
    let number = |index: usize, default: u64| args.get(index).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    match bench(number(0, 15), number(1, 1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the nanoseconds of an allocation with its free: plain, counted, and counted with the census on.
fn per_allocation(rounds: u64) -> Result<(), Box<dyn Error>> {
    let addr = ([127, 0, 0, 1], 0).into();
    let server = debug_pprof::serve(debug_pprof::Options { addr, allow_remote: false })?;
    let debug = format!("http://{}", server.local_addr());
    let mut times: [(Variant, Vec<f64>); 3] = [Plain, Counting, Census].map(|variant| (variant, Vec::new()));
    for _ in 0..rounds {
        for (variant, times) in &mut times {
            let looking = variant.endpoint(1).map(|path| get(&debug, &path));
            if looking.is_some() {
                // Half of the census's second is more than enough to begin in.
                thread::sleep(Duration::from_millis(500));
            }
            PLAIN.store(*variant == Plain, Relaxed);
            times.push(deep(20));
            PLAIN.store(false, Relaxed);
            if let Some(looking) = looking {
                looking.join().map_err(|_| "the debug request panicked")??;
            }
        }
    }
    println!("one allocation and its free, 20 calls deep, ns: median [least .. most] of {rounds}");
    for (variant, times) in times {
        if let (Some(median), Some(least), Some(most)) = (stats::median(&times), stats::min(&times), stats::max(&times))
        {
            println!("  {:<38} {median:.1} [{least:.1} .. {most:.1}]", variant.name());
        }
    }
    Ok(())
}

/// Nanoseconds of an allocation and its free, so many calls below this one.
#[inline(never)]
fn deep(calls: u32) -> f64 {
    const ALLOCATIONS: u32 = 200_000;
    if calls > 0 {
        return black_box(deep(calls - 1));
    }
    let began = Instant::now();
    for _ in 0..ALLOCATIONS {
        drop(black_box(Box::new([0u8; 64])));
    }
    began.elapsed().as_nanos() as f64 / f64::from(ALLOCATIONS)
}

fn bench(rounds: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    per_allocation(rounds)?;
    let cpus = bound_cpus()?;
    let split = split_cpus(&cpus).ok_or("needs two CPUs: one for the server, one for the load")?;
    bind_to(&split.client)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(split.client.len()).enable_all().build()?;
    let dir = env::temp_dir().join(format!("overhead-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    println!(
        "{rounds} rounds of {seconds} s a variant; ratio of the server's CPU time per request, median [least .. most]"
    );
    for (framework, scenario) in
        [(Framework::Triple, "128B-50"), (Framework::Grpc, "128B-50"), (Framework::Triple, "1MiB-100")]
    {
        let scenario: Scenario = scenario.parse()?;
        println!("{framework} {scenario}");
        let cpus = cpu_list(&split.server);
        let ratios =
            runtime.block_on(measure(framework, scenario, &cpus, &dir, rounds, Duration::from_secs(seconds)))?;
        for (variant, ratios) in ratios {
            let (Some(median), Some(least), Some(most)) =
                (stats::median(&ratios), stats::min(&ratios), stats::max(&ratios))
            else {
                continue;
            };
            println!("  {:<38} {median:.4} [{least:.4} .. {most:.4}] x {}", variant.name(), variant.reference().name());
        }
    }
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

async fn measure(
    framework: Framework,
    scenario: Scenario,
    cpus: &str,
    dir: &std::path::Path,
    rounds: u64,
    window: Duration,
) -> Result<Vec<(Variant, Vec<f64>)>, Box<dyn Error>> {
    // A server a variant: what one leaves behind (a filled table, a grown heap) must not slow the next.
    let mut servers = Vec::new();
    for variant in VARIANTS {
        let mode = if variant == Plain { "serve-plain" } else { "serve" };
        let parent = format!("--exit-with-parent={}", std::process::id());
        let args =
            [mode, framework.name(), "--addr", "127.0.0.1:0", "--debug-addr", "127.0.0.1:0", "--cpus", cpus, &parent];
        let start = ServerStart {
            program: env::current_exe()?,
            args: args.map(str::to_owned).into(),
            env: match variant {
                HeapProfiler => vec![("_RJEM_MALLOC_CONF".to_owned(), "prof_active:true".to_owned())],
                _ => Vec::new(),
            },
            log: dir.join("server.log"),
        };
        let server = ServerProcess::start(&start).await?;
        let debug = server.ready().debug_addr.clone().ok_or("the server has no debug endpoints")?;
        let mut driver =
            Driver::connect(LoadSpec::new(framework, server.ready().addr, Case::new(scenario, window))).await?;
        driver.preflight().await?;
        let target = Target { driver, debug: Some(DebugClient::new(&debug)?), pid: None, gateway: None };
        servers.push((variant, server, debug, target));
    }
    let mut cost: Vec<(Variant, Vec<f64>)> = VARIANTS.map(|variant| (variant, Vec::new())).into();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..VARIANTS.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let (variant, _, debug, target) = &mut servers[index];
            // Longer than the window: recording must neither begin nor end, and symbolizing not begin, within it.
            let looking = variant.endpoint(window.as_secs() + 3).map(|path| get(debug, &path));
            let warmup = Duration::from_millis(500);
            let sample = measure_round(target, 1, (warmup, &Window::lasting(window)), &Live::default()).await;
            cost[index].1.push(cpu_per_op(&sample).ok_or("the server told no CPU time or no requests")?);
            if let Some(looking) = looking {
                looking.join().map_err(|_| "the debug request panicked")??;
            }
        }
    }
    for (_, server, _, target) in servers {
        drop(target);
        server.stop().await;
    }
    let of =
        |variant| cost.iter().find(|(known, _)| *known == variant).map(|(_, costs)| costs.clone()).unwrap_or_default();
    let ratios =
        |variant: Variant| of(variant).iter().zip(of(variant.reference())).map(|(cost, base)| cost / base).collect();
    Ok(VARIANTS.into_iter().skip(1).map(|variant| (variant, ratios(variant))).collect())
}

fn cpu_per_op(sample: &RunSample) -> Option<f64> {
    let server = sample.server.as_ref()?;
    let (before, after) = (&server.before, &server.after);
    let done = |ops: &std::collections::BTreeMap<_, analyze::measure::result::OpCounts>| {
        ops.values().map(|ops| ops.ok).sum::<u64>()
    };
    let ops = done(after.ops.as_ref()?) - done(before.ops.as_ref()?);
    Some((after.cpu_ns? - before.cpu_ns?) as f64 / ops as f64)
}

/// Asks for an endpoint on a thread of its own.
fn get(debug: &str, path: &str) -> thread::JoinHandle<Result<(), String>> {
    let (authority, path) = (debug.trim_start_matches("http://").to_owned(), path.to_owned());
    thread::spawn(move || {
        let mut stream = TcpStream::connect(&authority).map_err(|error| error.to_string())?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
        if answer.starts_with(b"HTTP/1.1 200") { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into_owned()) }
    })
}
