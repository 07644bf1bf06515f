//! What can't be measured, and why.

use analyze::{
    load::Case,
    scenario::{Compression, Framework, Serialization},
};

/// Cells of a matrix that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) framework: Framework,
    /// What they have in common: `serialization hessian2`.
    pub(crate) what: String,
    pub(crate) reason: &'static str,
    /// How many there are.
    pub(crate) cells: usize,
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

/// The same load for the bare echo, which knows nothing of how messages are written.
pub(super) fn plain(case: Case) -> Case {
    Case { serialization: Serialization::Protobuf, compression: Compression::None, accept_gzip: false, ..case }
}

impl Refused {
    #[allow(dead_code, reason = "for suites")]
    /// Counts one more cell that is left out.
    pub(super) fn add(list: &mut Vec<Self>, framework: Framework, Refusal { axis, value, reason }: Refusal) {
        let what = format!("{axis} {value}");
        match list.iter_mut().find(|known| known.framework == framework && known.what == what) {
            Some(known) => known.cells += 1,
            None => list.push(Self { framework, what, reason, cells: 1 }),
        }
    }
}
