//! Stacks with their values, one a line: what flamegraph tools read.

use std::collections::BTreeMap;

use super::{Frame, Profile, names::readable_frame};

/// All stacks, root first, frames joined by `;`, with the sum of their values of the sample type at `type_index`. Inlined calls are
/// frames of their own; names are [readable](readable_frame); stacks that add up to 0 are left out.
pub fn collapsed(profile: &Profile, type_index: usize) -> BTreeMap<String, i64> {
    let mut stacks: BTreeMap<String, i64> = BTreeMap::new();
    for (frames, values) in profile.samples() {
        let stack: Vec<String> = frames.rev().map(frame_text).collect();
        let sum = stacks.entry(stack.join(";")).or_default();
        *sum = sum.saturating_add(values[type_index]);
    }
    stacks.retain(|_, value| *value != 0);
    stacks
}

/// A frame's name without what the format gives a meaning: `;` and line ends separate, a number at the end is a value.
fn frame_text(frame: Frame<'_>) -> String {
    let name = readable_frame(&frame).replace(';', ",").replace(char::is_control, " ");
    match name.rsplit_once(' ') {
        Some((start, end)) if end.bytes().all(|b| b.is_ascii_digit() || b == b'.') => format!("{start}_{end}"),
        _ => name,
    }
}
