//! Functions by their own and their callees' share: the numbers and the order of `go tool pprof -top`.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use super::{Filter, Frame, Profile};

/// pprof's default: functions with less than this share of the total are left out.
const NODE_FRACTION: f64 = 0.005;
/// pprof's default: calls with less than this share don't count as calls when it is told which functions were inlined.
const EDGE_FRACTION: f64 = 0.001;

/// Functions, those with the largest value of their own first.
#[derive(Debug, Clone, PartialEq)]
pub struct TopTable {
    /// The sample type: `cpu`, `alloc_space`, …
    pub kind: String,
    /// Its unit: `nanoseconds`, `bytes`, …
    pub unit: String,
    /// All samples' values, without their signs, and of those too that the filter left out.
    pub total: i64,
    /// What the filter asked for.
    pub filters: Vec<String>,
    /// The functions.
    pub rows: Vec<TopRow>,
    /// Functions left out for being below [`Self::cutoff`].
    pub dropped: usize,
    /// The value, callees included, below which functions are left out.
    pub cutoff: i64,
    /// Functions before the limit on their number.
    pub of: usize,
}

/// A function's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopRow {
    /// The function, as the profile and pprof name it.
    pub name: String,
    /// What it spent itself.
    pub flat: i64,
    /// What it and the functions it called spent, once for each sample.
    pub cum: i64,
    /// Whether it was inlined into its callers.
    pub inlined: Inlined,
}

/// How a function's callers called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inlined {
    /// By a call.
    No,
    /// Some by a call.
    Partly,
    /// All have it inlined.
    Yes,
}

#[derive(Default)]
struct Node {
    name: String,
    flat: i64,
    cum: i64,
}

struct Edge {
    weight: i64,
    inlined: bool,
}

/// The functions of a profile by the sample type at `type_index` ([`Profile::type_index`]), at most `limit`, in the samples that
/// pass the filter.
pub fn top(profile: &Profile, filter: &Filter, type_index: usize, limit: Option<usize>) -> TopTable {
    let passed = filter.apply(profile);
    let (stacks, mut nodes) = stacks(&passed, type_index);
    let mut seen = HashSet::new();
    for (stack, value) in &stacks {
        seen.clear();
        for (node, _) in stack {
            if seen.insert(*node) {
                nodes[*node].cum = nodes[*node].cum.saturating_add(*value);
            }
        }
        if let Some((leaf, _)) = stack.last() {
            nodes[*leaf].flat = nodes[*leaf].flat.saturating_add(*value);
        }
    }

    let counted = nodes.iter().map(|n| n.flat).fold(0, i64::saturating_add);
    let cutoff = share(counted, NODE_FRACTION);
    let counts = |node: &Node| node.flat != 0 || node.cum != 0;
    let kept: Vec<bool> = nodes.iter().map(|n| counts(n) && n.cum.saturating_abs() >= cutoff).collect();
    let of = kept.iter().filter(|kept| **kept).count();
    let inlined = inlined(&stacks, &kept, share(counted, EDGE_FRACTION));

    let mut rows: Vec<TopRow> = nodes
        .iter()
        .enumerate()
        .filter(|(at, _)| kept[*at])
        .map(|(at, n)| TopRow {
            name: n.name.clone(),
            flat: n.flat,
            cum: n.cum,
            inlined: inlined.get(&at).copied().unwrap_or(Inlined::No),
        })
        .collect();
    rows.sort_by(|a, b| {
        let key =
            |row: &TopRow| (Reverse(row.flat.saturating_abs()), row.name.clone(), Reverse(row.cum.saturating_abs()));
        key(a).cmp(&key(b))
    });
    rows.truncate(limit.unwrap_or(usize::MAX));

    let sample_type = &profile.types()[type_index];
    TopTable {
        kind: sample_type.kind.clone(),
        unit: sample_type.unit.clone(),
        total: profile.samples().map(|(_, values)| values[type_index].saturating_abs()).fold(0, i64::saturating_add),
        filters: filter.names(),
        dropped: nodes.iter().filter(|n| counts(n)).count() - of,
        rows,
        cutoff,
        of,
    }
}

/// A frame's label, shortened as pprof shortens it: names that are their own symbol lose what is in `()` and in `<>`.
fn label(frame: &Frame<'_>) -> String {
    let label = frame.label().into_owned();
    // What pprof takes for C++: Java's `Map.<init>` and Go's `(*Map[K]).Get` are none.
    let is_cpp = label.contains(['<', '>', '[', ']']) || label.contains("::");
    let is_other = label.contains(".<") || label.contains("]).");
    if frame.function != frame.symbol || frame.function.is_none() || is_other || !is_cpp {
        return label;
    }
    without_brackets(without_brackets(label, '(', ')'), '<', '>')
}

/// Removes whatever is between matching brackets, until one that doesn't match.
fn without_brackets(mut name: String, open: char, close: char) -> String {
    let (mut depth, mut first, mut at) = (0usize, 0, 0);
    while let Some(found) = name[at..].find([open, close]) {
        at += found;
        if name[at..].starts_with(open) {
            depth += 1;
            if depth == 1 {
                first = at;
            }
            at += 1;
        } else if depth == 0 {
            return name;
        } else {
            depth -= 1;
            at += 1;
            if depth == 0 {
                name.replace_range(first..at, "");
                at = first;
            }
        }
    }
    name
}

/// A stack as nodes, root first, each with whether it was inlined.
type Stack = Vec<(usize, bool)>;

/// The stacks that have a value, with the functions in them.
fn stacks(profile: &Profile, type_index: usize) -> (Vec<(Stack, i64)>, Vec<Node>) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut by_label = HashMap::new();
    let mut node_of = |frame: Frame<'_>| {
        *by_label.entry(label(&frame)).or_insert_with_key(|label| {
            nodes.push(Node { name: label.clone(), ..Node::default() });
            nodes.len() - 1
        })
    };
    let stacks = profile
        .samples()
        .filter(|(_, values)| values[type_index] != 0)
        .map(|(frames, values)| (frames.rev().map(|f| (node_of(f), f.inlined)).collect(), values[type_index]))
        .collect();
    (stacks, nodes)
}

/// How each function was called. What is left out joins its callers to its callees.
fn inlined(stacks: &[(Stack, i64)], kept: &[bool], cutoff: i64) -> HashMap<usize, Inlined> {
    let mut edges: HashMap<(usize, usize), Edge> = HashMap::new();
    let mut seen = HashSet::new();
    for (stack, value) in stacks {
        seen.clear();
        let kept = stack.iter().filter(|(node, _)| kept[*node]);
        for ((caller, _), (callee, inlined)) in kept.clone().zip(kept.skip(1)) {
            if caller != callee && seen.insert((*caller, *callee)) {
                let edge = edges.entry((*caller, *callee)).or_insert(Edge { weight: 0, inlined: true });
                edge.weight = edge.weight.saturating_add(*value);
                edge.inlined &= inlined;
            }
        }
    }
    let mut how = HashMap::new();
    for ((_, callee), edge) in edges.into_iter().filter(|(_, edge)| edge.weight.saturating_abs() >= cutoff) {
        let this = if edge.inlined { Inlined::Yes } else { Inlined::No };
        how.entry(callee)
            .and_modify(|so_far| *so_far = if *so_far == this { this } else { Inlined::Partly })
            .or_insert(this);
    }
    how
}

fn share(total: i64, fraction: f64) -> i64 {
    ((total as f64 * fraction) as i64).saturating_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_as_pprof_shortens_them() {
        for (name, expected) in [
            ("budget<core::ops::Poll<(), B>, F>", "budget"),
            ("f(a, b)::g<c>(d)", "f::g"),
            ("call<fn(a) -> b>", "call b>"),
            ("java.Map.<init>", "java.Map.<init>"),
            ("x.(*Map[k]).Get", "x.(*Map[k]).Get"),
            ("fmt.(*pp).doPrint", "fmt.(*pp).doPrint"),
        ] {
            let frame =
                |symbol| Frame { function: Some(name), symbol, file: None, line: None, mapping: None, inlined: false };
            assert_eq!(label(&frame(Some(name))), expected);
            assert_eq!(label(&frame(Some("_R0"))), name, "a symbol of its own: demangled already");
        }
    }
}
