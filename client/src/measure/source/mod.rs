//! Where a server's counters come from. Each way in which servers tell them is a [`CounterSource`]; which one is a server's own is
//! found out by asking it.
//!
//! | source | where | bytes | allocations | whose |
//! |---|---|---|---|---|
//! | [`vars::DebugPprof`] | `/debug/vars` | usable and requested | yes | serving threads |
//! | [`vars::JvmAgent`] | `/debug/vars` | heap, whole objects | no | all threads but the agent's |
//! | [`vars::GoExpvar`] | `/debug/vars` | size classes | yes | all goroutines |
//! | [`go_text::GoText`] | `/debug/pprof/allocs?debug=1`, else `heap` | size classes | yes | all goroutines |
//! | [`vars::Uncounted`] | `/debug/vars` | no | no | |
//!
//! Reading Go's `MemStats` stops the world, and answering is done by goroutines that are counted: so it is read around a window
//! only, never in it, and what a reading allocates is measured and taken off (see [`CounterSource::counts_its_answers`]).

mod go_text;
mod vars;

use std::fmt;

pub(super) use self::vars::{Recording, Vars};
use self::{
    go_text::GoText,
    vars::{DebugPprof, GoExpvar, JvmAgent, Uncounted},
};
use super::result::{ServerReading, SourceKind};

/// One of the ways in which servers tell what they allocated.
pub(super) trait CounterSource: fmt::Debug + Sync {
    /// What a result calls it.
    fn kind(&self) -> SourceKind;

    /// Where it is asked.
    fn path(&self) -> &'static str;

    /// What an answer says.
    ///
    /// # Errors
    /// Why it is not an answer of this source.
    fn reading(&self, answer: &[u8]) -> Result<ServerReading, String>;

    /// Whether what answering allocates is among the counts.
    fn counts_its_answers(&self) -> bool {
        self.kind().is_go()
    }
}

/// Every source, in the order in which a server is asked for them.
pub(super) const SOURCES: [&dyn CounterSource; 6] =
    [&DebugPprof, &JvmAgent, &GoExpvar, &GoText::ALLOCS, &GoText::HEAP, &Uncounted];

/// A server that answers none of the questions.
#[derive(Debug)]
pub(super) struct Silent;

impl CounterSource for Silent {
    fn kind(&self) -> SourceKind {
        SourceKind::None
    }

    fn path(&self) -> &'static str {
        "/debug/vars"
    }

    fn reading(&self, _: &[u8]) -> Result<ServerReading, String> {
        Ok(ServerReading::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source that takes this for an answer of its own.
    fn source_of(path: &str, answer: &str) -> Option<SourceKind> {
        let takes = |source: &&&dyn CounterSource| source.path() == path && source.reading(answer.as_bytes()).is_ok();
        SOURCES.iter().find(takes).map(|source| source.kind())
    }

    #[test]
    fn every_kind_of_server_is_known_by_its_answer() {
        let vars = "/debug/vars";
        for (answer, kind) in [
            (
                r#"{"memstats":{"Mallocs":1},"counters":{"serving":null,"excluded":null},"jemalloc":{"arenas":1}}"#,
                SourceKind::DebugPprof,
            ),
            (r#"{"runtime":"jvm","jvm":{"allocated_bytes_serving":null,"gc":[]}}"#, SourceKind::JvmAgent),
            // A Go program may publish variables of its own under any name.
            (r#"{"memstats":{"Mallocs":1,"TotalAlloc":2,"Frees":0},"counters":{},"jvm":7}"#, SourceKind::GoExpvar),
            (r#"{"process":{"pid":7}}"#, SourceKind::None),
        ] {
            assert_eq!(source_of(vars, answer), Some(kind), "{answer}");
        }
        for answer in ["", "<html>", "[]", "{}", r#"{"memstats":{"Alloc":5}}"#] {
            assert_eq!(source_of(vars, answer), None, "{answer}");
        }
        let text = "heap profile: 0: 0 [0: 1] @ heap/1048576\n\n# runtime.MemStats\n# TotalAlloc = 5\n# Mallocs = 1\n# Frees = 0\n";
        for path in ["/debug/pprof/allocs?debug=1", "/debug/pprof/heap?debug=1"] {
            assert_eq!(source_of(path, text), Some(SourceKind::GoPprof));
            assert_eq!(source_of(path, "<html>"), None);
        }
    }
}
