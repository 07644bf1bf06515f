//! Go-compatible `/debug/pprof` endpoints and exact allocation counts for any tokio server.
//!
//! Three lines add it to a program, as Go's `net/http/pprof` is added to one:
//!
//! ```no_run
//! use debug_pprof::{CountingAlloc, Jemalloc};
//!
//! #[global_allocator]
//! static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();
//!
//! fn main() -> Result<(), debug_pprof::Error> {
//!     debug_pprof::serve(debug_pprof::Options { addr: ([127, 0, 0, 1], 8000).into(), allow_remote: false })?;
//!     // … the server …
//!     Ok(())
//! }
//! ```
//!
//! `/healthz` answers 503 until the program calls [`set_ready`]: only the program knows when it serves.
//!
//! Build it with `-C force-frame-pointers=yes` (in `.cargo/config.toml`) and `debug = "limited"` in the release profile: the
//! first gives the allocation profiles their stacks, the second their lines and names. With `"line-tables-only"` the lines
//! stay, but inlined functions are called `poll` or `new`, without their path.
//!
//! What is counted: every allocation through Rust's global allocator on every thread, apart for the threads that serve
//! these endpoints or otherwise look on ([`exclude_current_thread`]). Counting costs a few plain stores an allocation.
//! Linux, on x86_64 and aarch64.

mod alloc;
mod allocations;
mod builder;
mod census;
pub mod connections;
mod cpu;
mod error;
mod event_log;
mod flame;
mod heap;
mod jeheap;
mod jemalloc;
mod mem_stats;
mod modules;
pub mod ops;
mod query;
mod routes;
mod sample;
mod serve;
mod symbolize;
mod table;
mod tally;
mod text;
mod thread;
mod vars;
mod walk;
mod watched;

pub use alloc::CountingAlloc;
pub use error::Error;
#[doc(hidden)]
pub use jemalloc::JemallocConf;
pub use jemalloc::set_heap_profiling;
pub use routes::{router, set_ready};
pub use sample::{DEFAULT_RATE, sample_rate, set_sample_rate};
pub use serve::{DebugServer, Options, serve};
pub use tally::Counts;
pub use thread::{exclude_current_thread, excluded_counts, serving_counts};
pub use tikv_jemallocator::Jemalloc;
