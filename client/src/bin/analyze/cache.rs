//! Where builds are kept from one run to the next.

use std::{env, fs, path::PathBuf};

use anyhow::Context;

/// Names the folder in place of the user's cache.
const VARIABLE: &str = "ANALYZE_CACHE_DIR";

/// A folder of the cache, made if there is none: `ANALYZE_CACHE_DIR`, else `analyze` in the user's cache.
pub(crate) fn folder(name: &str) -> anyhow::Result<PathBuf> {
    let set = |variable| env::var_os(variable).filter(|root| !root.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    let root = set(VARIABLE).or_else(|| set("XDG_CACHE_HOME").or_else(home).map(|root| root.join("analyze")));
    let folder = root.context("neither XDG_CACHE_HOME nor HOME says where builds may be kept")?.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("can't write {}", folder.display()))?;
    // Programs run in other folders than this one.
    fs::canonicalize(&folder).with_context(|| format!("can't read {}", folder.display()))
}
