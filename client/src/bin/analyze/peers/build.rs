//! Builds peers, each in a folder of the cache that is named by what it was built from.

use std::{
    fs::{self, File, TryLockError},
    hash::Hash,
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Instant,
};

use analyze::{scenario::Peer, units::format_duration};
use anyhow::{Context, bail};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::{
    Toolchain,
    recipe::{Start, Step, folder, start, steps, waste},
    sources,
};
use crate::{cache, progress::Waiting, terminal};

/// The cache's folder of peers.
const CACHE: &str = "peers";
/// Held by whoever builds or cleans.
const LOCK: &str = "lock";
/// There once a build is whole.
const DONE: &str = "built";

/// A peer that can be started.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub(crate) peer: &'static Peer,
    pub(crate) toolchain: Toolchain,
    /// What tells its sources, recipe and toolchain from others.
    pub(crate) key: String,
    /// Its folder in the cache.
    pub(crate) root: PathBuf,
    pub(crate) start: Start,
}

/// The build of these sources with the toolchain of now, if there is one.
pub(crate) fn built(peer: &'static Peer, toolchain: &Toolchain) -> anyhow::Result<Option<Built>> {
    let (key, root) = place(peer, toolchain)?;
    if !root.join(DONE).is_file() {
        return Ok(None);
    }
    let mut start = start(peer, &root);
    start.args.extend(peer.flags.iter().map(|&flag| flag.to_owned()));
    Ok(Some(Built { peer, toolchain: toolchain.clone(), key, root, start }))
}

/// Builds it unless it was before. One that is built by another run at the same time is waited for.
pub(super) fn build(peer: &'static Peer) -> anyhow::Result<Built> {
    let toolchain = Toolchain::find(peer.recipe)?;
    if let Some(built) = built(peer, &toolchain)? {
        return Ok(built);
    }
    let _lock = lock()?;
    if let Some(built) = built(peer, &toolchain)? {
        return Ok(built);
    }
    let (_, root) = place(peer, &toolchain)?;
    build_in(peer, &root)?;
    File::create(root.join(DONE)).with_context(|| format!("can't write {}", root.display()))?;
    built(peer, &toolchain)?.context("the build is gone from the cache")
}

/// Removes every build. `None` where there was none.
pub(crate) fn clean() -> anyhow::Result<Option<PathBuf>> {
    let _lock = lock()?;
    let cache = cache::folder(CACHE)?;
    let wrong = || format!("can't clean {}", cache.display());
    let mut found = false;
    for entry in fs::read_dir(&cache).with_context(wrong)? {
        let path = entry.with_context(wrong)?.path();
        if path.ends_with(LOCK) {
            continue;
        }
        found = true;
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.with_context(wrong)?;
    }
    Ok(found.then_some(cache))
}

/// Where a peer's build lies, and its key.
fn place(peer: &'static Peer, toolchain: &Toolchain) -> anyhow::Result<(String, PathBuf)> {
    let key = key(peer, toolchain);
    let root = cache::folder(CACHE)?.join(format!("{}-{key}", peer.folder));
    Ok((key, root))
}

/// A hash of all that a build depends on, but for what registries answer: the peers' lock files pin that.
pub(super) fn key(peer: &'static Peer, toolchain: &Toolchain) -> String {
    let mut hasher = SipHasher13::new();
    for Step { program, args, env } in steps(peer, Path::new("")) {
        (program, args, env).hash(&mut hasher);
    }
    start(peer, Path::new("")).args.hash(&mut hasher);
    toolchain.versions.hash(&mut hasher);
    sources::of(peer).for_each(|source| source.hash(&mut hasher));
    format!("{:016x}", hasher.finish128().h1)
}

fn build_in(peer: &'static Peer, root: &Path) -> anyhow::Result<()> {
    let name = peer.name;
    if root.exists() {
        // One that was left by a build that failed or was interrupted.
        fs::remove_dir_all(root).with_context(|| format!("can't remove {}", root.display()))?;
    }
    sources::write(peer, root).with_context(|| format!("can't write {}", root.display()))?;
    let log = root.join("build.log");
    let began = Instant::now();
    terminal::say(&format!("{name}: building it, once, in {}", root.display()));
    for step in steps(peer, root) {
        let what = format!("{} {}", step.program, step.args.join(" "));
        let waiting = Waiting::new(&format!("{name}: {what}"));
        let status = run(&step, &folder(peer, root), &log).with_context(|| what.clone())?;
        drop(waiting);
        if !status.success() {
            bail!("{name} can't be built: {what}: {status}; what it said is in {}", log.display());
        }
    }
    for path in waste(peer, root) {
        fs::remove_dir_all(&path).with_context(|| format!("can't remove {}", path.display()))?;
    }
    terminal::say(&format!("{name}: built in {}", format_duration(began.elapsed())));
    Ok(())
}

fn run(step: &Step, folder: &Path, log: &Path) -> io::Result<ExitStatus> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut command = Command::new(&step.program);
    command.args(&step.args).envs(step.env.iter().copied()).current_dir(folder).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log).status()
}

/// Waits until nobody else builds.
fn lock() -> anyhow::Result<File> {
    let path = cache::folder(CACHE)?.join(LOCK);
    let wrong = || format!("can't lock {}", path.display());
    let file = File::create(&path).with_context(wrong)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            terminal::say("waiting for another run, which builds peers");
            file.lock().with_context(wrong)?;
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(wrong),
    }
    Ok(file)
}
