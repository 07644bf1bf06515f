//! What `analyze diff` was given: a file of stacks, or a result of earlier runs.

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
};

use analyze::{
    compare::differences,
    measure::result::RunResult,
    profile::{self, Side, Stacks},
    store::load_result,
};

use crate::{cli::DiffArgs, command::runs, plan::UsageError};

/// The most results that an error names.
const NAMED: usize = 5;

/// Both sides, and in what their runs were measured otherwise.
pub(super) struct Given {
    pub(super) sides: [Side; 2],
    pub(super) unlike: Vec<String>,
}

/// A side before it is known which of its results is meant.
enum Found {
    Stacks(PathBuf),
    Results(Vec<Measured>),
}

/// A result and where it was read from.
struct Measured {
    file: PathBuf,
    result: Box<RunResult>,
}

pub(super) fn sides(args: &DiffArgs) -> anyhow::Result<Given> {
    let (a, b) = one_each(args, find(&args.a, &args.out)?, find(&args.b, &args.out)?)?;
    let unlike = match (&a, &b) {
        (One::Result(a), One::Result(b)) => differences(&a.result, &b.result).iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let kind = args.kind.as_deref();
    let mut sides = [a.load(kind, args.ops_a)?, b.load(kind, args.ops_b)?];
    if sides[0].name == sides[1].name && args.a != args.b {
        sides[0].name = args.a.display().to_string();
        sides[1].name = args.b.display().to_string();
    }
    Ok(Given { sides, unlike })
}

fn find(path: &Path, root: &Path) -> anyhow::Result<Found> {
    let is_result = path.extension().is_some_and(|ending| ending == "json");
    if path.is_file() && !is_result {
        return Ok(Found::Stacks(path.to_owned()));
    }
    if !path.exists() && !root.join("data").join(path).is_dir() {
        return Err(UsageError(format!(
            "{}: must be a profile, a text of folded stacks, a result's JSON file, or a label that is a folder in {}",
            path.display(),
            root.join("data").display()
        ))
        .into());
    }
    let measured = |file: PathBuf| anyhow::Ok(Measured { result: Box::new(load_result(&file)?), file });
    let results = runs::files(path, root)?.into_iter().map(measured).collect::<Result<Vec<_>, _>>()?;
    // The bare echo beside a server has none. Where none has one, that is what is wrong.
    let (profiled, others): (Vec<_>, Vec<_>) = results.into_iter().partition(Measured::has_profile);
    Ok(Found::Results(if profiled.is_empty() { others } else { profiled }))
}

/// What is compared in the end.
enum One {
    Stacks(PathBuf),
    Result(Measured),
}

/// The one result of a run, or the one that both runs have.
fn one_each(args: &DiffArgs, a: Found, b: Found) -> Result<(One, One), UsageError> {
    Ok(match (a, b) {
        (Found::Stacks(a), Found::Stacks(b)) => (One::Stacks(a), One::Stacks(b)),
        (Found::Stacks(a), Found::Results(b)) => (One::Stacks(a), One::Result(only(&args.b, b)?)),
        (Found::Results(a), Found::Stacks(b)) => (One::Result(only(&args.a, a)?), One::Stacks(b)),
        (Found::Results(a), Found::Results(b)) => {
            let (a, b) = in_common(args, a, b)?;
            (One::Result(a), One::Result(b))
        }
    })
}

fn only(run: &Path, mut results: Vec<Measured>) -> Result<Measured, UsageError> {
    match results.pop() {
        Some(last) if results.is_empty() => Ok(last),
        last => {
            results.extend(last);
            Err(UsageError(format!("{}: {}", run.display(), which(&results.iter().collect::<Vec<_>>()))))
        }
    }
}

/// Two single results are compared whatever they are of.
fn in_common(args: &DiffArgs, mut a: Vec<Measured>, mut b: Vec<Measured>) -> Result<(Measured, Measured), UsageError> {
    let alone = a.len() == 1 && b.len() == 1;
    let same = |a: &Measured, b: &Measured| alone || a.result.file_stem() == b.result.file_stem();
    let pairs: Vec<(usize, usize)> = a
        .iter()
        .enumerate()
        .flat_map(|(i, one)| b.iter().enumerate().filter(move |(_, other)| same(one, other)).map(move |(j, _)| (i, j)))
        .collect();
    let names = format!("{} and {}", args.a.display(), args.b.display());
    match pairs[..] {
        [(i, j)] => Ok((a.swap_remove(i), b.swap_remove(j))),
        [] => Err(UsageError(format!("{names} have no load in common: each must be a result's JSON file"))),
        _ => {
            let of_a: Vec<&Measured> = pairs.iter().map(|(i, _)| &a[*i]).collect();
            Err(UsageError(format!("{names}: {}", which(&of_a))))
        }
    }
}

/// `4 results to choose from, each side must be the JSON file of one: data/a/….json, …`
fn which(results: &[&Measured]) -> String {
    let named: Vec<String> = results.iter().take(NAMED).map(|each| each.file.display().to_string()).collect();
    let others = if results.len() > NAMED { ", …" } else { "" };
    let count = results.len();
    format!("{count} results to choose from, each side must be the JSON file of one: {}{others}", named.join(", "))
}

impl One {
    fn load(self, kind: Option<&str>, ops: Option<NonZeroU64>) -> anyhow::Result<Side> {
        match self {
            Self::Stacks(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                Ok(Side { name, stacks: profile::load_stacks(&path)?, ops })
            }
            Self::Result(measured) => measured.load(kind, ops),
        }
    }
}

impl Measured {
    fn has_profile(&self) -> bool {
        let files = &self.result.files;
        [&files.allocs_profile, &files.cpu_profile, &files.heap_profile].iter().any(|file| file.is_some())
    }

    /// The allocation profile, or another one that has what is asked for. How many ops it covers is known of the first alone.
    fn load(&self, kind: Option<&str>, ops: Option<NonZeroU64>) -> anyhow::Result<Side> {
        let Measured { file, result } = self;
        let name = format!("{} {} {}", result.label, result.framework, result.scenario);
        let folder = file.parent().unwrap_or(Path::new(""));
        let allocs = result.files.allocs_profile.as_ref();
        let mut first = None;
        for path in
            [allocs, result.files.cpu_profile.as_ref(), result.files.heap_profile.as_ref()].into_iter().flatten()
        {
            let profile = profile::load(&folder.join(path))?;
            let covered = result.sites.as_ref().filter(|_| Some(path) == allocs);
            let has_kind = kind.is_none_or(|kind| profile.type_index(Some(kind)).is_ok());
            let ops = ops.or_else(|| profile::covered_ops(&profile, covered?));
            let side = Side { name: name.clone(), stacks: Stacks::Profile(profile), ops };
            if has_kind {
                return Ok(side);
            }
            first.get_or_insert(side);
        }
        first.ok_or_else(|| {
            UsageError(format!("{}: has no profile (it was measured with --no-profiles)", file.display())).into()
        })
    }
}
