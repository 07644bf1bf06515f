//! Plans of all commands.

mod again;
mod call;
mod peers;
mod run;
mod suite;

/// The CPUs that may be used.
const CPUS: [u32; 4] = [0, 1, 2, 3];
