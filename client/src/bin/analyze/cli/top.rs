//! The flags of `analyze top`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use regex::Regex;

use crate::values;

/// What a row of the table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopBy {
    Function,
    Line,
    /// A crate, or a Go package
    Crate,
    /// What was allocated; needs symbols that name it, as rustc -C symbol-mangling-version=v0 writes
    Type,
    /// Application, codec, RPC framework, HTTP/2, TLS, runtime, std
    Layer,
}

/// Say which functions, lines, crates or layers a run's allocations or CPU time come from, per op, or a profile's
///
/// Of a run each result has a table in B/op and allocs/op, or with --type cpu in CPU µs/op, and below it one of layers.
/// flat is what a row did itself; memory counts as asked for by the innermost function that is no allocator, collection,
/// boxing or spawning. cum is that and what its callees did. The flat values add up to the last row, all.
///
/// Of a run with traces a further table says what becomes of what is allocated: given back within the same request, later or
/// not at all, and how often it grows, and what that copies. A trace alone, ….trace.json, is told so too.
///
/// A profile alone is printed as go tool pprof -top does; with --by, --generic or --layers as a run is, in totals.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// A label of data/ below --out, a folder of results, or a result's JSON file; or a profile: any profile.proto,
    /// gzipped or not, ours, Go's or another's; or a trace
    #[arg(value_name = "RUN|FILE")]
    pub(crate) what: PathBuf,
    /// The kind of value, as alloc_space, alloc_objects or cpu [default: alloc_space of a run, a profile's own]
    #[arg(long = "type", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// What a row is [default: function]
    #[arg(long, value_enum)]
    pub(crate) by: Option<TopBy>,
    /// Split the instances of generic functions and types, of which f::<…> stands for all
    #[arg(long)]
    pub(crate) generic: bool,
    /// Only samples with a function, source file or binary in their stack that matches
    #[arg(long, value_name = "REGEX", value_parser = values::expression)]
    pub(crate) focus: Option<Regex>,
    /// Only samples with none that matches
    #[arg(long, value_name = "REGEX", value_parser = values::expression)]
    pub(crate) ignore: Option<Regex>,
    /// A map of crates and Go packages to layers, in place of the one built in: lines as "codec: prost serde"
    #[arg(long, value_name = "FILE")]
    pub(crate) layers: Option<PathBuf>,
    /// Rows to print; 0 prints all
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(crate) number: usize,
    /// Where data/ is
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}
