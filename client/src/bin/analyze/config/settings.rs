//! How a cell is measured: the suite's settings, and changes of some of them.

use std::time::Duration;

use super::section::Section;
use crate::values::{pause, round_length, rounds, timeout, truth};

/// The keys of [`Given`].
pub(super) const KEYS: [&str; 5] = ["rounds", "profiles", "warmup_duration", "test_duration", "request_timeout"];

/// How a cell is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) rounds: u32,
    pub(crate) profiles: bool,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    pub(crate) request_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rounds: 5,
            profiles: false,
            warmup: Duration::from_secs(2),
            duration: Duration::from_secs(5),
            request_timeout: Duration::from_secs(30),
        }
    }
}

/// The settings that a section gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Given {
    rounds: Option<u32>,
    profiles: Option<bool>,
    warmup: Option<Duration>,
    duration: Option<Duration>,
    pub(super) request_timeout: Option<Duration>,
}

impl Given {
    pub(super) fn read(section: &Section<'_>) -> Self {
        Self {
            rounds: section.value("rounds", rounds),
            profiles: section.value("profiles", truth),
            warmup: section.value("warmup_duration", pause),
            duration: section.value("test_duration", round_length),
            request_timeout: section.value("request_timeout", timeout),
        }
    }

    pub(super) fn apply(self, settings: Settings) -> Settings {
        Settings {
            rounds: self.rounds.unwrap_or(settings.rounds),
            profiles: self.profiles.unwrap_or(settings.profiles),
            warmup: self.warmup.unwrap_or(settings.warmup),
            duration: self.duration.unwrap_or(settings.duration),
            request_timeout: self.request_timeout.unwrap_or(settings.request_timeout),
        }
    }
}
