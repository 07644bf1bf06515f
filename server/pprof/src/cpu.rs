//! The CPU profile: `ITIMER_PROF` interrupts whichever thread is using the CPU, and the handler notes its stack.
//!
//! Stacks are taken with the DWARF unwinder, which also sees through code built without frame pointers (the C library,
//! jemalloc) to its caller, and keeps the interrupted instruction as leaf. The timer counts CPU time and fires on the
//! kernel's tick: asking for more samples than there are ticks gives as many as there are ticks. So the period that the
//! profile states is what was measured: CPU time used ÷ samples taken, and the samples add up to the CPU time.
//!
//! The crate `pprof` (0.15) has the same timer and unwinder and does not do for a profile that is read by line and must add up:
//! its values and its period are those of the rate asked for, whatever the kernel gave; it writes one location a function
//! name, with the line it met first, and no addresses; a sample that comes while another is being taken is dropped and not
//! counted; and its handler writes to a file when its buffer is full.
//!
//! Limit: the unwinder is safe in a signal handler where it finds its tables without a lock, as glibc has it since 2.35
//! (`_dl_find_object`); before, a signal within `dlopen` could deadlock.

use std::{
    ffi::c_void,
    io,
    mem::{MaybeUninit, zeroed},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    builder::{Recording, Stack, StackSample},
    error::Error,
    table::{StackTable, Trust},
    walk::{self, End, Frames, MAX_FRAMES},
};

/// Samples a second unless asked otherwise: off the beat of what programs do every 10 ms.
pub(crate) const DEFAULT_HZ: u32 = 99;
/// More than this no kernel's tick gives.
pub(crate) const MAX_HZ: u32 = 1000;

static TABLE: StackTable<{ 1 << 14 }, { 1 << 19 }> = StackTable::new();
static ON: AtomicBool = AtomicBool::new(false);
static IN_HANDLER: AtomicUsize = AtomicUsize::new(0);
static HOLDER: Mutex<Option<Holder>> = Mutex::new(None);

const SAMPLES: usize = 0;

/// Who takes the profile that is being taken.
struct Holder {
    until: Instant,
    seconds: u64,
}

/// A CPU profile being taken; it ends with [`Session::finish`], or unread when dropped.
pub(crate) struct Session {
    hz: u32,
    began: Instant,
    cpu_began: Duration,
}

impl Session {
    /// Starts sampling the whole process. One at a time: the next gets [`Error::CpuBusy`].
    pub(crate) fn start(hz: u32, seconds: u64) -> Result<Session, Error> {
        let mut holder = HOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = &*holder {
            let left = holder.until.saturating_duration_since(Instant::now()).as_secs_f64();
            return Err(Error::CpuBusy(format!("one of {} s, with {left:.0} s to go", holder.seconds)));
        }
        install_handler()?;
        // The unwinder sets itself up at its first use; that must not be in a signal handler.
        walk::unwind(|_| true);
        TABLE.clear();
        ON.store(true, SeqCst);
        let session = Session { hz, began: Instant::now(), cpu_began: cpu_time() };
        if let Err(error) = set_timer(hz) {
            ON.store(false, SeqCst);
            return Err(error);
        }
        *holder = Some(Holder { until: Instant::now() + Duration::from_secs(seconds), seconds });
        Ok(session)
    }

    /// Stops sampling and hands over what was sampled.
    pub(crate) fn finish(self) -> Recording {
        let (duration, cpu) = (self.began.elapsed(), cpu_time().saturating_sub(self.cpu_began));
        stop_sampling();
        let reading = TABLE.read();
        let lost = reading.dropped[SAMPLES];
        let samples: u64 = reading.stacks.values().map(|counts| counts[SAMPLES]).sum::<u64>() + lost;
        let period = match samples {
            0 => 1_000_000_000 / i64::from(self.hz),
            samples => (cpu.as_nanos() / u128::from(samples)) as i64,
        };
        let sample = |stack, count: u64| {
            let count = count as i64;
            StackSample { stack, values: vec![count, count.saturating_mul(period)] }
        };
        let cut = reading.stacks.keys().filter(|key| key.trust == Trust::Cut).count();
        let mut stacks: Vec<StackSample> = reading
            .stacks
            .into_iter()
            .map(|(key, counts)| sample(Stack::Interrupted(key.pcs), counts[SAMPLES]))
            .collect();
        if lost > 0 {
            stacks.push(sample(Stack::Named("[stack not kept: table full]".to_owned()), lost));
        }
        let mut comments = vec![format!(
            "CPU: {samples} samples in {:.3} s of CPU time, {:.1} a second of it ({} asked for)",
            cpu.as_secs_f64(),
            samples as f64 / cpu.as_secs_f64().max(1e-9),
            self.hz
        )];
        if cut > 0 {
            comments.push(format!("CPU: {cut} stacks deeper than {MAX_FRAMES} frames lack their root end"));
        }
        Recording {
            kinds: vec![("samples", "count"), ("cpu", "nanoseconds")],
            default_kind: "cpu",
            period_kind: ("cpu", "nanoseconds"),
            period,
            ended: SystemTime::now(),
            duration,
            samples: stacks,
            comments,
            hide_allocator: false,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        stop_sampling();
        *HOLDER.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// After this no handler runs or will start to: the table is at rest.
fn stop_sampling() {
    // Disarming can only fail for a timer that doesn't exist.
    let _ = set_timer(0);
    ON.store(false, SeqCst);
    while IN_HANDLER.load(SeqCst) != 0 {
        thread::yield_now();
    }
}

extern "C" fn on_sigprof(_signal: libc::c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: errno is the interrupted code's; it is put back as it was.
    let errno = unsafe { *libc::__errno_location() };
    // Together with `stop_sampling`: either this sees ON off, or that sees this handler.
    IN_HANDLER.fetch_add(1, SeqCst);
    if ON.load(SeqCst) {
        take_sample(interrupted_at(context));
    }
    IN_HANDLER.fetch_sub(1, SeqCst);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn take_sample(leaf: usize) {
    let mut pcs = [0; MAX_FRAMES];
    let (mut len, mut end) = (0, End::Root);
    walk::unwind(|pc| {
        // The first frames are this handler's own, down to the instruction it interrupted.
        if len == 0 && pc != leaf {
            return true;
        }
        if len == MAX_FRAMES {
            end = End::Depth;
            return false;
        }
        pcs[len] = pc;
        len += 1;
        true
    });
    if len == 0 {
        // The unwinder didn't get out of the handler: the leaf alone is still true.
        pcs[0] = leaf;
        len = 1;
    }
    match TABLE.entry(&Frames::new(&pcs[..len], end), 0, |_| true) {
        Some((_, entry)) => entry.add(SAMPLES, 1),
        None => TABLE.drop_count(SAMPLES, 1),
    }
}

/// The instruction that the signal interrupted.
fn interrupted_at(context: *mut c_void) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel hands a SA_SIGINFO handler a valid context.
    unsafe {
        (&(*context).uc_mcontext.gregs)[libc::REG_RIP as usize] as usize
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel hands a SA_SIGINFO handler a valid context.
    unsafe {
        (*context).uc_mcontext.pc as usize
    }
}

/// Once installed the handler stays: a signal still under way after the timer stopped would otherwise end the process.
fn install_handler() -> Result<(), Error> {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.load(Relaxed) {
        return Ok(());
    }
    let system = |what| move || Error::System { what, source: io::Error::last_os_error() };
    // SAFETY: sigaction is a plain C struct for which zero is a valid value, filled in before use.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = on_sigprof as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: both pointers are valid; the handler is async-signal-safe: it allocates nothing and takes no lock.
    unsafe {
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        if libc::sigaction(libc::SIGPROF, ptr::null(), before.as_mut_ptr()) != 0 {
            return Err(system("reading SIGPROF's handler")());
        }
        if !matches!(before.assume_init().sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
            return Err(Error::SignalTaken);
        }
        if libc::sigaction(libc::SIGPROF, &action, ptr::null_mut()) != 0 {
            return Err(system("installing the SIGPROF handler")());
        }
    }
    INSTALLED.store(true, Relaxed);
    Ok(())
}

/// Sets the process's CPU timer; 0 stops it.
fn set_timer(hz: u32) -> Result<(), Error> {
    let interval = libc::timeval {
        tv_sec: if hz == 1 { 1 } else { 0 },
        tv_usec: if hz <= 1 { 0 } else { libc::suseconds_t::from(1_000_000 / hz as i32) },
    };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: the pointer is valid, and no old value is asked for.
    match unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(Error::System { what: "setting the CPU timer", source: io::Error::last_os_error() }),
    }
}

/// User and system time the process has used, all threads, those that ended included.
pub(crate) fn cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid; the clock exists on every Linux, so the struct is filled.
    unsafe {
        if libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) != 0 {
            return Duration::ZERO;
        }
        let time = time.assume_init();
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}
