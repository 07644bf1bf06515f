//! How large messages are: one size, or a mix of sizes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::units::{MIB, format_size, parse_size};

/// The largest payload. Our servers take messages of a little more, for what encloses a payload; a foreign server with a
/// limit of 16 MiB on the whole message refuses a payload within five bytes of this with status 8.
pub const MAX_PAYLOAD: u64 = 16 * MIB;

/// The most sizes in a mix.
const MAX_SHARES: usize = 8;

/// Bytes of payload in each message: one size, written `1MiB`, or a mix of sizes, written `128B:80%+1MiB:20%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Payload {
    shares: [Share; MAX_SHARES],
    len: usize,
}

/// A size and how many of a hundred messages have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Share {
    /// Bytes, 1 to [`MAX_PAYLOAD`]; of a message of the user's own it may be 0.
    pub size: u64,
    /// Percent of the messages, 1 to 100; those of a mix add up to 100.
    pub percent: u32,
}

/// A payload that can't be read or is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "payload {0:?}: must be a size of 1B to 16MiB, as 128B, 16KiB or 1048576, or up to 8 different sizes with percents \
     that add up to 100, as 128B:80%,1MiB:20%"
)]
pub struct PayloadError(String);

impl Payload {
    /// Of one size, which must be 1 to [`MAX_PAYLOAD`].
    pub fn of(size: u64) -> Option<Self> {
        Self::mix(&[Share { size, percent: 100 }])
    }

    /// A message of the user's own, which may be empty; [`MAX_PAYLOAD`] at most.
    pub fn given(size: u64) -> Option<Self> {
        let mut shares = [Share::default(); MAX_SHARES];
        shares[0] = Share { size, percent: 100 };
        (size <= MAX_PAYLOAD).then_some(Self { shares, len: 1 })
    }

    /// A mix of 1 to 8 different sizes, whose percents add up to 100.
    pub fn mix(given: &[Share]) -> Option<Self> {
        let sound = |share: &Share| (1..=MAX_PAYLOAD).contains(&share.size) && share.percent > 0;
        let distinct = |(at, share): (usize, &Share)| given[..at].iter().all(|other| other.size != share.size);
        let all = given.len() <= MAX_SHARES
            && given.iter().all(sound)
            && given.iter().enumerate().all(distinct)
            && given.iter().map(|share| u64::from(share.percent)).sum::<u64>() == 100;
        all.then(|| {
            let mut shares = [Share::default(); MAX_SHARES];
            shares[..given.len()].copy_from_slice(given);
            Self { shares, len: given.len() }
        })
    }

    /// The sizes and how often each comes.
    pub fn shares(&self) -> &[Share] {
        &self.shares[..self.len]
    }

    /// Whether there is more than one size.
    pub fn is_mix(&self) -> bool {
        self.len > 1
    }

    /// The mean size in bytes, to the nearest byte.
    pub fn mean(&self) -> u64 {
        (self.shares().iter().map(|share| share.size * u64::from(share.percent)).sum::<u64>() + 50) / 100
    }

    /// The largest size in bytes.
    pub fn largest(&self) -> u64 {
        self.shares().iter().map(|share| share.size).max().unwrap_or_default()
    }

    /// For file names: `1048576`, or `128x80-1048576x20`.
    pub fn file_name(&self) -> String {
        match self.shares() {
            [share] => share.size.to_string(),
            shares => {
                shares.iter().map(|share| format!("{}x{}", share.size, share.percent)).collect::<Vec<_>>().join("-")
            }
        }
    }
}

impl FromStr for Payload {
    type Err = PayloadError;

    fn from_str(text: &str) -> Result<Self, PayloadError> {
        read(text).ok_or_else(|| PayloadError(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Payload> {
    if !text.contains(':') {
        return Payload::of(parse_size(text).ok()?);
    }
    let shares = text.split([',', '+']).map(|share| {
        let (size, percent) = share.split_once(':')?;
        let percent = percent.strip_suffix('%')?;
        // `parse` alone would take a leading `+`.
        let percent = Some(percent).filter(|p| p.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
        Some(Share { size: parse_size(size).ok()?, percent })
    });
    Payload::mix(&shares.collect::<Option<Vec<_>>>()?)
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shares() {
            [share] => f.write_str(&format_size(share.size)),
            shares => {
                let texts = shares.iter().map(|share| format!("{}:{}%", format_size(share.size), share.percent));
                f.write_str(&texts.collect::<Vec<_>>().join("+"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_read_and_written_canonically() {
        for (text, canonical, mean, largest, file) in [
            ("1MiB", "1MiB", MIB, MIB, "1048576"),
            ("1024", "1KiB", 1024, 1024, "1024"),
            ("128B:80%,1MiB:20%", "128B:80%+1MiB:20%", 209_818, MIB, "128x80-1048576x20"),
            ("1B:1%+2B:99%", "1B:1%+2B:99%", 2, 2, "1x1-2x99"),
        ] {
            let payload: Payload = text.parse().unwrap();
            assert_eq!(payload.to_string(), canonical);
            assert_eq!(canonical.parse(), Ok(payload));
            assert_eq!((payload.mean(), payload.largest()), (mean, largest));
            assert_eq!(payload.file_name(), file);
            assert_eq!(payload.is_mix(), text.contains(':'));
        }
    }

    #[test]
    fn other_payloads_are_refused_with_the_value_and_what_is_allowed() {
        let nine = (1..=9).map(|n| format!("{n}B:{}%", if n == 9 { 20 } else { 10 })).collect::<Vec<_>>().join(",");
        for text in [
            "",
            "0B",
            "17MiB",
            "128B:80%",
            "128B:80%,1MiB:30%",
            "128B:0%,1MiB:100%",
            "128B:50%,128B:50%",
            "128B:+50%,1MiB:50%",
            "128B:50,1MiB:50",
            "128B,1MiB",
            &nine,
        ] {
            let error = text.parse::<Payload>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("payload {text:?}: must be a size")), "{error}");
        }
    }
}
