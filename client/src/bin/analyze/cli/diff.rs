//! The flags of `analyze diff`.

use std::{num::NonZeroU64, path::PathBuf};

use clap::{Args, ValueEnum};

use super::Format;

/// Say which functions cost more in one profile than in another, and draw it as a flamegraph
///
/// A side is a profile.proto (ours, Go's or another's, gzipped or not), a text of folded stacks as other tools save them
/// (main;read;copy 12), a result's JSON file, or a label of data/ below --out. Of runs, the one result is taken that both
/// have, with its allocation profile, per op. Functions are matched by name whatever build they are of: hashes, numbers of
/// closures, compilers' suffixes and Go's shapes don't count.
///
/// The table has what a function cost itself; of memory, what it asked for. In the picture every frame has the colour of
/// its own change, with what it calls: red grew, blue shrank, the deeper the larger a share of the whole.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The profile or run to compare with
    pub(crate) a: PathBuf,
    /// The profile or run that is compared
    pub(crate) b: PathBuf,
    /// The kind of value, as alloc_objects or cpu [default: the profiles' own]
    #[arg(long = "type", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Requests that A covers; figures are per op when they are known of both [default: as its result says]
    #[arg(long, value_name = "N")]
    pub(crate) ops_a: Option<NonZeroU64>,
    /// Requests that B covers
    #[arg(long, value_name = "N")]
    pub(crate) ops_b: Option<NonZeroU64>,
    /// Whose values are the widths of the frames: a shows what went, b what appeared, both everything
    #[arg(long, value_enum, default_value_t = DiffWidths::Both)]
    pub(crate) widths: DiffWidths,
    /// Print what functions cost with all they call, not what they cost themselves
    #[arg(long)]
    pub(crate) cum: bool,
    /// Functions to print; 0 prints all that changed
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub(crate) number: usize,
    /// Compare also results that were measured otherwise: another load, wire, machine or binding to CPUs
    #[arg(long)]
    pub(crate) force: bool,
    /// The headline of the picture [default: what A and B are called]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Where the SVG goes [default: flamegraphs/diff/ and what A and B are called, below --out]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What is printed on stdout
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Where data/ and flamegraphs/ are
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

impl DiffArgs {
    /// The defaults for two results' files, however they were measured.
    pub(crate) fn between(a: PathBuf, b: PathBuf, out: PathBuf) -> Self {
        Self {
            a,
            b,
            kind: None,
            ops_a: None,
            ops_b: None,
            widths: DiffWidths::Both,
            cum: false,
            number: 0,
            force: true,
            title: None,
            output: None,
            format: Format::Table,
            out,
        }
    }
}

/// Whose values are the widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffWidths {
    A,
    B,
    Both,
}
