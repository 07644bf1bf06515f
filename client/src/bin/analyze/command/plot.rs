//! `analyze plot`: results as pictures.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use analyze::{
    measure::result::RunResult,
    plot::{self, PlotError},
};
use anyhow::Context;

use super::runs;
use crate::terminal;

/// The most characters of a folder that is named after several runs.
const LONGEST_NAME: usize = 100;

/// Draws what the runs hold and prints the paths of the pictures. A run is a label below `root`/data, a folder of results, or a
/// result's file. The pictures go to `output`, or else to `root`/plots/ and the runs' labels.
pub(crate) fn plot(runs: &[PathBuf], root: &Path, output: Option<&Path>) -> anyhow::Result<ExitCode> {
    let results = runs::load(runs, root)?;
    let folder = output.map_or_else(|| root.join("plots").join(name(&results)), Path::to_owned);
    let pictures = plot::pictures(&results).map_err(|error: PlotError| {
        let runs: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
        anyhow::anyhow!("{}: {error}", runs.join(", "))
    })?;
    let cannot = || match output {
        Some(folder) => format!("--output {}: can't write", folder.display()),
        None => format!("--out {}: can't write {}", root.display(), folder.display()),
    };
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

    #[test]
    fn what_is_no_result_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        let file = root.path().join("a.json");
        fs::write(&file, "{}").expect("a file");
        let error = plot(&[file], root.path(), None).expect_err("no result");
        assert!(
            !error.is::<crate::plan::UsageError>() && error.to_string().contains("a.json is not what it should be"),
            "{error}"
        );
    }
}
