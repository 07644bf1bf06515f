//! When each call starts, and when a window is over.

use std::{
    future::pending,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use super::{Alarm, schedule::Schedule};
use crate::load::{End, Window};

/// What the tasks of one window share. In a closed loop for a time that is nothing they write to.
#[derive(Debug)]
pub(super) struct Pace {
    end: End,
    think: Duration,
    schedule: Option<Schedule>,
    /// Where calls are counted: those started, and those that have ended.
    started: AtomicU64,
    ended: AtomicU64,
    /// Never has a permit; closed when the window is over, which is an event that can't be missed.
    over: Semaphore,
}

/// A call that may start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Turn {
    /// When it was to start, at a rate.
    pub(super) intended: Option<Instant>,
}

impl Pace {
    pub(super) fn new(window: &Window, tasks: usize, begun: Instant) -> Self {
        Self {
            end: window.end,
            think: if window.rate.is_none() { window.think } else { Duration::ZERO },
            schedule: window.rate.map(|rate| Schedule::new(rate, window.end, tasks, begun)),
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            over: Semaphore::new(0),
        }
    }

    /// Waits until a task may start its next call; `None` where there is none left.
    pub(super) async fn next(&self) -> Option<Turn> {
        match (&self.schedule, self.end) {
            (Some(schedule), _) => schedule.next().await.map(|time| Turn { intended: Some(time) }),
            (None, End::Requests(count)) if self.started.fetch_add(1, Relaxed) >= count => None,
            (None, _) => Some(Turn { intended: None }),
        }
    }

    /// A call has ended, however it did.
    pub(super) fn ended(&self) {
        if let End::Requests(count) = self.end
            && self.ended.fetch_add(1, Relaxed) + 1 == count
        {
            self.over.close();
        }
    }

    /// The pause after a reply, cut short by the end of the window.
    pub(super) async fn think(&self) {
        if !self.think.is_zero() {
            let _ = timeout(self.think, self.over.acquire()).await;
        }
    }

    /// Lets calls start as their time comes; for ever, where they have none.
    pub(super) async fn release(&self, alarm: &impl Alarm) {
        match &self.schedule {
            Some(schedule) => schedule.release(alarm).await,
            None => pending().await,
        }
    }

    /// Waits for the end that was asked for: its time, or the end of its last call.
    pub(super) async fn end(&self) {
        match self.end {
            End::After(length) => sleep(length).await,
            End::Requests(0) => {}
            End::Requests(_) => drop(self.over.acquire().await),
        }
    }

    /// Ends the window `after` its begin: who waits or thinks does so no longer.
    pub(super) fn close(&self, after: Duration) {
        if let Some(schedule) = &self.schedule {
            schedule.close(after);
        }
        self.over.close();
    }

    /// Once closed: the calls that were to start within the window; `None` without a rate.
    pub(super) fn scheduled(&self) -> Option<u64> {
        self.schedule.as_ref().map(Schedule::scheduled)
    }
}
