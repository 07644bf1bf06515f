//! What is measured: a payload with a concurrency, how messages are written, and against which kind of server.

mod encoding;
mod framework;
mod gateway;
mod payload;
mod peer;

use std::{fmt, str::FromStr};

pub use self::{
    encoding::{Compression, PayloadPattern, Serialization},
    framework::{Framework, Protocol},
    gateway::GatewayKind,
    payload::{MAX_PAYLOAD, Payload, PayloadError, Share},
    peer::{Gzip, PEERS, Peer, Recipe},
};

/// The most calls in flight at a time.
pub const MAX_CONCURRENCY: u32 = 10_000;

/// A payload and how many calls of it are in flight, written `1MiB-100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scenario {
    /// Bytes of payload in each message.
    pub payload: Payload,
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

/// A name that is none of those allowed. The text names the kind, the value and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {value:?}: must be one of {allowed}")]
pub struct NameError {
    kind: &'static str,
    value: String,
    allowed: String,
}

/// Gives an enum its names: `ALL`, `name()`, and reading and writing by name.
macro_rules! named {
    ($type:ident, $kind:literal, [$($variant:ident = $name:literal),+ $(,)?]) => {
        $crate::scenario::named!($type, $kind, [$($variant = $name),+], []);
    };
    // The last list has names that can't be asked for.
    ($type:ident, $kind:literal, [$($variant:ident = $name:literal),+ $(,)?], [$($made:ident = $given:literal),*]) => {
        impl $type {
            /// Every one that can be asked for, in the order of tables.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name on the command line and in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    $(Self::$made => $given,)*
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::scenario::NameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|known| known.name() == text)
                    .ok_or_else(|| $crate::scenario::NameError::new($kind, text, &[$($name),+]))
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
pub(crate) use named;

impl NameError {
    pub(crate) fn new(kind: &'static str, value: &str, allowed: &[&str]) -> Self {
        Self { kind, value: value.to_owned(), allowed: allowed.join(", ") }
    }
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        read_scenario(text).ok_or_else(|| ScenarioError(text.to_owned()))
    }
}

fn read_scenario(text: &str) -> Option<Scenario> {
    let (payload, concurrency) = text.split_once('-')?;
    Some(Scenario { payload: payload.parse().ok()?, concurrency: read_concurrency(concurrency)? })
}

/// A number of calls in flight, 1 to [`MAX_CONCURRENCY`].
pub fn read_concurrency(text: &str) -> Option<u32> {
    // `parse` alone would take a leading `+`.
    let digits = Some(text).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|concurrency| (1..=MAX_CONCURRENCY).contains(concurrency))
}

/// The canonical name: `1024-050` reads as, and is written, `1KiB-50`.
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.payload, self.concurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

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
            assert_eq!(scenario, Scenario { payload: Payload::of(payload).unwrap(), concurrency });
            assert_eq!(scenario.to_string(), canonical);
        }
        let mix: Scenario = "128B:80%+1MiB:20%-50".parse().unwrap();
        assert_eq!((mix.payload.shares().len(), mix.concurrency), (2, 50));
        assert_eq!(mix.to_string(), "128B:80%+1MiB:20%-50");
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
}
