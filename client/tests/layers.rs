//! Imports go down only, and clap stays in the program's `cli`.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The library's modules, lowest first: each may use those before it, and itself.
const ORDER: [&str; 10] =
    ["units", "stats", "scenario", "load", "measure", "profile", "compare", "report", "plot", "store"];

#[test]
fn imports_go_down_only() {
    let wrong: Vec<String> = sources("src")
        .iter()
        .filter(|(path, _)| !path.starts_with("bin"))
        .flat_map(|(path, source)| {
            upward_imports(&module_of(path), source).into_iter().map(move |w| format!("{}: {w}", path.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "upward imports:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_has_its_floor() {
    for (path, _) in sources("src") {
        let module = module_of(&path);
        let known = module == "lib" || path.starts_with("bin") || ORDER.contains(&module.as_str());
        assert!(known, "{}: give the module {module:?} a place in the order", path.display());
    }
}

#[test]
fn clap_stays_in_the_programs_cli() {
    for (path, source) in sources("src") {
        let is_cli =
            path.starts_with("bin") && path.iter().any(|part| Path::new(part).file_stem() == Some("cli".as_ref()));
        assert!(is_cli || !uses_clap(&source), "{}: clap outside the program's cli", path.display());
    }
}

#[test]
fn an_upward_import_is_found_in_every_form_it_can_take() {
    for source in [
        "use crate::report::Table;",
        "pub use crate::{\n    units::parse_size,\n    store::{self, Folder},\n};",
        "fn f() { crate::measure::run() }",
        "use crate :: profile;",
        "use super::super::store::Folder;",
    ] {
        assert_eq!(upward_imports("load", source).len(), 1, "{source}");
    }
    for source in [
        "use crate::{units, scenario::Scenario};\nuse crate::load::Driver;",
        "// use crate::report::Table;",
        "/// See [`crate::store`].",
        "use other::report;",
    ] {
        assert_eq!(upward_imports("load", source), [""; 0], "{source}");
    }
    assert_eq!(upward_imports("units", "use crate::{stats, load};"), ["units uses stats", "units uses load"]);
    assert_eq!(upward_imports("store", "use crate::{report, load, profile::Profile};"), [""; 0]);
    assert_eq!(upward_imports("lib", "pub use crate::store::Folder;"), [""; 0], "the root stands on everything");
}

#[test]
fn clap_is_found_in_every_form_it_can_take() {
    for source in ["use clap::Parser;", "#[derive(clap::Args)]", "pub use ::clap;"] {
        assert!(uses_clap(source), "{source}");
    }
    for source in ["// clap types stop here", "use clapper::x;"] {
        assert!(!uses_clap(source), "{source}");
    }
}

/// What a module imports from modules above it.
fn upward_imports(module: &str, source: &str) -> Vec<String> {
    let Some(floor) = ORDER.iter().position(|m| *m == module) else { return Vec::new() };
    let code = without_comments(source);
    ORDER[floor + 1..]
        .iter()
        .filter(|above| imports(&code, above))
        .map(|above| format!("{module} uses {above}"))
        .collect()
}

/// Whether `crate::name`, `crate::{…, name…}` or the same from `super::super` stands anywhere in the code.
fn imports(code: &str, name: &str) -> bool {
    let code: String = code.split_whitespace().collect();
    ["crate::", "super::super::"].iter().any(|root| {
        code.match_indices(root).any(|(at, _)| {
            let rest = &code[at + root.len()..];
            heads(rest).contains(&name)
        })
    })
}

/// The first path segments of an import tree: those of `{a::b, c::{d, e}, f}` are a, c and f, that of `a::b` is a.
fn heads(tree: &str) -> Vec<&str> {
    let Some(group) = tree.strip_prefix('{') else { return vec![identifier(tree)] };
    let mut heads = vec![identifier(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => heads.push(identifier(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

fn uses_clap(source: &str) -> bool {
    let code = without_comments(source);
    code.match_indices("clap").any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let is_word = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_word && identifier(&code[at..]) == "clap"
    })
}

/// Line comments and doc comments out. Block comments stay: they are not used here, and would only make this stricter.
fn without_comments(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The top module a file under `src` belongs to.
fn module_of(path: &Path) -> String {
    let top = path.iter().next().unwrap_or_default();
    Path::new(top).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Every Rust file below a folder of the package, by its path in that folder, with its text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let source = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), source));
            }
        }
    }
    assert!(!found.is_empty());
    found
}
