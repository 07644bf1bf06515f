//! What was allocated between two readings of a profile that counts from the program's start, as Go's `/debug/pprof/heap` does.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
};

use echo_proto::profile as proto;
use flate2::{Compression, write::GzEncoder};
use prost::Message;

use super::{Profile, ProfileError, model::decode_message};

const TYPES: [&str; 2] = ["alloc_objects", "alloc_space"];
/// Functions that serve the readings themselves. Looking must not change what is seen.
const LOOKING: [&str; 3] = ["net/http/pprof.", "runtime/pprof.", "expvar."];

/// The profile of what was allocated between two heap profiles of one process, gzipped: `alloc_objects` and `alloc_space` of each
/// stack, less those of serving profiles and counters.
///
/// Go scales what it sampled when it writes a profile (`scaleHeapSample` in `runtime/pprof`), each stack and size of block by a
/// factor of its own that stays the same: so the differences need no scaling.
///
/// # Errors
/// [`ProfileError`], also when the second has less of something than the first: it isn't of the same process then.
pub fn allocated_between(before: &[u8], after: &[u8]) -> Result<Vec<u8>, ProfileError> {
    let (before, mut after) = (checked(before)?, checked(after)?);
    let mut left = amounts(&before)?;
    let mut order: Vec<Key> = Vec::new();
    let mut sums: HashMap<Key, Amount> = HashMap::new();
    for (key, amount) in stacks(&after)? {
        let sum = sums.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            Amount::of(&amount.locations)
        });
        sum.add(&amount);
    }
    let looking = looking(&after);
    let mut samples = Vec::new();
    for key in order {
        let (Some(now), then) = (sums.remove(&key), left.remove(&key)) else { continue };
        let then = then.map_or([0, 0], |then| then.values);
        let value = [0, 1].map(|at| now.values[at].checked_sub(then[at]).filter(|value| *value >= 0));
        let [Some(objects), Some(bytes)] = value else { return Err(ProfileError::OtherProcess) };
        let value = [objects, bytes];
        if value != [0, 0] && !now.locations.iter().any(|id| looking.contains(id)) {
            samples.push(proto::Sample { location_id: now.locations, value: value.to_vec(), label: Vec::new() });
        }
    }
    if left.values().any(|then| then.values != [0, 0]) {
        return Err(ProfileError::OtherProcess);
    }
    after.sample_type = TYPES
        .iter()
        .map(|kind| {
            let at = type_at(&after, kind)?;
            Ok(after.sample_type[at])
        })
        .collect::<Result<_, ProfileError>>()?;
    after.default_sample_type = after.sample_type[1].r#type;
    after.duration_nanos = after.time_nanos.saturating_sub(before.time_nanos).max(0);
    after.sample = samples;
    gzipped(&after)
}

/// Where a stack is, and the size of its blocks where the profile tells: Go's profiler keeps each size apart.
type Key = (Vec<u64>, i64);

struct Amount {
    locations: Vec<u64>,
    values: [i64; 2],
}

impl Amount {
    fn of(locations: &[u64]) -> Self {
        Self { locations: locations.to_vec(), values: [0, 0] }
    }

    fn add(&mut self, other: &Self) {
        self.values.iter_mut().zip(other.values).for_each(|(sum, value)| *sum = sum.saturating_add(value));
    }
}

/// A message that [`Profile`] found sound: its ids lead somewhere, and each sample has all its values.
fn checked(bytes: &[u8]) -> Result<proto::Profile, ProfileError> {
    let message = decode_message(bytes)?;
    Profile::check_valid(message.clone())?;
    Ok(message)
}

fn type_at(profile: &proto::Profile, kind: &str) -> Result<usize, ProfileError> {
    let name = |index: i64| usize::try_from(index).ok().and_then(|at| profile.string_table.get(at)).map(String::as_str);
    profile.sample_type.iter().position(|t| name(t.r#type) == Some(kind)).ok_or_else(|| ProfileError::NoSuchType {
        wanted: kind.to_owned(),
        present: profile.sample_type.iter().filter_map(|t| name(t.r#type)).map(str::to_owned).collect(),
    })
}

/// Its stacks by address, which mean the same in every profile of a process, with what each allocated.
fn stacks(profile: &proto::Profile) -> Result<Vec<(Key, Amount)>, ProfileError> {
    let at = [type_at(profile, TYPES[0])?, type_at(profile, TYPES[1])?];
    let addresses: HashMap<u64, u64> =
        profile.location.iter().map(|location| (location.id, location.address)).collect();
    if addresses.values().any(|address| *address == 0) {
        return Err(ProfileError::NoAddresses);
    }
    let bytes = profile.string_table.iter().position(|text| text == "bytes").and_then(|at| i64::try_from(at).ok());
    let stack = |sample: &proto::Sample| {
        let stack = sample.location_id.iter().filter_map(|id| addresses.get(id).copied()).collect();
        let size = sample.label.iter().find(|label| Some(label.key) == bytes).map_or(0, |label| label.num);
        let values = at.map(|at| sample.value[at]);
        ((stack, size), Amount { locations: sample.location_id.clone(), values })
    };
    Ok(profile.sample.iter().map(stack).collect())
}

fn amounts(profile: &proto::Profile) -> Result<HashMap<Key, Amount>, ProfileError> {
    let mut sums: HashMap<Key, Amount> = HashMap::new();
    for (key, amount) in stacks(profile)? {
        sums.entry(key).or_insert_with(|| Amount::of(&amount.locations)).add(&amount);
    }
    Ok(sums)
}

/// The locations of functions that serve profiles and counters.
fn looking(profile: &proto::Profile) -> HashSet<u64> {
    let is_one = |function: &&proto::Function| {
        let name = usize::try_from(function.name).ok().and_then(|at| profile.string_table.get(at));
        name.is_some_and(|name| LOOKING.iter().any(|start| name.starts_with(start)))
    };
    let functions: HashSet<u64> = profile.function.iter().filter(is_one).map(|function| function.id).collect();
    let locations = profile.location.iter();
    locations.filter(|l| l.line.iter().any(|line| functions.contains(&line.function_id))).map(|l| l.id).collect()
}

fn gzipped(profile: &proto::Profile) -> Result<Vec<u8>, ProfileError> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&profile.encode_to_vec()).and_then(|()| gzip.finish()).map_err(ProfileError::Gzip)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRINGS: [&str; 14] = [
        "",
        "alloc_objects",
        "count",
        "alloc_space",
        "bytes",
        "inuse_objects",
        "inuse_space",
        "space",
        "main.work",
        "main.main",
        "runtime/pprof.writeHeap",
        "net/http/pprof.handler.ServeHTTP",
        "net/http.(*conn).serve",
        "main.late",
    ];

    /// A heap profile as Go writes it, of stacks by the numbers of their functions with objects and size of each.
    fn heap(at: i64, first_id: u64, samples: &[(&[usize], i64, i64)]) -> Vec<u8> {
        let functions = 8..STRINGS.len();
        let id = |function: usize| first_id + function as u64;
        let value_type = |r#type: i64, unit: i64| proto::ValueType { r#type, unit };
        let profile = proto::Profile {
            sample_type: vec![value_type(1, 2), value_type(3, 4), value_type(5, 2), value_type(6, 4)],
            string_table: STRINGS.map(str::to_owned).to_vec(),
            period_type: Some(value_type(7, 4)),
            period: 524_288,
            time_nanos: at,
            function: functions
                .clone()
                .map(|f| proto::Function { id: id(f), name: f as i64, ..proto::Function::default() })
                .collect(),
            location: functions
                .map(|f| proto::Location {
                    id: id(f),
                    address: 0x1000 + f as u64,
                    line: vec![proto::Line { function_id: id(f), line: 1, ..proto::Line::default() }],
                    ..proto::Location::default()
                })
                .collect(),
            sample: samples
                .iter()
                .map(|(stack, objects, size)| proto::Sample {
                    location_id: stack.iter().map(|f| id(*f)).collect(),
                    value: vec![*objects, objects * size, 1, *size],
                    label: vec![proto::Label { key: 4, num: *size, ..proto::Label::default() }],
                })
                .collect(),
            ..proto::Profile::default()
        };
        gzipped(&profile).expect("bytes")
    }

    fn totals(profile: &Profile) -> [i128; 2] {
        TYPES.map(|kind| profile.total(profile.type_index(Some(kind)).expect("a type")))
    }

    #[test]
    fn what_both_readings_have_goes() {
        let before = heap(5, 1, &[(&[8, 9], 10, 64), (&[8, 9], 3, 32), (&[9], 7, 16)]);
        // Ids and order are another profile's; a size is told from another of the same stack.
        let after = heap(
            9,
            40,
            &[(&[9], 7, 16), (&[13, 9], 2, 8), (&[8, 9], 25, 64), (&[8, 9], 4, 32), (&[10, 11, 12], 90, 1_000)],
        );
        let between = allocated_between(&before, &after).expect("a profile");
        let message = decode_message(&between).expect("a message");
        assert_eq!((message.duration_nanos, message.period), (4, 524_288));
        let profile = Profile::decode(&between).expect("a profile");
        assert_eq!(profile.types().len(), 2);
        assert_eq!(profile.types()[profile.type_index(None).expect("a default")].kind, "alloc_space");
        assert_eq!(totals(&profile), [15 + 1 + 2, 15 * 64 + 32 + 2 * 8], "and nothing of what serves profiles");
        let stacks: Vec<Vec<&str>> =
            profile.samples().map(|(frames, _)| frames.filter_map(|frame| frame.function).collect()).collect();
        assert_eq!(
            stacks,
            [vec!["main.late", "main.main"], vec!["main.work", "main.main"], vec!["main.work", "main.main"]]
        );
    }

    #[test]
    fn nothing_between_is_an_empty_profile() {
        let heap = heap(5, 1, &[(&[8, 9], 10, 64)]);
        assert_eq!(
            totals(&Profile::decode(&allocated_between(&heap, &heap).expect("a profile")).expect("sound")),
            [0, 0]
        );
    }

    #[test]
    fn readings_of_two_processes_are_told() {
        let (more, less) = (heap(5, 1, &[(&[8, 9], 10, 64)]), heap(9, 1, &[(&[8, 9], 9, 64)]));
        assert!(matches!(allocated_between(&more, &less), Err(ProfileError::OtherProcess)));
        let other = heap(9, 1, &[(&[9], 90, 64)]);
        assert!(matches!(allocated_between(&more, &other), Err(ProfileError::OtherProcess)));
        assert!(allocated_between(b"text", &more).is_err());
    }
}
