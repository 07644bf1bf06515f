//! `analyze top`: a profile's functions.

use std::process::ExitCode;

use analyze::{profile, report};

use super::unanswered;
use crate::{cli::TopArgs, terminal};

pub(super) fn top(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let profile = profile::load(&args.file)?;
    let kind = profile.type_index(args.kind.as_deref()).map_err(|error| unanswered(&args.file, error))?;
    let limit = (args.number > 0).then_some(args.number);
    terminal::print(&report::top(&profile::top(&profile, kind, limit)))?;
    Ok(ExitCode::SUCCESS)
}
