//! Plans of all commands.

mod again;
mod call;
mod peers;
mod run;
mod suite;
mod via;

/// The CPUs that may be used.
const CPUS: [u32; 4] = [0, 1, 2, 3];
