//! `analyze flamegraph`: a profile as a picture.

use std::{fs, process::ExitCode};

use analyze::profile::{self, Flame};
use anyhow::Context;

use super::unanswered;
use crate::{cli::FlamegraphArgs, terminal};

pub(super) fn flamegraph(args: &FlamegraphArgs) -> anyhow::Result<ExitCode> {
    let profile = profile::load(&args.file)?;
    let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy();
    let title = args.title.as_deref().unwrap_or(&name);
    let svg = profile::flamegraph(&profile, &Flame { title, kind: args.kind.as_deref(), ops: args.ops })
        .map_err(|error| unanswered(&args.file, error))?;
    match &args.output {
        Some(path) => fs::write(path, svg).with_context(|| format!("--output {}: can't write", path.display()))?,
        None => terminal::print(&svg)?,
    }
    Ok(ExitCode::SUCCESS)
}
