//! The event log: while it is on, every call of the serving threads into the allocator, in order, with its stack, and where
//! requests begin and end. One at a time, and bounded: what comes after it is full is counted and not kept.
//!
//! An event's place in the log is taken before a block is given back and after one was handed out. So a block that another
//! thread gets comes after the event that freed it, whatever their clocks say, and a reader can follow addresses. A realloc
//! does both, and is two events.
//!
//! Lives in zeroed static memory, of which the system backs only what is touched.

use std::{
    ptr,
    sync::atomic::{
        AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    thread as std_thread,
    time::Duration,
};

use crate::{
    error::Error,
    ops::{self, Method, MethodCounts},
    tally::{self, Counts},
    thread,
    watched::{self, Watch},
};

/// Events of 48 bytes: some thousands of requests, one after another, of a hundred events each.
pub(crate) const CAPACITY: usize = 1 << 18;
/// How long a thread that is writing an event may take for it once the log is off, before it is looked at again.
const WRITER_POLL: Duration = Duration::from_micros(50);

static LOG: Slots<CAPACITY> = Slots::new();
/// Requests that ended so far.
static COMPLETED: AtomicU64 = AtomicU64::new(0);
/// Threads that are writing an event.
static WRITING: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether the counters' first reading has been taken.
static STARTED: AtomicBool = AtomicBool::new(false);

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum EventKind {
    Alloc,
    AllocZeroed,
    /// The new block of a realloc, which may be the old one.
    Realloc,
    /// The old block of a realloc, before the call. The next event of its thread is [`EventKind::Realloc`], unless there was
    /// no memory.
    ReallocFrom,
    Free,
    OpStart,
    OpOk,
    OpError,
}

use EventKind::{Alloc, AllocZeroed, Free, OpError, OpOk, OpStart, Realloc, ReallocFrom};

const KINDS: [EventKind; 8] = [Alloc, AllocZeroed, Realloc, ReallocFrom, Free, OpStart, OpOk, OpError];

impl From<tally::Kind> for EventKind {
    fn from(kind: tally::Kind) -> Self {
        match kind {
            tally::Kind::Alloc => Alloc,
            tally::Kind::Zeroed => AllocZeroed,
            tally::Kind::Realloc => Realloc,
        }
    }
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    /// The block's; of a request its method's.
    pub(crate) address: usize,
    /// Bytes asked for, of a free when it was allocated.
    pub(crate) requested: u64,
    /// Size-class bytes handed out; 0 when unknown and of what hands out none.
    pub(crate) usable: u64,
    /// What [`census::stack_of`](crate::census::stack_of) gave, of what hands out memory.
    pub(crate) stack: Option<u32>,
}

/// An event with the moment and the thread, as it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Logged {
    /// Of the monotonic clock, ns.
    pub(crate) at: u64,
    /// The kernel's id.
    pub(crate) thread: u32,
    pub(crate) event: Event,
}

struct Slot {
    at: AtomicU64,
    address: AtomicUsize,
    requested: AtomicU64,
    usable: AtomicU64,
    stack: AtomicU32,
    thread: AtomicU32,
    kind: AtomicU32,
}

const NO_STACK: u32 = u32::MAX;

impl Slot {
    const fn new() -> Self {
        Slot {
            at: AtomicU64::new(0),
            address: AtomicUsize::new(0),
            requested: AtomicU64::new(0),
            usable: AtomicU64::new(0),
            stack: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            kind: AtomicU32::new(0),
        }
    }

    fn write(&self, Logged { at, thread, event }: Logged) {
        self.at.store(at, Relaxed);
        self.address.store(event.address, Relaxed);
        self.requested.store(event.requested, Relaxed);
        self.usable.store(event.usable, Relaxed);
        self.stack.store(event.stack.unwrap_or(NO_STACK), Relaxed);
        self.thread.store(thread, Relaxed);
        self.kind.store(event.kind as u32, Relaxed);
    }

    fn read(&self) -> Logged {
        Logged {
            at: self.at.load(Relaxed),
            thread: self.thread.load(Relaxed),
            event: Event {
                kind: KINDS[self.kind.load(Relaxed) as usize % KINDS.len()],
                address: self.address.load(Relaxed),
                requested: self.requested.load(Relaxed),
                usable: self.usable.load(Relaxed),
                stack: Some(self.stack.load(Relaxed)).filter(|&stack| stack != NO_STACK),
            },
        }
    }
}

/// A list that many threads write to, of at most `N` events.
struct Slots<const N: usize> {
    slots: [Slot; N],
    /// Events so far, those that found no place included.
    next: AtomicUsize,
}

impl<const N: usize> Slots<N> {
    const fn new() -> Self {
        Slots { slots: [const { Slot::new() }; N], next: AtomicUsize::new(0) }
    }

    fn push(&self, logged: Logged) {
        if let Some(slot) = self.slots.get(self.next.fetch_add(1, Relaxed)) {
            slot.write(logged);
        }
    }

    /// The events, and how many found no place. Nobody writes meanwhile.
    fn read(&self) -> (Vec<Logged>, u64) {
        let written = self.next.load(Relaxed);
        let kept = written.min(N);
        (self.slots[..kept].iter().map(Slot::read).collect(), (written - kept) as u64)
    }

    /// Empties it. Nobody writes meanwhile.
    fn clear(&self) {
        self.next.store(0, Relaxed);
    }
}

/// Whether everything that happens from now on will be in the log.
pub(crate) fn started() -> bool {
    STARTED.load(SeqCst)
}

/// Logs an event of the calling thread, whose kernel's id is given. Allocates nothing.
#[cold]
pub(crate) fn record(thread: u32, event: Event) {
    WRITING.fetch_add(1, SeqCst);
    // Again, in one order with the count: whoever ended the log and then found no writer finds none later.
    if watched::events_in_order() {
        LOG.push(Logged { at: now(), thread, event });
        if matches!(event.kind, OpOk | OpError) {
            COMPLETED.fetch_add(1, Relaxed);
        }
    }
    WRITING.fetch_sub(1, SeqCst);
}

/// Logs where a request begins or ends.
#[cold]
pub(crate) fn mark(kind: EventKind, method: &'static Method) {
    let address = ptr::from_ref(method) as usize;
    record(thread::kernel_id(), Event { kind, address, requested: 0, usable: 0, stack: None });
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// A log being written; it ends with [`Session::finish`], or unread when dropped.
pub(crate) struct Session {
    began: u64,
    counted: Option<Counts>,
    ops: MethodCounts,
    // Dropped first: the log is off before it can be taken again.
    watch: Option<Watch>,
    _taken: Taken,
}

struct Taken;

impl Drop for Taken {
    fn drop(&mut self) {
        STARTED.store(false, SeqCst);
        wait_for_writers();
        TAKEN.store(false, SeqCst);
    }
}

/// A log that was written.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// In the order of what happened; times of different threads may be some nanoseconds out of it.
    pub(crate) events: Vec<Logged>,
    /// Events that found the log full.
    pub(crate) dropped: u64,
    /// When it was switched on and off, by the clock of the events.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// What the counters say of the serving threads in the same span. They agree where nothing was allocated in the moments in
    /// which it was switched on and off.
    pub(crate) counted: Option<Counts>,
    pub(crate) ops: MethodCounts,
}

impl Session {
    /// Switches the log on.
    pub(crate) fn start() -> Result<Self, Error> {
        if TAKEN.compare_exchange(false, true, SeqCst, Relaxed).is_err() {
            return Err(Error::EventLogBusy);
        }
        let taken = Taken;
        LOG.clear();
        COMPLETED.store(0, SeqCst);
        let watch = Some(Watch::events());
        let session =
            Session { began: now(), counted: thread::serving_counts(), ops: ops::total(), watch, _taken: taken };
        STARTED.store(true, SeqCst);
        Ok(session)
    }

    /// Events so far.
    pub(crate) fn len(&self) -> usize {
        LOG.next.load(Relaxed)
    }

    /// Requests that ended so far.
    pub(crate) fn completed(&self) -> u64 {
        COMPLETED.load(Relaxed)
    }

    /// Switches the log off and reads it.
    pub(crate) fn finish(mut self) -> EventLog {
        let counted = thread::serving_counts().zip(self.counted).map(|(now, then)| now.since(&then));
        let ops = ops::total().since(&self.ops);
        self.watch = None;
        wait_for_writers();
        let (events, dropped) = LOG.read();
        EventLog { events, dropped, began: self.began, ended: now(), counted, ops }
    }
}

/// Waits until nobody writes any more. The log is off.
fn wait_for_writers() {
    while WRITING.load(SeqCst) != 0 {
        std_thread::sleep(WRITER_POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(thread: u32, address: usize) -> Logged {
        let event = Event { kind: Free, address, requested: 7, usable: 0, stack: None };
        Logged { at: 5, thread, event }
    }

    #[test]
    fn events_are_read_as_they_were_written() {
        static LOG: Slots<8> = Slots::new();
        let events = [
            logged(1, 2),
            Logged {
                at: 9,
                thread: 4,
                event: Event { kind: OpError, stack: Some(0), usable: 8, ..logged(1, 3).event },
            },
        ];
        events.iter().for_each(|event| LOG.push(*event));
        assert_eq!(LOG.read(), (events.to_vec(), 0));
        LOG.clear();
        assert_eq!(LOG.read(), (Vec::new(), 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        static LOG: Slots<1000> = Slots::new();
        std_thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..255).for_each(|address| LOG.push(logged(thread, address))));
            }
        });
        let (events, dropped) = LOG.read();
        assert_eq!((events.len(), dropped), (1000, 20));
        for thread in 0..4 {
            let of_thread = events.iter().filter(|logged| logged.thread == thread);
            assert!(of_thread.map(|logged| logged.event.address).eq(0..of_thread_len(&events, thread)));
        }
    }

    fn of_thread_len(events: &[Logged], thread: u32) -> usize {
        events.iter().filter(|logged| logged.thread == thread).count()
    }
}
