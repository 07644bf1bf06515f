//! Builds a revision of a cargo project, in a work tree of its own.
//!
//! Work tree, build folder and programs lie in the user's cache, at the same paths for all revisions of a project: dependencies are
//! built once, and source files have the same names in both sides' profiles.

use std::{
    env,
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

use crate::{
    cache,
    plan::{Revision, UsageError},
    terminal,
};

/// Hexadecimal digits that tell commits apart.
const SHORT: usize = 12;

/// The program of a revision, built unless it was before. `side` is the flag that names it.
pub(super) fn build(side: &str, revision: &Revision) -> anyhow::Result<PathBuf> {
    let Revision { name, project, bin } = revision;
    let top = git(project, ["rev-parse", "--show-toplevel"])
        .map_err(|error| UsageError(format!("--project {}: {error}", project.display())))?;
    let commit = git(project, ["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])
        .map_err(|_| UsageError(format!("--{side} {name}: git knows no such commit in {top}")))?;
    let prefix = git(project, ["rev-parse", "--show-prefix"])?;
    let cache = project_cache(Path::new(&top))?;
    let short = &commit[..SHORT.min(commit.len())];
    let program = cache.join("programs").join(format!("{short}-{bin}"));
    if program.is_file() {
        terminal::say(&format!("{side}: {name} is {short}, built before: {}", program.display()));
        return Ok(program);
    }
    terminal::say(&format!("{side}: building {bin} of {name}, {short}, in {}", cache.display()));
    let tree = Tree::check_out(project, cache.join("tree"), &commit)?;
    let built = cargo(&tree.path.join(&prefix), &cache.join("target"), bin);
    drop(tree);
    let built = built.with_context(|| format!("--{side} {name}"))?;
    fs::create_dir_all(cache.join("programs")).with_context(|| format!("can't write {}", cache.display()))?;
    fs::copy(&built, &program).with_context(|| format!("can't keep {}", program.display()))?;
    Ok(program)
}

/// A work tree, until it is dropped.
struct Tree<'a> {
    project: &'a Path,
    path: PathBuf,
}

impl<'a> Tree<'a> {
    fn check_out(project: &'a Path, path: PathBuf, commit: &str) -> anyhow::Result<Self> {
        let tree = Self { project, path };
        // One that was left by a build that was interrupted.
        tree.remove();
        let path = tree.path.as_os_str();
        let words = ["worktree", "add", "--detach", "--force"].map(OsStr::new);
        git(project, words.into_iter().chain([path, OsStr::new(commit)]))?;
        Ok(tree)
    }

    fn remove(&self) {
        // There may be none, or none that git still knows.
        let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        let _ = git(self.project, words.into_iter().chain([self.path.as_os_str()]));
        let _ = fs::remove_dir_all(&self.path);
        let _ = git(self.project, ["worktree", "prune"]);
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

fn cargo(folder: &Path, target: &Path, bin: &str) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "--bin", bin]).current_dir(folder).env("CARGO_TARGET_DIR", target);
    if folder.join("Cargo.lock").is_file() {
        command.arg("--locked");
    }
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().context("starting cargo")?;
    if !status.success() {
        bail!("cargo build --release --bin {bin}: {status}");
    }
    Ok(target.join("release").join(bin))
}

/// What git prints.
fn git<S: AsRef<OsStr>>(folder: &Path, words: impl IntoIterator<Item = S>) -> anyhow::Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(words).output().context("starting git")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git: {}", said.lines().next().unwrap_or("it said nothing"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The project's folder in the user's cache.
fn project_cache(top: &Path) -> anyhow::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    top.hash(&mut hasher);
    let name = top.file_name().unwrap_or_default().to_string_lossy();
    cache::folder(&format!("{name}-{:016x}", hasher.finish()))
}
