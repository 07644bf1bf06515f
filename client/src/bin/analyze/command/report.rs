//! `analyze report`: a run for those who weren't there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    slice,
};

use analyze::{
    compare::compare,
    measure::result::RunResult,
    plot::{self, PlotError},
    profile::{BUILTIN_LAYERS, Layers, drawn},
    report::{self, Against, CellTrace, Document, Flamegraph, Shown},
    store::load_trace,
};
use anyhow::Context;

use super::{compare::comparable, runs};
use crate::{cli::ReportArgs, terminal};

/// What GitHub takes in the description of a pull request or a comment, in characters.
const LONGEST: usize = 65_536;
/// MiB of a page that browsers are slow with.
const HEAVY: usize = 20;

/// Writes the report of a run, against another where there is one.
pub(super) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let criteria = args.criteria.read()?;
    let load = |run: &PathBuf| -> anyhow::Result<Vec<RunResult>> {
        let mut results = runs::load(slice::from_ref(run), &args.out)?;
        results.sort_by_key(|result| (result.payload_size, result.concurrency));
        Ok(results)
    };
    let results = load(&args.run)?;
    let base = args.against.as_ref().map(load).transpose()?;
    let comparison = base.as_ref().map(|base| compare(base, &results, &criteria));
    if let (Some(against), Some(comparison)) = (&args.against, &comparison) {
        comparable(comparison, [against, &args.run], args.force)?;
    }
    let against = base.as_ref().zip(comparison.as_ref());
    let against = against.map(|(results, comparison)| Against { results, comparison });
    let traces = traces(&results, &runs::folder(&args.run, &args.out)?)?;
    let document = Document { results: &results, against, traces: &traces };
    let text = if args.html {
        let mut flamegraphs = Vec::new();
        if let Some((run, results)) = args.against.as_ref().zip(base.as_ref()) {
            flamegraphs.extend(self::flamegraphs(results, &runs::folder(run, &args.out)?));
        }
        flamegraphs.extend(self::flamegraphs(&results, &runs::folder(&args.run, &args.out)?));
        let timelines: Vec<String> = traces.iter().map(|trace| plot::timeline(&trace.traced)).collect();
        let (pictures, timelines, flamegraphs) = (&pictures(&document)?, &timelines, &flamegraphs);
        report::page(&document, Shown { pictures, timelines, flamegraphs })
    } else {
        report::pull_request(&document)
    };
    if let Some(warning) = too_long(&text, args.html) {
        terminal::say(&format!("warning: {warning}"));
    }
    match &args.output {
        Some(path) => fs::write(path, text).with_context(|| format!("--output {}: can't write", path.display()))?,
        None => terminal::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn too_long(text: &str, html: bool) -> Option<String> {
    let (characters, mib) = (text.chars().count(), text.len() >> 20);
    match html {
        true if mib >= HEAVY => {
            Some(format!("a page of {mib} MiB: browsers will be slow with it; report fewer results"))
        }
        false if characters > LONGEST => {
            Some(format!("{characters} characters: GitHub takes {LONGEST} in a description or a comment"))
        }
        _ => None,
    }
}

/// What can be drawn of both runs.
fn pictures(document: &Document<'_>) -> anyhow::Result<Vec<String>> {
    let base = document.against.map(|against| against.results).unwrap_or_default();
    match plot::pictures(&[base, document.results].concat()) {
        Ok(pictures) => Ok(pictures.iter().map(plot::svg).collect::<Result<_, _>>()?),
        Err(PlotError::Nothing(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Every trace of the results, whose paths are relative to a folder. One that can't be read is said and left out.
fn traces(results: &[RunResult], folder: &Path) -> anyhow::Result<Vec<CellTrace>> {
    let layers = Layers::parse(BUILTIN_LAYERS)?;
    let mut traces = Vec::new();
    for result in results {
        let Some(path) = &result.files.trace else { continue };
        match load_trace(&folder.join(path)) {
            Ok(traced) => traces.push(CellTrace::new(result, traced, &layers)),
            Err(error) => terminal::say(&format!("warning: {error}: left out")),
        }
    }
    Ok(traces)
}

/// Every flamegraph of the results, whose paths are relative to a folder. One that can't be read is said and left out.
fn flamegraphs(results: &[RunResult], folder: &Path) -> Vec<Flamegraph> {
    let mut graphs = Vec::new();
    for result in results {
        let files = &result.files;
        let paths = [
            ("B/op", &files.alloc_space_flamegraph),
            ("allocs/op", &files.alloc_objects_flamegraph),
            ("CPU", &files.cpu_flamegraph),
        ];
        for (metric, path) in paths {
            let Some(path) = path.as_ref().map(|path| folder.join(path)) else { continue };
            let drawn = match fs::read_to_string(&path) {
                Ok(svg) => drawn(&svg).ok_or_else(|| "no flamegraph of ours".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            match drawn {
                Ok(drawn) => graphs.push(Flamegraph::new(result, metric, drawn)),
                Err(problem) => terminal::say(&format!("warning: {}: {problem}: left out", path.display())),
            }
        }
    }
    graphs
}

#[cfg(test)]
mod tests {
    use analyze::{compare::ALPHA, measure::result::Environment};

    use super::*;
    use crate::{
        cli::{CriteriaArgs, SizeArgs, run_args},
        plan::{Plan, UsageError},
    };

    /// Results of a run that was interrupted before its first round.
    fn save(root: &Path, label: &str, kernel: &str) {
        let plan = Plan::of_run(run_args(&["--scenario", "128B-50", "--label", label]), &[0, 1]).expect("a plan");
        let folder = root.join("data").join(label);
        fs::create_dir_all(&folder).expect("a folder");
        for subject in plan.subjects() {
            let environment = Environment { kernel: Some(kernel.to_owned()), ..Environment::default() };
            let result = RunResult::derive(subject.meta(&plan.label, plan.started, environment), &[]);
            let json = serde_json::to_string(&result).expect("JSON");
            fs::write(folder.join(result.file_name()), json).expect("a file");
        }
    }

    fn args(root: &Path, force: bool) -> ReportArgs {
        ReportArgs {
            run: "b".into(),
            against: Some("a".into()),
            criteria: CriteriaArgs { alpha: ALPHA, size: SizeArgs { smallest: None, noise: None } },
            force,
            markdown: false,
            html: false,
            out: root.to_owned(),
            output: Some(root.join("report.md")),
        }
    }

    #[test]
    fn runs_that_were_measured_otherwise_are_refused_unless_forced() {
        let root = tempfile::tempdir().expect("a folder");
        let written = || fs::read_to_string(root.path().join("report.md")).ok();
        save(root.path(), "a", "Linux 6.1");
        save(root.path(), "b", "Linux 6.2");
        let error = report(&args(root.path(), false)).expect_err("unlike runs");
        assert!(
            error.is::<UsageError>() && error.to_string().contains("kernel: Linux 6.1 against Linux 6.2"),
            "{error}"
        );
        assert_eq!(written(), None);
        report(&args(root.path(), true)).expect("a report");
        assert!(written().is_some_and(|text| text.starts_with("## b against a\n")));
        save(root.path(), "b", "Linux 6.1");
        report(&args(root.path(), false)).expect("a report of like runs");
    }

    #[test]
    fn flamegraphs_are_read_and_what_is_none_is_left_out() {
        let root = tempfile::tempdir().expect("a folder");
        save(root.path(), "a", "Linux 6.1");
        let mut results = runs::load(&["a".into()], root.path()).expect("results");
        let folder = runs::folder(Path::new("a"), root.path()).expect("a folder");
        assert_eq!(folder, root.path().join("data/a"));
        let mut svg = Vec::new();
        let options = &mut inferno::flamegraph::Options::default();
        inferno::flamegraph::from_lines(options, ["main;f 3"], &mut svg).expect("a flamegraph");
        fs::write(root.path().join("data/cpu.svg"), svg).expect("a file");
        fs::write(root.path().join("data/secret.svg"), "a password").expect("a file");
        results[0].files.cpu_flamegraph = Some("../cpu.svg".to_owned());
        results[0].files.alloc_space_flamegraph = Some("../secret.svg".to_owned());
        results[1].files.cpu_flamegraph = Some("../gone.svg".to_owned());
        let graphs = flamegraphs(&results, &folder);
        assert_eq!(graphs.len(), 1);
        assert_eq!((graphs[0].metric, graphs[0].cell.as_str()), ("CPU", "triple 128B-50: protobuf, unary"));
        assert_eq!(graphs[0].drawn.frames.len(), 3);
    }

    #[test]
    fn reports_that_are_too_long_are_said_to_be() {
        assert_eq!(too_long(&"µ".repeat(LONGEST), false), None);
        assert!(
            too_long(&"µ".repeat(LONGEST + 1), false).is_some_and(|warning| warning.starts_with("65537 characters"))
        );
        assert_eq!(too_long(&"x".repeat(LONGEST + 1), true), None);
        assert!(
            too_long(&"x".repeat(HEAVY << 20), true).is_some_and(|warning| warning.starts_with("a page of 20 MiB"))
        );
    }
}
