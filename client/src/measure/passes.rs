//! Profile passes: load of their own, with a profiler running. Nothing of them enters the timed rounds.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::{
    sync::watch,
    time::{interval, sleep},
};

use super::{
    DebugClient, DebugError,
    result::{Interval, PerOp},
};
use crate::load::{Driver, Live};

/// Load before recording begins, so that connections and caches are as they will be.
const PASS_WARMUP: Duration = Duration::from_millis(500);
/// How long the census may take to come on, and the last replies to come in, within the recorded span.
const CENSUS_MARGIN: Duration = Duration::from_secs(2);
/// Samples a second asked for; the profile says how many the kernel gave.
const CPU_HZ: u32 = 499;
/// How often it is asked whether the census is on.
const CENSUS_POLL: Duration = Duration::from_millis(10);

/// Every allocation of a window of load.
#[derive(Debug)]
pub struct AllocsPass {
    /// The profile, gzipped profile.proto.
    pub profile: Bytes,
    /// Requests within the recorded span, by the server's count, else the load generator's.
    pub ops: u64,
    /// What the server's counters say of the same span; the profile must add up to it. `None` where it has none.
    pub counted: Option<PerOp>,
    /// Whether every allocation is in it; a foreign server may only sample.
    pub exact: bool,
}

/// A CPU profile under load, of whole seconds.
///
/// # Errors
/// [`DebugError`] when there is no profile to be had.
pub async fn cpu_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    seconds: u64,
    stop: &watch::Receiver<bool>,
) -> Result<Bytes, DebugError> {
    driver.run(PASS_WARMUP, &Live::default(), stop.clone()).await;
    // The load outlasts the recording at both ends, so that none of it is idle.
    let window = Duration::from_secs(seconds) + PASS_WARMUP;
    let live = Live::default();
    let load = driver.run(window, &live, stop.clone());
    let (profile, _) = tokio::join!(debug.cpu_profile(seconds, CPU_HZ), load);
    profile
}

/// Every allocation of a window of load that begins and ends within the census, so that both count the same requests.
///
/// # Errors
/// [`DebugError`] when there is no profile to be had.
pub async fn allocs_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    window: Duration,
    stop: &watch::Receiver<bool>,
) -> Result<AllocsPass, DebugError> {
    driver.run(PASS_WARMUP, &Live::default(), stop.clone()).await;
    let exact = debug.vars().await?.census.is_some();
    let seconds = (window + CENSUS_MARGIN).as_secs().max(1);
    let began = Instant::now();
    let live = Live::default();
    let loaded = async {
        if exact {
            wait_for_census(debug).await?;
        } else {
            // There is nothing to see it by; half the margin is time enough to begin.
            sleep(CENSUS_MARGIN / 2).await;
        }
        let before = debug.reading().await?;
        let load = driver.run(window, &live, stop.clone()).await;
        let reading = Interval { before, after: debug.reading().await? };
        Ok::<_, DebugError>((reading, load.ok + load.error, began.elapsed()))
    };
    let (profile, loaded) = tokio::join!(debug.allocs_profile(seconds), loaded);
    let (reading, answered, elapsed) = loaded?;
    let ops = reading.ops().map_or(answered, |ops| ops.ok + ops.error);
    let exact = exact && elapsed < Duration::from_secs(seconds);
    Ok(AllocsPass {
        profile: profile?,
        ops,
        counted: reading.counters().and_then(|counters| counters.per_op(ops)),
        exact,
    })
}

/// What is in use while load runs.
///
/// # Errors
/// [`DebugError`] when there is no profile to be had.
pub async fn heap_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    stop: &watch::Receiver<bool>,
) -> Result<Bytes, DebugError> {
    let live = Live::default();
    let (enough, stop_load) = watch::channel(false);
    let profile = async {
        sleep(PASS_WARMUP).await;
        let profile = debug.heap_profile().await;
        // The load may have ended by itself; then nobody listens.
        let _ = enough.send(true);
        profile
    };
    let mut interrupted = stop.clone();
    tokio::select! {
        (profile, _) = async { tokio::join!(profile, driver.run(Duration::from_secs(60), &live, stop_load)) } => profile,
        // Waiting fails when nobody can say stop any more: then the profile alone decides.
        Ok(_) = interrupted.wait_for(|stop| *stop) => debug.heap_profile().await,
    }
}

async fn wait_for_census(debug: &DebugClient) -> Result<(), DebugError> {
    let mut poll = interval(CENSUS_POLL);
    for _ in 0..CENSUS_MARGIN.as_millis() / CENSUS_POLL.as_millis() {
        poll.tick().await;
        if debug.vars().await?.census.is_some_and(|census| census.active) {
            break;
        }
    }
    Ok(())
}
