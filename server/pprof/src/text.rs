//! Profiles as text: what `debug=1` shows.

use std::fmt::Write;

use echo_proto::profile::{Location, Profile};

/// The memory profile in Go's `debug=1` form: per stack `inuse objects: bytes [alloc objects: bytes] @ addresses`, then
/// its frames.
pub(crate) fn heap(profile: &Profile) -> String {
    let four = |values: &[i64]| match *values {
        [alloc_objects, alloc_space, inuse_objects, inuse_space] => {
            format!("{inuse_objects}: {inuse_space} [{alloc_objects}: {alloc_space}]")
        }
        // The census knows no in-use figures.
        [alloc_objects, alloc_space, ..] => format!("0: 0 [{alloc_objects}: {alloc_space}]"),
        _ => String::new(),
    };
    let kinds = profile.sample_type.len();
    let total: Vec<i64> =
        (0..kinds).map(|kind| profile.sample.iter().filter_map(|sample| sample.value.get(kind)).sum()).collect();
    // The values stand for the whole already; a reader of this form scales them up unless it says heap/2, every allocation.
    let mut text = format!("heap profile: {} @ heap/2\n", four(&total));
    let mut samples: Vec<_> = profile.sample.iter().collect();
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.value.get(1).copied().unwrap_or(0)));
    for sample in samples {
        let locations: Vec<&Location> =
            sample.location_id.iter().filter_map(|&id| profile.location.get((id as usize).checked_sub(1)?)).collect();
        // Writing to a String can't fail.
        let _ = write!(text, "{} @", four(&sample.value));
        for location in &locations {
            let _ = write!(text, " {:#x}", location.address);
        }
        text.push('\n');
        for location in locations {
            frames(profile, location, &mut text);
        }
        text.push('\n');
    }
    for &comment in &profile.comment {
        let _ = writeln!(text, "# {}", string(profile, comment));
    }
    text
}

fn frames(profile: &Profile, location: &Location, text: &mut String) {
    for line in &location.line {
        let Some(function) = (line.function_id as usize).checked_sub(1).and_then(|index| profile.function.get(index))
        else {
            continue;
        };
        let (name, file) = (string(profile, function.name), string(profile, function.filename));
        let _ = writeln!(text, "#\t{:#x}\t{name}\t{file}:{}", location.address, line.line);
    }
}

fn string(profile: &Profile, index: i64) -> &str {
    profile.string_table.get(index as usize).map_or("", String::as_str)
}
