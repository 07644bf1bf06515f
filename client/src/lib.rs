//! Drives RPC servers with load and says what each request allocates, and where.
//!
//! Modules in upward order; imports go down only (`tests/layers.rs` checks it): `units`, `stats`, `scenario`, `load`, `measure`,
//! `profile`, `compare`, `report`, `plot`, `store`. The commands of the program stand on top of them, in `src/bin`.

pub mod compare;
pub mod load;
pub mod measure;
pub mod plot;
pub mod profile;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod store;
pub mod units;
