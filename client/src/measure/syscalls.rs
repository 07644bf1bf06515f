//! Counts the system calls of a process, by the kernel's tracepoint `raw_syscalls:sys_enter`.
//!
//! Each thread has a counter of its own, which the threads it starts inherit; child processes don't. What a thread counted
//! stays in the sum when it ends. A system call counts when it begins.
//!
//! Needs `CAP_PERFMON` (or `CAP_SYS_ADMIN`, or `kernel.perf_event_paranoid` of -1) and `tracefs`, and a kernel of 5.13 or
//! newer. While anybody counts, every system call of the machine takes a longer way into the kernel, whoever makes it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
};

use perf_event::{Builder, Counter, events::Tracepoint};
use procfs::{ProcError, process::Process};
use rustix::{
    fs::{Mode, OFlags, openat},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

/// Where `tracefs` is mounted, where it is.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The file that holds the tracepoint's number.
const SYS_ENTER_ID: &str = "events/raw_syscalls/sys_enter/id";
/// How often it is begun anew when threads come up while their counters are being opened.
const ATTEMPTS: u32 = 10;

/// Counts the system calls of one process since it was opened.
#[derive(Debug)]
pub struct SyscallCounter {
    threads: Vec<Counter>,
}

/// Why system calls can't be counted.
#[derive(Debug, thiserror::Error)]
pub enum SyscallsError {
    /// The kernel has no such tracepoint, or it can't be seen.
    #[error("tracepoint raw_syscalls:sys_enter: {0}")]
    Tracepoint(io::Error),
    /// There is no such process.
    #[error("process {pid}: {source}")]
    Process {
        /// Its id.
        pid: u32,
        /// What the system said.
        source: ProcError,
    },
    /// The kernel doesn't let us count.
    #[error("counting the system calls of process {pid}: {source}")]
    Refused {
        /// Its id.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
    /// A counter can't be read.
    #[error("reading the count of system calls: {0}")]
    Read(io::Error),
    /// It would not be known which of its threads are counted once.
    #[error("process {pid} keeps starting threads: not all of them can be counted")]
    Restless {
        /// Its id.
        pid: u32,
    },
}

impl SyscallCounter {
    /// Begins to count the system calls of all threads of a process.
    ///
    /// # Errors
    /// [`SyscallsError`].
    pub fn open(pid: u32) -> Result<Self, SyscallsError> {
        let id = sys_enter().map_err(SyscallsError::Tracepoint)?;
        for _ in 0..ATTEMPTS {
            let before = threads(pid)?;
            let counters = before.iter().filter_map(|&thread| count(id, thread).transpose());
            let counters: Vec<Counter> =
                counters.collect::<io::Result<_>>().map_err(|source| SyscallsError::Refused { pid, source })?;
            // A thread that came up meanwhile has inherited a counter, or has none: nobody can tell.
            if threads(pid)?.is_subset(&before) {
                return Ok(Self { threads: counters });
            }
        }
        Err(SyscallsError::Restless { pid })
    }

    /// The count so far.
    ///
    /// # Errors
    /// [`SyscallsError::Read`].
    pub fn read(&mut self) -> Result<u64, SyscallsError> {
        self.threads.iter_mut().map(Counter::read).sum::<io::Result<_>>().map_err(SyscallsError::Read)
    }
}

/// A counter of one thread; `None` when the thread has ended.
fn count(id: u64, thread: i32) -> io::Result<Option<Counter>> {
    let counter = Builder::new(Tracepoint::with_id(id))
        .observe_pid(thread)
        .any_cpu()
        .inherit(true)
        .inherit_thread(true)
        .include_kernel()
        .enabled(true)
        .build();
    match counter {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        counter => counter.map(Some),
    }
}

fn threads(pid: u32) -> Result<BTreeSet<i32>, SyscallsError> {
    let wrong = |source| SyscallsError::Process { pid, source };
    // Ids end at 2²², so this is none of any process.
    let process = Process::new(i32::try_from(pid).unwrap_or(i32::MAX)).map_err(wrong)?;
    Ok(process.tasks().map_err(wrong)?.flatten().map(|thread| thread.tid).collect())
}

/// The tracepoint's number, which holds until the next boot.
fn sys_enter() -> io::Result<u64> {
    let mut opened = TRACEFS.iter().map(|mounted| File::open(format!("{mounted}/{SYS_ENTER_ID}")));
    let mut file = match opened.find_map(Result::ok) {
        Some(file) => file,
        None => File::from(open_unmounted()?),
    };
    let mut id = String::new();
    file.read_to_string(&mut id)?;
    id.trim_end().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("its id is {id:?}")))
}

/// Through a mount of our own that has no place in the file tree and goes with this call: `tracefs` need not be mounted.
fn open_unmounted() -> io::Result<OwnedFd> {
    let tracefs = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&tracefs)?;
    let root = fsmount(&tracefs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    Ok(openat(root, SYS_ENTER_ID, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}
