//! Servers of other frameworks: their sources, which are part of this program, the toolchains they need, and their builds in the
//! user's cache.

mod build;
mod recipe;
mod sources;
mod toolchain;

use std::collections::{BTreeSet, HashMap};

use analyze::{measure::result::Environment, scenario::Peer};
use anyhow::{anyhow, bail};
use serde_json::{Map, Value, json};

pub(crate) use self::{
    build::{Built, built, clean},
    recipe::Start,
    sources::framework_version,
    toolchain::{Tool, Toolchain, tools},
};
use crate::plan::Plan;

/// The peers of a run, each built or with the reason why it isn't.
#[derive(Debug, Default)]
pub(crate) struct Peers(HashMap<&'static str, Result<Built, String>>);

impl Peers {
    /// Builds those that a plan starts and that weren't built before. One that can't be is none of the others' concern.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut peers = Self::default();
        for peer in plan.peers() {
            peers.0.entry(peer.name).or_insert_with(|| build::build(peer).map_err(|error| crate::one_line(&error)));
        }
        peers
    }

    /// # Errors
    /// Why it wasn't built.
    pub(crate) fn get(&self, peer: &Peer) -> anyhow::Result<&Built> {
        match self.0.get(peer.name) {
            Some(Ok(built)) => Ok(built),
            Some(Err(problem)) => bail!("{problem}"),
            None => Err(anyhow!("{} is not among the peers of this run", peer.name)),
        }
    }
}

/// Builds one, unless it was built before.
pub(crate) fn build(peer: &'static Peer) -> anyhow::Result<Built> {
    build::build(peer)
}

/// What each peer of a plan is built from, by its name, as a suite's plan keeps it; null where its toolchain is missing.
pub(crate) fn builds(plan: &Plan) -> Map<String, Value> {
    let build = |peer: &'static Peer| {
        let toolchain = Toolchain::find(peer.recipe).ok()?;
        Some(json!({
            "framework_version": framework_version(peer),
            "runtime": toolchain.runtime(),
            "peer_build": build::key(peer, &toolchain),
        }))
    };
    let peers: BTreeSet<&Peer> = plan.peers().collect();
    peers.into_iter().map(|peer| (peer.name.to_owned(), json!(build(peer)))).collect()
}

impl Built {
    /// Says in a result what the server is.
    pub(crate) fn describe(&self, environment: &mut Environment) {
        environment.framework_version = framework_version(self.peer);
        environment.runtime = Some(self.toolchain.runtime());
        environment.peer_build = Some(self.key.clone());
    }
}
