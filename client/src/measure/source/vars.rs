//! `/debug/vars`: ours, Go's `expvar`, and that of the agent in a JVM.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use super::CounterSource;
use crate::measure::result::{AllocCounters, GcCounts, OpCounts, ServerReading, SourceKind};

pub(super) const PATH: &str = "/debug/vars";
/// What Go's one collector is called beside those of a JVM, which have names.
const GO_COLLECTOR: &str = "go";

/// What `/debug/vars` holds of what is read here; all of it may be missing, or be a variable of the program's own that only
/// shares the name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::measure) struct Vars {
    #[serde(deserialize_with = "known_shape")]
    pub(in crate::measure) cmdline: Option<Vec<String>>,
    #[serde(deserialize_with = "known_shape")]
    memstats: Option<MemStats>,
    #[serde(deserialize_with = "known_shape")]
    counters: Option<Counters>,
    #[serde(deserialize_with = "known_shape")]
    jemalloc: Option<BTreeMap<String, serde_json::Value>>,
    #[serde(deserialize_with = "known_shape")]
    jvm: Option<Jvm>,
    #[serde(deserialize_with = "known_shape")]
    runtime: Option<String>,
    #[serde(deserialize_with = "known_shape")]
    ops: Option<BTreeMap<String, OpCounts>>,
    #[serde(deserialize_with = "known_shape")]
    connections: Option<Connections>,
    #[serde(deserialize_with = "known_shape")]
    process: Option<Process>,
    /// There only where the exact census is to be had.
    #[serde(deserialize_with = "known_shape")]
    pub(in crate::measure) census: Option<Recording>,
    /// There only where allocations can be had in order.
    #[serde(deserialize_with = "known_shape")]
    pub(in crate::measure) allocation_log: Option<Recording>,
}

/// Of Go's `runtime.MemStats`. `Mallocs` counts every object; `TotalAlloc` the size classes they were given, and a block of 16 bytes
/// once, however many small objects share it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct MemStats {
    pub(super) total_alloc: Option<u64>,
    pub(super) mallocs: Option<u64>,
    pub(super) frees: Option<u64>,
    #[serde(rename = "NumGC")]
    pub(super) num_gc: Option<u64>,
    pub(super) pause_total_ns: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Counters {
    serving: Option<AllocCounters>,
    /// Null where nothing counts, but there.
    #[serde(rename = "excluded")]
    _excluded: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct Connections {
    accepted: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Process {
    pid: Option<u32>,
    cpu_ns: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(in crate::measure) struct Recording {
    /// Whether it is being recorded now.
    pub(in crate::measure) active: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Jvm {
    version: Option<String>,
    /// What threads got on the heap since the start, the agent's own left out.
    allocated_bytes_serving: Option<u64>,
    gc: Vec<Collector>,
}

#[derive(Debug, Deserialize)]
struct Collector {
    name: String,
    count: Option<u64>,
    time_ms: Option<u64>,
}

/// Our own crate's.
#[derive(Debug)]
pub(super) struct DebugPprof;

/// That of a JVM with the agent of `server/peers/jvm-agent`.
#[derive(Debug)]
pub(super) struct JvmAgent;

/// A Go program's with `expvar`.
#[derive(Debug)]
pub(super) struct GoExpvar;

/// Requests and CPU time, but no allocations.
#[derive(Debug)]
pub(super) struct Uncounted;

impl Vars {
    pub(in crate::measure) fn parse(answer: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(answer).map_err(|error| format!("no counters in it: {error}"))
    }

    /// The process it says it is.
    pub(in crate::measure) fn pid(&self) -> Option<u32> {
        self.process.as_ref()?.pid
    }

    /// Which JVM it says it is.
    pub(in crate::measure) fn jvm_version(&self) -> Option<&str> {
        self.jvm.as_ref()?.version.as_deref()
    }

    fn reading(self, counters: Option<AllocCounters>, gc: Option<BTreeMap<String, GcCounts>>) -> ServerReading {
        let cpu_ns = self.process.and_then(|process| process.cpu_ns);
        let connections = self.connections.and_then(|connections| connections.accepted);
        ServerReading { counters, ops: self.ops, cpu_ns, gc, connections }
    }
}

impl CounterSource for DebugPprof {
    fn kind(&self) -> SourceKind {
        SourceKind::DebugPprof
    }

    fn path(&self) -> &'static str {
        PATH
    }

    fn reading(&self, answer: &[u8]) -> Result<ServerReading, String> {
        let mut vars = Vars::parse(answer)?;
        let counters = vars.counters.take().filter(|_| vars.jemalloc.is_some()).ok_or("it has no counters")?;
        Ok(vars.reading(counters.serving, None))
    }
}

impl CounterSource for JvmAgent {
    fn kind(&self) -> SourceKind {
        SourceKind::JvmAgent
    }

    fn path(&self) -> &'static str {
        PATH
    }

    fn reading(&self, answer: &[u8]) -> Result<ServerReading, String> {
        let mut vars = Vars::parse(answer)?;
        let is_jvm = vars.runtime.as_deref() == Some("jvm");
        let jvm = vars.jvm.take().filter(|_| is_jvm).ok_or("it is not of a JVM's agent")?;
        // A JVM counts bytes, not allocations: theirs stay unknown.
        let counters = jvm
            .allocated_bytes_serving
            .map(|bytes| AllocCounters { usable_bytes: Some(bytes), ..AllocCounters::default() });
        let gc = jvm.gc.into_iter().filter_map(|collector| {
            let time_ns = collector.time_ms.map(|ms| ms.saturating_mul(1_000_000));
            Some((collector.name, GcCounts { collections: collector.count?, time_ns }))
        });
        Ok(vars.reading(counters, Some(gc.collect())))
    }
}

impl CounterSource for GoExpvar {
    fn kind(&self) -> SourceKind {
        SourceKind::GoExpvar
    }

    fn path(&self) -> &'static str {
        PATH
    }

    fn reading(&self, answer: &[u8]) -> Result<ServerReading, String> {
        let mut vars = Vars::parse(answer)?;
        let stats = vars.memstats.take().ok_or("it has no memstats")?;
        Ok(vars.reading(Some(stats.counters()?), stats.gc()))
    }
}

impl CounterSource for Uncounted {
    fn kind(&self) -> SourceKind {
        SourceKind::None
    }

    fn path(&self) -> &'static str {
        PATH
    }

    fn reading(&self, answer: &[u8]) -> Result<ServerReading, String> {
        let vars = Vars::parse(answer)?;
        if vars.ops.is_none() && vars.process.is_none() {
            return Err("it counts nothing".to_owned());
        }
        Ok(vars.reading(None, None))
    }
}

impl MemStats {
    /// All three, or they are not Go's.
    pub(super) fn counters(&self) -> Result<AllocCounters, String> {
        let whole = |value: Option<u64>, name: &str| value.ok_or_else(|| format!("its MemStats have no {name}"));
        Ok(AllocCounters {
            allocs: Some(whole(self.mallocs, "Mallocs")?),
            frees: Some(whole(self.frees, "Frees")?),
            usable_bytes: Some(whole(self.total_alloc, "TotalAlloc")?),
            ..AllocCounters::default()
        })
    }

    pub(super) fn gc(&self) -> Option<BTreeMap<String, GcCounts>> {
        let counts = GcCounts { collections: self.num_gc?, time_ns: self.pause_total_ns };
        Some(BTreeMap::from([(GO_COLLECTOR.to_owned(), counts)]))
    }
}

/// `None` for a value that isn't one of ours.
fn known_shape<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_go_servers_vars_are_read() {
        let vars = r#"{"cmdline":["/tmp/x"],"memstats":{"Alloc":5,"TotalAlloc":900,"Mallocs":12,"Frees":7,"NumGC":3,
            "PauseTotalNs":41},"ops":{"m":{"started":3,"ok":2,"error":1}}}"#;
        let reading = GoExpvar.reading(vars.as_bytes()).expect("Go's");
        let counters = reading.counters.expect("counters");
        assert_eq!((counters.allocs, counters.usable_bytes, counters.requested_bytes), (Some(12), Some(900), None));
        assert_eq!((counters.frees, counters.reallocs, reading.cpu_ns), (Some(7), None, None));
        assert_eq!(reading.gc.expect("gc")["go"], GcCounts { collections: 3, time_ns: Some(41) });
        assert_eq!(reading.ops.expect("ops")["m"].ok, 2);
        let wanting = GoExpvar.reading(br#"{"memstats":{"TotalAlloc":900,"Mallocs":12}}"#).expect_err("no frees");
        assert_eq!(wanting, "its MemStats have no Frees");
    }

    #[test]
    fn a_jvms_vars_are_read() {
        let vars = r#"{"runtime":"jvm","process":{"pid":41,"cpu_ns":9},"jvm":{"version":"OpenJDK 64-Bit Server VM 21",
            "allocated_bytes_serving":5000,"gc":[{"name":"G1 Young Generation","count":3,"time_ms":12},
            {"name":"odd","count":null,"time_ms":null}]}}"#;
        let reading = JvmAgent.reading(vars.as_bytes()).expect("a JVM's");
        let counters = reading.counters.expect("counters");
        assert_eq!((counters.usable_bytes, counters.allocs, counters.frees), (Some(5000), None, None));
        let gc = reading.gc.expect("gc");
        assert_eq!(gc["G1 Young Generation"], GcCounts { collections: 3, time_ns: Some(12_000_000) });
        assert_eq!((gc.len(), reading.cpu_ns), (1, Some(9)));
        let uncounted = r#"{"runtime":"jvm","jvm":{"allocated_bytes_serving":null,"gc":[]}}"#;
        assert_eq!(JvmAgent.reading(uncounted.as_bytes()).expect("a JVM's").counters, None);
    }

    #[test]
    fn variables_that_only_share_a_name_are_passed_over() {
        let vars = r#"{"cmdline":"x","memstats":{"Mallocs":12,"Frees":1,"TotalAlloc":2},"counters":7,"jemalloc":{},
            "ops":{"reads":5},"process":[],"census":"2020"}"#;
        let parsed = Vars::parse(vars.as_bytes()).expect("vars");
        assert!(parsed.cmdline.is_none() && parsed.census.is_none() && parsed.pid().is_none());
        assert!(DebugPprof.reading(vars.as_bytes()).is_err());
        let reading = GoExpvar.reading(vars.as_bytes()).expect("Go's");
        assert_eq!(reading.counters.and_then(|counters| counters.allocs), Some(12));
        assert_eq!((reading.ops, reading.cpu_ns), (None, None));
    }

    #[test]
    fn our_vars_are_read() {
        let vars = r#"{"memstats":{"Mallocs":99},"counters":{"serving":{"allocs":1,"zeroed_allocs":2,"reallocs":3,"frees":4,
            "requested_bytes":50,"usable_bytes":null},"excluded":null},"jemalloc":{"arenas":1},
            "ops":{"m":{"started":3,"ok":2,"error":1}},"process":{"pid":1,"cpu_ns":7,"rss_bytes":8},
            "census":{"active":true},"connections":{"accepted":6}}"#;
        let parsed = Vars::parse(vars.as_bytes()).expect("vars");
        assert!(parsed.census.is_some_and(|census| census.active));
        let reading = DebugPprof.reading(vars.as_bytes()).expect("ours");
        let counters = reading.counters.expect("counters");
        assert_eq!((counters.reallocs, counters.frees, counters.usable_bytes), (Some(3), Some(4), None));
        assert_eq!(reading.ops.expect("ops")["m"], OpCounts { started: 3, ok: 2, error: 1 });
        assert_eq!((reading.cpu_ns, reading.gc, reading.connections), (Some(7), None, Some(6)));
    }
}
