//! What changed from one profile to another, whoever wrote them.

mod both;
mod picture;
mod side;
mod table;
mod tree;

use std::{collections::HashSet, rc::Rc};

pub use self::{
    both::{Both, Change},
    picture::Widths,
    side::{Side, Stacks},
    table::{DiffRow, DiffTable, Values},
};
use self::{side::Sample, table::Functions, tree::Tree};
use super::{FileError, ProfileError, SampleType, quantity::Quantity};

/// Two profiles put together: each stack with its value in the first and in the second.
#[derive(Debug, Clone)]
pub struct Diff {
    names: [String; 2],
    /// `None` for folded stacks, which don't say what they count.
    sample_type: Option<SampleType>,
    /// Set when every value is per op.
    ops: Option<[u64; 2]>,
    quantity: Quantity,
    tree: Tree,
    own: Functions,
    with_callees: Functions,
    notes: Vec<String>,
}

/// Why two profiles have no difference that means anything.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// They count different things.
    #[error("{} is of {} and {} of {}: {}", .names[0], .kinds[0], .names[1], .kinds[1], in_common(.common))]
    Kinds {
        /// What the sides are called.
        names: [String; 2],
        /// The sample type of each, by its own choice.
        kinds: [String; 2],
        /// The sample types that both have.
        common: Vec<String>,
    },
    /// They count the same thing in different units.
    #[error("{kind} is in {} in {} and in {} in {}", .units[0], .names[0], .units[1], .names[1])]
    Units {
        /// The sample type.
        kind: String,
        /// What the sides are called.
        names: [String; 2],
        /// The unit of each.
        units: [String; 2],
    },
    /// A sample type was asked for of folded stacks.
    #[error("--type {kind}: {} and {} are folded stacks, which have no types", .names[0], .names[1])]
    NoTypes {
        /// What was asked for.
        kind: String,
        /// What the sides are called.
        names: [String; 2],
    },
    /// A side has no values of that type.
    #[error("--type {wanted}: {name} has {}", .present.join(", "))]
    NoSuchType {
        /// What the side is called.
        name: String,
        /// What was asked for.
        wanted: String,
        /// What there is.
        present: Vec<String>,
    },
    /// A side is no profile of amounts.
    #[error(transparent)]
    Unsound(FileError),
}

fn in_common(kinds: &[String]) -> String {
    match kinds {
        [] => "they have no sample type in common".to_owned(),
        kinds => format!("--type must be one that both have: {}", kinds.join(", ")),
    }
}

/// Puts two profiles together, by the sample type `kind`, or else by the one that both have as their default. Functions are matched
/// by what their names have in common in every build. Values are per op when the ops of both sides are known, else of neither; what a
/// reader must know of that is in the notes.
///
/// # Errors
/// [`DiffError`] when the sides don't count the same, or a side holds negative values.
pub fn diff(a: &Side, b: &Side, kind: Option<&str>) -> Result<Diff, DiffError> {
    let sides = [a, b];
    let (sample_type, indices) = side::common_type(sides, kind)?;
    let ops = a.ops.zip(b.ops).map(|(a, b)| [a.get(), b.get()]);
    let mut tree = Tree::default();
    let (mut own, mut with_callees) = (Functions::default(), Functions::default());
    let mut seen = HashSet::new();
    // Names of a profile are made readable; those in a text are, but that text's tool may have left them as they were.
    let readable = sides.iter().any(|side| matches!(side.stacks, Stacks::Profile(_)));
    let kind = sample_type.as_ref().map_or("values", |sample_type| &sample_type.kind);
    for (at, side) in sides.into_iter().enumerate() {
        let divisor = ops.map_or(1.0, |ops| ops[at] as f64);
        side.samples(indices[at], kind, readable, |Sample { stack, site, value }| {
            tree.add(stack, Both::of(at, value));
            own.add(site, Both::of(at, value));
            seen.clear();
            let once = stack.iter().filter(|name| seen.insert(Rc::clone(name)));
            once.for_each(|name| with_callees.add(name, Both::of(at, value)));
        });
        if tree.has_negative() {
            let path = side.name.clone().into();
            return Err(DiffError::Unsound(FileError { path, problem: ProfileError::Negative(kind.to_owned()) }));
        }
        tree.divide(at, divisor);
        own.divide(at, divisor);
        with_callees.divide(at, divisor);
    }
    tree.sum_up();
    let unit = sample_type.as_ref().map_or("", |sample_type| &sample_type.unit);
    Ok(Diff {
        quantity: Quantity::new(kind, unit, ops.map(|_| 1)),
        names: sides.map(|side| side.name.clone()),
        notes: side::notes(sides, kind),
        sample_type,
        ops,
        tree,
        own,
        with_callees,
    })
}

impl Diff {
    /// What the sides are called.
    pub fn names(&self) -> [&str; 2] {
        [&self.names[0], &self.names[1]]
    }

    /// The whole of both sides.
    pub fn total(&self) -> Both {
        self.tree.total()
    }

    /// The sample type. `None` for folded stacks, which don't say what they count.
    pub fn kind(&self) -> Option<&str> {
        self.sample_type.as_ref().map(|sample_type| sample_type.kind.as_str())
    }

    /// What is counted: `alloc_space, bytes per op`.
    pub fn subject(&self) -> String {
        match &self.sample_type {
            Some(sample_type) if sample_type.kind != self.quantity.long => {
                format!("{}, {}", sample_type.kind, self.quantity.long)
            }
            _ => self.quantity.long.clone(),
        }
    }

    /// A value as people read it, without its unit.
    pub fn figure(&self, value: f64) -> String {
        self.quantity.figure(value)
    }

    /// `2,470 → 1,000 B/op, −1,470 B/op, −59.5%`
    pub fn change(&self, both: Both) -> String {
        let values = format!("{} → {}", self.figure(both.a), self.figure(both.b));
        let values = self.quantity.with_unit(&values);
        match both.change() {
            Change::Unchanged => format!("{values}, unchanged"),
            _ => format!("{values}, {}, {}", self.quantity.with_unit(&self.difference(both)), both.percent()),
        }
    }

    /// The difference with its sign, without its unit.
    pub fn difference(&self, both: Both) -> String {
        super::signed(both.difference(), |size| self.figure(size))
    }
}
