//! `analyze plot`: results as pictures.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use analyze::{
    measure::result::RunResult,
    plot::{self, PlotError},
    scenario::Framework,
    store::{self, load_result},
};
use anyhow::Context;

use crate::{plan::UsageError, terminal};

/// The most characters of a folder that is named after several runs.
const LONGEST_NAME: usize = 100;

/// Draws what the runs hold and prints the paths of the pictures. A run is a label below `root`/data, a folder of results, or a
/// result's file. The pictures go to `output`, or else to `root`/plots/ and the runs' labels.
pub(crate) fn plot(runs: &[PathBuf], root: &Path, output: Option<&Path>) -> anyhow::Result<ExitCode> {
    let results = load(runs, root)?;
    let folder = output.map_or_else(|| root.join("plots").join(name(&results)), Path::to_owned);
    let pictures = plot::pictures(&results).map_err(|error: PlotError| {
        let runs: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
        anyhow::anyhow!("{}: {error}", runs.join(", "))
    })?;
    let cannot = || format!("--output {}: can't write", folder.display());
    fs::create_dir_all(&folder).with_context(cannot)?;
    let mut written = String::new();
    for picture in &pictures {
        for (ending, bytes) in [("svg", plot::svg(picture)?.into_bytes()), ("png", plot::png(picture)?)] {
            let path = folder.join(format!("{}.{ending}", picture.name));
            fs::write(&path, bytes).with_context(cannot)?;
            written += &format!("{}\n", path.display());
        }
    }
    terminal::print(&written)?;
    Ok(ExitCode::SUCCESS)
}

/// Every result of the runs, once; of each run in the order of tables, foreign frameworks last.
fn load(runs: &[PathBuf], root: &Path) -> anyhow::Result<Vec<RunResult>> {
    let mut seen = BTreeSet::new();
    let mut results: Vec<RunResult> = Vec::new();
    for run in runs {
        let from = results.len();
        for file in files(run, root)? {
            if seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                results.push(load_result(&file)?);
            }
        }
        results[from..].sort_by_key(|result| order(&result.framework));
    }
    Ok(results)
}

fn order(framework: &str) -> usize {
    Framework::ALL.iter().position(|known| known.name() == framework).unwrap_or(Framework::ALL.len())
}

/// The result files of a run, by name.
fn files(run: &Path, root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if run.is_file() {
        return Ok(vec![run.to_owned()]);
    }
    let labelled = root.join("data").join(run);
    let folder = [labelled.as_path(), run].into_iter().find(|folder| folder.is_dir()).ok_or_else(|| {
        UsageError(format!(
            "run {}: must be a result's file, a folder of them, or a label that is a folder in {}",
            run.display(),
            root.join("data").display()
        ))
    })?;
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

/// The runs' labels as the name of a folder.
fn name(results: &[RunResult]) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for result in results {
        if !labels.contains(&result.label.as_str()) {
            labels.push(&result.label);
        }
    }
    // A label was checked when it was given, but a file may have been changed since.
    let safe = |label: &str| label.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)), "_");
    let all = labels.iter().map(|label| safe(label)).collect::<Vec<_>>().join("_vs_");
    match labels.as_slice() {
        [first, rest @ ..] if all.len() > LONGEST_NAME => format!("{}_vs_{}_others", safe(first), rest.len()),
        _ => all,
    }
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

    #[test]
    fn what_is_no_result_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("a.json");
        fs::write(&file, "{}").expect("a file");
        let error = plot(&[file], root.path(), None).expect_err("no result");
        assert!(!is_usage(&error) && error.to_string().contains("a.json is not what it should be"), "{error}");
    }
}
