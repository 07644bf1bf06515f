//! Noise floors, kept beside the folders of runs: `data/<label>.noise.json`.

use std::path::{Path, PathBuf};

use super::{Label, StoreError, artifact::DATA, read_json, replace_json};
use crate::compare::Noise;

/// Saves what `analyze aa` measured under a label, and says where.
///
/// # Errors
/// The file can't be written.
pub fn save_noise(root: &Path, label: &Label, noise: &Noise) -> Result<PathBuf, StoreError> {
    let path = root.join(DATA).join(format!("{label}.noise.json"));
    replace_json(&path, noise)?;
    Ok(path)
}

/// Noise floors that were saved.
///
/// # Errors
/// The file can't be read, or isn't one of noise floors.
pub fn load_noise(path: &Path) -> Result<Noise, StoreError> {
    read_json(path)
}
