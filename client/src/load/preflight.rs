//! The calls before the first window: each has a time limit of its own, and an error says which it was.

use std::{future::Future, time::Duration};

use tokio::time::timeout;

use super::CallError;
use crate::scenario::Payload;

/// What the preflight of any framework keeps to.
#[derive(Debug)]
pub(super) struct Preflight {
    /// Of each call.
    pub(super) timeout: Duration,
    pub(super) payload: Payload,
    pub(super) connections: usize,
}

/// The first call that went wrong.
#[derive(Debug)]
pub(super) struct FailedCall {
    /// Which it was: ` of 128 bytes on connection 2 of 4`. Empty where there is but one connection and one size.
    pub(super) call: String,
    pub(super) source: CallError,
}

impl Preflight {
    /// Makes the call of one share on the connection at `index`.
    pub(super) async fn call<T>(
        &self,
        index: usize,
        share: usize,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, FailedCall> {
        let result = timeout(self.timeout, call).await.unwrap_or(Err(CallError::TimedOut(self.timeout)));
        result.map_err(|source| FailedCall { call: self.which(index, share), source })
    }

    fn which(&self, index: usize, share: usize) -> String {
        if self.connections == 1 && !self.payload.is_mix() {
            return String::new();
        }
        let size = self.payload.shares().get(share).map_or(0, |share| share.size);
        format!(" of {size} bytes on connection {} of {}", index + 1, self.connections)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn each_call_has_the_whole_time_and_an_error_says_which_it_was() {
        let preflight =
            Preflight { timeout: LIMIT, payload: "1B:50%+2KiB:50%".parse().expect("a mix"), connections: 4 };
        let begun = Instant::now();
        for index in 0..4 {
            let slow = async {
                sleep(LIMIT * 9 / 10).await;
                Ok(())
            };
            assert!(preflight.call(index, 0, slow).await.is_ok());
        }
        assert_eq!(begun.elapsed(), LIMIT * 36 / 10);
        let failed = preflight.call(2, 1, pending::<Result<(), _>>()).await.expect_err("silent");
        assert_eq!(failed.call, " of 2048 bytes on connection 3 of 4");
        assert_eq!(failed.source, CallError::TimedOut(LIMIT));
        let plain = Preflight { payload: "128B".parse().expect("a size"), connections: 1, ..preflight };
        let failed = plain.call(0, 0, ready(Err::<(), _>(CallError::NoStatus))).await.expect_err("wrong");
        assert_eq!((failed.call.as_str(), failed.source), ("", CallError::NoStatus));
    }
}
