//! What can't be measured, and why.

use analyze::{
    load::{CallMode, Case, MessagesPerStream},
    report,
    scenario::{Compression, Framework, Serialization},
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
    /// `serialization` or `compression`, which is also the flag's name.
    pub(super) axis: &'static str,
    pub(super) value: &'static str,
    pub(super) reason: &'static str,
}

pub(super) fn refusal(framework: Framework, case: &Case) -> Option<Refusal> {
    if let Err(reason) = framework.speaks(case.serialization) {
        return Some(Refusal { axis: "serialization", value: case.serialization.name(), reason });
    }
    let compressed = framework == Framework::Raw && case.compression != Compression::None;
    let reason = "the raw echo carries bytes, no messages: nothing in them says that they are compressed";
    compressed.then(|| Refusal { axis: "compression", value: case.compression.name(), reason })
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
pub(super) fn leave_out(list: &mut Vec<Refused>, framework: Framework, Refusal { value, reason, .. }: Refusal) {
    match list.iter_mut().find(|known| known.framework == framework && known.what == value) {
        Some(known) => known.cells += 1,
        None => list.push(Refused { framework, what: value, reason, cells: 1 }),
    }
}
