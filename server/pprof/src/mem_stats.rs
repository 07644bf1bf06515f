//! Go's `runtime.MemStats`, as far as its fields have a meaning here.

use serde::Serialize;

use crate::{jemalloc, thread};

/// Field names, units (bytes, calls) and order of Go's `runtime.MemStats`. The cumulative ones (TotalAlloc, Mallocs,
/// Frees) are the serving threads' alone, so that looking doesn't change them; the sizes are of the whole process.
/// `None` (null) where it can't be known.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct MemStats {
    /// Bytes in use.
    pub(crate) alloc: Option<u64>,
    /// Usable bytes handed out, ever; the requested ones where usable sizes are unknown.
    pub(crate) total_alloc: Option<u64>,
    /// Addresses reserved from the system, those given back but kept included.
    pub(crate) sys: Option<u64>,
    pub(crate) mallocs: Option<u64>,
    pub(crate) frees: Option<u64>,
    pub(crate) heap_alloc: Option<u64>,
    pub(crate) heap_sys: Option<u64>,
    /// Reserved, but not in pages that hold blocks in use.
    pub(crate) heap_idle: Option<u64>,
    /// In pages that hold blocks in use.
    pub(crate) heap_inuse: Option<u64>,
    /// Given back to the system, the addresses kept.
    pub(crate) heap_released: Option<u64>,
    /// Blocks in use: what all threads got and didn't give back.
    pub(crate) heap_objects: Option<u64>,
    /// There is no garbage collector.
    #[serde(rename = "NumGC")]
    pub(crate) num_gc: u32,
    #[serde(rename = "PauseTotalNs")]
    pub(crate) pause_total_ns: u64,
}

/// jemalloc's sizes, in bytes, by its manual's names.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct JemallocStats {
    pub(crate) allocated: Option<u64>,
    pub(crate) active: Option<u64>,
    pub(crate) metadata: Option<u64>,
    pub(crate) resident: Option<u64>,
    pub(crate) mapped: Option<u64>,
    pub(crate) retained: Option<u64>,
    pub(crate) arenas: Option<u32>,
    /// Whether jemalloc's own heap profiler records.
    pub(crate) prof_active: bool,
}

impl JemallocStats {
    pub(crate) fn read() -> Self {
        jemalloc::refresh();
        JemallocStats {
            allocated: jemalloc::size(c"stats.allocated"),
            active: jemalloc::size(c"stats.active"),
            metadata: jemalloc::size(c"stats.metadata"),
            resident: jemalloc::size(c"stats.resident"),
            mapped: jemalloc::size(c"stats.mapped"),
            retained: jemalloc::size(c"stats.retained"),
            arenas: jemalloc::number(c"arenas.narenas"),
            prof_active: crate::heap::jemalloc_profiles(),
        }
    }
}

impl MemStats {
    pub(crate) fn read(jemalloc: &JemallocStats) -> Self {
        let serving = thread::serving_counts();
        let objects = serving.zip(thread::excluded_counts()).map(|(serving, excluded)| {
            (serving.allocations() + excluded.allocations()).saturating_sub(serving.frees + excluded.frees)
        });
        let reserved = jemalloc.mapped.zip(jemalloc.retained).map(|(mapped, retained)| mapped + retained);
        // A program on another allocator links jemalloc too, but hardly uses it: its sizes would mean nothing.
        let of_heap = |size: Option<u64>| size.filter(|_| thread::usable_known());
        MemStats {
            alloc: of_heap(jemalloc.allocated),
            total_alloc: serving.map(|counts| counts.usable_bytes.unwrap_or(counts.requested_bytes)),
            sys: of_heap(reserved),
            mallocs: serving.map(|counts| counts.allocations()),
            frees: serving.map(|counts| counts.frees),
            heap_alloc: of_heap(jemalloc.allocated),
            heap_sys: of_heap(reserved),
            heap_idle: of_heap(reserved.zip(jemalloc.active).map(|(reserved, active)| reserved.saturating_sub(active))),
            heap_inuse: of_heap(jemalloc.active),
            heap_released: of_heap(jemalloc.retained),
            heap_objects: objects,
            num_gc: 0,
            pause_total_ns: 0,
        }
    }

    /// Go's text form, as it ends a `debug=1` profile.
    pub(crate) fn text(&self) -> String {
        let known = |value: Option<u64>| value.map_or("unknown".to_owned(), |value| value.to_string());
        let rows = [
            ("Alloc", self.alloc),
            ("TotalAlloc", self.total_alloc),
            ("Sys", self.sys),
            ("Mallocs", self.mallocs),
            ("Frees", self.frees),
            ("HeapAlloc", self.heap_alloc),
            ("HeapSys", self.heap_sys),
            ("HeapIdle", self.heap_idle),
            ("HeapInuse", self.heap_inuse),
            ("HeapReleased", self.heap_released),
            ("HeapObjects", self.heap_objects),
            ("NumGC", Some(u64::from(self.num_gc))),
        ];
        let rows = rows.map(|(name, value)| format!("# {name} = {}\n", known(value)));
        format!("\n# runtime.MemStats\n{}", rows.concat())
    }
}
