//! `analyze top`: whose the values of a run's profiles are, or of a profile alone, and what became of what a trace saw.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::ExitCode,
    slice,
};

use analyze::{
    measure::result::{PerOp, RunResult},
    profile::{
        self, Amounts, Attribution, BUILTIN_LAYERS, By, Filter, Layers, Profile, Trace, UNKNOWN_TYPE, covered_ops,
    },
    report::{self, Attributed, Basis, Fated},
    store::{TRACE, load_trace},
};
use anyhow::bail;

use super::{runs, unanswered};
use crate::{
    cli::{TopArgs, TopBy},
    plan::UsageError,
    terminal,
};

pub(super) fn top(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let question = Question::of(args)?;
    let text = match Kind::of(&args.what) {
        Kind::Profile => question.of_file(&args.what)?,
        Kind::Trace => question.of_trace(&args.what)?,
        Kind::Run => question.of_run()?,
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What is asked about.
enum Kind {
    Profile,
    Trace,
    Run,
}

impl Kind {
    /// A profile never begins as JSON does, and of a trace's file only the name tells it from a result's.
    fn of(path: &Path) -> Self {
        let mut first = [0];
        if !path.is_file() {
            Self::Run
        } else if File::open(path).and_then(|mut file| file.read_exact(&mut first)).map_or(true, |()| first != *b"{") {
            Self::Profile
        } else if path.to_string_lossy().ends_with(TRACE) {
            Self::Trace
        } else {
            Self::Run
        }
    }
}

struct Question<'a> {
    args: &'a TopArgs,
    by: By,
    filter: Filter,
    layers: Layers,
    limit: Option<usize>,
}

impl<'a> Question<'a> {
    fn of(args: &'a TopArgs) -> anyhow::Result<Self> {
        let split = args.generic;
        let by = match args.by.unwrap_or(TopBy::Function) {
            TopBy::Function => By::Function { split },
            TopBy::Line => By::Line { split },
            TopBy::Crate => By::Crate,
            TopBy::Type => By::Type { split },
            TopBy::Layer => By::Layer,
        };
        let layers = match &args.layers {
            None => Layers::parse(BUILTIN_LAYERS)?,
            Some(path) => layers_of(path)?,
        };
        let filter = Filter { focus: args.focus.clone(), ignore: args.ignore.clone() };
        Ok(Self { args, by, filter, layers, limit: (args.number > 0).then_some(args.number) })
    }

    fn of_file(&self, file: &Path) -> anyhow::Result<String> {
        let profile = profile::load(file)?;
        let kind = profile.type_index(self.args.kind.as_deref()).map_err(|error| unanswered(file, error))?;
        if self.args.by.is_none() && !self.args.generic && self.args.layers.is_none() {
            return Ok(report::top(&profile::top(&profile, &self.filter, kind, self.limit)));
        }
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        self.tables(&name, &profile, kind, Basis::Total(None), self.args.layers.is_some())
    }

    fn of_run(&self) -> anyhow::Result<String> {
        let (what, root) = (&self.args.what, &self.args.out);
        if !what.exists() && !root.join("data").join(what).exists() {
            let data = root.join("data");
            let allowed = "must be a profile, a result's file, a folder of results, or a label that is a folder in";
            return Err(UsageError(format!("{}: {allowed} {}", what.display(), data.display())).into());
        }
        let is_cpu = self.args.kind.as_deref().is_some_and(|kind| ["cpu", "samples"].contains(&kind));
        let kind = if is_cpu { "CPU" } else { "allocation" };
        let (mut tables, mut without) = (Vec::new(), Vec::new());
        let beside = |file: &Path, path: &str| file.parent().unwrap_or(Path::new("")).join(path);
        for (file, result) in runs::load_with_files(slice::from_ref(what), root)? {
            let path = if is_cpu { &result.files.cpu_profile } else { &result.files.allocs_profile };
            match path {
                Some(path) => tables.push(self.of_result(&result, &beside(&file, path), is_cpu)?),
                None => without.push(report::subject(&result)),
            }
            if let Some(path) = result.files.trace.as_ref().filter(|_| !is_cpu) {
                match load_trace(&beside(&file, path)) {
                    Ok(traced) => {
                        let concurrency = Some(result.concurrency);
                        tables.push(self.fates(&report::subject(&result), &traced.trace, concurrency, &[self.by]));
                    }
                    Err(error) => terminal::say(&format!("warning: {error}: left out")),
                }
            }
        }
        if tables.is_empty() {
            bail!("{}: none of its results has a profile of the {kind} kind", what.display());
        }
        tables.extend(without.iter().map(|subject| format!("No {kind} profile: {subject}\n")));
        Ok(tables.join("\n"))
    }

    fn of_result(&self, result: &RunResult, path: &Path, is_cpu: bool) -> anyhow::Result<String> {
        let profile = profile::load(path)?;
        let kind = self.args.kind.as_deref().unwrap_or("alloc_space");
        let kind = profile.type_index(Some(kind)).map_err(|error| unanswered(path, error))?;
        let is_time = profile.types()[kind].unit == "nanoseconds";
        let basis = match (is_cpu, result.figures.server_cpu_us_per_op) {
            (true, Some(micros)) if is_time => Basis::CpuPerOp(micros),
            (true, None) if is_time => Basis::Total(Some("the server's CPU time per op was not measured")),
            (true, _) => Basis::Total(None),
            (false, _) => per_op(&profile, result),
        };
        let sampled = if profile.sampling_period().is_some() { ", sampled" } else { "" };
        self.tables(&(report::subject(result) + sampled), &profile, kind, basis, self.by != By::Layer)
    }

    fn of_trace(&self, file: &Path) -> anyhow::Result<String> {
        if let Some(kind) = &self.args.kind {
            return Err(UsageError(format!("--type {kind}: not of a trace, which has the fate of bytes only")).into());
        }
        let traced = load_trace(file)?;
        let subject = format!("{} {}", traced.framework, traced.scenario);
        let bys = if self.by == By::Layer { vec![By::Layer] } else { vec![self.by, By::Layer] };
        Ok(self.fates(&subject, &traced.trace, None, &bys))
    }

    /// What became of what was allocated, a table for each grouping.
    fn fates(&self, subject: &str, trace: &Trace, concurrency: Option<u32>, bys: &[By]) -> String {
        let part = self.filter.names().join(", ");
        let part = (!part.is_empty()).then_some(part.as_str());
        let table = |(at, &by): (usize, &By)| {
            let table = &profile::fate_table(trace, &self.filter, by, &self.layers);
            let what = Fated { subject, trace, table, concurrency, part, is_below: at > 0 };
            report::fate(what, self.limit.filter(|_| by != By::Layer), terminal::style())
        };
        bys.iter().enumerate().map(table).collect::<Vec<_>>().join("\n")
    }

    /// The table asked for, and that of layers.
    fn tables(
        &self,
        subject: &str,
        profile: &Profile,
        kind: usize,
        basis: Basis<'_>,
        and_layers: bool,
    ) -> anyhow::Result<String> {
        let part = self.filter.names().join(", ");
        let part = (!part.is_empty()).then_some(part.as_str());
        let passed = self.filter.apply(profile);
        let table = |by: By, is_below: bool| -> anyhow::Result<String> {
            let table = profile::attribute(&passed, kind, by, &self.layers);
            if let By::Type { .. } = by {
                check_types(&table)?;
            }
            let mut whole = Amounts::default();
            table.types.iter().zip(&mut whole).for_each(|(of, whole)| {
                *whole = profile.type_index(Some(&of.kind)).map_or(0, |at| profile.total(at));
            });
            let limit = self.limit.filter(|_| by != By::Layer);
            Ok(report::attribution(
                Attributed { subject, table: &table, whole, basis, part, is_below },
                limit,
                terminal::style(),
            ))
        };
        let first = table(self.by, false)?;
        if and_layers && self.by != By::Layer { Ok(format!("{first}\n{}", table(By::Layer, true)?)) } else { Ok(first) }
    }
}

/// What an allocation profile's values are divided by.
fn per_op(profile: &Profile, result: &RunResult) -> Basis<'static> {
    let Some(sites) = &result.sites else {
        return Basis::Total(Some("it is sampled or cut, and how many ops it covers is not known"));
    };
    match covered_ops(profile, sites) {
        Some(ops) => Basis::Ops(ops.get()),
        None if sites.total == PerOp::default() => Basis::Total(Some("nothing was allocated")),
        None => Basis::Total(Some("it is not the one that the result's sites are of, so that its ops are not known")),
    }
}

/// Whether there is anything to tell of types.
fn check_types(table: &Attribution) -> Result<(), UsageError> {
    if !table.is_memory {
        let kind = table.types.first().map_or("", |first| &first.kind);
        return Err(UsageError(format!("--by type: {kind} is no memory; only what was allocated has a type")));
    }
    if !table.rows.is_empty() && table.rows.iter().all(|row| row.name == UNKNOWN_TYPE) {
        let why = "no stack of the profile names what it allocates; Rust's do when built with RUSTFLAGS=\"-C symbol-mangling-version=v0\", \
                   Go's never. --by line says where it is allocated";
        return Err(UsageError(format!("--by type: {why}")));
    }
    Ok(())
}

fn layers_of(path: &Path) -> Result<Layers, UsageError> {
    let wrong = |why: &dyn std::fmt::Display| UsageError(format!("--layers {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    Layers::parse(&text).map_err(|error| wrong(&error))
}
