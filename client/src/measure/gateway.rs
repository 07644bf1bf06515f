//! The processes of a gateway: those of this machine that hold the socket it listens on. A program that hands its connections to
//! processes without that socket has more than are found here.

use std::{net::SocketAddr, slice};

use procfs::process::Process;

use super::{
    process::{ProcessWatch, listeners_at},
    result::ProcessUse,
};

/// All processes of a gateway under watch.
#[derive(Debug)]
pub(super) struct GatewayWatch {
    addr: SocketAddr,
    pids: Vec<u32>,
    watches: Vec<ProcessWatch>,
}

/// The processes of the gateway that listens there, ascending. Empty where it isn't on this machine, or we may not look.
pub fn gateway_processes(addr: SocketAddr) -> Vec<u32> {
    // Elsewhere the port is another machine's.
    if !addr.ip().is_loopback() {
        return Vec::new();
    }
    let mut pids = listeners_at(addr);
    pids.sort_unstable();
    pids
}

/// Whether it is a process of this group that listens there, as far as can be seen.
pub fn listens_in_group(group: u32, addr: SocketAddr) -> bool {
    let group_of = |pid: u32| Some(Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?.pgrp);
    gateway_processes(addr).into_iter().any(|pid| group_of(pid).and_then(|id| u32::try_from(id).ok()) == Some(group))
}

/// What the kernel calls a process: at most 15 bytes of its program's name, unless it gave itself another.
pub fn process_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
}

impl GatewayWatch {
    /// Finds the processes.
    pub(super) fn of(addr: SocketAddr) -> Self {
        Self { addr, pids: gateway_processes(addr), watches: Vec::new() }
    }

    /// Begins to watch them.
    pub(super) fn begin(self) -> Self {
        let watches = self.pids.iter().filter_map(|&pid| ProcessWatch::begin(pid)).collect();
        Self { watches, ..self }
    }

    pub(super) fn watches(&mut self) -> slice::IterMut<'_, ProcessWatch> {
        self.watches.iter_mut()
    }

    /// What each of them used since. `None` where one has ended or is new: its part of the work would be missing.
    pub(super) fn end(self) -> Option<Vec<ProcessUse>> {
        let uses: Vec<ProcessUse> = self.watches.into_iter().map(ProcessWatch::end).collect();
        let same = uses.len() == self.pids.len() && gateway_processes(self.addr) == self.pids;
        (same && !uses.is_empty()).then_some(uses)
    }
}
