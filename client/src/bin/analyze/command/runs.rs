//! Results of earlier runs, by what people call them: a label below `root`/data, a folder of results, or a result's file.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use analyze::{
    measure::result::RunResult,
    scenario::Framework,
    store::{self, load_result},
};
use anyhow::Context;

use crate::plan::UsageError;

/// Every result of the runs, once; of each run in the order of tables, foreign frameworks last.
pub(super) fn load(runs: &[PathBuf], root: &Path) -> anyhow::Result<Vec<RunResult>> {
    Ok(load_with_files(runs, root)?.into_iter().map(|(_, result)| result).collect())
}

/// The same, each with its file, which the paths of its profiles are relative to.
pub(super) fn load_with_files(runs: &[PathBuf], root: &Path) -> anyhow::Result<Vec<(PathBuf, RunResult)>> {
    let mut seen = BTreeSet::new();
    let mut results: Vec<(PathBuf, RunResult)> = Vec::new();
    for run in runs {
        let from = results.len();
        for file in files(run, root)? {
            if seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                let result = load_result(&file)?;
                results.push((file, result));
            }
        }
        results[from..].sort_by_key(|(_, result)| order(&result.framework));
    }
    Ok(results)
}

fn order(framework: &str) -> usize {
    Framework::all().position(|known| known.name() == framework).unwrap_or(usize::MAX)
}

/// The folder of a run's result files, which the paths within them are relative to.
pub(super) fn folder(run: &Path, root: &Path) -> Result<PathBuf, UsageError> {
    if run.is_file() {
        return Ok(run.parent().unwrap_or(Path::new("")).to_owned());
    }
    let folders = [root.join("data").join(run), run.to_owned()];
    folders.into_iter().find(|folder| folder.is_dir()).ok_or_else(|| {
        UsageError(format!(
            "run {}: must be a result's file, a folder of them, or a label that is a folder in {}",
            run.display(),
            root.join("data").display()
        ))
    })
}

/// The result files of a run, by name.
pub(super) fn files(run: &Path, root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if run.is_file() {
        return Ok(vec![run.to_owned()]);
    }
    let folder = &folder(run, root)?;
    let entries = fs::read_dir(folder).with_context(|| format!("can't read {}", folder.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let paths = paths.with_context(|| format!("can't read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = paths.into_iter().filter(|path| is_result(path)).collect();
    files.sort();
    if files.is_empty() {
        return Err(UsageError(format!("run {}: {} holds no result", run.display(), folder.display())).into());
    }
    Ok(files)
}

/// Hidden files are those that are being written; a suite's plan lies beside its results.
fn is_result(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && !name.starts_with('.') && name != store::PLAN && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_usage(error: &anyhow::Error) -> bool {
        error.is::<UsageError>()
    }

    #[test]
    fn a_run_is_a_label_a_folder_or_a_file() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("data/before");
        fs::create_dir_all(&folder).expect("a folder");
        for name in ["b.json", "a.json", ".c.json.123", "notes.txt", store::PLAN] {
            fs::write(folder.join(name), "{}").expect("a file");
        }
        let both = vec![folder.join("a.json"), folder.join("b.json")];
        let found = |run: &Path| files(run, root.path()).expect("results");
        assert_eq!(found(Path::new("before")), both);
        assert_eq!(found(&folder), both);
        assert_eq!(found(&folder.join("b.json")), both[1..]);
    }

    #[test]
    fn a_run_that_is_not_there_is_wrong_usage() {
        let root = tempfile::tempdir().expect("a folder");
        let error = files(Path::new("nope"), root.path()).expect_err("no such run");
        assert!(is_usage(&error) && error.to_string().starts_with("run nope: must be a result's file"), "{error}");
        fs::create_dir_all(root.path().join("data/empty")).expect("a folder");
        let error = files(Path::new("empty"), root.path()).expect_err("an empty run");
        assert!(is_usage(&error) && error.to_string().ends_with("holds no result"), "{error}");
    }
}
