//! `analyze report`: a run for those who weren't there.

use std::{fs, path::PathBuf, process::ExitCode, slice};

use analyze::{
    compare::{ALPHA, compare},
    report::{self, Against, Document},
};
use anyhow::Context;

use super::{compare::comparable, runs};
use crate::{cli::ReportArgs, terminal};

/// What GitHub takes in the description of a pull request or a comment, in characters.
const LONGEST: usize = 65_536;

/// Writes the report of a run, against another where there is one.
pub(super) fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let load = |run: &PathBuf| runs::load(slice::from_ref(run), &args.out);
    let results = load(&args.run)?;
    let base = args.against.as_ref().map(load).transpose()?;
    let comparison = base.as_ref().map(|base| compare(base, &results, ALPHA));
    if let (Some(against), Some(comparison)) = (&args.against, &comparison) {
        comparable(comparison, [against, &args.run], args.force)?;
    }
    let against = base.as_ref().zip(comparison.as_ref());
    let against = against.map(|(results, comparison)| Against { results, comparison });
    let text = report::pull_request(&Document { results: &results, against });
    if text.chars().count() > LONGEST {
        terminal::say(&format!("warning: longer than the {LONGEST} characters that GitHub takes in a comment"));
    }
    match &args.output {
        Some(path) => fs::write(path, text).with_context(|| format!("--output {}: can't write", path.display()))?,
        None => terminal::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use analyze::measure::result::{Environment, RunResult};

    use super::*;
    use crate::{
        cli::run_args,
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
            force,
            markdown: false,
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
}
