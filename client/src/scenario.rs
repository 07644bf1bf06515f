//! What is measured: a payload size with a concurrency, against a framework.

use std::{fmt, str::FromStr};

use crate::units::{MIB, format_size, parse_size};

/// The largest payload. Our servers take messages of a little more, for what encloses a payload; a foreign server with a
/// limit of 16 MiB on the whole message refuses a payload within five bytes of this with status 8.
pub const MAX_PAYLOAD: u64 = 16 * MIB;

/// The most calls in flight at a time.
pub const MAX_CONCURRENCY: u32 = 10_000;

/// A payload and how many calls of it are in flight, written `1MiB-100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scenario {
    /// Bytes of payload in each message, 1 to [`MAX_PAYLOAD`].
    pub payload: u64,
    /// Calls in flight at a time, 1 to [`MAX_CONCURRENCY`].
    pub concurrency: u32,
}

/// A scenario that can't be read or is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "scenario {0:?}: size must be bytes or a number with B, KiB or MiB, 1B to 16MiB; concurrency 1 to 10000; as in \
     1MiB-100"
)]
pub struct ScenarioError(String);

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        read_scenario(text).ok_or_else(|| ScenarioError(text.to_owned()))
    }
}

fn read_scenario(text: &str) -> Option<Scenario> {
    let (size, concurrency) = text.split_once('-')?;
    let payload = parse_size(size).ok().filter(|p| (1..=MAX_PAYLOAD).contains(p))?;
    // `parse` alone would take a leading `+`.
    let concurrency = Some(concurrency).filter(|c| c.bytes().all(|b| b.is_ascii_digit()))?.parse().ok();
    let concurrency = concurrency.filter(|c| (1..=MAX_CONCURRENCY).contains(c))?;
    Some(Scenario { payload, concurrency })
}

/// The canonical name: `1024-050` reads as, and is written, `1KiB-50`.
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", format_size(self.payload), self.concurrency)
    }
}

/// A kind of server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    /// Dubbo's Triple in gRPC mode.
    Triple,
    /// gRPC.
    Grpc,
    /// Length-prefixed messages over TCP: the machine's own limit.
    Raw,
}

/// A name that is no framework's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("framework {0:?}: must be one of triple, grpc, raw")]
pub struct FrameworkError(String);

impl Framework {
    /// Every framework, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Triple, Self::Grpc, Self::Raw];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triple => "triple",
            Self::Grpc => "grpc",
            Self::Raw => "raw",
        }
    }

    /// The port a server listens on unless told otherwise.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Triple => 20000,
            Self::Grpc => 50051,
            Self::Raw => 40000,
        }
    }

    /// The port of a server's debug endpoints unless told otherwise. 8002 is the Dubbo protocol's.
    pub const fn default_debug_port(self) -> u16 {
        match self {
            Self::Triple => 8000,
            Self::Grpc => 8001,
            Self::Raw => 8003,
        }
    }
}

impl FromStr for Framework {
    type Err = FrameworkError;

    fn from_str(text: &str) -> Result<Self, FrameworkError> {
        Self::ALL.into_iter().find(|f| f.name() == text).ok_or_else(|| FrameworkError(text.to_owned()))
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_read_and_written_canonically() {
        for (text, payload, concurrency, canonical) in [
            ("1MiB-100", MIB, 100, "1MiB-100"),
            ("128B-50", 128, 50, "128B-50"),
            ("1024-050", 1024, 50, "1KiB-50"),
            ("1-1", 1, 1, "1B-1"),
            ("16MiB-10000", MAX_PAYLOAD, MAX_CONCURRENCY, "16MiB-10000"),
        ] {
            let scenario: Scenario = text.parse().unwrap();
            assert_eq!(scenario, Scenario { payload, concurrency });
            assert_eq!(scenario.to_string(), canonical);
        }
    }

    #[test]
    fn a_bad_scenario_is_one_line_with_the_value_and_what_is_allowed() {
        for text in [
            "1MB-x",
            "0B-10",
            "20MiB-1",
            "16777217B-1",
            "16777217-1",
            "-1",
            "128B-0",
            "128B-20000",
            "128B",
            "",
            "128B-+5",
            "128B-5-5",
            "128B-",
        ] {
            let error = text.parse::<Scenario>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "scenario {text:?}: size must be bytes or a number with B, KiB or MiB, 1B to 16MiB; concurrency 1 to \
                     10000; as in 1MiB-100"
                )
            );
        }
    }

    #[test]
    fn frameworks_are_read_by_their_names() {
        for framework in Framework::ALL {
            assert_eq!(framework.to_string().parse(), Ok(framework));
            assert_eq!(serde_json::to_value(framework).unwrap(), framework.name());
        }
        assert_eq!(
            "gprc".parse::<Framework>().unwrap_err().to_string(),
            "framework \"gprc\": must be one of triple, grpc, raw"
        );
    }
}
