//! Names of runs.

use std::{fmt, str::FromStr};

pub(super) const LATEST: &str = "latest";
/// Room for it beside a file's own name in the 255 bytes that file systems allow, and in a line.
const MAX_LENGTH: usize = 100;

/// The name of a run, which is the name of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label(String);

/// A text that can't name a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "label {0:?}: must be 1 to {MAX_LENGTH} letters, digits, '-', '_' or '.', begin with a letter, a digit or '_', and not be \
     {LATEST:?}"
)]
pub struct LabelError(String);

impl Label {
    /// The moment as a label, to the second, UTC: `2026-01-31T17-05-09Z`.
    pub fn from_time(time: jiff::Timestamp) -> Self {
        Self(time.strftime("%Y-%m-%dT%H-%M-%SZ").to_string())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let ok = (1..=MAX_LENGTH).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            && !text.starts_with(['-', '.'])
            && text != LATEST;
        if ok { Ok(Self(text.to_owned())) } else { Err(LabelError(text.to_owned())) }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_plain_names() {
        for text in ["t", "before", "v1.2-3_x", "2026-01-31T17-05-09Z", "_"] {
            assert_eq!(text.parse::<Label>().unwrap().as_str(), text);
        }
        for text in ["", "latest", "..", ".hidden", "-x", "a/b", "a\\b", "a b", "ü", "a\0", &"x".repeat(101)] {
            let error = text.parse::<Label>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("letters, digits"), "{error}");
        }
    }

    #[test]
    fn a_time_makes_a_label_that_sorts_and_is_one() {
        let label = Label::from_time(jiff::Timestamp::from_second(1_769_879_109).unwrap());
        assert_eq!(label.as_str(), "2026-01-31T17-05-09Z");
        assert_eq!(label.as_str().parse(), Ok(label));
    }
}
