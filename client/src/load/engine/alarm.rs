//! Waking at a time, more finely than the runtime does.

use std::{
    future::Future,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr,
    time::Duration,
};

use tokio::{io::unix::AsyncFd, time::Instant};

/// The slow edge of pacing: waits for a time. One waits at a time.
pub(in crate::load) trait Alarm: Send + Sync + 'static {
    /// Returns at `deadline` or as soon after it as can be.
    fn wait_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send;
}

/// A timer of the kernel (`timerfd`), good to some ten microseconds. The runtime's own ticks once a millisecond, which at
/// 5,000 calls a second would send five at a time.
#[derive(Debug)]
pub(in crate::load) struct KernelAlarm(AsyncFd<OwnedFd>);

impl KernelAlarm {
    /// # Errors
    /// What the system says where there is no file descriptor left.
    pub(in crate::load) fn new() -> io::Result<Self> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened, and nobody else has it.
        let timer = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: an `OwnedFd` is the same open descriptor for as long as it lives.
        Ok(Self(unsafe { AsyncFd::register(timer) }?))
    }

    /// Arms the timer, which also makes it forget that it has fired, so that nobody has to read it.
    fn arm(&self, after: Duration) -> io::Result<()> {
        let value = libc::timespec {
            tv_sec: libc::time_t::try_from(after.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: after.subsec_nanos().into(),
        };
        let timer = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: the descriptor is an open timer, `timer` lives through the call, and the old value isn't asked for.
        match unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const timer, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Alarm for KernelAlarm {
    async fn wait_until(&self, deadline: Instant) {
        loop {
            // A duration of zero would disarm it.
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let fired = match self.arm(left) {
                Ok(()) => self.0.readable().await,
                Err(error) => Err(error),
            };
            match fired {
                Ok(mut guard) => guard.clear_ready(),
                // Neither fails for an open timer in a runtime that lives; if one does, coarse pacing is better than none.
                Err(_) => return tokio::time::sleep_until(deadline).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_fires_after_its_time_again_and_again() {
        let alarm = KernelAlarm::new().unwrap();
        for after in [300, 0, 50, 1, 2_000] {
            let deadline = Instant::now() + Duration::from_micros(after);
            alarm.wait_until(deadline).await;
            assert!(Instant::now() >= deadline);
        }
    }

    #[tokio::test]
    async fn a_wait_that_was_given_up_does_not_end_the_next() {
        let alarm = KernelAlarm::new().unwrap();
        let soon = Instant::now() + Duration::from_millis(200);
        let gave_up = tokio::time::timeout(Duration::ZERO, alarm.wait_until(soon)).await;
        assert!(gave_up.is_err());
        // The first alarm has rung unheard by now.
        tokio::time::sleep_until(soon + Duration::from_millis(2)).await;
        let deadline = Instant::now() + Duration::from_millis(5);
        alarm.wait_until(deadline).await;
        assert!(Instant::now() >= deadline);
    }
}
