//! `/debug/vars` and `/metrics`: the counters, as JSON and as Prometheus text. Both are written from one reading.

use std::{collections::BTreeMap, env, fmt::Write, fs, process};

use serde::Serialize;

use crate::{
    census, connections, cpu, event_log,
    mem_stats::{JemallocStats, MemStats},
    ops::{self, MethodCounts},
    sample,
    tally::Counts,
    thread,
};

/// All that is counted, at one moment.
#[derive(Serialize)]
pub(crate) struct Vars {
    cmdline: Vec<String>,
    memstats: MemStats,
    counters: Counters,
    jemalloc: JemallocStats,
    ops: BTreeMap<&'static str, MethodCounts>,
    connections: Connections,
    process: Process,
    census: Recording,
    allocation_log: Recording,
    sample_rate: u64,
}

/// Null where no counting allocator is installed.
#[derive(Serialize)]
struct Counters {
    serving: Option<Counts>,
    excluded: Option<Counts>,
}

/// Null where the program doesn't count them.
#[derive(Serialize)]
struct Connections {
    accepted: Option<u64>,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    /// User and system time of all threads, ever.
    cpu_ns: u64,
    /// Resident memory now and at its highest, in bytes.
    rss_bytes: Option<u64>,
    peak_rss_bytes: Option<u64>,
    threads: Option<u64>,
}

/// Whether one is being recorded.
#[derive(Serialize)]
struct Recording {
    active: bool,
}

impl Vars {
    pub(crate) fn read() -> Self {
        // The counters first: what follows allocates, if only on threads that are left out.
        let counters = Counters { serving: thread::serving_counts(), excluded: thread::excluded_counts() };
        let ops = ops::counts().into_iter().collect();
        let jemalloc = JemallocStats::read();
        Vars {
            cmdline: env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            memstats: MemStats::read(&jemalloc),
            counters,
            jemalloc,
            ops,
            connections: Connections { accepted: connections::accepted() },
            process: Process::read(),
            census: Recording { active: census::started() },
            allocation_log: Recording { active: event_log::started() },
            sample_rate: sample::sample_rate(),
        }
    }

    /// Prometheus' text exposition format, version 0.0.4.
    pub(crate) fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: Vec<(String, u64)>| {
            if rows.is_empty() {
                return;
            }
            // Writing to a String can't fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let classes = [("serving", self.counters.serving), ("excluded", self.counters.excluded)];
        let by_class = |read: fn(&Counts) -> Option<u64>| {
            let row = |(class, counts): &(&str, Option<Counts>)| {
                Some((format!("{{threads=\"{class}\"}}"), read(counts.as_ref()?)?))
            };
            classes.iter().filter_map(row).collect::<Vec<_>>()
        };
        family(
            "debug_allocations_total",
            "counter",
            "Calls that handed out memory.",
            by_class(|counts| Some(counts.allocations())),
        );
        family("debug_frees_total", "counter", "Blocks given back.", by_class(|counts| Some(counts.frees)));
        family(
            "debug_requested_bytes_total",
            "counter",
            "Bytes asked for.",
            by_class(|counts| Some(counts.requested_bytes)),
        );
        family(
            "debug_usable_bytes_total",
            "counter",
            "Size-class bytes handed out.",
            by_class(|counts| counts.usable_bytes),
        );
        let by_method = |read: fn(&MethodCounts) -> u64| {
            self.ops.iter().map(|(method, counts)| (format!("{{method={method:?}}}"), read(counts))).collect::<Vec<_>>()
        };
        family("debug_ops_started_total", "counter", "Requests begun.", by_method(|counts| counts.started));
        family("debug_ops_ok_total", "counter", "Requests answered with success.", by_method(|counts| counts.ok));
        family("debug_ops_error_total", "counter", "Requests that failed.", by_method(|counts| counts.error));
        let whole = |value: Option<u64>| value.map(|value| (String::new(), value)).into_iter().collect::<Vec<_>>();
        let accepted = whole(self.connections.accepted);
        family("debug_connections_accepted_total", "counter", "Connections accepted.", accepted);
        let jemalloc = [
            ("allocated", self.jemalloc.allocated),
            ("active", self.jemalloc.active),
            ("metadata", self.jemalloc.metadata),
            ("resident", self.jemalloc.resident),
            ("mapped", self.jemalloc.mapped),
            ("retained", self.jemalloc.retained),
        ];
        let rows = jemalloc.iter().filter_map(|(kind, value)| Some((format!("{{kind=\"{kind}\"}}"), (*value)?)));
        family("debug_jemalloc_bytes", "gauge", "jemalloc's own statistics.", rows.collect());
        family("process_cpu_nanoseconds_total", "counter", "User and system time.", whole(Some(self.process.cpu_ns)));
        family("process_resident_memory_bytes", "gauge", "Resident memory.", whole(self.process.rss_bytes));
        text
    }
}

impl Process {
    fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let number = |field: &str| -> Option<u64> {
            let line = status.lines().find(|line| line.split(':').next() == Some(field))?;
            line.split_ascii_whitespace().nth(1)?.parse().ok()
        };
        Process {
            pid: process::id(),
            cpu_ns: cpu::cpu_time().as_nanos() as u64,
            rss_bytes: number("VmRSS").map(|kib| kib * 1024),
            peak_rss_bytes: number("VmHWM").map(|kib| kib * 1024),
            threads: number("Threads"),
        }
    }
}
