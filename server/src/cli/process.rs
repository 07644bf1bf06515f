//! What the process asks of the kernel: the CPUs it runs on, and to be told when its parent ends.

use std::{fmt, io, mem, str::FromStr};

/// CPUs by number, ascending, written as in `taskset`: `0,2-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub(super) Vec<usize>);

/// CPUs a `cpu_set_t` has room for.
const MOST_CPUS: usize = libc::CPU_SETSIZE as usize;

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
                (Ok(first), Ok(last)) if first <= last && last < MOST_CPUS => cpus.extend(first..=last),
                _ => {
                    return Err(format!(
                        "{part:?}: allowed are CPU numbers below {MOST_CPUS} and ranges, such as 0,2-3"
                    ));
                }
            }
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let separator = if position == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{separator}{only}")?,
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// Binds the calling thread, and every thread it will start, to these CPUs.
///
/// # Errors
/// The kernel's, when none of them may be used.
pub(super) fn bind(cpus: &CpuList) -> io::Result<()> {
    // SAFETY: a `cpu_set_t` is an array of integers, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in &cpus.0 {
        // SAFETY: `CpuList` holds numbers below `CPU_SETSIZE` only, the bounds of the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the pointer and the size are those of a live `cpu_set_t`, which the call only reads.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) })?;
    let bound = bound_cpus()?;
    // The kernel drops the CPUs it doesn't have without a word.
    if bound == cpus.0 {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not all of these exist here"))
    }
}

/// The CPUs the calling thread may run on.
///
/// # Errors
/// The kernel's, on a machine with more CPUs than a `cpu_set_t` can name.
pub(super) fn bound_cpus() -> io::Result<Vec<usize>> {
    // SAFETY: a `cpu_set_t` is an array of integers, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer and the size are those of a live `cpu_set_t`, which the call fills.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    // SAFETY: the numbers are below `CPU_SETSIZE`, the bounds of the set.
    Ok((0..MOST_CPUS).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// Has the kernel send SIGTERM when the thread that started this process ends. `parent` is the id of its process, 0 if
/// it is not known.
///
/// # Errors
/// The parent has ended already, or the kernel refuses.
pub(super) fn exit_with_parent(parent: u32) -> io::Result<()> {
    let before = if parent == 0 { std::os::unix::process::parent_id() } else { parent };
    // SAFETY: PR_SET_PDEATHSIG takes one integer and touches no memory of ours.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) })?;
    // Between being started and asking, the parent may have gone: then no signal will come.
    let now = std::os::unix::process::parent_id();
    if now == before { Ok(()) } else { Err(io::Error::other(format!("the parent process {before} has ended"))) }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read_and_written() {
        for (text, cpus, written) in
            [("0", &[0][..], "0"), ("3,0-1", &[0, 1, 3], "0-1,3"), ("2,2-4", &[2, 3, 4], "2-4")]
        {
            let list: CpuList = text.parse().unwrap();
            assert_eq!((&list.0[..], list.to_string().as_str()), (cpus, written));
        }
        for text in ["", "a", "1-", "3-1", "-1", "0,,1", "1024"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    #[test]
    fn binding_to_the_cpus_one_is_bound_to_changes_nothing() {
        let before = bound_cpus().unwrap();
        bind(&CpuList(before.clone())).unwrap();
        assert_eq!(bound_cpus().unwrap(), before);
    }
}
