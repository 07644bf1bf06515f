//! One of the two profiles: what it counts, and its stacks by names that both sides have.

use std::{collections::HashMap, num::NonZeroU64, rc::Rc};

use super::DiffError;
use crate::profile::{
    Folded, Frame, Profile, ProfileError, SampleType,
    builds::{across_builds, without_clones},
    readable_frame, readable_name, sites,
};

/// What can be set against another.
#[derive(Debug, Clone)]
pub enum Stacks {
    /// A `profile.proto`.
    Profile(Profile),
    /// Another tool's text.
    Folded(Folded),
}

/// One of two profiles.
#[derive(Debug, Clone)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub stacks: Stacks,
    /// Requests it covers. `None` when that isn't known.
    pub ops: Option<NonZeroU64>,
}

/// A stack of a side, by names that both sides have.
pub(super) struct Sample<'a> {
    /// Root first.
    pub(super) stack: &'a [Rc<str>],
    /// Whose the value is: the function that asked for memory, else the innermost.
    pub(super) site: &'a Rc<str>,
    pub(super) value: f64,
}

impl Side {
    /// Calls `each` with every stack that has a value of the sample type at `index`, whose name is `kind`.
    pub(super) fn samples(&self, index: usize, kind: &str, readable: bool, mut each: impl FnMut(Sample<'_>)) {
        let is_memory = kind.starts_with("alloc_") || kind.starts_with("inuse_");
        match &self.stacks {
            Stacks::Profile(profile) => {
                let mut names = HashMap::new();
                for (frames, values) in profile.samples().filter(|(_, values)| values[index] != 0) {
                    let mut name = |frame| name_of(&mut names, frame);
                    let mut stack: Vec<Rc<str>> = frames.clone().rev().map(&mut name).collect();
                    let site = if is_memory { sites::asked_for(frames).map(&mut name) } else { None };
                    send(&mut stack, site, values[index] as f64, &mut each);
                }
            }
            Stacks::Folded(folded) => {
                let common = |name: &String| match readable {
                    true => across_builds(&readable_name(without_clones(name))).into(),
                    false => across_builds(name).into(),
                };
                for (frames, value) in folded.stacks.iter().filter(|(_, value)| *value != 0.0) {
                    send(&mut frames.iter().map(common).collect(), None, *value, &mut each);
                }
            }
        }
    }
}

fn name_of<'a>(names: &mut HashMap<Frame<'a>, Rc<str>>, frame: Frame<'a>) -> Rc<str> {
    let name = || across_builds(&readable_frame(&Frame { function: frame.function.map(without_clones), ..frame }));
    names.entry(frame).or_insert_with(|| name().into()).clone()
}

fn send(stack: &mut Vec<Rc<str>>, site: Option<Rc<str>>, value: f64, each: &mut impl FnMut(Sample<'_>)) {
    if stack.is_empty() {
        stack.push("<no stack>".into());
    }
    if let Some(site) = site.or_else(|| stack.last().cloned()) {
        each(Sample { stack, site: &site, value });
    }
}

/// The sample type that both sides have, and its index in each.
pub(super) fn common_type(
    sides: [&Side; 2],
    kind: Option<&str>,
) -> Result<(Option<SampleType>, [usize; 2]), DiffError> {
    let names = || sides.map(|side| side.name.clone());
    let [a, b] = match sides.map(|side| &side.stacks) {
        [Stacks::Folded(_), Stacks::Folded(_)] => {
            return match kind {
                Some(kind) => Err(DiffError::NoTypes { kind: kind.to_owned(), names: names() }),
                None => Ok((None, [0, 0])),
            };
        }
        [Stacks::Profile(a), Stacks::Profile(b)] => [a, b],
        [Stacks::Profile(one), Stacks::Folded(_)] | [Stacks::Folded(_), Stacks::Profile(one)] => [one, one],
    };
    let index = |profile: &Profile, at: usize| {
        // Of a text, the other side's.
        let side = if matches!(sides[at].stacks, Stacks::Folded(_)) { sides[1 - at] } else { sides[at] };
        profile.type_index(kind).map_err(|problem| unanswered(&side.name, problem))
    };
    let indices = [index(a, 0)?, index(b, 1)?];
    let [of_a, of_b] = [&a.types()[indices[0]], &b.types()[indices[1]]];
    if of_a.kind != of_b.kind {
        let common = a.types().iter().filter(|of_a| b.types().iter().any(|of_b| of_a.kind == of_b.kind));
        return Err(DiffError::Kinds {
            names: names(),
            kinds: [of_a.kind.clone(), of_b.kind.clone()],
            common: common.map(|of_a| of_a.kind.clone()).collect(),
        });
    }
    if of_a.unit != of_b.unit {
        let units = [of_a.unit.clone(), of_b.unit.clone()];
        return Err(DiffError::Units { kind: of_a.kind.clone(), names: names(), units });
    }
    Ok((Some(of_a.clone()), indices))
}

fn unanswered(name: &str, problem: ProfileError) -> DiffError {
    match problem {
        ProfileError::NoSuchType { wanted, present } => {
            DiffError::NoSuchType { name: name.to_owned(), wanted, present }
        }
        problem => DiffError::Unsound(crate::profile::FileError { path: name.into(), problem }),
    }
}

/// What a reader must know of how the sides were put together.
pub(super) fn notes(sides: [&Side; 2], kind: &str) -> Vec<String> {
    let mut unknown: Vec<&str> =
        sides.iter().filter(|side| side.ops.is_none()).map(|side| side.name.as_str()).collect();
    unknown.dedup();
    let ops = (!unknown.is_empty()).then(|| {
        format!("Totals, not per op: how many ops {} covers is not known (--ops-a, --ops-b).", unknown.join(" or "))
    });
    let texts: Vec<&str> =
        sides.iter().filter(|side| matches!(side.stacks, Stacks::Folded(_))).map(|side| side.name.as_str()).collect();
    let taken = match texts[..] {
        [text] => Some(format!("{text} doesn't say what it counts: taken for {kind}.")),
        _ => None,
    };
    ops.into_iter().chain(taken).collect()
}
