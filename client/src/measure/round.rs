//! One timed round: warm up, quiesce, read, load, quiesce, read. No profiler runs in it.

use std::{
    fs,
    future::Future,
    time::{Duration, Instant},
};

use tokio::time;

use super::{
    DebugClient,
    own::own_reading,
    result::{Interval, RunSample},
};
use crate::load::{Driver, Live, Window};

/// How often the server's memory is looked at.
const RSS_INTERVAL: Duration = Duration::from_millis(100);

/// A server under load, and how to read it.
#[derive(Debug)]
pub struct Target {
    /// Its connections.
    pub driver: Driver,
    /// Its debug endpoints; `None` when it has none.
    pub debug: Option<DebugClient>,
}

/// Measures one round after a warm-up of the same load; `live` counts the replies of its warm-up too. The driver's windows end with the last reply, so nothing is in flight when counters are read.
///
/// A reading that fails leaves the sample without the server's counters; what the load generator saw is always in it.
pub async fn measure_round(
    target: &mut Target,
    round: u32,
    (warmup, window): (Duration, &Window),
    live: &Live,
) -> RunSample {
    if !warmup.is_zero() {
        target.driver.run(&window.with_length(warmup), live).await;
    }
    let pid = match &target.debug {
        Some(debug) => debug.local_pid().await,
        None => None,
    };
    let before = server_reading(target.debug.as_ref()).await;
    let client_before = own_reading();
    let began = Instant::now();
    let (load, server_rss_peak_bytes) = watch_memory(pid, target.driver.run(window, live)).await;
    let client_after = own_reading();
    let after = server_reading(target.debug.as_ref()).await;
    RunSample {
        round,
        load,
        elapsed: began.elapsed(),
        server: before.zip(after).map(|(before, after)| Interval { before, after }),
        client: Interval { before: client_before, after: client_after },
        server_rss_peak_bytes,
    }
}

async fn server_reading(debug: Option<&DebugClient>) -> Option<super::result::ServerReading> {
    debug?.reading().await.ok()
}

/// Looks at a process's resident memory while `work` runs; gives the most that was seen.
async fn watch_memory<T>(pid: Option<u32>, work: impl Future<Output = T>) -> (T, Option<u64>) {
    let mut work = std::pin::pin!(work);
    let mut interval = time::interval(RSS_INTERVAL);
    interval.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let mut peak = None;
    loop {
        tokio::select! {
            done = &mut work => return (done, peak),
            _ = interval.tick() => peak = peak.max(pid.and_then(resident_bytes)),
        }
    }
}

fn resident_bytes(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: asks for a constant of the system.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(pages * page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_is_watched_while_work_runs() {
        let (done, peak) = watch_memory(Some(std::process::id()), async { 7 }).await;
        assert_eq!(done, 7);
        // The work was done at the first poll, so there may be no look yet; what there is, is plausible.
        assert!(peak.is_none_or(|bytes| bytes > 1 << 20));
        assert!(resident_bytes(std::process::id()).is_some_and(|bytes| bytes > 1 << 20));
        assert_eq!(resident_bytes(u32::MAX), None);
    }
}
