//! The counting allocator: exact calls, frees and bytes, by thread, at the price of a few plain stores a call.

use std::alloc::{GlobalAlloc, Layout};

use tikv_jemallocator::Jemalloc;

use crate::{event_log::EventKind, sample, tally::Kind, thread, watched};

/// Where the usable (size-class) bytes of an allocation are learnt from.
#[derive(Clone, Copy)]
pub(crate) enum Usable {
    /// The allocator can't tell: usable bytes are reported as unknown.
    Unknown,
    /// jemalloc's `thread.allocatedp`, which the calling thread's own allocations advance by their usable size.
    JemallocThread,
    /// A function of the pointer, such as `malloc_usable_size`.
    OfPointer(unsafe fn(*mut u8) -> usize),
}

/// A [`GlobalAlloc`] that hands every call to `A` and counts it.
///
/// ```
/// use debug_pprof::{CountingAlloc, Jemalloc};
///
/// #[global_allocator]
/// static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();
/// # fn main() {}
/// ```
///
/// Counted are the calls that succeed, by the definitions of Go, heaptrack and jemalloc's `thread.allocated`: a realloc is
/// one allocation of its whole new size and one free of the old, also where it grows in place. Not counted is what does
/// not pass through Rust's global allocator: C code's own malloc, and memory mapped directly.
///
/// Each thread writes only cells of its own; a reader takes no lock that an allocating thread could wait for.
pub struct CountingAlloc<A> {
    inner: A,
    usable: Usable,
}

impl CountingAlloc<Jemalloc> {
    /// Counts on top of jemalloc, usable bytes from its per-thread counters.
    pub const fn jemalloc() -> Self {
        CountingAlloc { inner: Jemalloc, usable: Usable::JemallocThread }
    }
}

impl<A: GlobalAlloc> CountingAlloc<A> {
    /// Counts on top of an allocator that can't tell usable sizes; usable bytes are then reported as unknown.
    pub const fn new(inner: A) -> Self {
        CountingAlloc { inner, usable: Usable::Unknown }
    }

    /// Counts on top of an allocator whose usable sizes `usable_size` tells, such as `malloc_usable_size` for
    /// [`std::alloc::System`] on glibc.
    ///
    /// # Safety
    /// `usable_size` must be sound for every live pointer that `inner` has handed out, must not allocate through this
    /// allocator, and must not return less than the size asked for.
    pub const unsafe fn with_usable_size(inner: A, usable_size: unsafe fn(*mut u8) -> usize) -> Self {
        CountingAlloc { inner, usable: Usable::OfPointer(usable_size) }
    }
}

// SAFETY: every call goes to `inner` with the arguments it came with, and its result is returned unchanged; counting
// allocates nothing through this allocator and does not unwind.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAlloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is `inner`'s.
        let ptr = unsafe { self.inner.alloc(layout) };
        if !ptr.is_null() {
            thread::allocated(Kind::Alloc, ptr, layout.size(), self.usable);
        }
        ptr
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is `inner`'s.
        let ptr = unsafe { self.inner.alloc_zeroed(layout) };
        if !ptr.is_null() {
            thread::allocated(Kind::Zeroed, ptr, layout.size(), self.usable);
        }
        ptr
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // Before the pointer is given back: after, another thread may already have it as its own.
        sample::freed(ptr);
        thread::freed();
        if watched::events() {
            thread::log_freed(EventKind::Free, ptr, layout.size());
        }
        // SAFETY: the caller's contract is `inner`'s.
        unsafe { self.inner.dealloc(ptr, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let sampled = sample::freed(ptr);
        if watched::events() {
            thread::log_freed(EventKind::ReallocFrom, ptr, layout.size());
        }
        // SAFETY: the caller's contract is `inner`'s.
        let new = unsafe { self.inner.realloc(ptr, layout, new_size) };
        if new.is_null() {
            // The old block is still there, and so is its sample.
            sample::restore(ptr, sampled);
        } else {
            thread::freed();
            thread::allocated(Kind::Realloc, new, new_size, self.usable);
        }
        new
    }
}
