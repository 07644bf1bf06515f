//! The sources of peers, as this program was built with them.

use std::{fs, io, path::Path};

use analyze::scenario::{Peer, Recipe};

include!(concat!(env!("OUT_DIR"), "/peer_files.rs"));

/// Where the peers' folders are in the repository.
const FOLDER: &str = "server/peers";

/// A file by its path in the repository.
type Source = (&'static str, &'static [u8]);

/// The files that a peer is built from.
pub(super) fn of(peer: &'static Peer) -> impl Iterator<Item = Source> {
    let own = folder(peer.folder);
    FILES.iter().copied().filter(move |(path, _)| {
        let is_in = |place: &str| path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_in(&own) || peer.needs.iter().any(|place| is_in(place))
    })
}

/// A peer's own folder in the repository.
pub(super) fn folder(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Writes them below a folder, at the same paths as in the repository.
pub(super) fn write(peer: &'static Peer, root: &Path) -> io::Result<()> {
    for (path, bytes) in of(peer) {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// The framework with its version, as the peer's own files pin it: `google.golang.org/grpc v1.76.0`.
pub(crate) fn framework_version(peer: &Peer) -> Option<String> {
    let text = |name: &str| {
        let path = format!("{}/{name}", folder(peer.folder));
        FILES.iter().find(|(known, _)| *known == path).and_then(|(_, bytes)| std::str::from_utf8(bytes).ok())
    };
    match peer.recipe {
        Recipe::Go { module } => Some(format!("{module} {}", required(text("go.mod")?, module)?)),
        Recipe::Maven { artifact, version } => Some(format!("{artifact} {}", property(text("pom.xml")?, version)?)),
        Recipe::Python { package } => Some(format!("{package} {}", pinned(text("requirements.txt")?, package)?)),
        Recipe::Cargo { package, .. } => Some(format!("{package} {}", locked(text("Cargo.lock")?, package)?)),
    }
}

/// The version that a `go.mod` requires of a module.
fn required<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip_while(|word| *word == "require");
        (words.next() == Some(module)).then(|| words.next()).flatten()
    })
}

/// The value of a property in a `pom.xml`.
fn property<'a>(pom: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = pom.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0.trim())
}

/// The version that a `requirements.txt` pins of a package.
fn pinned<'a>(requirements: &'a str, package: &str) -> Option<&'a str> {
    requirements.lines().find_map(|line| line.strip_prefix(package)?.trim_start().strip_prefix("==")).map(str::trim)
}

/// The version that a `Cargo.lock` has of a package.
fn locked<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("\nname = \"{package}\"\nversion = \""))?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use analyze::scenario::PEERS;

    use super::*;

    #[test]
    fn every_peer_has_its_sources_and_a_framework_of_a_known_version() {
        for peer in &PEERS {
            let own = folder(peer.folder);
            for place in [own.as_str()].iter().chain(peer.needs) {
                assert!(of(peer).any(|(path, _)| path.starts_with(place)), "{}: {place}", peer.name);
            }
            let version = framework_version(peer).unwrap_or_else(|| panic!("{}: no version", peer.name));
            assert!(version.contains(|c: char| c.is_ascii_digit()), "{}: {version}", peer.name);
        }
    }

    #[test]
    fn a_modules_version_is_that_of_its_own_line() {
        let go_mod = "module x\n\ngo 1.24\n\nrequire a.b/c v1.0.0 // why\n\nrequire (\n\ta.b/c/d v2.0.0\n\te v3 // indirect\n)\n";
        assert_eq!(required(go_mod, "a.b/c"), Some("v1.0.0"));
        assert_eq!(required(go_mod, "a.b/c/d"), Some("v2.0.0"));
        assert_eq!(required(go_mod, "b/c"), None);
    }

    #[test]
    fn a_property_has_its_own_name() {
        let pom = "<p><a.version>1</a.version><version>2</version></p>";
        assert_eq!((property(pom, "version"), property(pom, "a.version")), (Some("2"), Some("1")));
        assert_eq!(property(pom, "b"), None);
    }

    #[test]
    fn a_package_is_pinned_under_its_whole_name() {
        let requirements = "grpcio-tools==2\ngrpcio == 1.2.3\n";
        assert_eq!((pinned(requirements, "grpcio"), pinned(requirements, "grpc")), (Some("1.2.3"), None));
        let lock =
            "[[package]]\nname = \"tonic-prost\"\nversion = \"1\"\n\n[[package]]\nname = \"tonic\"\nversion = \"2\"\n";
        assert_eq!((locked(lock, "tonic"), locked(lock, "toni")), (Some("2"), None));
    }
}
