//! Where a run's files are.

use std::path::{Component, Path, PathBuf};

use super::{Style, name};
use crate::measure::result::{Files, RunResult};

/// The files of each result, one a line. `data_dir` is the folder of the JSON files, which the results' own paths are relative to.
pub fn files(results: &[RunResult], data_dir: &Path, style: Style) -> String {
    let mut text = style.bold("Files") + "\n";
    for result in results {
        text += &format!("  {}\n", name(result));
        text += &format!("    {:<24} {}\n", "result", data_dir.join(result.file_name()).display());
        for (what, path) in present(&result.files) {
            text += &format!("    {what:<24} {}\n", normal(&data_dir.join(path)).display());
        }
    }
    text
}

/// The folders of many results, one a line with how many there are of each kind.
pub fn folders(results: &[RunResult], data_dir: &Path, style: Style) -> String {
    let mut folders: Vec<(PathBuf, usize)> = Vec::new();
    let mut add = |path: &Path| {
        let folder = normal(path).parent().unwrap_or(Path::new("")).to_owned();
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, count)) => *count += 1,
            None => folders.push((folder, 1)),
        }
    };
    for result in results {
        add(&data_dir.join(result.file_name()));
        present(&result.files).for_each(|(_, path)| add(&data_dir.join(path)));
    }
    let line = |(folder, count): &(PathBuf, usize)| {
        format!("  {:>6} in {}\n", crate::units::thousands(*count as u64), folder.display())
    };
    style.bold("Files") + "\n" + &folders.iter().map(line).collect::<String>()
}

fn present(files: &Files) -> impl Iterator<Item = (&'static str, &str)> {
    [
        ("CPU profile", &files.cpu_profile),
        ("allocation profile", &files.allocs_profile),
        ("heap profile", &files.heap_profile),
        ("CPU flamegraph", &files.cpu_flamegraph),
        ("B/op flamegraph", &files.alloc_space_flamegraph),
        ("allocs/op flamegraph", &files.alloc_objects_flamegraph),
        ("trace", &files.trace),
        ("timeline of a request", &files.trace_timeline),
        ("server log", &files.server_log),
        ("gateway configuration", &files.gateway_config),
        ("gateway log", &files.gateway_log),
    ]
    .into_iter()
    .filter_map(|(what, path)| Some((what, path.as_deref()?)))
}

/// Without `..` where it follows a folder's name. Symbolic links are not followed.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_resolved_as_far_as_they_are_known() {
        for (path, expected) in [
            ("data/t/../../profiles/t/a", "profiles/t/a"),
            ("../data/../x", "../x"),
            ("../../x", "../../x"),
            ("/a/../x", "/x"),
        ] {
            assert_eq!(normal(Path::new(path)), Path::new(expected));
        }
    }
}
