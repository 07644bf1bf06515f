//! A profile whose references have all been followed and found sound.

use std::{collections::HashMap, io::Read};

use echo_proto::profile as proto;
use flate2::read::MultiGzDecoder;
use prost::Message;

use super::ProfileError;
use crate::measure::allocation_log::LogFrame;

/// Profiles of long-running JVMs reach a tenth of this.
pub(super) const MAX_DECODED_BYTES: u64 = 256 << 20;
/// Inlined frames multiply: a small hostile file can stand for more stacks than memory holds.
pub(super) const MAX_FRAMES: usize = 50_000_000;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A sound profile: every id in it leads somewhere, and each sample has a value for each of the sample types.
#[derive(Debug, Clone)]
pub struct Profile {
    types: Vec<SampleType>,
    default_type: usize,
    samples: Vec<Sample>,
    locations: Vec<Location>,
    functions: Vec<Function>,
    mappings: Vec<String>,
    sampling_period: Option<u64>,
}

/// What a sample's value counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleType {
    /// `cpu`, `alloc_space`, `inuse_objects`, …
    pub kind: String,
    /// `nanoseconds`, `bytes`, `count`, …
    pub unit: String,
}

#[derive(Debug, Clone)]
struct Sample {
    /// Leaf first.
    locations: Vec<usize>,
    values: Vec<i64>,
}

#[derive(Debug, Clone)]
struct Location {
    mapping: Option<usize>,
    /// Innermost inlined function first. Empty when not symbolized.
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    function: usize,
    line: i64,
}

#[derive(Debug, Clone)]
struct Function {
    name: String,
    symbol: String,
    file: String,
}

/// A function call in a stack; inlined calls are frames of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// The function as the profile names it. `None` when it isn't symbolized.
    pub function: Option<&'a str>,
    /// Its name in the binary. `None` when the profile doesn't tell.
    pub symbol: Option<&'a str>,
    /// Its source file. `None` when it isn't known.
    pub file: Option<&'a str>,
    /// The line in it. `None` when it isn't known.
    pub line: Option<u64>,
    /// The binary or library it is in. `None` when it isn't known.
    pub mapping: Option<&'a str>,
    /// Whether it was inlined into the frame that called it.
    pub inlined: bool,
}

impl Profile {
    /// Decodes and checks a profile, gzipped or plain.
    ///
    /// # Errors
    /// Names what is broken. Nothing in a hostile file makes it panic, and what it may unpack to is bounded.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProfileError> {
        Self::check_valid(decode_message(bytes)?)
    }

    /// Follows every reference of a profile.
    ///
    /// # Errors
    /// Those of pprof's own `CheckValid`, and string indices that lead nowhere.
    pub fn check_valid(message: proto::Profile) -> Result<Self, ProfileError> {
        let strings = Strings(&message.string_table);
        let types = message
            .sample_type
            .iter()
            .map(|t| {
                let (kind, unit) = (strings.get(t.r#type, "a sample type")?, strings.get(t.unit, "a sample type")?);
                Ok(SampleType { kind, unit })
            })
            .collect::<Result<Vec<_>, ProfileError>>()?;
        if types.is_empty() && !message.sample.is_empty() {
            return Err(ProfileError::NoSampleTypes);
        }
        let default_kind = strings.get(message.default_sample_type, "the default sample type")?;
        // pprof's rule: without a default, or with one that isn't there, the last type is it.
        let default_type = types.iter().position(|t| t.kind == default_kind).unwrap_or(types.len().saturating_sub(1));

        let mapping_ids = index("mapping", message.mapping.iter().map(|m| m.id))?;
        let function_ids = index("function", message.function.iter().map(|f| f.id))?;
        let location_ids = index("location", message.location.iter().map(|l| l.id))?;
        let mappings =
            message.mapping.iter().map(|m| strings.get(m.filename, "a mapping")).collect::<Result<Vec<_>, _>>()?;
        let functions = message
            .function
            .iter()
            .map(|f| {
                Ok(Function {
                    name: strings.get(f.name, "a function")?,
                    symbol: strings.get(f.system_name, "a function")?,
                    file: strings.get(f.filename, "a function")?,
                })
            })
            .collect::<Result<Vec<_>, ProfileError>>()?;
        let locations =
            message.location.iter().map(|l| location(l, &mapping_ids, &function_ids)).collect::<Result<Vec<_>, _>>()?;
        let samples = message
            .sample
            .into_iter()
            .enumerate()
            .map(|(i, s)| sample(i, s, types.len(), &location_ids))
            .collect::<Result<Vec<_>, _>>()?;

        let period_unit = message.period_type.and_then(|t| strings.get(t.unit, "the period's type").ok());
        let sampling_period = u64::try_from(message.period).ok().filter(|period| *period > 1);
        let sampling_period = sampling_period.filter(|_| period_unit.as_deref() == Some("bytes"));
        let profile = Self { types, default_type, samples, locations, functions, mappings, sampling_period };
        profile.check_size()?;
        Ok(profile)
    }

    /// A profile of stacks, leaf first, as positions in `frames`.
    pub(super) fn of_stacks(
        types: Vec<SampleType>,
        frames: &[LogFrame],
        stacks: impl Iterator<Item = (Vec<usize>, Vec<i64>)>,
    ) -> Self {
        let function = |frame: &LogFrame| Function {
            name: frame.function.clone(),
            symbol: String::new(),
            file: frame.file.clone(),
        };
        let location = |(at, frame): (usize, &LogFrame)| Location {
            mapping: None,
            lines: vec![Line { function: at, line: i64::try_from(frame.line).unwrap_or(0) }],
        };
        Self {
            types,
            default_type: 0,
            samples: stacks.map(|(locations, values)| Sample { locations, values }).collect(),
            locations: frames.iter().enumerate().map(location).collect(),
            functions: frames.iter().map(function).collect(),
            mappings: Vec::new(),
            sampling_period: None,
        }
    }

    /// The sample types, in the profile's order.
    pub fn types(&self) -> &[SampleType] {
        &self.types
    }

    /// How many bytes lie between two allocations that it sampled, on average. `None` when every one is in it, or it isn't one of
    /// memory.
    pub fn sampling_period(&self) -> Option<u64> {
        self.sampling_period
    }

    /// The sample type of that name, or the profile's default one.
    ///
    /// # Errors
    /// [`ProfileError::NoSuchType`] lists what there is; [`ProfileError::NoSampleTypes`] when there is none at all.
    pub fn type_index(&self, kind: Option<&str>) -> Result<usize, ProfileError> {
        let Some(kind) = kind else {
            return if self.types.is_empty() { Err(ProfileError::NoSampleTypes) } else { Ok(self.default_type) };
        };
        self.types.iter().position(|t| t.kind == kind).ok_or_else(|| ProfileError::NoSuchType {
            wanted: kind.to_owned(),
            present: self.types.iter().map(|t| t.kind.clone()).collect(),
        })
    }

    /// All samples: the frames, **leaf first**, and a value for each of [`Self::types`].
    pub fn samples(&self) -> impl Iterator<Item = (impl DoubleEndedIterator<Item = Frame<'_>> + Clone, &[i64])> {
        self.samples.iter().map(|sample| (self.frames(sample), &sample.values[..]))
    }

    /// The sum of all samples' values of the type at `type_index`.
    pub fn total(&self, type_index: usize) -> i128 {
        self.samples.iter().map(|sample| i128::from(sample.values[type_index])).sum()
    }

    /// The profile of the samples that `keep` wants; it is given their frames, leaf first.
    pub(super) fn with_samples(&self, keep: impl Fn(&mut dyn Iterator<Item = Frame<'_>>) -> bool) -> Self {
        let samples = self.samples.iter().filter(|sample| keep(&mut self.frames(sample))).cloned().collect();
        Self { samples, ..self.clone() }
    }

    fn frames<'a>(&'a self, sample: &'a Sample) -> impl DoubleEndedIterator<Item = Frame<'a>> + Clone {
        sample.locations.iter().flat_map(move |&at| {
            let location = &self.locations[at];
            // A location without lines is a frame nevertheless.
            (0..location.lines.len().max(1)).map(move |depth| self.frame(location, depth))
        })
    }

    fn frame<'a>(&'a self, location: &'a Location, depth: usize) -> Frame<'a> {
        let known = |text: &'a str| (!text.is_empty()).then_some(text);
        let mapping = location.mapping.and_then(|m| known(&self.mappings[m]));
        match location.lines.get(depth) {
            None => Frame { function: None, symbol: None, file: None, line: None, mapping, inlined: false },
            Some(&Line { function, line }) => {
                let Function { name, symbol, file } = &self.functions[function];
                Frame {
                    function: known(name),
                    symbol: known(symbol),
                    file: known(file),
                    line: u64::try_from(line).ok().filter(|line| *line > 0),
                    mapping,
                    inlined: depth + 1 < location.lines.len(),
                }
            }
        }
    }

    fn check_size(&self) -> Result<(), ProfileError> {
        let mut frames = 0usize;
        for at in self.samples.iter().flat_map(|s| &s.locations) {
            frames = frames.saturating_add(self.locations[*at].lines.len().max(1));
            if frames > MAX_FRAMES {
                return Err(ProfileError::TooManyFrames);
            }
        }
        Ok(())
    }
}

impl<'a> Frame<'a> {
    /// The function, else `[binary]`, else `<unknown>`, as pprof shows them.
    pub fn label(&self) -> std::borrow::Cow<'a, str> {
        match (self.function, self.mapping) {
            (Some(function), _) => function.into(),
            (None, Some(mapping)) => format!("[{}]", mapping.rsplit('/').next().unwrap_or(mapping)).into(),
            (None, None) => "<unknown>".into(),
        }
    }
}

struct Strings<'a>(&'a [String]);

impl Strings<'_> {
    fn get(&self, index: i64, from: &str) -> Result<String, ProfileError> {
        // An empty table stands for one with only the empty string.
        if index == 0 && self.0.is_empty() {
            return Ok(String::new());
        }
        usize::try_from(index).ok().and_then(|at| self.0.get(at)).cloned().ok_or_else(|| ProfileError::Missing {
            from: from.to_owned(),
            kind: "string",
            id: index.into(),
        })
    }
}

/// A profile as it was written, gzipped or plain; nothing in it is checked.
pub(super) fn decode_message(bytes: &[u8]) -> Result<proto::Profile, ProfileError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return decode_plain(bytes);
    }
    let mut unpacked = Vec::new();
    let mut reader = MultiGzDecoder::new(bytes).take(MAX_DECODED_BYTES + 1);
    reader.read_to_end(&mut unpacked).map_err(ProfileError::Gzip)?;
    decode_plain(&unpacked)
}

fn decode_plain(bytes: &[u8]) -> Result<proto::Profile, ProfileError> {
    match bytes.len() {
        0 => Err(ProfileError::Empty),
        len if len as u64 > MAX_DECODED_BYTES => Err(ProfileError::TooLarge),
        _ => proto::Profile::decode(bytes).map_err(ProfileError::Proto),
    }
}

/// Positions by id. Ids may be any number but 0.
fn index(kind: &'static str, ids: impl Iterator<Item = u64>) -> Result<HashMap<u64, usize>, ProfileError> {
    let mut positions = HashMap::new();
    for (at, id) in ids.enumerate() {
        if id == 0 {
            return Err(ProfileError::Id { kind, id, fault: "reserved" });
        }
        if positions.insert(id, at).is_some() {
            return Err(ProfileError::Id { kind, id, fault: "used twice" });
        }
    }
    Ok(positions)
}

fn location(
    location: &proto::Location,
    mappings: &HashMap<u64, usize>,
    functions: &HashMap<u64, usize>,
) -> Result<Location, ProfileError> {
    let missing =
        |kind, id: u64| ProfileError::Missing { from: format!("location {}", location.id), kind, id: id.into() };
    let mapping = match location.mapping_id {
        0 => None,
        id => Some(*mappings.get(&id).ok_or_else(|| missing("mapping", id))?),
    };
    let lines = location
        .line
        .iter()
        .map(|l| {
            let function = *functions.get(&l.function_id).ok_or_else(|| missing("function", l.function_id))?;
            Ok(Line { function, line: l.line })
        })
        .collect::<Result<_, ProfileError>>()?;
    Ok(Location { mapping, lines })
}

fn sample(
    at: usize,
    sample: proto::Sample,
    types: usize,
    locations: &HashMap<u64, usize>,
) -> Result<Sample, ProfileError> {
    if sample.value.len() != types {
        return Err(ProfileError::Values { sample: at, values: sample.value.len(), types });
    }
    let locations = sample
        .location_id
        .iter()
        .map(|id| {
            locations.get(id).copied().ok_or_else(|| ProfileError::Missing {
                from: format!("sample {at}"),
                kind: "location",
                id: (*id).into(),
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Sample { locations, values: sample.value })
}
