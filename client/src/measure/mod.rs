//! A run: rounds of load on a server, read before and after, and the result that follows.

pub mod result;
