//! The plan of `analyze ab`: the flags of a measurement, for two servers.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use analyze::{compare::Criteria, load::Address, store::Label};

use super::{Names, Origin, Plan, Program, UsageError, cases::read};
use crate::{
    cli::{AaArgs, AbArgs, OutputArgs, RunArgs},
    values,
};

/// Two plans that differ in their servers alone.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) base: Side,
    pub(crate) head: Side,
    /// After so long no turn is begun that isn't needed for a verdict.
    pub(crate) max_time: Duration,
    /// Whether sides that speak different wires are compared.
    pub(crate) force: bool,
    pub(crate) criteria: Criteria,
    /// What both sides' labels begin with.
    pub(crate) label: Label,
}

/// One of the two.
#[derive(Debug)]
pub(crate) struct Side {
    /// `base` or `head`.
    pub(crate) name: &'static str,
    pub(crate) source: Source,
    pub(crate) plan: Plan,
}

/// Where a side's servers come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// They are this very program.
    This,
    /// They are built.
    Revision(Revision),
    /// The plan's programs are commands.
    Command,
}

/// What is built.
#[derive(Debug)]
pub(crate) struct Revision {
    /// As git names it.
    pub(crate) name: String,
    /// Any folder of the project.
    pub(crate) project: PathBuf,
    /// The program that serves.
    pub(crate) bin: String,
}

impl Trial {
    /// Of the flags; `allowed` are the CPUs that may be used.
    pub(crate) fn of(args: AbArgs, allowed: &[u32]) -> Result<Self, UsageError> {
        let max_time = read("--max-time", &args.max_time, values::timeout)?;
        let label = label(&args.run)?;
        let side = |name, revision: &Option<String>, command: &Option<String>| {
            let run = labelled(&args.run, &label, name);
            side(name, revision.as_deref(), command.as_deref(), &args, run, allowed)
        };
        Ok(Self {
            base: side("base", &args.base, &args.base_cmd)?,
            head: side("head", &args.head, &args.head_cmd)?,
            max_time,
            force: args.force,
            criteria: args.criteria.read()?,
            label,
        })
    }

    /// The same servers on both sides, without profiles.
    pub(crate) fn against_itself(args: &AaArgs, allowed: &[u32]) -> Result<Self, UsageError> {
        let label = label(&args.run)?;
        let side = |name| {
            let mut run = labelled(&args.run, &label, name);
            run.output.no_profiles = true;
            let plan = plan(run, allowed, false)?;
            if let Some(subject) = plan.subjects().find(|subject| !subject.is_ours()) {
                let problem = "must be left out: each turn starts the server anew";
                return Err(UsageError(format!("--addr {}=…: {problem}", subject.framework)));
            }
            Ok(Side { name, source: Source::This, plan })
        };
        let criteria = args.criteria.read()?;
        Ok(Self { base: side("base")?, head: side("head")?, max_time: Duration::MAX, force: false, criteria, label })
    }
}

impl Side {
    /// Lets a build serve everything.
    pub(crate) fn serve_with(&mut self, program: &Path) {
        for subject in self.plan.groups.iter_mut().flat_map(|group| &mut group.subjects) {
            subject.origin = Origin::Start(Program::Build(program.to_owned()));
        }
    }
}

fn label(run: &RunArgs) -> Result<Label, UsageError> {
    match &run.output.label {
        Some(label) => read("--label", label, str::parse),
        None => Ok(Label::from_time(jiff::Timestamp::now())),
    }
}

/// The sides' results lie side by side: `before-base`, `before-head`.
fn labelled(run: &RunArgs, label: &Label, name: &str) -> RunArgs {
    let output = OutputArgs { label: Some(format!("{label}-{name}")), ..run.output.clone() };
    RunArgs { output, ..run.clone() }
}

fn side(
    name: &'static str,
    revision: Option<&str>,
    command: Option<&str>,
    args: &AbArgs,
    run: RunArgs,
    allowed: &[u32],
) -> Result<Side, UsageError> {
    let mut plan = plan(run, allowed, command.is_some())?;
    let source = match (revision, command) {
        (Some(revision), _) => {
            if let Some(subject) = plan.subjects().find(|subject| !subject.is_ours()) {
                return Err(UsageError(format!(
                    "--addr {}=…: goes with --base-cmd and --head-cmd; what is built gets an address of its own",
                    subject.framework
                )));
            }
            if let Some(peer) = plan.peers().next() {
                return Err(UsageError(format!(
                    "--framework {}: goes with --base-cmd and --head-cmd; a revision's own are triple, grpc, raw",
                    peer.name
                )));
            }
            Source::Revision(Revision {
                name: revision.to_owned(),
                project: args.project.clone(),
                bin: args.bin.clone(),
            })
        }
        (None, Some(command)) => {
            serve_by(&mut plan, name, command)?;
            Source::Command
        }
        (None, None) => return Err(UsageError(format!("--{name} REV or --{name}-cmd CMD: one of them is needed"))),
    };
    Ok(Side { name, source, plan })
}

/// The bare echo is the same on both sides, and left out.
fn plan(mut run: RunArgs, allowed: &[u32], starts: bool) -> Result<Plan, UsageError> {
    if let Some(via) = &run.via.via {
        return Err(UsageError(format!("--via {via}: goes with analyze run, which measures with and without it")));
    }
    run.output.no_roofline = true;
    Plan::of_flags(run, allowed, starts)
}

/// Lets a command serve what is at `--addr`.
fn serve_by(plan: &mut Plan, name: &str, command: &str) -> Result<(), UsageError> {
    for subject in plan.groups.iter_mut().flat_map(|group| &mut group.subjects) {
        let Origin::Attach { addr: Address::Tcp(addr), debug, .. } = &subject.origin else {
            let addr = Names::Flags.of_server(subject.framework, "addr");
            return Err(UsageError(format!(
                "--{name}-cmd: where its server listens must be said for each --framework, with {addr}=HOST:PORT"
            )));
        };
        subject.origin =
            Origin::Start(Program::Command { command: command.to_owned(), addr: *addr, debug: debug.clone() });
    }
    Ok(())
}
