//! What can be wrong with a profile.

use std::{io, path::PathBuf};

use super::model::{MAX_DECODED_BYTES, MAX_FRAMES};

/// A file that is no sound profile.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: ProfileError,
}

/// Why bytes are no sound profile, or a profile can't answer a question.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file can't be read.
    #[error("can't be read: {0}")]
    Read(#[source] io::Error),
    /// There is nothing in it.
    #[error("is empty, not a profile")]
    Empty,
    /// It starts as gzip does but doesn't go on so.
    #[error("is broken gzip: {0}")]
    Gzip(#[source] io::Error),
    /// Unpacked it is larger than this program reads.
    #[error("unpacks to more than {} MiB, the most that is read", MAX_DECODED_BYTES >> 20)]
    TooLarge,
    /// It isn't protobuf, or not of this schema.
    #[error("is not a profile.proto: {0}")]
    Proto(#[source] prost::DecodeError),
    /// It is text, but not of stacks with values.
    #[error("line {line} is no folded stack (frame;frame value, with a value of 0 or more): {text:?}")]
    FoldedLine {
        /// Which, from 1.
        line: usize,
        /// Its first characters.
        text: String,
    },
    /// It has samples but doesn't say of what.
    #[error("has samples but no sample types")]
    NoSampleTypes,
    /// A sample doesn't have a value for each sample type.
    #[error("sample {sample} has {values} values; the profile has {types} sample types")]
    Values {
        /// Which, from 0.
        sample: usize,
        /// Its values.
        values: usize,
        /// What it should have.
        types: usize,
    },
    /// Two things share an id, or an id is the reserved 0.
    #[error("{kind} id {id} is {fault}")]
    Id {
        /// `mapping`, `location` or `function`.
        kind: &'static str,
        /// The id.
        id: u64,
        /// `reserved` or `used twice`.
        fault: &'static str,
    },
    /// Something refers to what isn't there.
    #[error("{from} refers to {kind} {id}, which is not in the profile")]
    Missing {
        /// What refers.
        from: String,
        /// What kind of thing it refers to.
        kind: &'static str,
        /// Its id or index.
        id: i128,
    },
    /// Its stacks are longer than any program's.
    #[error("has more than {MAX_FRAMES} frames over all samples, the most that is read")]
    TooManyFrames,
    /// It has no values of that type.
    #[error("has no sample type {wanted:?}; it has {}", .present.join(", "))]
    NoSuchType {
        /// What was looked for.
        wanted: String,
        /// What there is.
        present: Vec<String>,
    },
    /// All its values of a type are 0.
    #[error("has no samples of {0}")]
    NoSamples(String),
    /// It is a difference of two profiles where only amounts make sense.
    #[error("has negative values of {0}: a difference can't be drawn as a flamegraph")]
    Negative(String),
    /// It was to be the later of two, but has less of something.
    #[error("has less in it than the profile before: the program was started anew in between")]
    OtherProcess,
    /// Its stacks can't be found again in another profile.
    #[error("has locations without addresses, by which stacks are found again in a later profile")]
    NoAddresses,
    /// The picture couldn't be written.
    #[error("flamegraph: {0}")]
    Flamegraph(#[source] io::Error),
}
