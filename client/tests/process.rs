//! What is said of a process against work of which it is known what it takes. The work is done by a process of its own: this
//! program again, as its test `work`.

use std::{
    env,
    hint::black_box,
    io::{BufRead, BufReader, Write, stdin},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio, id},
    sync::mpsc,
    thread,
    time::Duration,
};

use analyze::{
    load::{Case, Driver, End, LoadSpec, Window},
    measure::{
        PassError, ProcessWatch, SyscallCounter, SyscallsError, Target, looking_at, result::ProcessUse, syscalls_pass,
    },
    scenario::Framework,
};
use echo_server::raw;
use tokio::net::TcpListener;

const WORK: &str = "ANALYZE_TEST_WORK";
const PAGES: u64 = 5_000;
const SLEEPS: u64 = 300;
const BURN_NS: u64 = 300_000_000;
const CALLS: u64 = 100_000;
const PAGE: usize = 4096;

/// What a worker does once it is told to.
#[test]
fn work() {
    let Ok(work) = env::var(WORK) else { return };
    let (go, told) = mpsc::channel::<()>();
    let early = (work == "threads").then(|| {
        thread::spawn(move || {
            told.recv().expect("to be told");
            call();
        })
    });
    say("ready");
    listen();
    match &*work {
        "touch" => touch(PAGES as usize * PAGE),
        "sleep" => sleep(),
        "burn" => while thread_cpu_ns() < BURN_NS {},
        "call" => call(),
        "threads" => {
            go.send(()).expect("the early thread");
            let late = thread::spawn(call);
            early.into_iter().chain([late]).for_each(|thread| thread.join().expect("a thread"));
        }
        _ => panic!("{work}"),
    }
    say("done");
    listen();
}

/// A line of its own, whatever the test's frame has printed.
fn say(what: &str) {
    println!("\n{what}");
}

fn listen() {
    stdin().lock().read_line(&mut String::new()).expect("stdin");
}

/// A fresh mapping of single pages, each written to. It lasts as long as the process.
fn touch(bytes: usize) {
    // SAFETY: a new anonymous mapping, written to within its length only, and never given back.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
        (0..bytes).step_by(PAGE).for_each(|at| start.cast::<u8>().add(at).write_volatile(1));
    }
}

fn sleep() {
    (0..SLEEPS).for_each(|_| thread::sleep(Duration::from_millis(1)));
}

fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn call() {
    for _ in 0..CALLS {
        // SAFETY: asks for a number.
        black_box(unsafe { libc::getppid() });
    }
}

struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    fn start(work: &str) -> Self {
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", "work", "--nocapture"])
            .env(WORK, work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a worker");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let mut worker = Self { stdin: child.stdin.take().expect("stdin"), stdout, child };
        worker.hear("ready");
        worker
    }

    fn hear(&mut self, what: &str) {
        assert!((&mut self.stdout).lines().any(|line| line.expect("a line") == what), "no {what}");
    }

    fn works(&mut self) {
        self.stdin.write_all(b"\n").expect("a listener");
        self.hear("done");
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn used_by(work: &str) -> ProcessUse {
    let mut worker = Worker::start(work);
    let watch = ProcessWatch::begin(worker.pid()).expect("a process");
    worker.works();
    watch.end()
}

/// User and system time in ticks: what else the kernel says of it.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields = stat.rsplit_once(')').expect("a name").1.split_ascii_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks")).sum()
}

#[test]
fn page_faults_and_memory_of_touched_pages() {
    let used = used_by("touch");
    let faults = used.page_faults.expect("page faults");
    // Others are the test frame's, and the kernel's own where it moves pages between nodes.
    assert!((PAGES..PAGES * 3 / 2).contains(&faults.total()), "{faults:?}");
    let memory = used.memory.expect("memory");
    let touched = PAGES * PAGE as u64;
    assert!(memory.peak_bytes > touched && memory.peak_bytes < touched + (64 << 20), "{memory:?}");
    assert!(memory.avg_bytes < memory.peak_bytes, "it began without them: {memory:?}");
}

#[test]
fn context_switches_of_sleeps() {
    let switches = used_by("sleep").context_switches.expect("context switches");
    // A thread that is preempted on its way to sleep doesn't switch by its own will, and not at all when its time comes first.
    assert!(switches.total() >= SLEEPS * 9 / 10, "{switches:?}");
    assert!((SLEEPS / 2..SLEEPS * 3 / 2).contains(&switches.voluntary), "{switches:?}");
}

#[test]
fn context_switches_of_a_thread_of_ours_that_ended() {
    let watch = ProcessWatch::begin(id()).expect("this process");
    thread::spawn(sleep).join().expect("a thread");
    let switches = watch.end().context_switches.expect("context switches");
    assert!(switches.total() >= SLEEPS * 9 / 10, "{switches:?}");
}

#[test]
fn cpu_time_of_a_busy_thread() {
    let mut worker = Worker::start("burn");
    let (ticks_before, watch) = (ticks(worker.pid()), ProcessWatch::begin(worker.pid()).expect("a process"));
    worker.works();
    let (cpu_ns, ticks) = (watch.end().cpu_ns.expect("CPU time"), ticks(worker.pid()) - ticks_before);
    assert!((BURN_NS * 9 / 10..BURN_NS * 2).contains(&cpu_ns), "{cpu_ns} ns");
    // SAFETY: asks for a constant of the system.
    let tick_ns = 1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
    assert!((ticks * tick_ns).abs_diff(cpu_ns) <= 3 * tick_ns, "{cpu_ns} ns, but {ticks} ticks");
}

#[test]
fn system_calls_of_threads_early_late_and_ended() {
    // Of a worker's own: telling, listening, and what a thread takes to start and to end.
    for (work, calls, others) in [("call", CALLS, 100), ("threads", 2 * CALLS, 200)] {
        let mut worker = Worker::start(work);
        let mut counter = match SyscallCounter::open(worker.pid()) {
            Err(error @ (SyscallsError::Tracepoint(_) | SyscallsError::Refused { .. })) => {
                return eprintln!("not tested: {error}");
            }
            counter => counter.expect("a counter"),
        };
        let before = counter.read().expect("a count");
        worker.works();
        let counted = counter.read().expect("a count") - before;
        assert!((calls..=calls + others).contains(&counted), "{work}: {counted}");
    }
}

#[test]
fn a_process_that_is_not_there() {
    assert!(ProcessWatch::begin(u32::MAX).is_none());
    let mut worker = Worker::start("sleep");
    let watch = ProcessWatch::begin(worker.pid()).expect("a process");
    worker.child.kill().expect("it lives");
    worker.child.wait().expect("it ends");
    let used = watch.end();
    assert_eq!((used.cpu_ns, used.page_faults, used.context_switches), (None, None, None));
    assert!(used.memory.is_some(), "what was seen");
    match SyscallCounter::open(u32::MAX) {
        Err(SyscallsError::Process { .. } | SyscallsError::Tracepoint(_)) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn memory_is_looked_at_while_work_goes_on() {
    let mut worker = Worker::start("touch");
    let mut watch = ProcessWatch::begin(worker.pid()).expect("a process");
    let (done, finished) = tokio::sync::oneshot::channel();
    let working = thread::spawn(move || {
        worker.works();
        done.send(worker).map_err(drop).expect("a listener");
    });
    let worker = looking_at(&mut [&mut watch], finished).await.expect("a worker");
    working.join().expect("the thread");
    assert!(watch.end().memory.is_some_and(|memory| memory.peak_bytes > PAGES * PAGE as u64));
    drop(worker);
}

#[tokio::test]
async fn a_pass_counts_the_system_calls_of_both_sides() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let addr = listener.local_addr().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(raw::run(listener, raw::Options::default(), async move { drop(stopped.await) }));
    let window = Window { end: End::Requests(500), rate: None, think: Duration::ZERO };
    let case = Case { window, ..Case::new("128B-1".parse().expect("a scenario"), Duration::ZERO) };
    let driver = Driver::connect(LoadSpec::new(Framework::Raw, addr, case)).await.expect("a connection");
    // Server and load generator are this one process.
    let mut target = Target { driver, debug: None, pid: Some(id()), gateway: None };
    match syscalls_pass(&mut target, &window).await {
        Err(PassError::Syscalls(error)) => eprintln!("not tested: {error}"),
        counts => {
            let counts = counts.expect("counts");
            // A call is sent, received, answered and the answer received.
            assert!(counts.ops >= 500 && counts.client >= Some(counts.ops * 4), "{counts:?}");
            assert!(counts.server >= Some(counts.ops * 4), "{counts:?}");
        }
    }
    drop(stop);
    serving.await.expect("the server").expect("to end well");
}
