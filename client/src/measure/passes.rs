//! Passes: load of their own, with a profiler running or system calls counted. Nothing of them enters the timed rounds.

use std::{
    num::NonZeroU64,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::{sync::oneshot, time::sleep};

use super::{
    DebugClient, DebugError, SyscallCounter, SyscallsError, Target,
    result::{Interval, PerOp, ServerReading, SyscallCounts},
};
use crate::load::{Driver, ErrorCount, Live, LoadSample, Window};

/// Load before recording begins, so that connections and caches are as they will be.
const PASS_WARMUP: Duration = Duration::from_millis(500);
/// How long the census may take to come on, and the last replies to come in, within the recorded span.
const CENSUS_MARGIN: Duration = Duration::from_secs(2);
/// Samples a second asked for; the profile says how many the kernel gave.
const CPU_HZ: u32 = 499;
/// The longest a heap profile is waited for.
const HEAP_PASS_LIMIT: Duration = Duration::from_secs(60);

/// The allocations of a window of load.
#[derive(Debug)]
pub struct AllocsPass {
    /// What was recorded.
    pub record: AllocsRecord,
    /// Requests within the recorded span, by the server's count, else the load generator's.
    pub ops: NonZeroU64,
    /// What the server's counters say of the same span; the profile must add up to it. `None` where it has none.
    pub counted: Option<PerOp>,
}

/// How a server's allocations were recorded, in gzipped profile.proto.
#[derive(Debug)]
pub enum AllocsRecord {
    /// Every one of them.
    Census {
        /// The profile.
        profile: Bytes,
        /// Whether the window ended within the recorded span.
        whole: bool,
    },
    /// What the server sampled from its start, in use or not, as Go's heap profiles are: the window is the difference.
    Sampled {
        /// Before the window.
        before: Bytes,
        /// After it.
        after: Bytes,
    },
}

/// Why a pass gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// System calls can't be counted.
    #[error(transparent)]
    Syscalls(#[from] SyscallsError),
    /// The debug endpoints gave none.
    #[error(transparent)]
    Debug(#[from] DebugError),
    /// The server's debug endpoints have no `/debug/allocations`.
    #[error(
        "{url}/debug/allocations: this server has no log of its allocations in order, as those with the crate debug-pprof have; \
         Go's have none"
    )]
    NoLog {
        /// The debug endpoints.
        url: String,
    },
    /// It would tell of a server that does something else than serve.
    #[error("no call succeeded while it was taken{}", .cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default())]
    NoSuccess {
        /// What most of the calls failed of. `None` when none of them ended.
        cause: Option<String>,
    },
}

/// A CPU profile under load, of whole seconds.
///
/// # Errors
/// [`PassError`].
pub async fn cpu_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    load: &Window,
    seconds: u64,
) -> Result<Bytes, PassError> {
    let live = Live::default();
    driver.run(&load.with_length(PASS_WARMUP), &live).await;
    // The load outlasts the recording at both ends, so that none of it is idle.
    let window = load.with_length(Duration::from_secs(seconds) + PASS_WARMUP);
    let (profile, load) = tokio::join!(debug.cpu_profile(seconds, CPU_HZ), driver.run(&window, &live));
    successes(&load)?;
    Ok(profile?)
}

/// The allocations of a window of load: every one where the server has a census, in which the window begins and ends, so that both
/// count the same requests; else what the server samples.
///
/// # Errors
/// [`PassError`].
pub async fn allocs_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    load: &Window,
    length: Duration,
) -> Result<AllocsPass, PassError> {
    let live = Live::default();
    driver.run(&load.with_length(PASS_WARMUP), &live).await;
    if debug.vars().await?.is_some_and(|vars| vars.census.is_some()) {
        census_pass(driver, debug, load, length).await
    } else {
        sampled_pass(driver, debug, load, length).await
    }
}

async fn census_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    load: &Window,
    length: Duration,
) -> Result<AllocsPass, PassError> {
    let seconds = (length + CENSUS_MARGIN).as_secs().max(1);
    let began = Instant::now();
    let loaded = async {
        debug.wait_for(|vars| vars.census, CENSUS_MARGIN).await?;
        let before = debug.reading().await?;
        let load = driver.run(&load.with_length(length), &Live::default()).await;
        let reading = Interval { before, after: debug.reading().await? };
        Ok::<_, PassError>((completed(&load, Some(&reading))?, reading, began.elapsed()))
    };
    let (profile, loaded) = tokio::join!(debug.allocs_profile(seconds), loaded);
    let (ops, reading, elapsed) = loaded?;
    Ok(AllocsPass {
        record: AllocsRecord::Census { profile: profile?, whole: elapsed < Duration::from_secs(seconds) },
        ops,
        counted: reading.counters().and_then(|counters| counters.per_op(ops.get())),
    })
}

/// Go publishes what it sampled when a collection ends, two collections late: without a forced one, which `heap_profile` asks for,
/// the last allocations before either reading would be missing. The counters are read within the profiles, so that
/// these hold what is counted and some requests to the debug endpoints more.
async fn sampled_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    load: &Window,
    length: Duration,
) -> Result<AllocsPass, PassError> {
    let cost = debug.reading_cost().await?.unwrap_or_default();
    let profile_before = debug.heap_profile().await?;
    let before = debug.reading().await?;
    let load = driver.run(&load.with_length(length), &Live::default()).await;
    let reading = Interval { before, after: debug.reading().await? };
    let profile_after = debug.heap_profile().await?;
    let ops = completed(&load, Some(&reading))?;
    Ok(AllocsPass {
        record: AllocsRecord::Sampled { before: profile_before, after: profile_after },
        ops,
        counted: reading.counters().and_then(|counters| counters.without(&cost).per_op(ops.get())),
    })
}

/// What is in use while load runs.
///
/// # Errors
/// [`PassError`].
pub async fn heap_pass(driver: &mut Driver, debug: &DebugClient, load: &Window) -> Result<Bytes, PassError> {
    let live = Live::default();
    let (enough, is_enough) = oneshot::channel();
    let profile = async {
        sleep(PASS_WARMUP).await;
        let profile = debug.heap_profile().await;
        // The load may have ended by itself; then nobody listens.
        let _ = enough.send(());
        profile
    };
    let window = load.with_length(HEAP_PASS_LIMIT);
    let enough = async { drop(is_enough.await) };
    let (profile, load) = tokio::join!(profile, driver.run_until(&window, &live, enough));
    successes(&load)?;
    Ok(profile?)
}

/// System calls of server and load generator in a window of load. Counting them cost a Triple server 9 % more CPU time a
/// request of 128 B, and the client 4 %: too much for the timed rounds.
///
/// # Errors
/// [`PassError`].
pub async fn syscalls_pass(target: &mut Target, window: &Window) -> Result<SyscallCounts, PassError> {
    // First, so that no load is sent where counting isn't allowed.
    let mut client = SyscallCounter::open(std::process::id())?;
    let mut server = target.pid.map(SyscallCounter::open).transpose()?;
    target.driver.run(&window.with_length(PASS_WARMUP), &Live::default()).await;
    let before = reading(target.debug.as_ref()).await?;
    let (client_before, server_before) = (client.read()?, server.as_mut().map(SyscallCounter::read).transpose()?);
    let load = target.driver.run(window, &Live::default()).await;
    let (client_after, server_after) = (client.read()?, server.as_mut().map(SyscallCounter::read).transpose()?);
    let reading = before.zip(reading(target.debug.as_ref()).await?).map(|(before, after)| Interval { before, after });
    Ok(SyscallCounts {
        ops: completed(&load, reading.as_ref())?.get(),
        server: server_after.zip(server_before).map(|(after, before)| after - before),
        client: Some(client_after - client_before),
    })
}

async fn reading(debug: Option<&DebugClient>) -> Result<Option<ServerReading>, DebugError> {
    match debug {
        Some(debug) => debug.reading().await.map(Some),
        None => Ok(None),
    }
}

/// Requests completed, by the server's count, else the load generator's.
fn completed(load: &LoadSample, reading: Option<&Interval<ServerReading>>) -> Result<NonZeroU64, PassError> {
    let answered = successes(load)?.saturating_add(load.error);
    let counted = reading.and_then(Interval::<ServerReading>::ops);
    Ok(counted.and_then(|ops| NonZeroU64::new(ops.ok + ops.error)).unwrap_or(answered))
}

/// How many calls succeeded: at least one, or the profile is of no use.
pub(super) fn successes(load: &LoadSample) -> Result<NonZeroU64, PassError> {
    let cause = |errors: &[ErrorCount]| errors.first().map(|error| error.message.clone());
    NonZeroU64::new(load.ok).ok_or_else(|| PassError::NoSuccess { cause: cause(&load.errors) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::{Case, LoadSpec},
        scenario::Framework,
    };

    #[tokio::test]
    async fn a_profile_of_a_server_that_answers_nothing_is_an_error() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        // Each connection is accepted and closed: whoever asks for a profile or for an echo gets neither.
        let serving = tokio::spawn(async move { while listener.accept().await.is_ok() {} });
        let case = Case::new("128B-2".parse().expect("a scenario"), Duration::from_secs(1));
        let spec = LoadSpec::new(Framework::Raw, addr, case);
        let mut driver = Driver::connect(spec).await.expect("a connection");
        let debug = DebugClient::new(&format!("http://{addr}")).expect("a URL");
        let error = cpu_pass(&mut driver, &debug, &case.window, 1).await.expect_err("no profile").to_string();
        assert!(error.starts_with("no call succeeded while it was taken: connection lost"), "{error}");
        serving.abort();
    }
}
