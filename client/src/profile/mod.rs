//! Reads profiles in pprof's `profile.proto`, whoever wrote them, and says what they hold.
//!
//! [`load`] and [`Profile::decode`] check a file once; what they return is sound, and everything after is a pure function of it:
//!
//! - [`top`]: functions by their own and their callees' share, the numbers of `go tool pprof -top`;
//! - [`sites`]: the lines that asked for memory, per op;
//! - [`collapsed`]: stacks with their values, one a line;
//! - [`flamegraph`]: the same as a picture.
//!
//! Not applied: a profile's `drop_frames` and `keep_frames`. Nothing is symbolized: frames without a function show their mapping.

mod collapse;
mod error;
mod flame;
mod model;
mod names;
mod scale;
mod sites;
mod top;

use std::path::Path;

pub use self::{
    collapse::collapsed,
    error::{FileError, ProfileError},
    flame::{Flame, flamegraph},
    model::{Frame, Profile, SampleType},
    names::{module, readable_frame, readable_name, readable_path},
    scale::{Scale, percentage, three_digits, two_decimals},
    sites::sites,
    top::{Inlined, TopRow, TopTable, top},
};

/// Reads a profile, gzipped or plain.
///
/// # Errors
/// [`FileError`] names the file and what is wrong with it.
pub fn load(path: &Path) -> Result<Profile, FileError> {
    let problem = |problem| FileError { path: path.to_owned(), problem };
    let bytes = std::fs::read(path).map_err(|error| problem(ProfileError::Read(error)))?;
    Profile::decode(&bytes).map_err(problem)
}
