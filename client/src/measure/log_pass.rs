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

/// Requests that are logged, however long they take: their fates are those of one half, watched in the other.
const FEWEST: u64 = 4;

/// What is sent while a log is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLoad {
    /// The same without pauses, before the log comes on.
    pub warmup: Duration,
    /// Requests, one at a time.
    pub ops: u64,
    /// After each of them.
    pub pause: Duration,
    /// Fewer of them, if they would take longer than this by how long those of the warm-up took. `None`: never.
    pub within: Option<Duration>,
}

/// Logs what the server does with memory for some requests. The driver's load is one of a single call at a time.
///
/// The log ends before all requests have when they take half a minute more than their pauses.
///
/// # Errors
/// [`PassError`]; [`PassError::NoLog`] for a server that has none to give.
pub async fn log_pass(driver: &mut Driver, debug: &DebugClient, of: &LogLoad) -> Result<AllocationLog, PassError> {
    if debug.vars().await?.is_none_or(|vars| vars.allocation_log.is_none()) {
        return Err(PassError::NoLog { url: debug.url() });
    }
    let live = Live::default();
    let mut ops = of.ops;
    if !of.warmup.is_zero() {
        let warmup = driver.run(&Window::lasting(of.warmup), &live).await;
        ops = of.fitting(warmup.qps());
    }
    let pause = of.pause;
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

impl LogLoad {
    /// As many requests as there is time for, of so many a second.
    fn fitting(&self, qps: Option<f64>) -> u64 {
        // Without a reply within the warm-up one takes forever, which leaves the fewest.
        let Some((within, qps)) = self.within.zip(qps) else { return self.ops };
        let each = self.pause.as_secs_f64() + 1.0 / qps;
        let fitting = (within.as_secs_f64() / each) as u64;
        fitting.max(FEWEST).min(self.ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_requests_are_logged_of_a_slow_server() {
        let ms = Duration::from_millis;
        let load = LogLoad { warmup: ms(200), ops: 100, pause: ms(5), within: Some(ms(1000)) };
        assert_eq!([5_000.0, 200.0, 20.0, 0.1].map(|qps| load.fitting(Some(qps))), [100, 100, 18, FEWEST]);
        assert_eq!(load.fitting(Some(0.0)), FEWEST, "no reply came in the warm-up");
        assert_eq!(load.fitting(None), 100, "nothing is known");
        assert_eq!(LogLoad { within: None, ..load }.fitting(Some(0.1)), 100);
        assert_eq!(LogLoad { ops: 2, ..load }.fitting(Some(0.1)), 2);
    }
}
