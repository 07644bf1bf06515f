//! The memory profiles: the exact census, the sampled one, and jemalloc's own heap profile, as recordings to build from.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Read, Seek},
    os::fd::{AsRawFd, FromRawFd},
    time::{Duration, SystemTime},
};

use crate::{
    builder::{Kind, Recording, Stack, StackSample},
    census::{self, Census},
    error::Error,
    jeheap::{self, Estimate},
    jemalloc, sample,
    table::{COUNTS, Reading, StackKey, Trust},
    thread,
    walk::MAX_FRAMES,
};

/// Go's four, in Go's order.
const FOUR_KINDS: [Kind; 4] =
    [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")];

const UNKNOWN_STACK: &str = "[stack unknown: code without frame pointers]";
const FULL_TABLE: &str = "[stack not kept: table full]";

/// The census as a profile. The comments carry what the counters say of the same span, so that a reader can check that
/// the sum over stacks is the whole.
pub(crate) fn census_recording(census: Census) -> Recording {
    let Census { stacks, counted, ops, duration } = census;
    let mut comments = vec![format!("ops: started={} ok={} error={}", ops.started, ops.ok, ops.error)];
    if let Some(counted) = counted {
        comments.push(format!(
            "counters: allocations={} requested_bytes={} usable_bytes={}",
            counted.allocations(),
            counted.requested_bytes,
            counted.usable_bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string())
        ));
    }
    comments.extend(trust_comments("census", &stacks, |counts| counts[census::OBJECTS]));
    let values = |key: &StackKey, counts: &[u64; COUNTS]| {
        let (objects, requested) = (counts[census::OBJECTS], counts[census::REQUESTED]);
        let bytes = if thread::usable_known() { objects * key.size_class } else { requested };
        vec![objects as i64, bytes as i64, requested as i64]
    };
    if !thread::usable_known() {
        comments.push("alloc_space is the requested bytes: the allocator can't tell usable sizes".to_owned());
    }
    let mut samples: Vec<StackSample> = stacks
        .stacks
        .iter()
        .map(|(key, counts)| StackSample { stack: shown(Some(key)), values: values(key, counts) })
        .collect();
    let dropped = stacks.dropped;
    if dropped[census::OBJECTS] > 0 {
        let [objects, requested, usable] =
            [census::OBJECTS, census::REQUESTED, census::USABLE].map(|index| dropped[index] as i64);
        let bytes = if thread::usable_known() { usable } else { requested };
        samples.push(StackSample { stack: shown(None), values: vec![objects, bytes, requested] });
    }
    Recording {
        kinds: vec![("alloc_objects", "count"), ("alloc_space", "bytes"), ("requested_space", "bytes")],
        default_kind: "alloc_space",
        period_kind: ("space", "bytes"),
        period: 1,
        ended: SystemTime::now(),
        duration,
        samples,
        comments,
        hide_allocator: true,
    }
}

/// What the sampler has seen, as Go's four kinds.
pub(crate) fn sampled_recording(reading: Reading, duration: Duration, default_kind: &'static str) -> Recording {
    let mut comments =
        vec![format!("sampled: one in {} bytes on average, serving threads only", sample::sample_rate())];
    comments.extend(trust_comments("sampled", &reading, |counts| {
        (counts[sample::ALLOCATED_OBJECTS] + sample::OBJECT_UNITS / 2) / sample::OBJECT_UNITS
    }));
    if sample::not_followed() > 0 {
        let bytes = sample::not_followed();
        comments.push(format!("sampled: {bytes} bytes could not be followed; in-use figures leave them out"));
    }
    let objects = |units: i64| (units as f64 / sample::OBJECT_UNITS as f64).round() as i64;
    let four = |counts: &[u64; COUNTS]| {
        // Negative in a span in which more was given back than taken.
        let in_use = |allocated: usize, freed: usize| counts[allocated].wrapping_sub(counts[freed]) as i64;
        vec![
            objects(counts[sample::ALLOCATED_OBJECTS] as i64),
            counts[sample::ALLOCATED_BYTES] as i64,
            objects(in_use(sample::ALLOCATED_OBJECTS, sample::FREED_OBJECTS)),
            in_use(sample::ALLOCATED_BYTES, sample::FREED_BYTES),
        ]
    };
    let mut samples: Vec<StackSample> = reading
        .stacks
        .iter()
        .map(|(key, counts)| StackSample { stack: shown(Some(key)), values: four(counts) })
        .collect();
    if reading.dropped[sample::ALLOCATED_OBJECTS] > 0 {
        let mut values = four(&reading.dropped);
        // What wasn't kept isn't followed either.
        values[2..].fill(0);
        comments.push("sampled: what has no stack because the table was full is not in the in-use figures".to_owned());
        samples.push(StackSample { stack: shown(None), values });
    }
    Recording {
        kinds: FOUR_KINDS.to_vec(),
        default_kind,
        period_kind: ("space", "bytes"),
        period: sample::sample_rate() as i64,
        ended: SystemTime::now(),
        duration,
        samples,
        comments,
        hide_allocator: true,
    }
}

/// Whether jemalloc's own profiler is built in, enabled and active: only then does its dump show the heap.
pub(crate) fn jemalloc_profiles() -> bool {
    jemalloc::switch(c"opt.prof") == Some(true) && jemalloc::switch(c"prof.active") == Some(true)
}

/// jemalloc's own heap profile of the whole process, all threads.
pub(crate) fn jemalloc_recording(age: Duration) -> Result<Recording, Error> {
    let (rate, stacks) = jeheap::parse(&dump()?)?;
    let whole = |Estimate { objects, bytes }| [objects.round() as i64, bytes.round() as i64];
    let samples = stacks
        .into_iter()
        .map(|stack| StackSample {
            values: [whole(stack.accumulated), whole(stack.in_use)].concat(),
            stack: Stack::Calls(stack.pcs),
        })
        .collect();
    Ok(Recording {
        kinds: FOUR_KINDS.to_vec(),
        default_kind: "inuse_space",
        period_kind: ("space", "bytes"),
        period: rate as i64,
        ended: SystemTime::now(),
        duration: age,
        samples,
        comments: vec![format!("jemalloc: sampled one in {rate} bytes on average, all threads, since prof.active")],
        hide_allocator: true,
    })
}

/// Has jemalloc write its dump into memory.
fn dump() -> Result<String, Error> {
    let system = |what, source| Error::System { what, source };
    // SAFETY: the name is a NUL-ended string.
    let fd = unsafe { libc::memfd_create(c"heap".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(system("memory for the heap dump", io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let mut file = unsafe { File::from_raw_fd(fd) };
    let path =
        CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|e| system("heap dump path", e.into()))?;
    jemalloc::dump_heap_profile(&path)
        .map_err(|errno| system("jemalloc's prof.dump", io::Error::from_raw_os_error(errno.0)))?;
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).map_err(|e| system("reading the heap dump", e))?;
    Ok(text)
}

/// A stack of a table, or what is shown in the place of one that found no room in it.
pub(crate) fn shown(key: Option<&StackKey>) -> Stack {
    match key {
        Some(StackKey { trust: Trust::Whole | Trust::Cut, pcs, .. }) => Stack::Calls(pcs.clone()),
        Some(StackKey { trust: Trust::Wrong, .. }) => Stack::Named(UNKNOWN_STACK.to_owned()),
        None => Stack::Named(FULL_TABLE.to_owned()),
    }
}

/// What part of a reading has no stack, or not a whole one.
fn trust_comments(what: &str, reading: &Reading, objects: impl Fn(&[u64; COUNTS]) -> u64) -> Vec<String> {
    let of = |trust| -> u64 {
        reading.stacks.iter().filter(|(key, _)| key.trust == trust).map(|(_, counts)| objects(counts)).sum()
    };
    let (wrong, cut, dropped) = (of(Trust::Wrong), of(Trust::Cut), objects(&reading.dropped));
    let mut comments = Vec::new();
    if wrong > 0 {
        comments.push(format!(
            "{what}: {wrong} allocations have no stack: their frame pointers don't lead to the thread's root or disagree \
             with the unwinder; build everything with -C force-frame-pointers=yes"
        ));
    }
    if cut > 0 {
        comments.push(format!("{what}: {cut} allocations lie deeper than {MAX_FRAMES} frames and lack the root end"));
    }
    if dropped > 0 {
        comments.push(format!("{what}: {dropped} allocations have no stack because the table was full"));
    }
    comments
}
