//! Where a run's files go: four folders side by side, and in each one folder a run.
//!
//! ```text
//! <root>/data/<label>/<stem>.json
//! <root>/data/<label>/plan.json            of a suite
//! <root>/data/<label>.noise.json           of a server against itself
//! <root>/profiles/<label>/<stem>.{cpu,allocs,heap}.pb.gz
//! <root>/profiles/<label>/<stem>.trace.json
//! <root>/flamegraphs/<label>/<stem>.{cpu,alloc_space,alloc_objects,trace}.svg
//! <root>/logs/<label>/<stem>.server.log
//! ```
//!
//! In each of the four, `latest` links to the newest run's folder. A file is written under another name and renamed when it is
//! whole, so a reader never finds half of one.

mod artifact;
mod label;
mod noise;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{
    Serialize,
    de::{DeserializeOwned, Error},
};

use self::{artifact::KINDS, label::LATEST};
pub use self::{
    artifact::{Artifact, TRACE},
    label::{Label, LabelError},
    noise::{load_noise, save_noise},
};
use crate::{
    measure::result::RunResult,
    plot,
    report::{TRACE_VERSION, Traced},
};

/// The file of a run's plan, among its results.
pub const PLAN: &str = "plan.json";

/// The folders of one run.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    label: Label,
}

/// Why a file couldn't be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A folder or file can't be written.
    #[error("can't write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file can't be read.
    #[error("can't read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is no result, no plan, no trace or no noise floors of this version.
    #[error("{} is not what it should be: {source}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl Store {
    /// Makes the run's folders and tries each by writing to it, so that a run doesn't find out at its end.
    ///
    /// # Errors
    /// [`StoreError::Write`] names the first folder that can't be written.
    pub fn open(root: &Path, label: Label) -> Result<Self, StoreError> {
        let store = Self::at(root, label);
        for kind in KINDS {
            let folder = store.folder(kind);
            fs::create_dir_all(&folder).map_err(write_error(&folder))?;
            let probe = temporary(&folder.join("probe"));
            fs::write(&probe, []).map_err(write_error(&folder))?;
            fs::remove_file(&probe).map_err(write_error(&folder))?;
        }
        Ok(store)
    }

    /// The folders of a run, to read what is in them. Nothing is made.
    pub fn at(root: &Path, label: Label) -> Self {
        Self { root: root.to_owned(), label }
    }

    /// Whether a run of that name has a plan. Nothing is made.
    pub fn has_plan(root: &Path, label: &Label) -> bool {
        Self::at(root, label.clone()).plan_path().exists()
    }

    /// The run's name.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The folder of the results' JSON files.
    pub fn data_dir(&self) -> PathBuf {
        self.folder(artifact::DATA)
    }

    /// Where an artifact of the result with that stem ([`RunResult::file_stem`]) lies.
    pub fn path(&self, artifact: Artifact, stem: &str) -> PathBuf {
        self.folder(artifact.kind()).join(artifact.file_name(stem))
    }

    /// Writes an artifact and enters it in the result's [`files`](RunResult::files).
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn keep(&self, artifact: Artifact, result: &mut RunResult, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.path(artifact, &result.file_stem());
        replace(&path, bytes)?;
        self.enter(artifact, result);
        Ok(path)
    }

    /// Enters an artifact that someone else writes, as a server its log.
    pub fn enter(&self, artifact: Artifact, result: &mut RunResult) {
        let name = artifact.file_name(&result.file_stem());
        *artifact.slot(&mut result.files) = Some(format!("../../{}/{}/{name}", artifact.kind(), self.label));
    }

    /// Writes a result's JSON, in the place of an earlier one of the same name.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn save(&self, result: &RunResult) -> Result<PathBuf, StoreError> {
        let path = self.data_dir().join(result.file_name());
        replace_json(&path, result)?;
        Ok(path)
    }

    /// Writes the plan of a run beside its results, in the place of an earlier one.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn save_plan(&self, plan: &impl Serialize) -> Result<(), StoreError> {
        replace_json(&self.plan_path(), plan)
    }

    /// Writes a trace beside the profiles, and its picture, and says where.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn save_trace(&self, stem: &str, trace: &Traced) -> Result<[PathBuf; 2], StoreError> {
        let [json, picture] = [Artifact::Trace, Artifact::TraceTimeline].map(|artifact| self.path(artifact, stem));
        replace_json(&json, trace)?;
        replace(&picture, plot::timeline(trace).as_bytes())?;
        Ok([json, picture])
    }

    /// The same of a trace that belongs to a result, in which both are entered.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn keep_trace(&self, result: &mut RunResult, trace: &Traced) -> Result<(), StoreError> {
        self.save_trace(&result.file_stem(), trace)?;
        [Artifact::Trace, Artifact::TraceTimeline].into_iter().for_each(|artifact| self.enter(artifact, result));
        Ok(())
    }

    /// Reads the plan that [`save_plan`](Self::save_plan) wrote.
    ///
    /// # Errors
    /// [`StoreError::Read`], also where the run has none, and [`StoreError::Format`].
    pub fn load_plan<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        read_json(&self.plan_path())
    }

    fn plan_path(&self) -> PathBuf {
        self.data_dir().join(PLAN)
    }

    /// The result that has that stem; `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError::Read`] and [`StoreError::Format`].
    pub fn load(&self, stem: &str) -> Result<Option<RunResult>, StoreError> {
        let path = self.data_dir().join(format!("{stem}.json"));
        match load_result(&path) {
            Err(StoreError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            result => result.map(Some),
        }
    }

    /// Makes `latest` lead to this run, in each of the folders.
    ///
    /// # Errors
    /// [`StoreError::Write`], also where something other than a link is called `latest`.
    pub fn link_latest(&self) -> Result<(), StoreError> {
        for kind in KINDS {
            let link = self.root.join(kind).join(LATEST);
            let new = temporary(&link);
            std::os::unix::fs::symlink(self.label.as_str(), &new).map_err(write_error(&link))?;
            fs::rename(&new, &link).map_err(|source| {
                // Left behind it would be taken for a run.
                let _ = fs::remove_file(&new);
                StoreError::Write { path: link.clone(), source }
            })?;
        }
        Ok(())
    }

    fn folder(&self, kind: &str) -> PathBuf {
        self.root.join(kind).join(self.label.as_str())
    }
}

/// Reads a trace that [`Store::save_trace`] wrote.
///
/// # Errors
/// [`StoreError::Read`], and [`StoreError::Format`] which says where the file isn't what it should be.
pub fn load_trace(path: &Path) -> Result<Traced, StoreError> {
    let traced: Traced = read_json(path)?;
    let wrong = |what: &str| StoreError::Format { path: path.to_owned(), source: serde_json::Error::custom(what) };
    match traced.schema_version {
        TRACE_VERSION if traced.trace.is_sound() => Ok(traced),
        TRACE_VERSION => Err(wrong("a step or a stack names what isn't there")),
        other => Err(wrong(&format!("version {other} of traces, of which only {TRACE_VERSION} is known"))),
    }
}

/// Reads a result that [`Store::save`] wrote.
///
/// # Errors
/// [`StoreError::Read`], and [`StoreError::Format`] which says where the file isn't what it should be.
pub fn load_result(path: &Path) -> Result<RunResult, StoreError> {
    read_json(path)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let bytes = fs::read(path).map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes).map_err(|source| StoreError::Format { path: path.to_owned(), source })
}

fn replace_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let json = serde_json::to_vec_pretty(value)
        .map_err(|source| StoreError::Write { path: path.to_owned(), source: source.into() })?;
    replace(path, &[&json, b"\n".as_slice()].concat())
}

/// Writes a file whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let new = temporary(path);
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).map_err(|source| {
        // What is half written helps nobody.
        let _ = fs::remove_file(&new);
        StoreError::Write { path: path.to_owned(), source }
    })
}

/// A hidden name beside `path` that no other process uses.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

fn write_error(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::Write { path: path.to_owned(), source }
}
