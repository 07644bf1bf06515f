//! Reads profiles in pprof's `profile.proto`, whoever wrote them, and says what they hold.
//!
//! [`load`] and [`Profile::decode`] check a file once; what they return is sound, and everything after is a pure function of it:
//!
//! - [`top`]: functions by their own and their callees' share, the numbers of `go tool pprof -top`;
//! - [`attribute`]: all values by function, line, crate, layer or type, of which a [`Filter`] chooses the stacks;
//! - [`sites`]: the lines that asked for memory, per op;
//! - [`collapsed`]: stacks with their values, one a line;
//! - [`flamegraph`]: the same as a picture, which [`drawn`] reads back;
//! - [`allocated_between`]: what was allocated between two heap profiles of a program;
//! - [`trace()`]: what requests do with memory, in order, of a server's log of it;
//! - [`fate_table`]: what became of it, by function, line, crate, layer or type;
//! - [`diff`]: what changed from one profile to another, as a table and as a picture. Takes other tools' folded stacks too.
//!
//! Not applied: a profile's `drop_frames` and `keep_frames`. Nothing is symbolized: frames without a function show their mapping.

mod attribution;
mod builds;
mod collapse;
mod delta;
mod diff;
mod drawn;
mod error;
mod fate;
mod filter;
mod flame;
mod folded;
mod layers;
mod model;
mod names;
mod origin;
mod paths;
mod quantity;
mod sampling;
mod scale;
mod sites;
mod top;
mod trace;
mod types;

use std::path::Path;

pub use self::{
    attribution::{Amounts, Attribution, By, Row, UNKNOWN_TYPE, attribute},
    collapse::collapsed,
    delta::allocated_between,
    diff::{Both, Change, Diff, DiffError, DiffRow, DiffTable, Side, Stacks, Values, Widths, diff},
    drawn::{Drawn, DrawnFrame, drawn},
    error::{FileError, ProfileError},
    fate::{FateRow, FateSums, FateTable, fate_table},
    filter::Filter,
    flame::{Flame, flamegraph},
    folded::Folded,
    layers::{BUILTIN_LAYERS, Layers, LayersError},
    model::{Frame, Profile, SampleType},
    names::{readable_frame, readable_name},
    paths::{module, readable_path},
    scale::{Scale, percentage, signed, signed_percent, three_digits, two_decimals},
    sites::{covered_ops, sites},
    top::{Inlined, TopRow, TopTable, top},
    trace::{
        Blocks, Check, Compared, Fates, Grown, Growth, Lifetime, Request, SiteFate, StackFate, Step, StepKind, Tally,
        Trace, TraceError, TraceSite, Variant, Whose, trace,
    },
};

/// Reads a profile, gzipped or plain.
///
/// # Errors
/// [`FileError`] names the file and what is wrong with it.
pub fn load(path: &Path) -> Result<Profile, FileError> {
    read(path, Profile::decode)
}

/// Reads what can be set against another: a profile, or a text of folded stacks.
///
/// # Errors
/// [`FileError`] names the file and what is wrong with it.
pub fn load_stacks(path: &Path) -> Result<Stacks, FileError> {
    read(path, |bytes| match folded::as_text(bytes) {
        Some(text) => Folded::parse(text).map(Stacks::Folded),
        None => Profile::decode(bytes).map(Stacks::Profile),
    })
}

fn read<T>(path: &Path, decode: impl FnOnce(&[u8]) -> Result<T, ProfileError>) -> Result<T, FileError> {
    let problem = |problem| FileError { path: path.to_owned(), problem };
    let bytes = std::fs::read(path).map_err(|error| problem(ProfileError::Read(error)))?;
    decode(&bytes).map_err(problem)
}
