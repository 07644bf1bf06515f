//! Gateways that calls go through on their way to a server: found, configured, started by us; or running already.

mod envoy;
mod explain;
mod nginx;
mod software;

use std::{net::SocketAddr, path::Path};

use analyze::{
    measure::{
        ServerStart,
        result::{Gateway, ServerOrigin},
    },
    scenario::{GatewayKind, Scenario},
};

pub(crate) use self::{
    explain::{likely_cause, lost_cause},
    software::{Known, Software},
};

/// What calls go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Via {
    /// A program that is started before each server.
    Start(Software, Place),
    /// One that runs already, before the one server there is.
    Running(SocketAddr),
}

/// Where a gateway that we start runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The CPUs that it is bound to; `None` leaves it where it is.
    pub(crate) cpus: Option<Vec<u32>>,
    /// Processes or threads that serve: one for each CPU.
    pub(crate) workers: usize,
}

/// What a configuration depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route<'a> {
    /// Where the gateway is to listen: loopback.
    pub(crate) listen: SocketAddr,
    /// Where the server listens.
    pub(crate) server: SocketAddr,
    pub(crate) scenario: Scenario,
    pub(crate) workers: usize,
    /// What the files are called that it makes: letters, digits, `_`, `-` and `.`.
    pub(crate) stem: &'a str,
}

impl Via {
    pub(crate) fn kind(&self) -> GatewayKind {
        match self {
            Self::Start(software, _) => software.known.kind(),
            Self::Running(_) => GatewayKind::Running,
        }
    }

    /// What is known of it before it is started.
    pub(crate) fn meta(&self) -> Gateway {
        let (version, workers, origin, address) = match self {
            Self::Start(software, place) => {
                (Some(software.version.clone()), Some(place.workers), ServerOrigin::Started, None)
            }
            Self::Running(addr) => (None, None, ServerOrigin::Attached, Some(addr.to_string())),
        };
        let kind = self.kind();
        Gateway { kind, name: None, version, address, origin, workers, processes: None, cpus: None, added: None }
    }
}

impl Software {
    /// The configuration.
    pub(crate) fn config(&self, route: Route<'_>) -> String {
        match self.known {
            Known::Envoy => envoy::config(route),
            Known::Nginx => nginx::config(route, &self.version, &self.left_out),
        }
    }

    /// How it is started with the configuration in that file, in whose folder it may make others.
    pub(crate) fn start(&self, config: &Path, log: &Path, workers: usize) -> ServerStart {
        let args = match self.known {
            Known::Envoy => envoy::args(config, workers),
            Known::Nginx => nginx::args(config),
        };
        ServerStart { program: self.program.clone(), args, env: Vec::new(), log: log.to_owned() }
    }

    /// What people should know of the configuration.
    pub(crate) fn note(&self) -> &'static str {
        match self.known {
            Known::Envoy => envoy::NOTE,
            Known::Nginx => nginx::NOTE,
        }
    }
}
