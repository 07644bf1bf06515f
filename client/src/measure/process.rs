//! What a process of this machine uses while something runs, by what the kernel tells of it.
//!
//! | what | source | threads that ended in between |
//! |---|---|---|
//! | CPU time | the process's CPU clock, ns (`clock_getcpuclockid(3)`); `/proc/PID/stat` has the same in ticks of 10 ms | in it |
//! | page faults | `/proc/PID/stat` | in it |
//! | context switches | `getrusage(2)` for this process; else the sum of `/proc/PID/task/*/status` | in it; else left out |
//! | memory | `/proc/PID/statm`, looked at every [`LOOK_INTERVAL`] | |
//!
//! Looking costs the watched process nothing but the kernel's locks, and this one some 20 µs a look.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    time::{Duration, Instant},
};

use procfs::{
    net::TcpState,
    process::{FDInfo, FDTarget, Process},
};
use tokio::time::{MissedTickBehavior, interval};

use super::result::{ContextSwitches, MemoryUse, PageFaults, ProcessUse};

/// How often memory is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A process under watch. It is held by its directory in `/proc`, so that a later process with the same id is not taken
/// for it.
#[derive(Debug)]
pub struct ProcessWatch {
    process: Process,
    cpu: Option<CpuClock>,
    cpu_ns: Option<u64>,
    page_faults: Option<PageFaults>,
    switches: Switches,
    memory: Memory,
    page_bytes: u64,
}

/// Context switches at the beginning.
#[derive(Debug)]
enum Switches {
    Own(Option<ContextSwitches>),
    ByThread(Option<HashMap<i32, ContextSwitches>>),
}

impl ProcessWatch {
    /// Begins to watch a process. `None` when there is none of this id, or we may not look at it.
    pub fn begin(pid: u32) -> Option<Self> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        let cpu = CpuClock::of(&process);
        let switches = if pid == std::process::id() {
            Switches::Own(own_switches())
        } else {
            Switches::ByThread(thread_switches(&process))
        };
        let mut watch = Self {
            cpu_ns: cpu.as_ref().and_then(CpuClock::now_ns),
            cpu,
            page_faults: page_faults(&process),
            switches,
            memory: Memory::default(),
            page_bytes: procfs::page_size(),
            process,
        };
        watch.look();
        Some(watch)
    }

    /// Begins to watch this very process.
    pub fn begin_own() -> Option<Self> {
        Self::begin(std::process::id())
    }

    /// Looks at its memory.
    pub fn look(&mut self) {
        if let Ok(statm) = self.process.statm() {
            self.memory.add(Instant::now(), statm.resident * self.page_bytes);
        }
    }

    /// What it used since the beginning; of a process that has ended, what was seen of its memory.
    pub fn end(mut self) -> ProcessUse {
        self.look();
        let cpu_ns = self.cpu.as_ref().and_then(CpuClock::now_ns);
        ProcessUse {
            cpu_ns: cpu_ns.zip(self.cpu_ns).and_then(|(after, before)| after.checked_sub(before)),
            page_faults: page_faults(&self.process)
                .zip(self.page_faults)
                .and_then(|(after, before)| after.since(before)),
            context_switches: match &self.switches {
                Switches::Own(before) => own_switches().zip(*before).and_then(|(after, before)| after.since(before)),
                Switches::ByThread(before) => {
                    thread_switches(&self.process).zip(before.as_ref()).map(|(after, before)| sum_since(&after, before))
                }
            },
            memory: self.memory.so_far(),
        }
    }
}

/// Looks at the memory of these processes again and again while `work` runs.
pub async fn looking_at<T>(watches: &mut [&mut ProcessWatch], work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    let mut interval = interval(LOOK_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = interval.tick() => watches.iter_mut().for_each(|watch| watch.look()),
        }
    }
}

/// Whether a process holds a TCP socket that listens on this port in our own network namespace. `false` also where we may
/// not look at its open files.
pub fn listens(pid: u32, port: u16) -> bool {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    process.is_some_and(|process| holds(&process, &listening(port)))
}

/// The processes for which that is so.
pub(super) fn listeners(port: u16) -> Vec<u32> {
    holders(&listening(port))
}

/// The processes that hold a TCP socket which takes connections to this very address.
pub(super) fn listeners_at(addr: SocketAddr) -> Vec<u32> {
    let takes = |ip: IpAddr| ip == addr.ip() || ip.is_unspecified() && (ip.is_ipv6() || addr.is_ipv4());
    holders(&listening_where(|local| local.port() == addr.port() && takes(local.ip())))
}

fn holders(sockets: &HashSet<u64>) -> Vec<u32> {
    let processes = procfs::process::all_processes().into_iter().flatten().flatten();
    processes.filter(|process| holds(process, sockets)).filter_map(|process| process.pid.try_into().ok()).collect()
}

/// How a process was started, unless it wrote over that. `None` when there is none of this id.
pub(super) fn cmdline_of(pid: u32) -> Option<Vec<String>> {
    Process::new(pid.try_into().ok()?).ok()?.cmdline().ok()
}

/// The sockets that listen on a port.
fn listening(port: u16) -> HashSet<u64> {
    listening_where(|local| local.port() == port)
}

fn listening_where(is_meant: impl Fn(SocketAddr) -> bool) -> HashSet<u64> {
    let sockets = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
    let listening = sockets.filter(|socket| socket.state == TcpState::Listen && is_meant(socket.local_address));
    listening.map(|socket| socket.inode).collect()
}

fn holds(process: &Process, sockets: &HashSet<u64>) -> bool {
    process.fd().is_ok_and(|mut files| {
        files.any(|file| matches!(file, Ok(FDInfo { target: FDTarget::Socket(inode), .. }) if sockets.contains(&inode)))
    })
}

/// Memory over time: between two looks it is taken to go in a straight line.
#[derive(Debug, Default)]
struct Memory {
    last: Option<(Instant, u64)>,
    byte_seconds: f64,
    seconds: f64,
    peak: u64,
}

impl Memory {
    fn add(&mut self, at: Instant, bytes: u64) {
        if let Some((before, then)) = self.last {
            let seconds = at.duration_since(before).as_secs_f64();
            self.byte_seconds += (then as f64 + bytes as f64) / 2.0 * seconds;
            self.seconds += seconds;
        }
        self.peak = self.peak.max(bytes);
        self.last = Some((at, bytes));
    }

    fn so_far(&self) -> Option<MemoryUse> {
        let (_, last) = self.last?;
        let avg_bytes = if self.seconds > 0.0 { (self.byte_seconds / self.seconds).round() as u64 } else { last };
        Some(MemoryUse { avg_bytes, peak_bytes: self.peak })
    }
}

impl PageFaults {
    fn since(self, before: Self) -> Option<Self> {
        Some(Self { minor: self.minor.checked_sub(before.minor)?, major: self.major.checked_sub(before.major)? })
    }
}

impl ContextSwitches {
    fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            voluntary: self.voluntary.checked_sub(before.voluntary)?,
            involuntary: self.involuntary.checked_sub(before.involuntary)?,
        })
    }
}

fn page_faults(process: &Process) -> Option<PageFaults> {
    let stat = process.stat().ok()?;
    Some(PageFaults { minor: stat.minflt, major: stat.majflt })
}

/// Of each living thread. One that ends while they are read is left out.
fn thread_switches(process: &Process) -> Option<HashMap<i32, ContextSwitches>> {
    let threads = process.tasks().ok()?.flatten();
    let switches = threads.filter_map(|thread| {
        let status = thread.status().ok()?;
        let voluntary = status.voluntary_ctxt_switches?;
        Some((thread.tid, ContextSwitches { voluntary, involuntary: status.nonvoluntary_ctxt_switches? }))
    });
    Some(switches.collect::<HashMap<_, _>>()).filter(|switches| !switches.is_empty())
}

/// Over all threads that live after. A thread whose count went down is another one with the id of one that ended.
fn sum_since(after: &HashMap<i32, ContextSwitches>, before: &HashMap<i32, ContextSwitches>) -> ContextSwitches {
    let mut sum = ContextSwitches::default();
    for (tid, now) in after {
        let then = before.get(tid).copied().unwrap_or_default();
        let since = now.since(then).unwrap_or(*now);
        sum.voluntary += since.voluntary;
        sum.involuntary += since.involuntary;
    }
    sum
}

/// Of all threads this process ever had.
fn own_switches() -> Option<ContextSwitches> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid, and the struct is filled when the call returns 0.
    let usage = unsafe { (libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) == 0).then(|| usage.assume_init()) }?;
    Some(ContextSwitches {
        voluntary: u64::try_from(usage.ru_nvcsw).ok()?,
        involuntary: u64::try_from(usage.ru_nivcsw).ok()?,
    })
}

/// The clock that counts a process's CPU time.
#[derive(Debug)]
struct CpuClock(libc::clockid_t);

impl CpuClock {
    fn of(process: &Process) -> Option<Self> {
        let mut clock = MaybeUninit::<libc::clockid_t>::uninit();
        // SAFETY: the pointer is valid, and the id is filled in when the call returns 0.
        unsafe { (libc::clock_getcpuclockid(process.pid, clock.as_mut_ptr()) == 0).then(|| Self(clock.assume_init())) }
    }

    fn now_ns(&self) -> Option<u64> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the pointer is valid, and the struct is filled when the call returns 0.
        let time = unsafe { (libc::clock_gettime(self.0, time.as_mut_ptr()) == 0).then(|| time.assume_init()) }?;
        Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_averaged_over_time() {
        let mut memory = Memory::default();
        assert_eq!(memory.so_far(), None);
        let begun = Instant::now();
        memory.add(begun, 100);
        assert_eq!(memory.so_far(), Some(MemoryUse { avg_bytes: 100, peak_bytes: 100 }));
        // 1 s at 150 on average, 3 s at 200, 1 s back.
        for (second, bytes) in [(1, 200), (4, 200), (5, 100)] {
            memory.add(begun + Duration::from_secs(second), bytes);
        }
        assert_eq!(memory.so_far(), Some(MemoryUse { avg_bytes: 180, peak_bytes: 200 }));
    }

    #[test]
    fn switches_of_threads_that_came_and_went() {
        let of = |voluntary| ContextSwitches { voluntary, involuntary: 1 };
        let before = HashMap::from([(1, of(10)), (2, of(50)), (3, of(70))]);
        // 2 has ended, 3 is the id of a new thread, 4 is new.
        let after = HashMap::from([(1, of(15)), (3, of(7)), (4, of(100))]);
        assert_eq!(sum_since(&after, &before), ContextSwitches { voluntary: 5 + 7 + 100, involuntary: 2 });
    }
}
