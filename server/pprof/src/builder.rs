//! From recorded stacks to `profile.proto`. Pure: symbols and mappings are handed in.

use std::{
    collections::HashMap,
    io::{self, Write},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use echo_proto::profile::{Function, Line, Location, Mapping, Profile, Sample, ValueType};
use flate2::{Compression, write::GzEncoder};
use prost::Message;

use crate::{
    modules::Module,
    symbolize::{SourceFrame, is_allocator_entry},
};

/// The frames within which an allocation's stack enters the allocator; jemalloc's own backtrace starts deep inside it.
const ENTRY_DEPTH: usize = 16;

/// A kind of value and its unit, such as `("alloc_space", "bytes")`.
pub(crate) type Kind = (&'static str, &'static str);

/// A stack and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackSample {
    pub(crate) stack: Stack,
    /// One for each of the recording's kinds.
    pub(crate) values: Vec<i64>,
}

/// Where the values of a sample come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stack {
    /// Return addresses, leaf first.
    Calls(Box<[usize]>),
    /// The same with the interrupted instruction itself as leaf.
    Interrupted(Box<[usize]>),
    /// No stack; a name in its place, which pprof shows as a function.
    Named(String),
}

/// What was recorded, before any symbol is known.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) kinds: Vec<Kind>,
    /// The kind shown first.
    pub(crate) default_kind: &'static str,
    pub(crate) period_kind: Kind,
    pub(crate) period: i64,
    pub(crate) ended: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) samples: Vec<StackSample>,
    /// What the profile leaves out or must be known of it.
    pub(crate) comments: Vec<String>,
    /// Leave out the frames inside the allocator.
    pub(crate) hide_allocator: bool,
}

/// Builds the profile; `frames_of` tells the functions at an address, innermost first.
pub(crate) fn build(
    recording: &Recording,
    modules: &[Module],
    frames_of: &mut dyn FnMut(usize) -> Vec<SourceFrame>,
) -> Profile {
    let mut tables = Tables::new(modules);
    let samples = recording
        .samples
        .iter()
        .map(|sample| Sample {
            location_id: tables.locations_of(&sample.stack, recording.hide_allocator, frames_of),
            value: sample.values.clone(),
            label: Vec::new(),
        })
        .collect();
    let mut value_type = |(kind, unit): Kind| ValueType { r#type: tables.string(kind), unit: tables.string(unit) };
    let sample_type = recording.kinds.iter().copied().map(&mut value_type).collect();
    let period_type = Some(value_type(recording.period_kind));
    let comment = recording.comments.iter().map(|comment| tables.string(comment)).collect();
    let default_sample_type = tables.string(recording.default_kind);
    let began = recording.ended.checked_sub(recording.duration).unwrap_or(UNIX_EPOCH);
    Profile {
        sample_type,
        sample: samples,
        mapping: tables.mappings,
        location: tables.locations,
        function: tables.functions,
        string_table: tables.strings,
        time_nanos: began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64),
        duration_nanos: recording.duration.as_nanos() as i64,
        period_type,
        period: recording.period,
        comment,
        default_sample_type,
        ..Profile::default()
    }
}

/// Encodes and compresses, as pprof expects a profile on the wire and in a file.
pub(crate) fn encode(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(&profile.encode_to_vec())?;
    gz.finish()
}

/// The tables of a profile while it is built; ids are positions plus one.
struct Tables<'m> {
    modules: &'m [Module],
    mappings: Vec<Mapping>,
    locations: Vec<Location>,
    functions: Vec<Function>,
    strings: Vec<String>,
    string_index: HashMap<String, i64>,
    function_ids: HashMap<SourceFrame, u64>,
    location_ids: HashMap<(usize, usize), u64>,
    named_ids: HashMap<String, u64>,
}

impl<'m> Tables<'m> {
    fn new(modules: &'m [Module]) -> Self {
        let mut tables = Tables {
            modules,
            mappings: Vec::new(),
            locations: Vec::new(),
            functions: Vec::new(),
            strings: vec![String::new()],
            string_index: HashMap::from([(String::new(), 0)]),
            function_ids: HashMap::new(),
            location_ids: HashMap::new(),
            named_ids: HashMap::new(),
        };
        for (position, module) in modules.iter().enumerate() {
            let mapping = Mapping {
                id: position as u64 + 1,
                memory_start: module.start,
                memory_limit: module.end,
                file_offset: module.file_offset,
                filename: tables.string(&module.path),
                build_id: tables.string(&module.build_id),
                ..Mapping::default()
            };
            tables.mappings.push(mapping);
        }
        tables
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(&index) = self.string_index.get(text) {
            return index;
        }
        let index = self.strings.len() as i64;
        self.strings.push(text.to_owned());
        self.string_index.insert(text.to_owned(), index);
        index
    }

    fn locations_of(
        &mut self,
        stack: &Stack,
        hide_allocator: bool,
        frames_of: &mut dyn FnMut(usize) -> Vec<SourceFrame>,
    ) -> Vec<u64> {
        let addresses: Vec<usize> = match stack {
            Stack::Named(name) => return vec![self.named(name)],
            Stack::Calls(pcs) => pcs.iter().map(|pc| pc.saturating_sub(1)).collect(),
            Stack::Interrupted(pcs) => {
                pcs.iter().enumerate().map(|(depth, pc)| if depth == 0 { *pc } else { pc.saturating_sub(1) }).collect()
            }
        };
        let mut stack: Vec<(usize, Vec<SourceFrame>)> =
            addresses.into_iter().map(|address| (address, frames_of(address))).collect();
        let hidden = if hide_allocator { drop_allocator(&mut stack) } else { 0 };
        let mut ids = Vec::with_capacity(stack.len());
        for (depth, (address, frames)) in stack.into_iter().enumerate() {
            ids.push(self.location(address, &frames, if depth == 0 { hidden } else { 0 }));
        }
        ids
    }

    /// `hidden` is how many of the address's innermost frames are left out: such a location is one of its own.
    fn location(&mut self, address: usize, frames: &[SourceFrame], hidden: usize) -> u64 {
        if let Some(&id) = self.location_ids.get(&(address, hidden)) {
            return id;
        }
        let line = frames
            .iter()
            .map(|frame| Line { function_id: self.function(frame), line: i64::from(frame.line), column: 0 })
            .collect();
        let module = self.modules.iter().position(|module| module.contains(address as u64));
        if let Some(mapping) = module.and_then(|position| self.mappings.get_mut(position)) {
            // All that can be known of the mapping is in here already; a reader need not look again.
            mapping.has_functions |= !frames.is_empty();
            let lines = frames.iter().any(|frame| frame.line != 0);
            mapping.has_filenames |= lines;
            mapping.has_line_numbers |= lines;
            mapping.has_inline_frames |= lines;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location {
            id,
            mapping_id: module.map_or(0, |position| position as u64 + 1),
            address: address as u64,
            line,
            is_folded: false,
        });
        self.location_ids.insert((address, hidden), id);
        id
    }

    fn named(&mut self, name: &str) -> u64 {
        if let Some(&id) = self.named_ids.get(name) {
            return id;
        }
        let frame = SourceFrame { name: name.to_owned(), system_name: name.to_owned(), ..SourceFrame::default() };
        let line = vec![Line { function_id: self.function(&frame), line: 0, column: 0 }];
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, line, ..Location::default() });
        self.named_ids.insert(name.to_owned(), id);
        id
    }

    fn function(&mut self, frame: &SourceFrame) -> u64 {
        let key = SourceFrame { line: 0, ..frame.clone() };
        if let Some(&id) = self.function_ids.get(&key) {
            return id;
        }
        let function = Function {
            id: self.functions.len() as u64 + 1,
            name: self.string(&key.name),
            system_name: self.string(&key.system_name),
            filename: self.string(&key.file),
            start_line: 0,
        };
        let id = function.id;
        self.functions.push(function);
        self.function_ids.insert(key, id);
        id
    }
}

/// Leaves out what lies inside the allocator. Returns how many inlined frames of the new leaf went with it.
fn drop_allocator(stack: &mut Vec<(usize, Vec<SourceFrame>)>) -> usize {
    let entry = stack.iter().take(ENTRY_DEPTH).enumerate().rev().find_map(|(depth, (_, frames))| {
        frames.iter().rposition(|frame| is_allocator_entry(&frame.name)).map(|inlined| (depth, inlined))
    });
    let Some((depth, inlined)) = entry else { return 0 };
    let outermost = stack[depth].1.len() == inlined + 1;
    if outermost && depth + 1 == stack.len() {
        // Nothing would be left.
        return 0;
    }
    if outermost {
        stack.drain(..=depth);
        return 0;
    }
    stack.drain(..depth);
    stack[0].1.drain(..=inlined);
    inlined + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, line: u32) -> SourceFrame {
        SourceFrame { name: name.to_owned(), system_name: format!("_{name}"), file: "a.rs".to_owned(), line }
    }

    fn symbols(address: usize) -> Vec<SourceFrame> {
        match address {
            99 => vec![frame("__rustc::__rust_alloc", 1)],
            199 => vec![frame("inlined", 7), frame("caller", 8)],
            299 => vec![frame("__rust_realloc", 2), frame("with_inlined_entry", 3)],
            300 => vec![frame("interrupted", 4)],
            399 => vec![frame("main", 9)],
            _ => Vec::new(),
        }
    }

    fn recording(samples: Vec<StackSample>) -> Recording {
        Recording {
            kinds: vec![("alloc_objects", "count"), ("alloc_space", "bytes")],
            default_kind: "alloc_space",
            period_kind: ("space", "bytes"),
            period: 1,
            ended: UNIX_EPOCH + Duration::from_secs(10),
            duration: Duration::from_secs(2),
            samples,
            comments: vec!["said".to_owned()],
            hide_allocator: true,
        }
    }

    fn sample(stack: Stack) -> StackSample {
        StackSample { stack, values: vec![1, 100] }
    }

    fn names(profile: &Profile, sample: usize) -> Vec<Vec<&str>> {
        let text = |index: i64| profile.string_table[index as usize].as_str();
        let name = |line: &Line| text(profile.function[line.function_id as usize - 1].name);
        let locations = profile.sample[sample].location_id.iter();
        locations.map(|&id| profile.location[id as usize - 1].line.iter().map(name).collect()).collect()
    }

    #[test]
    fn frames_inside_the_allocator_are_left_out() {
        let module = Module { start: 50, end: 350, path: "/bin/x".to_owned(), ..Module::default() };
        let stacks = [
            Stack::Calls([100, 200, 400].into()),
            Stack::Calls([300, 400].into()),
            Stack::Named("[unknown]".to_owned()),
        ];
        let profile = build(&recording(stacks.map(sample).into()), &[module], &mut symbols);
        assert_eq!(names(&profile, 0), [vec!["inlined", "caller"], vec!["main"]]);
        assert_eq!(names(&profile, 1), [vec!["with_inlined_entry"], vec!["main"]]);
        assert_eq!(names(&profile, 2), [["[unknown]"]]);
        assert_eq!(profile.location[0].address, 199);
        assert_eq!(profile.location[0].mapping_id, 1);
        assert!(profile.mapping[0].has_inline_frames);
        assert_eq!(profile.time_nanos, 8_000_000_000);
        assert_eq!(profile.string_table[profile.comment[0] as usize], "said");
        assert_eq!(profile.string_table[profile.default_sample_type as usize], "alloc_space");
    }

    #[test]
    fn an_interrupted_leaf_keeps_its_address() {
        let mut recording = recording(vec![sample(Stack::Interrupted([300, 400].into()))]);
        recording.hide_allocator = false;
        let profile = build(&recording, &[], &mut symbols);
        assert_eq!(profile.location.iter().map(|l| l.address).collect::<Vec<_>>(), [300, 399]);
        assert_eq!(names(&profile, 0), [["interrupted"], ["main"]]);
    }

    #[test]
    fn equal_places_are_one_location_and_one_function() {
        let stacks = [Stack::Calls([200, 400].into()), Stack::Calls([200, 400].into())];
        let profile = build(&recording(stacks.map(sample).into()), &[], &mut symbols);
        assert_eq!(profile.location.len(), 2);
        assert_eq!(profile.function.len(), 3);
    }
}
