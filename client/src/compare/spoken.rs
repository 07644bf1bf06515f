//! Which wire a result's calls spoke, as far as it decides what they cost: not how many frames it took.

use super::Difference;
use crate::{
    load::MessagesPerStream,
    measure::result::{Lifetime, RunResult, Which},
};

/// Something of a wire.
pub(crate) struct Spoken {
    /// What.
    pub(crate) what: &'static str,
    /// Its value. `None` where it wasn't recorded, or has no meaning.
    pub(crate) of: fn(&RunResult) -> Option<String>,
    /// Whether it is the framework's own: rows of a table may differ in it.
    pub(crate) is_protocol: bool,
}

const fn protocol(what: &'static str, of: fn(&RunResult) -> Option<String>) -> Spoken {
    Spoken { what, of, is_protocol: true }
}

const fn usage(what: &'static str, of: fn(&RunResult) -> Option<String>) -> Spoken {
    Spoken { what, of, is_protocol: false }
}

const REPLY_ENCODING: &str = "reply encoding";
const COMPRESSED_REPLIES: &str = "compressed replies";

/// All of it: what the preflight saw, then what the timed rounds did.
pub(crate) const SPOKEN: [Spoken; 9] = [
    protocol("HTTP version", |r| r.wire.as_ref().map(|wire| wire.http_version.clone())),
    protocol("request content-type", |r| r.wire.as_ref().map(|wire| named(&wire.content_type))),
    protocol("reply content-type", |r| r.wire.as_ref().map(|wire| named(&wire.response_content_type))),
    usage("TLS", |r| r.wire.as_ref().map(|wire| named(&wire.tls))),
    usage("request encoding", |r| r.wire.as_ref().map(|wire| wire.request_encoding.clone())),
    usage(REPLY_ENCODING, |r| r.wire.as_ref().map(|wire| wire.response_encoding.clone())),
    usage(COMPRESSED_REPLIES, |r| r.wire_use.as_ref().map(|used| which(used.compressed_replies).to_owned())),
    usage("connections", |r| r.wire_use.as_ref().map(|used| lifetime(used.connections).to_owned())),
    usage("streams", |r| {
        let used = r.wire_use.as_ref()?.http2.as_ref()?;
        // Of longer streams it says only how many calls each task took in a short round; how long they are is compared elsewhere.
        let one_each = r.messages_per_stream.is_none_or(|messages| messages == MessagesPerStream::default());
        one_each.then(|| lifetime(used.streams).to_owned())
    }),
];

/// In what two results spoke different wires. What one of them doesn't know is no difference.
pub fn wire_differences(a: &RunResult, b: &RunResult) -> Vec<Difference> {
    let both = |spoken: &Spoken| (spoken.of)(a).zip((spoken.of)(b));
    let differ = SPOKEN.iter().filter_map(|spoken| Some((spoken.what, both(spoken).filter(|(a, b)| a != b)?)));
    telling(differ.collect()).into_iter().map(|(what, (a, b))| Difference { what, a, b }).collect()
}

/// Differences by name without what follows from another: replies of another encoding are compressed otherwise.
pub(crate) fn telling<T>(mut differences: Vec<(&'static str, T)>) -> Vec<(&'static str, T)> {
    if differences.iter().any(|(what, _)| *what == REPLY_ENCODING) {
        differences.retain(|(what, _)| *what != COMPRESSED_REPLIES);
    }
    differences
}

fn named(said: &Option<String>) -> String {
    said.clone().unwrap_or_else(|| "none".to_owned())
}

fn which(which: Which) -> &'static str {
    match which {
        Which::None => "none",
        Which::Some => "some",
        Which::All => "all",
    }
}

/// As it is said of streams and connections: `one a call`.
pub(crate) fn lifetime(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::PerCall => "one a call",
        Lifetime::Kept => "kept over calls",
    }
}
