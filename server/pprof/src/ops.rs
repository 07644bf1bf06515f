//! How many requests the host program has started and answered, by method: the denominator of every per-op figure.
//!
//! The counters are process-wide atomics, one cache line a method: two additions a request, to a line that busy worker
//! threads share.

use std::{
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use serde::Serialize;

use crate::{
    event_log::{self, EventKind},
    watched,
};

static METHODS: Mutex<Vec<&'static Method>> = Mutex::new(Vec::new());

/// The counters of one method. Get it once with [`method`] and keep it.
#[derive(Debug)]
#[repr(align(128))]
pub struct Method {
    name: &'static str,
    started: AtomicU64,
    ok: AtomicU64,
    error: AtomicU64,
}

/// A request that has started. Dropped without [`Op::ok`] it counts as an error, so a cancelled request is never lost.
#[derive(Debug)]
#[must_use = "an operation dropped at once counts as an error"]
pub struct Op {
    method: &'static Method,
    ok: bool,
}

/// What a method's counters said at one moment. `started - ok - error` are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MethodCounts {
    /// Requests begun.
    pub started: u64,
    /// Requests answered with success.
    pub ok: u64,
    /// Requests answered with an error, or abandoned.
    pub error: u64,
}

/// The counters of the method of that name, made on first use and kept for the life of the process.
///
/// Takes a lock and may allocate: call it when the server starts, not per request.
pub fn method(name: &'static str) -> &'static Method {
    let mut methods = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = methods.iter().find(|m| m.name == name) {
        return known;
    }
    let new: &'static Method = Box::leak(Box::new(Method {
        name,
        started: AtomicU64::new(0),
        ok: AtomicU64::new(0),
        error: AtomicU64::new(0),
    }));
    methods.push(new);
    new
}

/// All methods and their counts, in the order of their making.
pub fn counts() -> Vec<(&'static str, MethodCounts)> {
    let methods = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
    methods.iter().map(|m| (m.name, m.counts())).collect()
}

/// The sums over all methods.
pub(crate) fn total() -> MethodCounts {
    let sum = |a: MethodCounts, b: MethodCounts| MethodCounts {
        started: a.started + b.started,
        ok: a.ok + b.ok,
        error: a.error + b.error,
    };
    counts().into_iter().map(|(_, counts)| counts).fold(MethodCounts { started: 0, ok: 0, error: 0 }, sum)
}

/// The name of the method at that address; `None` when there is none.
pub(crate) fn name_at(address: usize) -> Option<&'static str> {
    let methods = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
    methods.iter().find(|method| ptr::from_ref(**method) as usize == address).map(|method| method.name)
}

impl MethodCounts {
    /// What was counted since `earlier`.
    pub(crate) fn since(&self, earlier: &MethodCounts) -> MethodCounts {
        MethodCounts {
            started: self.started - earlier.started,
            ok: self.ok - earlier.ok,
            error: self.error - earlier.error,
        }
    }
}

impl Method {
    /// Counts a request as started.
    pub fn start(&'static self) -> Op {
        self.started.fetch_add(1, Relaxed);
        if watched::events() {
            event_log::mark(EventKind::OpStart, self);
        }
        Op { method: self, ok: false }
    }

    /// The counts now. Read while requests run, they may be a request apart from each other.
    pub fn counts(&self) -> MethodCounts {
        MethodCounts { started: self.started.load(Relaxed), ok: self.ok.load(Relaxed), error: self.error.load(Relaxed) }
    }
}

impl Op {
    /// Counts the request as answered with success.
    pub fn ok(mut self) {
        self.ok = true;
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        let counter = if self.ok { &self.method.ok } else { &self.method.error };
        counter.fetch_add(1, Relaxed);
        if watched::events() {
            event_log::mark(if self.ok { EventKind::OpOk } else { EventKind::OpError }, self.method);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_ends_once_as_ok_or_as_error() {
        let echo = method("test.Echo");
        let (a, b) = (echo.start(), echo.start());
        assert_eq!(echo.counts(), MethodCounts { started: 2, ok: 0, error: 0 });
        a.ok();
        drop(b);
        assert_eq!(echo.counts(), MethodCounts { started: 2, ok: 1, error: 1 });
    }

    #[test]
    fn one_name_is_one_counter() {
        assert!(std::ptr::eq(method("test.Same"), method("test.Same")));
    }
}
