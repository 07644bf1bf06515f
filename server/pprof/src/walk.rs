//! Call stacks by frame pointers: a bounded chase of a linked list, some tens of nanoseconds, allocating nothing.
//!
//! A chain of frame pointers is only as good as the code it runs through: a function built without them leaves its caller
//! out, or leads astray. So the walk stays within the thread's stack, must end at the thread's root, and each stack that
//! is new is checked once against the DWARF unwinder ([`Stack::confirm`]), which needs no frame pointers and takes a
//! thousand times as long.

use std::{
    cell::Cell,
    ffi::c_void,
    mem::{MaybeUninit, size_of},
    ptr,
};

/// Frames kept of a stack, leaf first; what is deeper is cut off and said to be.
pub(crate) const MAX_FRAMES: usize = 128;

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// At the function that started the thread: the stack is whole.
    Root,
    /// At [`MAX_FRAMES`]: the leaf end is right, the root end is missing.
    Depth,
    /// Off the stack or off the chain: some code on it was built without frame pointers.
    Astray,
}

/// A walked stack: return addresses, leaf first.
pub(crate) struct Frames<'a> {
    pub(crate) pcs: &'a [usize],
    pub(crate) end: End,
    /// [`StackHash`] of the addresses. Taken while walking, where the processor waits for memory anyway.
    pub(crate) hash: StackHash,
}

impl<'a> Frames<'a> {
    /// For addresses that were found otherwise.
    pub(crate) fn new(pcs: &'a [usize], end: End) -> Self {
        Frames { pcs, end, hash: pcs.iter().fold(StackHash::default(), |hash, &pc| hash.with(pc)) }
    }
}

/// Multiply and rotate, word by word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StackHash(u64);

impl StackHash {
    #[inline(always)]
    pub(crate) fn with(self, word: usize) -> Self {
        StackHash((self.0 ^ word as u64).wrapping_mul(0xf135_7aea_2e62_a9c5).rotate_left(26))
    }

    /// Evenly spread bits.
    #[inline(always)]
    pub(crate) fn finish(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Where a thread's stack lies and which return address is its root; found once a thread, at its first walk.
pub(crate) struct Stack {
    low: Cell<usize>,
    top: Cell<usize>,
    root: Cell<usize>,
}

impl Stack {
    pub(crate) const fn new() -> Self {
        Stack { low: Cell::new(0), top: Cell::new(0), root: Cell::new(0) }
    }

    /// Walks from the caller's frame to the root and hands the frames over.
    #[inline(never)]
    pub(crate) fn walk<R>(&self, use_frames: impl FnOnce(Frames<'_>) -> R) -> R {
        if self.top.get() == 0 {
            self.locate();
        }
        let mut pcs = [const { MaybeUninit::<usize>::uninit() }; MAX_FRAMES];
        let (len, end, hash) = match self.chase(frame_pointer(), &mut pcs) {
            // A chain that went astray may hold anything: none of it is kept, so that all such stacks are one.
            (_, End::Astray, _) => (0, End::Astray, StackHash::default()),
            walked => walked,
        };
        // SAFETY: the first `len` elements were written.
        let pcs = unsafe { pcs[..len].assume_init_ref() };
        use_frames(Frames { pcs, end, hash })
    }

    /// Follows the chain from a frame, which may be anything: where code has no frame pointers the register holds what it
    /// likes. `pcs` lies in the caller's frame, so no frame of this stack can be below it.
    #[inline(always)]
    fn chase(&self, mut frame: usize, pcs: &mut [MaybeUninit<usize>; MAX_FRAMES]) -> (usize, End, StackHash) {
        let (bottom, top, root) = (pcs.as_ptr() as usize, self.top.get(), self.root.get());
        let (mut len, mut hash) = (0, StackHash::default());
        if bottom < self.low.get() {
            // On a fiber's stack, of which nothing is known: what lies between here and the thread's stack may not be mapped.
            return (0, End::Astray, hash);
        }
        // A frame holds the caller's frame pointer and, above it, the return address.
        while frame.is_multiple_of(size_of::<usize>())
            && frame >= bottom
            && frame.saturating_add(2 * size_of::<usize>()) <= top
        {
            // SAFETY: both words lie aligned between the caller's own array and the top of this thread's stack: they are
            // mapped and nobody else writes them now.
            let (caller, pc) = unsafe { (*(frame as *const usize), *(frame as *const usize).add(1)) };
            if pc == 0 {
                break;
            }
            if len == MAX_FRAMES {
                return (len, End::Depth, hash);
            }
            pcs[len].write(pc);
            hash = hash.with(pc);
            len += 1;
            if pc == root {
                return (len, End::Root, hash);
            }
            if caller <= frame {
                break;
            }
            frame = caller;
        }
        (len, End::Astray, hash)
    }

    /// Finds the bounds of the calling thread's stack and its root.
    #[cold]
    fn locate(&self) {
        self.root.set(root_of_this_thread());
        // Unknown bounds are bounds that nothing lies within.
        let (low, top) = bounds_of_this_stack().unwrap_or((usize::MAX, usize::MAX));
        self.low.set(low);
        self.top.set(top);
    }
}

/// Whether the DWARF unwinder sees the same frames. `pcs` must be of a walk that is still on this thread's stack.
///
/// Costs tens of microseconds; allocates nothing through Rust's allocator.
#[cold]
pub(crate) fn confirmed_by_unwinder(frames: &Frames<'_>) -> bool {
    if frames.end == End::Astray || frames.pcs.is_empty() {
        return false;
    }
    let (mut matched, mut agree) = (0, true);
    unwind(|pc| {
        if matched == 0 && pc != frames.pcs[0] {
            // The unwinder starts further down, in this very function.
            return true;
        }
        agree = pc == frames.pcs[matched];
        matched += 1;
        agree && matched < frames.pcs.len()
    });
    agree && matched == frames.pcs.len()
}

/// Hands over the return addresses that the DWARF unwinder finds on the calling thread's stack, leaf first, for as long as
/// `visit` wants more.
pub(crate) fn unwind(mut visit: impl FnMut(usize) -> bool) {
    // SAFETY: unsynchronised means that symbols are not resolved under a lock here; none are resolved at all.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            // Past the root the unwinder may report a frame at address 0.
            let pc = frame.ip() as usize;
            pc != 0 && visit(pc)
        });
    }
}

/// The return address at which this thread's frames begin: into the C library's thread start, or into its caller of
/// `main`. Code below it was built without frame pointers, so the chain means nothing there.
///
/// Where the C library can't be told from the program (linked statically) it is the outermost address there is.
fn root_of_this_thread() -> usize {
    let libc = module_of(libc::pthread_self as *const () as usize);
    let own = module_of(bounds_of_this_stack as *const () as usize);
    let (mut outermost, mut run, mut in_libc) = (0, None, false);
    unwind(|pc| {
        let was_in_libc = in_libc;
        in_libc = module_of(pc) == libc;
        if in_libc && !was_in_libc {
            // Of the outermost run of the C library's frames the innermost; qsort and the like make others further in.
            run = Some(pc);
        }
        outermost = pc;
        true
    });
    run.filter(|_| libc != own).unwrap_or(outermost)
}

/// Where the object file that holds this address is loaded; 0 when none does.
fn module_of(address: usize) -> usize {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `info` is valid for writes; the address is only looked up, not read.
    let found = unsafe { libc::dladdr(address as *const c_void, info.as_mut_ptr()) };
    if found == 0 {
        return 0;
    }
    // SAFETY: dladdr fills the struct when it returns non-zero.
    unsafe { info.assume_init().dli_fbase as usize }
}

/// The lowest address of the calling thread's stack, and the one just above it.
fn bounds_of_this_stack() -> Option<(usize, usize)> {
    let mut attr = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut size) = (ptr::null_mut::<c_void>(), 0);
    // SAFETY: `attr` is valid for writes and initialised by the first call when that returns 0, read by the second, and
    // destroyed once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) != 0 {
            return None;
        }
        let got = libc::pthread_attr_getstack(attr.as_ptr(), &mut low, &mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        (got == 0).then_some((low as usize, low as usize + size))
    }
}

/// The frame pointer of the function this is inlined into.
#[inline(always)]
fn frame_pointer() -> usize {
    let frame: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
    }
    frame
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("debug-pprof walks frame pointers, which it can read on x86_64 and aarch64 only");

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn nested(depth: usize, stack: &Stack, check: &mut dyn FnMut(Frames<'_>)) {
        if depth == 0 {
            stack.walk(&mut *check);
        } else {
            nested(depth - 1, stack, check);
        }
        std::hint::black_box(depth);
    }

    #[test]
    fn a_walk_reaches_the_root_and_agrees_with_the_unwinder() {
        let stack = Stack::new();
        nested(5, &stack, &mut |frames| {
            assert_eq!(frames.end, End::Root);
            assert!(frames.pcs.len() > 6, "{} frames", frames.pcs.len());
            assert_eq!(frames.hash, Frames::new(frames.pcs, End::Root).hash);
            assert!(confirmed_by_unwinder(&frames));
        });
    }

    #[test]
    fn a_deep_stack_is_cut_at_the_root_end() {
        let stack = Stack::new();
        nested(2 * MAX_FRAMES, &stack, &mut |frames| {
            assert_eq!(frames.end, End::Depth);
            assert_eq!(frames.pcs.len(), MAX_FRAMES);
            assert!(confirmed_by_unwinder(&frames));
        });
    }

    #[test]
    fn a_chain_that_skips_a_caller_is_not_confirmed() {
        let stack = Stack::new();
        nested(5, &stack, &mut |frames| {
            let mut pcs = frames.pcs.to_vec();
            pcs.remove(3);
            assert!(!confirmed_by_unwinder(&Frames::new(&pcs, End::Root)));
        });
    }

    #[test]
    fn a_register_that_holds_no_frame_pointer_leads_nowhere() {
        let stack = Stack::new();
        stack.walk(|_| ());
        let heap = Box::new([1usize; 2]);
        let mut pcs = [const { MaybeUninit::uninit() }; MAX_FRAMES];
        for register in
            [0, 8, heap.as_ptr() as usize, pcs.as_ptr() as usize - 8, stack.top.get() - 8, usize::MAX - 7, usize::MAX]
        {
            assert_eq!(stack.chase(register, &mut pcs), (0, End::Astray, StackHash::default()), "{register:#x}");
        }
    }

    #[test]
    fn a_stack_other_than_the_threads_own_is_not_walked() {
        let stack = Stack::new();
        stack.walk(|_| ());
        stack.low.set(stack.top.get());
        nested(5, &stack, &mut |frames| assert_eq!((frames.pcs.len(), frames.end), (0, End::Astray)));
    }

    #[test]
    fn a_walk_that_misses_the_root_is_astray() {
        let stack = Stack::new();
        stack.walk(|_| ());
        stack.root.set(1);
        nested(5, &stack, &mut |frames| {
            assert_eq!(frames.end, End::Astray);
            assert!(!confirmed_by_unwinder(&frames));
        });
    }
}
