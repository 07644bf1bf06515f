//! What a request does, apart from when: which do the same, and where two differ.

use std::{cmp::Reverse, collections::HashMap, ops::Range};

use serde::{Deserialize, Serialize};

use super::{
    Request, Step, StepKind,
    follow::{Followed, What},
};

/// A step of which two requests may have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Act {
    kind: StepKind,
    site: Option<usize>,
    requested: u64,
    from: Option<u64>,
}

/// A step of two requests that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Which of them has it.
    pub side: Whose,
    /// The step, by the first one's time where it has it.
    pub step: Step,
}

/// Which of two requests has a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// Both.
    Both,
    /// The first only.
    First,
    /// The second only.
    Second,
}

/// Requests that did the same, but something else than most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Which they are, from 1.
    pub requests: Vec<u64>,
    /// Calls that handed out memory, in each.
    pub allocs: u64,
    /// Bytes handed out in each.
    pub bytes: u64,
    /// The steps that they have and the typical request doesn't, and the other way round.
    pub differences: Vec<Compared>,
}

pub(super) fn of(followed: &Followed, range: &Range<usize>) -> Vec<Act> {
    let block = |block: usize| &followed.blocks[block];
    let act = |event: usize| match followed.events[event].what {
        What::Alloc { block: of, zeroed } => Act {
            kind: if zeroed { StepKind::AllocZeroed } else { StepKind::Alloc },
            site: Some(block(of).site),
            requested: block(of).requested,
            from: None,
        },
        What::Realloc { block: of } => Act {
            kind: StepKind::Realloc,
            site: Some(block(of).site),
            requested: block(of).requested,
            from: block(of).from.map(|from| from.requested),
        },
        What::Free { block: of, requested } => {
            Act { kind: StepKind::Free, site: of.map(|of| block(of).site), requested, from: None }
        }
        What::Start => Act { kind: StepKind::Start, site: None, requested: 0, from: None },
        What::End { ok } => {
            let kind = if ok { StepKind::Ok } else { StepKind::Error };
            Act { kind, site: None, requested: 0, from: None }
        }
    };
    range.clone().map(act).collect()
}

/// The requests of each kind, most frequent kind first, of equally frequent ones that which came first.
fn kinds(sequences: &[Vec<Act>]) -> Vec<Vec<usize>> {
    let mut by_sequence: HashMap<&[Act], Vec<usize>> = HashMap::new();
    for (at, sequence) in sequences.iter().enumerate() {
        by_sequence.entry(sequence).or_default().push(at);
    }
    let mut kinds: Vec<Vec<usize>> = by_sequence.into_values().collect();
    kinds.sort_by_key(|kind| (Reverse(kind.len()), kind[0]));
    kinds
}

/// A request of the most frequent kind, and how many there are of it: the first in the second half of the log, where the server
/// is as it will be.
pub(super) fn most_common(sequences: &[Vec<Act>]) -> (usize, u64) {
    let half = sequences.len() / 2;
    let kinds = kinds(sequences);
    let most = kinds[0].len();
    let settled = |kind: &Vec<usize>| kind.iter().copied().find(|&at| at >= half);
    let typical = kinds.iter().take_while(|kind| kind.len() == most).find_map(settled);
    (typical.unwrap_or(kinds[0][most - 1]), most as u64)
}

/// The other kinds; `compared` sets a request against the typical one.
pub(super) fn variants(
    sequences: &[Vec<Act>],
    typical: usize,
    compared: impl Fn(usize) -> Vec<Compared>,
) -> Vec<Variant> {
    let others = kinds(sequences).into_iter().filter(|kind| sequences[kind[0]] != sequences[typical]);
    let variant = |kind: Vec<usize>| {
        let steps = compared(kind[0]);
        let second = steps.iter().filter(|compared| compared.side != Whose::First).map(|compared| compared.step);
        let handed_out = |step: &Step| matches!(step.kind, StepKind::Alloc | StepKind::AllocZeroed | StepKind::Realloc);
        let handed_out: Vec<Step> = second.filter(handed_out).collect();
        Variant {
            requests: kind.iter().map(|&at| at as u64 + 1).collect(),
            allocs: handed_out.len() as u64,
            bytes: handed_out.iter().filter_map(|step| step.usable.or(step.requested)).sum(),
            differences: steps.into_iter().filter(|compared| compared.side != Whose::Both).collect(),
        }
    };
    others.map(variant).collect()
}

/// More pairs of steps than this are not compared one by one: a request of thousands of steps against one that shares few.
const MOST_PAIRS: usize = 4_000_000;

/// Two requests step by step: the longest sequence that both have, and between its steps those of one only, the first's first.
pub(super) fn compare(first: (&[Act], &Request), second: (&[Act], &Request)) -> Vec<Compared> {
    let ((a, of_a), (b, of_b)) = (first, second);
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (middle_a, middle_b) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let is_both = common(middle_a, middle_b);

    let mut compared: Vec<Compared> = Vec::with_capacity(a.len().max(b.len()));
    let mut push = |side, step| compared.push(Compared { side, step });
    of_a.steps[..head].iter().for_each(|&step| push(Whose::Both, step));
    let (mut i, mut j) = (0, 0);
    for (in_a, in_b) in is_both.into_iter().chain([(middle_a.len(), middle_b.len())]) {
        of_a.steps[head + i..head + in_a].iter().for_each(|&step| push(Whose::First, step));
        of_b.steps[head + j..head + in_b].iter().for_each(|&step| push(Whose::Second, step));
        if in_a < middle_a.len() && in_b < middle_b.len() {
            push(Whose::Both, of_a.steps[head + in_a]);
        }
        (i, j) = (in_a + 1, in_b + 1);
    }
    of_a.steps[a.len() - tail..].iter().for_each(|&step| push(Whose::Both, step));
    compared
}

/// The places of a longest common subsequence in both, by the table of its lengths.
fn common(a: &[Act], b: &[Act]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    if a.len().saturating_mul(b.len()) > MOST_PAIRS {
        return places;
    }
    let width = b.len() + 1;
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = if a[i] == b[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            places.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    places
}
