//! How each kind of peer is built and started.

use std::path::{Path, PathBuf};

use analyze::scenario::{Peer, Recipe};

use super::{sources, toolchain::Environment};

/// Go as it is installed, whatever the user's settings and the folder: what is built depends on the sources and on it alone.
pub(super) const GO_ENVIRONMENT: [(&str, &str); 4] =
    [("GOTOOLCHAIN", "local"), ("GOFLAGS", ""), ("GOWORK", "off"), ("CGO_ENABLED", "0")];

/// A command of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) env: Environment,
}

/// How a peer that was built is started, before the flags that every peer takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
}

/// What builds a peer whose sources are below `root`, in its own folder there.
pub(super) fn steps(peer: &Peer, root: &Path) -> Vec<Step> {
    let step =
        |program: &str, args: &[&str], env: Environment| Step { program: program.to_owned(), args: words(args), env };
    let below = |path: &str| root.join(path).display().to_string();
    match peer.recipe {
        Recipe::Go { .. } => {
            let output = below(peer.folder);
            vec![step("go", &["build", "-trimpath", "-mod=readonly", "-o", &output, "."], &GO_ENVIRONMENT)]
        }
        Recipe::Maven { .. } => {
            let module = format!(":{}", peer.folder);
            let args = ["--batch-mode", "--file", "../pom.xml", "--projects", &module, "--also-make", "package"];
            vec![step("mvn", &args, &[])]
        }
        Recipe::Python { .. } => {
            let (venv, python) = (below(VENV), below(PYTHON));
            let stubs = below(STUBS);
            let (protos, output) = (format!("-I{}", below("proto/protos")), format!("--python_out={stubs}"));
            let install = ["-m", "pip", "install", "--disable-pip-version-check", "--requirement", "requirements.txt"];
            let generate = ["-m", "grpc_tools.protoc", &protos, &output, "benchmark.proto", "triple_wrapper.proto"];
            vec![
                step("python3", &["-m", "venv", &venv], &[]),
                step(&python, &install, &[]),
                step("mkdir", &["-p", &stubs], &[]),
                step(&python, &generate, &[]),
            ]
        }
        Recipe::Cargo { bin, .. } => {
            let args = ["build", "--release", "--locked", "--bin", bin, "--target-dir", &below("target")];
            vec![step("cargo", &args, &[])]
        }
    }
}

/// How what was built is started then, before the flags that make it the one peer or the other.
pub(super) fn start(peer: &Peer, root: &Path) -> Start {
    match peer.recipe {
        Recipe::Go { .. } => Start { program: root.join(peer.folder), args: Vec::new() },
        Recipe::Maven { .. } => {
            // Where the common pom.xml puts it.
            let jar = root.join("target/peers").join(peer.folder).join("server.jar").display().to_string();
            Start { program: "java".into(), args: words(&[&JVM_HEAP[..], &["-jar", &jar]].concat()) }
        }
        Recipe::Python { .. } => {
            let script = folder(peer, root).join("server.py").display().to_string();
            Start { program: root.join(PYTHON), args: vec![script] }
        }
        Recipe::Cargo { bin, .. } => Start { program: root.join("target/release").join(bin), args: Vec::new() },
    }
}

const VENV: &str = "venv";
const PYTHON: &str = "venv/bin/python";
/// Where the Python servers look for the generated messages.
const STUBS: &str = "target/peers/stubs";
/// A heap that neither grows nor shrinks while it is measured.
const JVM_HEAP: [&str; 2] = ["-Xms512m", "-Xmx512m"];

/// What was of use while it was built, some hundred megabytes.
pub(super) fn waste(peer: &Peer, root: &Path) -> Vec<PathBuf> {
    match peer.recipe {
        Recipe::Go { .. } | Recipe::Maven { .. } | Recipe::Python { .. } => Vec::new(),
        Recipe::Cargo { .. } => ["build", "deps"].map(|name| root.join("target/release").join(name)).into(),
    }
}

/// The folder that the steps run in.
pub(super) fn folder(peer: &Peer, root: &Path) -> PathBuf {
    root.join(sources::folder(peer.folder))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
