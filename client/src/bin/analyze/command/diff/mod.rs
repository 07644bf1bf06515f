//! `analyze diff`: what changed from one profile to another, as a table and as a picture.

mod given;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use analyze::{
    profile::{self, Diff, DiffError, ProfileError, Side, Values, Widths},
    report,
};
use anyhow::Context;

use super::compare::alike;
use crate::{
    cli::{DiffArgs, DiffWidths, Format},
    plan::UsageError,
    terminal,
};

/// The most characters of a file that is named after what is compared.
const LONGEST_NAME: usize = 150;

pub(super) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let given = given::sides(args)?;
    alike(&given.unlike, [&args.a, &args.b], args.force)?;
    let diff = together(&given.sides, args)?;
    let drawn = draw(&diff, args)?;
    let limit = (args.number > 0).then_some(args.number);
    let values = if args.cum { Values::WithCallees } else { Values::Own };
    terminal::print(&match args.format {
        Format::Table => report::diff(&diff, values, limit, terminal::style()),
        Format::Json => report::diff_json(&diff, values, limit)?,
        Format::Csv => report::diff_csv(&diff, values, limit)?,
        Format::Markdown => report::diff_markdown(&diff, values, limit),
    })?;
    given.unlike.iter().for_each(|difference| terminal::say(&format!("warning: measured otherwise: {difference}")));
    terminal::say(&drawn);
    Ok(ExitCode::SUCCESS)
}

/// Draws the difference without a table, and says where the picture is.
pub(super) fn picture(args: &DiffArgs) -> anyhow::Result<String> {
    draw(&together(&given::sides(args)?.sides, args)?, args)
}

fn together([a, b]: &[Side; 2], args: &DiffArgs) -> anyhow::Result<Diff> {
    profile::diff(a, b, args.kind.as_deref()).map_err(|error| match error {
        DiffError::Unsound(error) => error.into(),
        unlike => UsageError(unlike.to_string()).into(),
    })
}

/// Writes the picture, and says where it is or why there is none.
fn draw(diff: &Diff, args: &DiffArgs) -> anyhow::Result<String> {
    let [a, b] = diff.names();
    let title = args.title.clone().unwrap_or_else(|| format!("{a} → {b}"));
    let (widths, flag, whose) = match args.widths {
        DiffWidths::A => (Widths::A, "a", a),
        DiffWidths::B => (Widths::B, "b", b),
        DiffWidths::Both => (Widths::Both, "both", "either side"),
    };
    let svg = match diff.flamegraph(&title, widths) {
        Ok(svg) => svg,
        Err(ProfileError::NoSamples(_)) => {
            let why = format!("--widths {flag}: {whose} has no {} to draw; a, b and both are allowed", diff.subject());
            return if args.output.is_some() { Err(UsageError(why).into()) } else { Ok(format!("no picture: {why}")) };
        }
        Err(error) => return Err(error.into()),
    };
    let path = args.output.clone().unwrap_or_else(|| args.out.join("flamegraphs/diff").join(file_name(diff)));
    let cannot = || format!("--output {}: can't write", path.display());
    if let Some(folder) = path.parent().filter(|folder| args.output.is_none() && *folder != Path::new("")) {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::write(&path, svg).with_context(cannot)?;
    Ok(format!("flamegraph of the difference: {}", path.display()))
}

/// `before_triple_128B-50_vs_after_triple_128B-50.alloc_space.svg`
fn file_name(diff: &Diff) -> PathBuf {
    let safe = |name: &str| name.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)), "_");
    let [a, b] = diff.names().map(safe);
    let kind = diff.kind().map(|kind| format!(".{}", safe(kind))).unwrap_or_default();
    let mut name = format!("{a}_vs_{b}");
    name.truncate(LONGEST_NAME);
    format!("{name}{kind}.svg").into()
}
