//! The allocation log: requests one at a time, each with a pause behind it, by which they can be told apart.

use std::time::Duration;

use super::{DebugClient, PassError, allocation_log::AllocationLog, passes::successes};
use crate::load::{Driver, End, Live, Window};

/// How long the log may take to come on.
const START_LIMIT: Duration = Duration::from_secs(2);
/// What requests may take beside the pauses before the log ends without them.
const SLACK: Duration = Duration::from_secs(30);
/// The longest log a server gives.
const LONGEST: u64 = 3600;

/// Logs what the server does with memory for so many requests. The load is one of a single call at a time.
///
/// The log comes on after `warmup` of the same load without pauses. It ends before all requests have when they take half a minute
/// more than their pauses.
///
/// # Errors
/// [`PassError`]; [`PassError::NoLog`] for a server that has none to give.
pub async fn log_pass(
    driver: &mut Driver,
    debug: &DebugClient,
    warmup: Duration,
    (ops, pause): (u64, Duration),
) -> Result<AllocationLog, PassError> {
    if debug.vars().await?.is_none_or(|vars| vars.allocation_log.is_none()) {
        return Err(PassError::NoLog { url: debug.url() });
    }
    let live = Live::default();
    if !warmup.is_zero() {
        driver.run(&Window::lasting(warmup), &live).await;
    }
    let window = Window { end: End::Requests(ops), rate: None, think: pause };
    let pauses = pause.saturating_mul(u32::try_from(ops).unwrap_or(u32::MAX));
    let seconds = (pauses + SLACK).as_secs().min(LONGEST);
    let loaded = async {
        debug.wait_for(|vars| vars.allocation_log, START_LIMIT).await?;
        let load = driver.run(&window, &live).await;
        successes(&load)
    };
    let logged = async { debug.allocation_log(ops, seconds).await.map_err(PassError::from) };
    let (log, _) = tokio::try_join!(logged, loaded)?;
    Ok(log)
}
