//! What can't be measured, and why.

use analyze::{
    load::{CallMode, Case, MessagesPerStream},
    report,
    scenario::{Compression, Framework, Gzip, Peer, Serialization},
    units::thousands,
};

/// Cells of a matrix that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) framework: Framework,
    /// What can't be asked for: `hessian2`.
    pub(crate) what: &'static str,
    pub(crate) reason: &'static str,
    /// How many there are.
    pub(crate) cells: usize,
}

impl Refused {
    /// As reports name it.
    pub(crate) fn in_report(&self) -> report::Refused {
        report::Refused {
            framework: self.framework.to_string(),
            what: self.what.to_owned(),
            reason: self.reason.to_owned(),
        }
    }

    /// In a line.
    pub(crate) fn say(&self) -> String {
        format!("{} {} ({}): {}", self.framework, self.what, cells(self.cells), self.reason)
    }
}

/// So many cells.
pub(crate) fn cells(count: usize) -> String {
    format!("{} cell{}", thousands(count as u64), if count == 1 { "" } else { "s" })
}

/// What a kind of server can't be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    flag: &'static str,
    /// `None` where the flag takes none.
    value: Option<&'static str>,
    pub(super) reason: &'static str,
}

impl Refusal {
    /// As it is asked for on a command line.
    pub(super) fn asked(&self) -> String {
        let Self { flag, value, .. } = self;
        value.map_or_else(|| format!("--{flag}"), |value| format!("--{flag} {value}"))
    }
}

pub(super) fn refusal(framework: Framework, case: &Case) -> Option<Refusal> {
    if let Err(reason) = framework.speaks(case.serialization) {
        return Some(Refusal { flag: "serialization", value: Some(case.serialization.name()), reason });
    }
    match framework {
        Framework::Peer(peer) if peer.protocol.is_framed() && case.mode == CallMode::Streaming => Some(Refusal {
            flag: "mode",
            value: Some(case.mode.name()),
            reason: "its protocol has calls of one message, no streams",
        }),
        Framework::Raw if case.compression != Compression::None => Some(Refusal {
            flag: "compression",
            value: Some(case.compression.name()),
            reason: "the raw echo carries bytes, no messages: nothing in them says that they are compressed",
        }),
        Framework::Peer(Peer { gzip: Gzip::None, .. }) if case.compression != Compression::None => Some(Refusal {
            flag: "compression",
            value: Some(case.compression.name()),
            reason: "this server knows no gzip",
        }),
        Framework::Peer(Peer { gzip: Gzip::None | Gzip::Requests, .. }) if case.accept_gzip => {
            Some(Refusal { flag: "accept-gzip", value: None, reason: "this server answers plainly" })
        }
        _ => None,
    }
}

/// The same load as this kind of server has it: in the encoding of its own protocol, unless one is `asked` for.
pub(super) fn encoded(framework: Framework, case: Case, asked: bool) -> Case {
    if asked { case } else { Case { serialization: framework.protocol().serialization(), ..case } }
}

/// The same load for the bare echo, which knows nothing of how messages are written and sent.
pub(super) fn plain(case: Case) -> Case {
    Case {
        serialization: Serialization::Protobuf,
        compression: Compression::None,
        accept_gzip: false,
        mode: CallMode::Unary,
        messages_per_stream: MessagesPerStream::default(),
        ..case
    }
}

/// Counts one more cell that is left out.
pub(super) fn leave_out(list: &mut Vec<Refused>, framework: Framework, Refusal { flag, value, reason }: Refusal) {
    let value = value.unwrap_or(flag);
    match list.iter_mut().find(|known| known.framework == framework && known.what == value) {
        Some(known) => known.cells += 1,
        None => list.push(Refused { framework, what: value, reason, cells: 1 }),
    }
}
