//! The one line on stdout that says where the server is and how it is set.

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use debug_pprof::DebugServer;
use serde::Serialize;
use tokio::net::TcpListener;

use super::{Host, Serve};
use crate::{grpc, raw, triple};

#[derive(Debug, Serialize)]
pub(super) struct Line {
    ready: bool,
    framework: &'static str,
    addr: SocketAddr,
    debug_addr: Option<String>,
    pid: u32,
    workers: usize,
    cpus: Vec<usize>,
    settings: Settings,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Settings {
    Triple(triple::Options),
    Grpc(grpc::Options),
    Raw(raw::Options),
}

impl Line {
    pub(super) fn new(
        command: &Serve,
        listener: &TcpListener,
        debug: Option<&DebugServer>,
        host: &Host,
    ) -> io::Result<Self> {
        Ok(Self {
            ready: true,
            framework: command.framework(),
            addr: listener.local_addr()?,
            debug_addr: debug.map(|debug| format!("http://{}", debug.local_addr())),
            pid: std::process::id(),
            workers: host.workers,
            cpus: host.cpus.clone(),
            settings: match command {
                Serve::Triple(args) => Settings::Triple(args.options()),
                Serve::Grpc(args) => Settings::Grpc(args.options()),
                Serve::Raw(args) => Settings::Raw(args.options()),
            },
        })
    }

    pub(super) fn print(&self) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        serde_json::to_writer(&mut stdout, self)?;
        stdout.write_all(b"\n")?;
        stdout.flush()
    }
}
