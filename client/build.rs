//! Notes what the program is built from: commit, compiler, and the versions of the crates that shape its figures.

use std::{env, fs, path::Path, process::Command};

/// The crates of the servers and the load generator whose version changes what is measured.
const CRATES: [&str; 8] = ["axum", "h2", "http", "hyper", "prost", "tikv-jemallocator", "tokio", "tonic"];

fn main() {
    for path in
        ["../.git/HEAD", "../.git/index", "../Cargo.lock", "../Cargo.toml", "../proto", "../server", "../client"]
    {
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = output("git", &["rev-parse", "HEAD"]);
    let dirty = output("git", &["status", "--porcelain"]).map(|changes| (!changes.is_empty()).to_string());
    let rustc = env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    for (name, value) in [("COMMIT", commit), ("DIRTY", dirty), ("RUSTC", rustc), ("CRATES", Some(crates()))] {
        println!("cargo::rustc-env=BUILD_{name}={}", value.unwrap_or_default());
    }
}

/// What a program prints, without the last line break; `None` when it can't be run or fails.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
}

/// `name=version` pairs out of the lock file.
fn crates() -> String {
    let lock = fs::read_to_string("../Cargo.lock").unwrap_or_default();
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find(|line| line.starts_with(&format!("{key} = ")))?;
            Some(line.split('"').nth(1)?.to_owned())
        };
        let name = value("name").filter(|name| CRATES.contains(&name.as_str()))?;
        Some(format!("{name}={}", value("version")?))
    });
    packages.collect::<Vec<_>>().join(" ")
}
