//! What the load generator itself uses.

use std::mem::MaybeUninit;

use super::result::{AllocCounters, ClientReading};

/// Counters and CPU time of this process, now. Counters are `None` when its allocator doesn't count.
pub fn own_reading() -> ClientReading {
    let counters = debug_pprof::serving_counts().map(|counts| AllocCounters {
        allocs: Some(counts.allocs),
        zeroed_allocs: Some(counts.zeroed_allocs),
        reallocs: Some(counts.reallocs),
        frees: Some(counts.frees),
        requested_bytes: Some(counts.requested_bytes),
        usable_bytes: counts.usable_bytes,
    });
    ClientReading { counters, cpu_ns: cpu_ns() }
}

fn cpu_ns() -> Option<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid, and the struct is filled when the call returns 0.
    unsafe {
        (libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) == 0).then(|| {
            let time = time.assume_init();
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        })
    }
}
