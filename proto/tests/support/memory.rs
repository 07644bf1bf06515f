//! Counts what a thread allocates, for limits that a test sets.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system's allocator, with the bytes in use and their peak counted by thread.
pub(crate) struct Counting;

thread_local! {
    static IN_USE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The most bytes that were in use at once while `work` ran, beyond those in use before.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = IN_USE.get();
    PEAK.set(before);
    let result = work();
    (result, PEAK.get().saturating_sub(before))
}

/// How often `work` asked for memory.
pub(crate) fn allocations<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = CALLS.get();
    let result = work();
    (result, CALLS.get() - before)
}

/// A thread may free what another one allocated, hence wrapping.
fn change(more: usize, less: usize) {
    CALLS.set(CALLS.get() + u64::from(more > 0));
    let now = IN_USE.get().wrapping_add(more).wrapping_sub(less);
    IN_USE.set(now);
    PEAK.set(PEAK.get().max(now));
}

// SAFETY: every call is passed on to the system's allocator as it came; counting touches no memory it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size(), 0);
        // SAFETY: the caller's promises are those of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        change(0, layout.size());
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new may exist side by side.
        change(size, 0);
        change(0, layout.size());
        // SAFETY: the pointer came from `System` with this layout; the size is the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
