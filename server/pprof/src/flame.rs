//! A profile as a flamegraph, for a browser.

use std::collections::BTreeMap;

use echo_proto::profile::{Profile, Sample};
use inferno::flamegraph::{self, Options};

/// The SVG of one of the profile's kinds of value; its unit names the numbers in it. `None` when there is nothing to draw.
pub(crate) fn svg(profile: &Profile, kind: &str, title: &str) -> Option<Vec<u8>> {
    let text = |index: i64| profile.string_table.get(index as usize).map_or("", String::as_str);
    let position = profile.sample_type.iter().position(|value_type| text(value_type.r#type) == kind)?;
    let mut stacks = BTreeMap::<String, i64>::new();
    for sample in &profile.sample {
        let value = sample.value.get(position).copied().unwrap_or(0);
        if value > 0 {
            *stacks.entry(folded(profile, sample)).or_default() += value;
        }
    }
    let lines: Vec<String> = stacks.iter().map(|(stack, value)| format!("{stack} {value}")).collect();
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = text(profile.sample_type.get(position)?.unit).to_owned();
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).ok()?;
    Some(svg)
}

/// A stack in one line, root first, inlined functions as frames of their own.
fn folded(profile: &Profile, sample: &Sample) -> String {
    let name = |function_id: u64| -> Option<&str> {
        let function = profile.function.get((function_id as usize).checked_sub(1)?)?;
        profile.string_table.get(function.name as usize).map(String::as_str)
    };
    let mut frames = Vec::new();
    for &id in sample.location_id.iter().rev() {
        let Some(location) = (id as usize).checked_sub(1).and_then(|index| profile.location.get(index)) else {
            continue;
        };
        if location.line.is_empty() {
            frames.push(format!("{:#x}", location.address));
        }
        frames.extend(location.line.iter().rev().filter_map(|line| name(line.function_id)).map(str::to_owned));
    }
    // A semicolon would end the frame: it occurs in array types.
    frames.iter().map(|frame| frame.replace(';', ",")).collect::<Vec<_>>().join(";")
}
