//! A value on both sides.

use std::ops::AddAssign;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::profile::signed_percent;

/// What division and summing may be off by, as a share: less is no change.
const ROUNDING: f64 = 1e-9;

/// A value in the first profile and in the second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Both {
    /// In the first.
    pub a: f64,
    /// In the second.
    pub b: f64,
}

/// What became of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was nothing before.
    Appeared,
    /// It is nothing now.
    Gone,
    /// It is more.
    Grew,
    /// It is less.
    Shrank,
    /// It is the same.
    Unchanged,
}

impl Change {
    /// `appeared`, `gone`, `grew`, `shrank` or `unchanged`, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Appeared => "appeared",
            Self::Gone => "gone",
            Self::Grew => "grew",
            Self::Shrank => "shrank",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Both {
    /// A value of the side at `at`, 0 or 1.
    pub(super) fn of(at: usize, value: f64) -> Self {
        if at == 0 { Self { a: value, b: 0.0 } } else { Self { a: 0.0, b: value } }
    }

    pub(super) fn divide(&mut self, at: usize, divisor: f64) {
        if at == 0 { self.a /= divisor } else { self.b /= divisor }
    }

    /// How much more the second is. What rounding leaves of no difference is 0.
    pub fn difference(self) -> f64 {
        let difference = self.b - self.a;
        if difference.abs() <= ROUNDING * self.a.abs().max(self.b.abs()) { 0.0 } else { difference }
    }

    /// The difference as a share of the first. `None` where that is 0.
    pub fn ratio(self) -> Option<f64> {
        (self.a != 0.0).then(|| self.difference() / self.a)
    }

    /// What became of it.
    pub fn change(self) -> Change {
        match self.difference() {
            0.0 => Change::Unchanged,
            _ if self.a == 0.0 => Change::Appeared,
            _ if self.b == 0.0 => Change::Gone,
            d if d > 0.0 => Change::Grew,
            _ => Change::Shrank,
        }
    }

    /// `+23.1%`, `appeared`, `gone` or `0`.
    pub fn percent(self) -> String {
        match self.change() {
            change @ (Change::Appeared | Change::Gone) => change.word().to_owned(),
            _ => signed_percent(self.ratio().unwrap_or(0.0)),
        }
    }
}

impl AddAssign for Both {
    fn add_assign(&mut self, other: Self) {
        self.a += other.a;
        self.b += other.b;
    }
}

/// With what follows from it: `{"a": 30, "b": 10, "difference": -20, "ratio": -0.67, "change": "shrank"}`.
impl Serialize for Both {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Both", 5)?;
        out.serialize_field("a", &self.a)?;
        out.serialize_field("b", &self.b)?;
        out.serialize_field("difference", &self.difference())?;
        out.serialize_field("ratio", &self.ratio())?;
        out.serialize_field("change", self.change().word())?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_a_word_and_a_share() {
        for (a, b, change, percent) in [
            (10.0, 30.0, Change::Grew, "+200%"),
            (30.0, 10.0, Change::Shrank, "−66.7%"),
            (0.0, 5.0, Change::Appeared, "appeared"),
            (5.0, 0.0, Change::Gone, "gone"),
            (0.0, 0.0, Change::Unchanged, "0"),
            (0.1 + 0.2, 0.3, Change::Unchanged, "0"),
        ] {
            let both = Both { a, b };
            assert_eq!((both.change(), both.percent().as_str()), (change, percent), "{both:?}");
        }
    }
}
