//! The programs that peers are built and run with.

use std::{
    env,
    process::{Command, Stdio},
};

use analyze::scenario::Recipe;
use anyhow::{Context, bail};

use super::recipe::GO_ENVIRONMENT;

/// A program that must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    /// The argument that makes it say its version.
    version: &'static str,
    env: Environment,
    /// How to get it.
    pub(crate) install: &'static str,
}

/// Variables that are set for a program.
pub(super) type Environment = &'static [(&'static str, &'static str)];

const GO: Tool =
    Tool { program: "go", version: "version", env: &GO_ENVIRONMENT, install: "install Go, from https://go.dev/dl" };
const MAVEN: Tool = Tool {
    program: "mvn",
    version: "--version",
    env: &[],
    install: "install Maven, as the package maven or from https://maven.apache.org",
};
const JAVA: Tool = Tool {
    program: "java",
    version: "-version",
    env: &[],
    install: "install a JDK of 17 or newer, as the package default-jdk-headless or from https://adoptium.net",
};
const PYTHON: Tool = Tool {
    program: "python3",
    version: "--version",
    env: &[],
    install: "install Python with venv, as the packages python3 and python3-venv or from https://www.python.org",
};
const CARGO: Tool =
    Tool { program: "cargo", version: "--version", env: &[], install: "install Rust, from https://rustup.rs" };
const RUSTC: Tool = Tool { program: "rustc", ..CARGO };

/// What a recipe needs; the last one runs what was built.
pub(crate) const fn tools(recipe: Recipe) -> &'static [Tool] {
    match recipe {
        Recipe::Go { .. } => &[GO],
        Recipe::Maven { .. } => &[MAVEN, JAVA],
        Recipe::Python { .. } => &[PYTHON],
        Recipe::Cargo { .. } => &[CARGO, RUSTC],
    }
}

/// The programs of a recipe, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolchain {
    recipe: Recipe,
    /// What each says of its version.
    pub(crate) versions: Vec<String>,
}

impl Toolchain {
    /// # Errors
    /// Which program isn't there, and how to get it.
    pub(crate) fn find(recipe: Recipe) -> anyhow::Result<Self> {
        let versions = tools(recipe).iter().map(Tool::ask).collect::<Result<_, _>>()?;
        Ok(Self { recipe, versions })
    }

    /// What runs the peer or compiled it, with its version: `go1.26.8`.
    pub(crate) fn runtime(&self) -> String {
        let said = self.versions.last().map(String::as_str).unwrap_or_default();
        match self.recipe {
            // go version go1.26.8 linux/amd64
            Recipe::Go { .. } => said.split_ascii_whitespace().nth(2).unwrap_or(said).to_owned(),
            // openjdk version "17.0.15" 2025-04-15
            Recipe::Maven { .. } => match said.split('"').nth(1) {
                Some(version) => format!("java {version}"),
                None => said.to_owned(),
            },
            Recipe::Python { .. } => said.to_owned(),
            // rustc 1.95.0 (0123456789 2026-01-01)
            Recipe::Cargo { .. } => said.split(" (").next().unwrap_or(said).to_owned(),
        }
    }
}

impl Tool {
    /// The first line that it says of its version.
    ///
    /// # Errors
    /// That it isn't there or doesn't work, and how to get it.
    pub(crate) fn ask(&self) -> anyhow::Result<String> {
        let Self { program, version, env, install } = self;
        let mut command = Command::new(program);
        command.arg(version).envs(env.iter().copied()).stdin(Stdio::null());
        // Not in a folder whose go.mod could ask for another one.
        command.current_dir(env::temp_dir());
        let output = command.output().with_context(|| format!("{program} can't be started: {install}"))?;
        if !output.status.success() {
            bail!("{program} {version}: {}: {install}", output.status);
        }
        // Java says it on stderr.
        let said = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        Ok(String::from_utf8_lossy(said).lines().next().unwrap_or_default().trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_how_to_get_it() {
        let missing = Tool { program: "no-such-program", version: "--version", env: &[], install: "install it" };
        let error = format!("{:#}", missing.ask().expect_err("none"));
        assert!(error.starts_with("no-such-program can't be started: install it: "), "{error}");
        let failing = Tool { program: "false", version: "--version", env: &[], install: "install it" };
        assert_eq!(failing.ask().expect_err("fails").to_string(), "false --version: exit status: 1: install it");
    }

    #[test]
    fn a_runtime_is_a_name_and_a_version() {
        let runtime =
            |recipe, said: &str| Toolchain { recipe, versions: vec!["first".to_owned(), said.to_owned()] }.runtime();
        assert_eq!(runtime(Recipe::Go { module: "m" }, "go version go1.26.8 linux/amd64"), "go1.26.8");
        let maven = Recipe::Maven { artifact: "a", version: "v" };
        assert_eq!(runtime(maven, "openjdk version \"17.0.15\" 2025-04-15"), "java 17.0.15");
        assert_eq!(runtime(maven, "odd"), "odd");
        let cargo = Recipe::Cargo { package: "p", bin: "b" };
        assert_eq!(runtime(cargo, "rustc 1.95.0 (59807616e 2026-04-14)"), "rustc 1.95.0");
    }
}
