//! The machine and the build behind a result.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::result::Environment;

/// What the build script found out; the program hands it in.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// The commit built from; empty when not built from a checkout.
    pub commit: &'static str,
    /// `true`, `false`, or empty when not known.
    pub dirty: &'static str,
    /// `rustc --version`; empty when not known.
    pub rustc: &'static str,
    /// `name=version` pairs with spaces between them.
    pub crates: &'static str,
}

/// The machine and the build; what belongs to a server or a run is left to the caller.
pub fn describe_machine(build: &Build) -> Environment {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let crates: BTreeMap<String, String> = build
        .crates
        .split(' ')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, v)| (name.to_owned(), v.to_owned()))
        .collect();
    Environment {
        commit: known(build.commit),
        dirty: build.dirty.parse().ok(),
        rustc: known(build.rustc),
        kernel: release.map(|release| format!("Linux {}", release.trim_end())),
        cpu_model: fields(&cpuinfo, "model name").next().map(str::to_owned),
        cpus: online_cpus(),
        cores: cores(&cpuinfo),
        crates,
        ..Environment::default()
    }
}

fn online_cpus() -> Option<u32> {
    // SAFETY: asks for a number of the system.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(online).ok()
}

/// The values of a field in `/proc/cpuinfo`, one for each CPU.
fn fields<'a>(cpuinfo: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    cpuinfo
        .lines()
        .filter_map(move |line| line.split_once(':'))
        .filter(move |(key, _)| key.trim() == name)
        .map(|(_, v)| v.trim())
}

/// Different pairs of socket and core; `None` where the kernel names none, as on many virtual machines.
fn cores(cpuinfo: &str) -> Option<u32> {
    let sockets = fields(cpuinfo, "physical id");
    let cores: BTreeSet<(&str, &str)> = sockets.zip(fields(cpuinfo, "core id")).collect();
    u32::try_from(cores.len()).ok().filter(|&cores| cores > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyperthreads_share_a_core() {
        let cpuinfo = "processor : 0\nmodel name : X: 3\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nmodel name : X: 3\n\
                       physical id : 0\ncore id : 0\n\nprocessor : 2\nphysical id : 0\ncore id : 1\n";
        assert_eq!(cores(cpuinfo), Some(2));
        assert_eq!(fields(cpuinfo, "model name").next(), Some("X: 3"));
        assert_eq!(cores("processor : 0\n"), None);
    }

    #[test]
    fn what_the_build_does_not_know_is_null() {
        let build = Build { commit: "", dirty: "", rustc: "rustc 1", crates: "h2=0.4 tokio=1.0" };
        let environment = describe_machine(&build);
        assert_eq!((environment.commit, environment.dirty), (None, None));
        assert_eq!(environment.rustc.as_deref(), Some("rustc 1"));
        assert_eq!(environment.crates["tokio"], "1.0");
        assert!(environment.cpus.is_some_and(|cpus| cpus > 0));
    }
}
