//! `analyze peers`: the servers of other frameworks, listed, built, or their builds removed.

use std::process::ExitCode;

use analyze::scenario::{PEERS, Peer};
use anyhow::Context;

use super::columns::aligned;
use crate::{
    cli::{PeersAction, PeersArgs},
    peers::{self, Toolchain},
    plan::UsageError,
    terminal,
};

const HEADS: [&str; 6] = ["peer", "language", "framework", "wire", "toolchain", "built"];

pub(super) fn peers(args: &PeersArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        None => list(),
        Some(PeersAction::Build { names }) => build(names),
        Some(PeersAction::Clean) => {
            let said = match peers::clean()? {
                Some(folder) => format!("removed what was in {}", folder.display()),
                None => "there was nothing to remove".to_owned(),
            };
            terminal::say(&said);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list() -> anyhow::Result<ExitCode> {
    let mut rows = vec![HEADS.map(str::to_owned)];
    for peer in &PEERS {
        rows.push(row(peer)?);
    }
    terminal::print(&aligned(&rows)).context("writing to stdout")?;
    Ok(ExitCode::SUCCESS)
}

fn row(peer: &'static Peer) -> anyhow::Result<[String; 6]> {
    let (toolchain, built) = match Toolchain::find(peer.recipe) {
        Ok(toolchain) => {
            let built = if peers::built(peer, &toolchain)?.is_some() { "yes" } else { "no" };
            (toolchain.runtime(), built)
        }
        Err(missing) => (format!("missing: {missing}"), "–"),
    };
    let wire = peer.protocol.name();
    let version = peers::framework_version(peer).unwrap_or_else(|| "–".to_owned());
    Ok([peer.name, peer.recipe.language(), &version, wire, &toolchain, built].map(str::to_owned))
}

/// Builds what can be built, and fails if anything can't.
fn build(names: &[String]) -> anyhow::Result<ExitCode> {
    let wanted = wanted(names)?;
    let mut failed = false;
    for peer in wanted {
        match peers::build(peer) {
            Ok(built) => terminal::say(&format!("{} is in {}", peer.name, built.root.display())),
            Err(error) => {
                failed = true;
                terminal::say(&format!("error: {}: {}", peer.name, crate::one_line(&error)));
            }
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The peers of these names, or all.
fn wanted(names: &[String]) -> Result<Vec<&'static Peer>, UsageError> {
    let known = |name: &String| {
        PEERS.iter().find(|peer| peer.name == name).ok_or_else(|| {
            let all: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
            UsageError(format!("peer {name:?}: must be one of {}", all.join(", ")))
        })
    };
    if names.is_empty() { Ok(PEERS.iter().collect()) } else { names.iter().map(known).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_known_by_name() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            wanted(&names).map(|peers| peers.iter().map(|peer| peer.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["grpc-go"]).ok(), Some(vec!["grpc-go"]));
        assert_eq!(names(&[]).map(|all| all.len()).ok(), Some(PEERS.len()));
        let error = names(&["grpc"]).expect_err("ours").to_string();
        assert!(error.starts_with("peer \"grpc\": must be one of ") && error.contains("grpc-go"), "{error}");
    }
}
