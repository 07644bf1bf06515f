//! The lines that asked for memory.

use std::{collections::HashMap, num::NonZeroU64};

use super::{
    Frame, Profile, ProfileError,
    names::readable_frame,
    paths::{module, readable_path},
    sampling::sampling,
};
use crate::measure::result::{Others, PerOp, Site, SiteTable};

/// Code that allocates because its caller told it to: the allocator, collections and spawning. A function that starts with one of
/// these is not where memory is asked for; the line that calls it is.
const PLUMBING: &[&str] = &[
    // The allocator and its wrappers.
    "__rust_",
    "__rustc::",
    "__rdl_",
    "__rg_",
    "_rjem_",
    "je_",
    "tikv_jemalloc",
    "debug_pprof::",
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "posix_memalign",
    "operator new",
    // The standard library and collections.
    "alloc::",
    "core::",
    "std::",
    "str::",
    "[",
    "bytes::",
    "hashbrown::",
    "indexmap::",
    "slab::",
    "smallvec::",
    "http::extensions::",
    "http::header::map::",
    // A box's or a task's memory belongs to whoever boxes or spawns.
    "http_body_util::combinators::box_body::",
    "tower::util::boxed",
    "hyper::rt::bounds::",
    "hyper_util::rt::tokio::TokioExecutor::execute",
    "tokio::runtime::task::",
    "tokio::runtime::handle::Handle::spawn",
    "tokio::runtime::scheduler::Handle::spawn",
    "tokio::runtime::scheduler::current_thread::Handle::spawn",
    "tokio::runtime::scheduler::multi_thread::handle::Handle::",
    "tokio::runtime::context::",
    "tokio::task::spawn::",
    "tokio::util::trace::",
    // Go's allocator, maps, slices and strings.
    "runtime.",
    "internal/runtime/maps.",
];

/// The `limit` sites of a profile with `alloc_space` and `alloc_objects` that ask for the most bytes, per op. The rest, and what
/// rounds to nothing, is summed up, so that the table always adds up to the profile.
///
/// A site is the innermost frame, inlined ones included, that isn't plumbing: the allocator, a collection, boxing or spawning.
/// Where a whole stack is plumbing, it is the innermost frame.
///
/// # Errors
/// [`ProfileError::NoSuchType`] when the profile isn't one of allocations.
pub fn sites(profile: &Profile, ops: NonZeroU64, limit: usize) -> Result<SiteTable, ProfileError> {
    let space = profile.type_index(Some("alloc_space"))?;
    let objects = profile.type_index(Some("alloc_objects"))?;
    let mut sums: HashMap<Key, Sum> = HashMap::new();
    let mut total = Sum::default();
    for (frames, values) in profile.samples() {
        let value = Sum { bytes: values[space].into(), allocs: values[objects].into() };
        sums.entry(Key::of(frames)).or_default().add(value);
        total.add(value);
    }

    let mut sums: Vec<(Key, Sum)> = sums.into_iter().filter(|(_, sum)| sum.allocs != 0 || sum.bytes != 0).collect();
    sums.sort_by(|(a, x), (b, y)| (y.bytes, y.allocs).cmp(&(x.bytes, x.allocs)).then_with(|| a.cmp(b)));
    let worth_a_row = sums.iter().take_while(|(_, sum)| sum.shows(ops)).count();
    let rest = sums.split_off(limit.min(worth_a_row));
    let mut others = Sum::default();
    rest.iter().for_each(|(_, sum)| others.add(*sum));

    Ok(SiteTable {
        total: total.per(ops),
        rows: sums.into_iter().map(|(key, sum)| key.into_site(sum.per(ops))).collect(),
        others: Others { sites: rest.len() as u64, per_op: others.per(ops) },
        sampling: sampling(profile),
    })
}

pub(super) fn asked_for<'a>(mut frames: impl Iterator<Item = Frame<'a>>) -> Option<Frame<'a>> {
    frames.find(asks)
}

/// Whether it is a known function that asks for memory by itself.
pub(super) fn asks(frame: &Frame<'_>) -> bool {
    frame.function.is_some() && !is_plumbing(frame)
}

/// How many ops a profile covers, by the table of its [`sites`]. `None` when the profile is another one, or has nothing in it.
pub fn covered_ops(profile: &Profile, table: &SiteTable) -> Option<NonZeroU64> {
    let total = |kind| Some(profile.total(profile.type_index(Some(kind)).ok()?) as f64);
    let (bytes, allocs) = (total("alloc_space")?, total("alloc_objects")?);
    let PerOp { bytes_per_op, allocs_per_op } = table.total;
    let ops = if bytes_per_op > 0.0 { bytes / bytes_per_op } else { allocs / allocs_per_op };
    let ops = Some(ops.round()).filter(|ops| (1.0..1e15).contains(ops))?;
    let fits = |per_op: f64, total: f64| (per_op * ops - total).abs() <= total.abs() * 1e-9;
    if fits(bytes_per_op, bytes) && fits(allocs_per_op, allocs) { NonZeroU64::new(ops as u64) } else { None }
}

/// Goes by the function and by its file: a trait's own method, called on a type of someone else, has that type's name.
fn is_plumbing(frame: &Frame<'_>) -> bool {
    let starts = |name: &str| PLUMBING.iter().any(|prefix| name.starts_with(prefix));
    starts(&readable_frame(frame)) || frame.file.and_then(module).is_some_and(|module| starts(&(module + "::")))
}

/// What tells sites apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) function: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
}

impl Key {
    /// The site of a stack, leaf first.
    pub(super) fn of<'a>(frames: impl Iterator<Item = Frame<'a>> + Clone) -> Self {
        match asked_for(frames.clone()).or_else(|| frames.clone().next()) {
            Some(frame) => Self {
                function: readable_frame(&frame),
                file: frame.file.map(|file| readable_path(file).to_owned()),
                line: frame.line,
            },
            None => Self { function: "<no stack>".to_owned(), file: None, line: None },
        }
    }

    fn into_site(self, per_op: PerOp) -> Site {
        Site { function: self.function, file: self.file, line: self.line, per_op }
    }
}

/// Sums don't overflow: 2⁶³ values of 63 bits fit.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    bytes: i128,
    allocs: i128,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.allocs += other.allocs;
    }

    /// Whether a table of whole bytes and hundredths of allocations shows more than zeros.
    fn shows(self, ops: NonZeroU64) -> bool {
        let PerOp { bytes_per_op, allocs_per_op } = self.per(ops);
        bytes_per_op.abs() >= 0.5 || allocs_per_op.abs() >= 0.005
    }

    fn per(self, ops: NonZeroU64) -> PerOp {
        let ops = ops.get() as f64;
        PerOp { bytes_per_op: self.bytes as f64 / ops, allocs_per_op: self.allocs as f64 / ops }
    }
}
