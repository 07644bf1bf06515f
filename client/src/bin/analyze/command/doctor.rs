//! `analyze doctor`: what this machine will do to the numbers.

use std::{
    borrow::Cow,
    fs,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use analyze::{
    measure::{SyscallCounter, SyscallsError, bound_cpus},
    scenario::{PEERS, Peer},
    units::format_duration,
};

use crate::{
    peers::{Tool, tools},
    terminal,
};

/// What a run may ask for: so many connections to each server.
const MANY_CONNECTIONS: u64 = 10_000;
/// Two servers that are compared, and the bare echo.
const SERVERS_AT_A_TIME: u64 = 3;
/// Waking later than this shows beside the millisecond in which the runtime's clock ticks.
const LATE: Duration = Duration::from_micros(200);

/// How a finding bears on a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    Good,
    /// Worth knowing when reading figures.
    Note,
    /// Figures will suffer.
    Bad,
}

#[derive(Debug)]
struct Finding {
    grade: Grade,
    what: &'static str,
    is: String,
    /// What follows from it, or what to do.
    so: Cow<'static, str>,
}

/// Examines the machine and prints a line a finding. Succeeds whatever it finds: findings are advice.
pub(super) fn doctor() -> anyhow::Result<ExitCode> {
    terminal::print(&text(&findings()))?;
    Ok(ExitCode::SUCCESS)
}

fn findings() -> Vec<Finding> {
    let cpuinfo = read("/proc/cpuinfo");
    let checks = [
        cpus(),
        load(&read("/proc/loadavg")),
        virtual_machine(&cpuinfo),
        governor(&read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        boost(&read("/sys/devices/system/cpu/cpufreq/boost"), &read("/sys/devices/system/cpu/intel_pstate/no_turbo")),
        siblings(&read("/sys/devices/system/cpu/smt/active")),
        open_files(&read("/proc/self/limits")),
        local_ports(&read("/proc/sys/net/ipv4/ip_local_port_range")),
        timer(wake_up_delay(), &read("/proc/self/timerslack_ns")),
        swap(&read("/proc/swaps")),
        huge_pages(&read("/sys/kernel/mm/transparent_hugepage/enabled")),
        perf(&read("/proc/sys/kernel/perf_event_paranoid")),
        syscalls(SyscallCounter::open(std::process::id()).map(drop)),
        debug_build(),
    ];
    checks.into_iter().flatten().chain(toolchains()).collect()
}

fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let line = |finding: &Finding| {
        let grade = match finding.grade {
            Grade::Good => "ok  ",
            Grade::Note => "note",
            Grade::Bad => "BAD ",
        };
        let so = if finding.so.is_empty() { String::new() } else { format!(": {}", finding.so) };
        format!("{grade}  {:width$}  {}{so}\n", finding.what, finding.is)
    };
    findings.iter().map(line).collect()
}

/// A file of the kernel's; empty when this kernel doesn't have it.
fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn finding(grade: Grade, what: &'static str, is: impl Into<String>, so: &'static str) -> Option<Finding> {
    Some(Finding { grade, what, is: is.into(), so: so.into() })
}

fn cpus() -> Option<Finding> {
    match bound_cpus() {
        Err(error) => {
            finding(Grade::Bad, "CPUs", format!("unknown: {error}"), "server and client can't be bound apart")
        }
        Ok(cpus) if cpus.len() < 2 => {
            finding(Grade::Bad, "CPUs", "one", "server and client share it: compare allocations, not QPS or latency")
        }
        Ok(cpus) if cpus.len() < 4 => finding(
            Grade::Note,
            "CPUs",
            cpus.len().to_string(),
            "the client has as many as the server: a fast server may be limited by it, which results then say",
        ),
        Ok(cpus) => finding(Grade::Good, "CPUs", cpus.len().to_string(), ""),
    }
}

fn load(loadavg: &str) -> Option<Finding> {
    let one_minute: f64 = loadavg.split(' ').next()?.parse().ok()?;
    if one_minute > 0.5 {
        finding(
            Grade::Bad,
            "load",
            format!("{one_minute} over the last minute"),
            "something else runs: wait for it to end",
        )
    } else {
        finding(Grade::Good, "load", format!("{one_minute} over the last minute"), "")
    }
}

fn virtual_machine(cpuinfo: &str) -> Option<Finding> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    if flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
        finding(
            Grade::Note,
            "machine",
            "virtual",
            "neighbours take CPU time unseen: compare interleaved, many short rounds",
        )
    } else {
        finding(Grade::Good, "machine", "bare metal", "")
    }
}

fn governor(governor: &str) -> Option<Finding> {
    match governor {
        "" => None,
        "performance" => finding(Grade::Good, "governor", governor, ""),
        _ => {
            finding(Grade::Bad, "governor", governor, "clocks change with load: cpupower frequency-set -g performance")
        }
    }
}

fn boost(boost: &str, no_turbo: &str) -> Option<Finding> {
    match (boost, no_turbo) {
        ("1", _) | (_, "0") => {
            finding(Grade::Note, "boost", "on", "clocks depend on temperature and on how many cores are busy")
        }
        ("0", _) | (_, "1") => finding(Grade::Good, "boost", "off", ""),
        _ => None,
    }
}

fn siblings(active: &str) -> Option<Finding> {
    match active {
        "1" => finding(Grade::Note, "SMT", "on", "two CPUs may be one core: the halves of a core slow each other down"),
        "0" => finding(Grade::Good, "SMT", "off", ""),
        _ => None,
    }
}

/// The soft limit is raised to the hard one where connections need it.
fn open_files(limits: &str) -> Option<Finding> {
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    let hard: u64 = line.split_ascii_whitespace().nth(4)?.parse().unwrap_or(u64::MAX);
    let is = format!("{hard} at most");
    if hard < MANY_CONNECTIONS * SERVERS_AT_A_TIME {
        let so = "each of --connections takes one for each server of a run: ulimit -Hn 65536, as root";
        finding(Grade::Note, "open files", is, so)
    } else {
        finding(Grade::Good, "open files", is, "")
    }
}

fn local_ports(range: &str) -> Option<Finding> {
    let (first, last) = range.split_once(char::is_whitespace)?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let is = format!("{first} to {last}");
    if last.saturating_sub(first) < MANY_CONNECTIONS * 2 {
        let so =
            "each of --connections to a server takes one, and for a minute after: sysctl net.ipv4.ip_local_port_range";
        finding(Grade::Note, "local ports", is, so)
    } else {
        finding(Grade::Good, "local ports", is, "")
    }
}

/// How late a thread wakes that sleeps for a millisecond: the median of some tries.
fn wake_up_delay() -> Duration {
    const SLEEP: Duration = Duration::from_millis(1);
    let mut delays: Vec<Duration> = (0..51)
        .map(|_| {
            let began = Instant::now();
            thread::sleep(SLEEP);
            began.elapsed().saturating_sub(SLEEP)
        })
        .collect();
    delays.sort_unstable();
    delays[delays.len() / 2]
}

fn timer(late: Duration, slack_ns: &str) -> Option<Finding> {
    let slack = slack_ns.parse().map(Duration::from_nanos).map(format_duration);
    let slack = slack.map(|slack| format!(", timer slack {slack}")).unwrap_or_default();
    let is = format!("{} late{slack}", format_duration(late));
    if late > LATE {
        finding(Grade::Note, "timer", is, "with --qps, --think and --sleep calls start and end as much later")
    } else {
        finding(Grade::Good, "timer", is, "")
    }
}

fn swap(swaps: &str) -> Option<Finding> {
    if swaps.lines().count() > 1 {
        finding(Grade::Note, "swap", "on", "a server that is paged out shows in latency, not in allocations")
    } else {
        finding(Grade::Good, "swap", "off", "")
    }
}

fn huge_pages(enabled: &str) -> Option<Finding> {
    if enabled.contains("[always]") {
        finding(Grade::Note, "huge pages", "always", "resident memory is counted in steps of 2 MiB")
    } else {
        finding(Grade::Good, "huge pages", enabled.split(['[', ']']).nth(1)?.to_owned(), "")
    }
}

fn perf(paranoid: &str) -> Option<Finding> {
    let level: i32 = paranoid.parse().ok()?;
    if level > 2 {
        finding(
            Grade::Note,
            "perf",
            format!("perf_event_paranoid {level}"),
            "our profiles don't need it; perf itself does",
        )
    } else {
        finding(Grade::Good, "perf", format!("perf_event_paranoid {level}"), "")
    }
}

fn syscalls(counted: Result<(), SyscallsError>) -> Option<Finding> {
    match counted {
        Ok(()) => finding(Grade::Good, "system calls", "can be counted", ""),
        Err(error) => finding(
            Grade::Note,
            "system calls",
            error.to_string(),
            "syscalls/op stay unknown; CAP_PERFMON lets us count",
        ),
    }
}

fn debug_build() -> Option<Finding> {
    if cfg!(debug_assertions) {
        finding(Grade::Bad, "build", "debug", "its servers are many times slower: cargo run --release")
    } else {
        finding(Grade::Good, "build", "release", "")
    }
}

/// The programs that peers are built and run with.
fn toolchains() -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for tool in PEERS.iter().flat_map(|peer| tools(peer.recipe)) {
        if findings.iter().all(|known| known.what != tool.program) {
            findings.push(toolchain(tool));
        }
    }
    findings
}

fn toolchain(tool: &'static Tool) -> Finding {
    let needs = |peer: &&Peer| tools(peer.recipe).contains(tool);
    let peers: Vec<&str> = PEERS.iter().filter(needs).map(|peer| peer.name).collect();
    let what = tool.program;
    match tool.ask() {
        Ok(is) => Finding { grade: Grade::Good, what, is, so: "".into() },
        Err(_) => {
            let so = format!("{} can't be measured: {}", peers.join(", "), tool.install);
            Finding { grade: Grade::Note, what, is: "missing".to_owned(), so: so.into() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grade(finding: Option<Finding>) -> Option<Grade> {
        finding.map(|finding| finding.grade)
    }

    #[test]
    fn what_the_kernel_says_is_graded() {
        assert_eq!(grade(load("3.10 1.00 0.50 1/200 4242")), Some(Grade::Bad));
        assert_eq!(grade(load("0.01 0.05 0.10 1/200 4242")), Some(Grade::Good));
        assert_eq!(grade(governor("powersave")), Some(Grade::Bad));
        assert_eq!(grade(governor("")), None);
        assert_eq!(grade(virtual_machine("flags\t: fpu hypervisor sse")), Some(Grade::Note));
        assert_eq!(grade(boost("", "0")), Some(Grade::Note));
        assert_eq!(grade(boost("", "")), None);
        assert_eq!(grade(swap("Filename Type\n/swap file")), Some(Grade::Note));
        assert_eq!(grade(huge_pages("[always] madvise never")), Some(Grade::Note));
        assert_eq!(grade(huge_pages("always [madvise] never")), Some(Grade::Good));
        assert_eq!(grade(perf("3")), Some(Grade::Note));
        let limits =
            |hard: &str| format!("Limit\nMax open files            1024                 {hard}              files\n");
        assert_eq!(grade(open_files(&limits("4096"))), Some(Grade::Note));
        assert_eq!(grade(open_files(&limits("1048576"))), Some(Grade::Good));
        assert_eq!(grade(open_files(&limits("unlimited"))), Some(Grade::Good));
        assert_eq!(grade(local_ports("32768\t60999")), Some(Grade::Good));
        assert_eq!(grade(local_ports("50000 60999")), Some(Grade::Note));
        assert_eq!(grade(local_ports("")), None);
        assert_eq!(grade(timer(Duration::from_millis(3), "50000")), Some(Grade::Note));
        let good = timer(Duration::from_micros(60), "50000").map(|finding| finding.is);
        assert_eq!(good.as_deref(), Some("60 µs late, timer slack 50 µs"));
        let refused = SyscallsError::Tracepoint(std::io::ErrorKind::PermissionDenied.into());
        assert_eq!(grade(syscalls(Err(refused))), Some(Grade::Note));
    }

    #[test]
    fn findings_are_lines_of_columns() {
        let findings = [finding(Grade::Good, "CPUs", "8", ""), finding(Grade::Bad, "load", "3", "wait")];
        assert_eq!(text(&findings.into_iter().flatten().collect::<Vec<_>>()), "ok    CPUs  8\nBAD   load  3: wait\n");
    }
}
