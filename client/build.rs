//! Notes what the program is built from: commit, compiler, and the versions of the crates that shape its figures. Puts the sources
//! of the peers into it, so that it can build them wherever it is.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The crates of the servers and the load generator whose version changes what is measured.
const CRATES: [&str; 8] = ["axum", "h2", "http", "hyper", "prost", "tikv-jemallocator", "tokio", "tonic"];

/// The peers' sources, from the root, with what those in Rust build on.
const PEERS: [&str; 5] = ["server/peers", "proto/protos", "server/pprof", "Cargo.toml", ".cargo/config.toml"];

fn main() -> io::Result<()> {
    for path in [
        "../.git/HEAD",
        "../.git/index",
        "../.cargo",
        "../Cargo.lock",
        "../Cargo.toml",
        "../proto",
        "../server",
        "../client",
    ] {
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
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("peer_files.rs"), peer_files()?)
}

/// The files of the peers, each with its path from the root, as a constant of Rust.
fn peer_files() -> io::Result<String> {
    let root = fs::canonicalize("..")?;
    let tracked =
        output("git", &[&["-C", "..", "ls-files", "--"][..], &PEERS].concat()).filter(|files| !files.is_empty());
    let mut files: Vec<String> = match tracked {
        Some(files) => files.lines().map(str::to_owned).filter(|file| root.join(file).is_file()).collect(),
        // Not a checkout: what was unpacked is what was tracked.
        None => {
            let places = PEERS.iter().map(|place| files_below(&root, Path::new(place)));
            places.collect::<Result<Vec<_>, _>>()?.concat()
        }
    };
    files.sort_unstable();
    let entry = |file: &String| format!("    ({file:?}, include_bytes!({:?})),\n", root.join(file));
    let entries: String = files.iter().map(entry).collect();
    Ok(format!(
        "/// Paths from the root of the repository, and what the files hold.\nstatic FILES: &[(&str, &[u8])] = &[\n{entries}];\n"
    ))
}

/// A file, or those of a folder.
fn files_below(root: &Path, place: &Path) -> io::Result<Vec<String>> {
    if root.join(place).is_file() {
        return Ok(vec![place.display().to_string()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(place))? {
        files.extend(files_below(root, &place.join(entry?.file_name()))?);
    }
    Ok(files)
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
