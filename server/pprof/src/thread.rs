//! What a thread knows of itself while it allocates: its slot, its class, its stack, and how far to its next sample.

use std::{
    cell::Cell,
    ffi::c_void,
    io,
    mem::MaybeUninit,
    panic::{self, AssertUnwindSafe},
    ptr,
    sync::atomic::{
        AtomicU8,
        Ordering::{Acquire, Release},
    },
};

use crate::{
    alloc::Usable,
    census,
    event_log::{self, Event, EventKind},
    sample,
    tally::{self, Class, Counts, Kind, Slot},
    walk::Stack,
    watched,
};

/// What is known of the allocator's usable sizes; set by the first allocation counted.
static USABLE: AtomicU8 = AtomicU8::new(NOT_INSTALLED);
const NOT_INSTALLED: u8 = 0;
const USABLE_UNKNOWN: u8 = 1;
const USABLE_KNOWN: u8 = 2;

/// Constant-initialised and without a destructor: reached without allocating, also while the thread ends.
pub(crate) struct Local {
    slot: Cell<Option<&'static Slot>>,
    class: Cell<Class>,
    /// Set when there is no use in looking for a slot: none was free, or the thread is ending.
    settled: Cell<bool>,
    /// jemalloc's counter of this thread's usable bytes, and what it said at the last allocation.
    usable_total: Cell<*const u64>,
    usable_seen: Cell<u64>,
    /// Set while a stack is taken, so that an allocation in there could not take another.
    busy: Cell<bool>,
    /// The kernel's id of the thread; 0 until it is asked for.
    kernel_id: Cell<u32>,
    pub(crate) countdown: sample::Countdown,
    pub(crate) stack: Stack,
}

/// Gives the slot back when the thread ends. Apart from `Local`, because a destructor needs registering.
struct AtEnd;

thread_local! {
    static LOCAL: Local = const {
        Local {
            slot: Cell::new(None),
            class: Cell::new(Class::Serving),
            settled: Cell::new(false),
            usable_total: Cell::new(ptr::null()),
            usable_seen: Cell::new(0),
            busy: Cell::new(false),
            kernel_id: Cell::new(0),
            countdown: sample::Countdown::new(),
            stack: Stack::new(),
        }
    };
    static AT_END: AtEnd = const { AtEnd };
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        LOCAL.with(|local| {
            // Destructors that run after this one may still allocate: those go to the shared slot.
            local.settled.set(true);
            if let Some(slot) = local.slot.take() {
                slot.release();
            }
        });
    }
}

/// Marks the calling thread as one that looks on (a debug endpoint, a profiler, a logger): what it allocates from now on
/// is not counted as the program's.
pub fn exclude_current_thread() {
    LOCAL.with(|local| local.class.set(Class::Excluded));
}

/// Starts a thread that is excluded from its first instruction on. std's threads free and may allocate before they get to
/// exclude themselves, which would be counted as the program's.
///
/// A panic in `work` ends the thread, after its message went to stderr.
pub(crate) fn spawn_excluded(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    type Work = Box<dyn FnOnce() + Send>;
    extern "C" fn run(work: *mut c_void) -> *mut c_void {
        exclude_current_thread();
        // SAFETY: the pointer is the box that `spawn_excluded` gave up to this thread.
        let work = unsafe { Box::from_raw(work.cast::<Work>()) };
        let _ = panic::catch_unwind(AssertUnwindSafe(work));
        ptr::null_mut()
    }
    let work = Box::into_raw(Box::new(Box::new(work) as Work));
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the arguments are valid, and `run` takes the box over when the thread starts.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), run, work.cast()) };
    if error != 0 {
        // SAFETY: no thread was started, so the box is still ours.
        drop(unsafe { Box::from_raw(work) });
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the thread was started, and nobody joins it.
    unsafe { libc::pthread_detach(thread.assume_init()) };
    Ok(())
}

/// What the serving threads have allocated since the process began, threads that ended included. `None` when no
/// [`CountingAlloc`](crate::CountingAlloc) is the global allocator.
pub fn serving_counts() -> Option<Counts> {
    counts(Class::Serving)
}

/// The same for the threads that look on: see [`exclude_current_thread`].
pub fn excluded_counts() -> Option<Counts> {
    counts(Class::Excluded)
}

fn counts(class: Class) -> Option<Counts> {
    match USABLE.load(Acquire) {
        NOT_INSTALLED => None,
        known => Some(tally::read(class, known == USABLE_KNOWN)),
    }
}

/// Whether usable sizes are known; only then is a size class one of the allocator's own.
pub(crate) fn usable_known() -> bool {
    USABLE.load(Acquire) == USABLE_KNOWN
}

/// The calling thread's own. Leaving `with` first keeps what follows from being called through it, which would take its
/// arguments by way of memory.
#[inline(always)]
fn with_local(work: impl FnOnce(&Local)) {
    let local = LOCAL.with(ptr::from_ref);
    // SAFETY: it has no destructor, so it is there for as long as its thread runs, and `work` runs on that thread.
    work(unsafe { &*local });
}

#[inline(always)]
pub(crate) fn allocated(kind: Kind, ptr: *mut u8, requested: usize, source: Usable) {
    with_local(|local| local.allocated(kind, ptr, requested, source));
}

#[inline(always)]
pub(crate) fn freed() {
    with_local(|local| match local.slot.get() {
        Some(slot) => slot.freed(local.class.get()),
        None => tally::freed_shared(local.class.get()),
    });
}

/// Logs that a block is about to be given back.
#[cold]
#[inline(never)]
pub(crate) fn log_freed(kind: EventKind, ptr: *mut u8, requested: usize) {
    with_local(|local| {
        if local.class.get() == Class::Serving {
            let event = Event { kind, address: ptr as usize, requested: requested as u64, usable: 0, stack: None };
            event_log::record(local.kernel_id(), event);
        }
    });
}

/// The kernel's id of the calling thread.
pub(crate) fn kernel_id() -> u32 {
    LOCAL.with(Local::kernel_id)
}

impl Local {
    fn kernel_id(&self) -> u32 {
        if self.kernel_id.get() == 0 {
            // SAFETY: has no preconditions.
            self.kernel_id.set(unsafe { libc::gettid() } as u32);
        }
        self.kernel_id.get()
    }

    #[inline(always)]
    fn allocated(&self, kind: Kind, ptr: *mut u8, requested: usize, source: Usable) {
        let slot = match self.slot.get() {
            Some(slot) => slot,
            None => match self.find_slot(source) {
                Some(slot) => slot,
                None => return self.allocated_without_slot(kind, ptr, requested, source),
            },
        };
        let usable = self.usable(ptr, source);
        let class = self.class.get();
        slot.allocated(class, kind, requested as u64, usable);
        let due = self.countdown.advance(requested);
        if due || watched::allocations() {
            self.take_stack(kind, ptr, requested, usable, due);
        }
    }

    /// Usable bytes of the allocation just made; 0 where they are unknown.
    #[inline]
    fn usable(&self, ptr: *mut u8, source: Usable) -> u64 {
        match source {
            Usable::Unknown => 0,
            // SAFETY: the pointer was just handed out by the allocator this function belongs to.
            Usable::OfPointer(usable_size) => unsafe { usable_size(ptr) as u64 },
            Usable::JemallocThread => {
                // SAFETY: jemalloc's counter lives in this thread's own storage, as long as the thread does, and only
                // this thread writes it; `find_slot` set it before the slot was.
                let now = unsafe { self.usable_total.get().read() };
                now.wrapping_sub(self.usable_seen.replace(now))
            }
        }
    }

    #[cold]
    fn find_slot(&self, source: Usable) -> Option<&'static Slot> {
        if self.settled.get() {
            return None;
        }
        // Set first: registering the destructor must not come back here.
        self.settled.set(true);
        let known = if matches!(source, Usable::Unknown) { USABLE_UNKNOWN } else { USABLE_KNOWN };
        USABLE.store(known, Release);
        if matches!(source, Usable::JemallocThread) {
            let total = crate::jemalloc::thread_allocated()?;
            self.usable_total.set(total);
            // The allocation that led here is in the total already; what came before it was counted elsewhere or never.
            // SAFETY: as in `usable`.
            self.usable_seen.set(unsafe { total.read() });
        }
        AT_END.try_with(|_| ()).ok()?;
        let slot = Slot::acquire()?;
        self.slot.set(Some(slot));
        None
    }

    /// Counts an allocation that has no slot to go to: the first of a thread, or any when there is none left.
    #[cold]
    fn allocated_without_slot(&self, kind: Kind, ptr: *mut u8, requested: usize, source: Usable) {
        let usable = match source {
            Usable::Unknown => 0,
            // SAFETY: the pointer was just handed out by jemalloc.
            Usable::JemallocThread => unsafe { crate::jemalloc::usable_size(ptr) as u64 },
            // SAFETY: the pointer was just handed out by the allocator this function belongs to.
            Usable::OfPointer(usable_size) => unsafe { usable_size(ptr) as u64 },
        };
        tally::allocated_shared(self.class.get(), kind, requested as u64, usable);
        let due = self.countdown.advance(requested);
        if due || watched::allocations() {
            self.take_stack(kind, ptr, requested, usable, due);
        }
    }

    /// Takes the stack for whatever records now, and for the sampler if `sampled`.
    ///
    /// Kept out of line so that its own frame pointer is the first link of the chain.
    #[cold]
    #[inline(never)]
    fn take_stack(&self, kind: Kind, ptr: *mut u8, requested: usize, usable: u64, sampled: bool) {
        if self.class.get() == Class::Excluded || self.busy.replace(true) {
            if sampled {
                sample::skip(&self.countdown);
            }
            return;
        }
        self.stack.walk(|frames| {
            if watched::census() {
                census::record(&frames, requested, usable);
            }
            if watched::events() {
                let stack = census::stack_of(&frames, requested, usable);
                let (kind, address, requested) = (kind.into(), ptr as usize, requested as u64);
                event_log::record(self.kernel_id(), Event { kind, address, requested, usable, stack });
            }
            if sampled {
                sample::record(&self.countdown, &frames, ptr, requested, usable);
            }
        });
        self.busy.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_counting_allocator_there_are_no_counts() {
        // Unit tests run on the default allocator: unknown is not zero.
        assert_eq!(serving_counts(), None);
        assert_eq!(excluded_counts(), None);
    }
}
