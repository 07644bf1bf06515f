//! Which CPUs the server gets and which the load generator.

use std::{fs, io, mem};

/// Disjoint CPUs for both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSplit {
    /// The server's.
    pub server: Vec<u32>,
    /// The load generator's.
    pub client: Vec<u32>,
}

/// Half of the CPUs to each side, the server the first ones and the odd one; no core is on both sides unless there is but
/// one. `None` with fewer than two CPUs: they share it.
pub fn split_cpus(cpus: &[u32]) -> Option<CpuSplit> {
    split_by_core(cpus, core)
}

fn split_by_core(cpus: &[u32], core: impl Fn(u32) -> u32) -> Option<CpuSplit> {
    if cpus.len() < 2 {
        return None;
    }
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable_by_key(|&cpu| (core(cpu), cpu));
    let half = cpus.len().div_ceil(2);
    let between_cores = |&at: &usize| core(cpus[at - 1]) != core(cpus[at]);
    let cut = (half..cpus.len()).find(between_cores).or_else(|| (1..half).rev().find(between_cores));
    let mut client = cpus.split_off(cut.unwrap_or(half));
    cpus.sort_unstable();
    client.sort_unstable();
    Some(CpuSplit { server: cpus, client })
}

/// The first CPU of the core that a CPU belongs to; the CPU itself where the kernel tells nothing of cores.
fn core(cpu: u32) -> u32 {
    let siblings = fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    siblings.ok().and_then(|list| list.trim_end().split([',', '-']).next()?.parse().ok()).unwrap_or(cpu)
}

/// CPUs, ascending, as `--cpus` takes them: `0,2-3`.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let run = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// A warning where both sides may run on the same CPUs.
pub fn shared_cpus(server: &[u32], client: &[u32]) -> Option<String> {
    let shared: Vec<u32> = server.iter().copied().filter(|cpu| client.contains(cpu)).collect();
    let cpus = if shared.len() == 1 { "CPU" } else { "CPUs" };
    (!shared.is_empty()).then(|| {
        let shared = cpu_list(&shared);
        format!("server and load generator share {cpus} {shared}: each is measured with the other in its way")
    })
}

/// The CPUs the calling thread may run on.
///
/// # Errors
/// What the system said.
pub fn bound_cpus() -> io::Result<Vec<u32>> {
    // To the system, 0 is whoever asks.
    cpus_of(0)
}

/// The CPUs the main thread of a process may run on.
///
/// # Errors
/// What the system said.
pub fn cpus_of(pid: u32) -> io::Result<Vec<u32>> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: a cpu_set_t is plain bits, for which zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is valid and the size is its own.
    if unsafe { libc::sched_getaffinity(pid, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the index is below CPU_SETSIZE.
    Ok((0..libc::CPU_SETSIZE as u32).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu as usize, &set) }).collect())
}

/// Binds the calling thread, and the threads it will start, to these CPUs.
///
/// # Errors
/// What the system said.
pub fn bind_to(cpus: &[u32]) -> io::Result<()> {
    // SAFETY: a cpu_set_t is plain bits, for which zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as u32) {
        // SAFETY: the index is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: the pointer is valid and the size is its own.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_gets_half_and_the_server_the_odd_one() {
        let alone = |cpu| cpu;
        assert_eq!(split_by_core(&[0], alone), None);
        assert_eq!(split_by_core(&[0, 1], alone), Some(CpuSplit { server: vec![0], client: vec![1] }));
        let split = split_by_core(&[2, 3, 6, 7, 9], alone).expect("enough");
        assert_eq!((split.server, split.client), (vec![2, 3, 6], vec![7, 9]));
    }

    #[test]
    fn no_core_is_on_both_sides() {
        let sides = |cpus: &[u32], core: fn(u32) -> u32| {
            let split = split_by_core(cpus, core).expect("enough");
            (split.server, split.client)
        };
        assert_eq!(sides(&[0, 1, 2, 3, 4, 5, 6, 7], |cpu| cpu % 4), (vec![0, 1, 4, 5], vec![2, 3, 6, 7]));
        assert_eq!(sides(&[0, 1, 2, 3, 4, 5], |cpu| cpu / 2), (vec![0, 1, 2, 3], vec![4, 5]), "cut after the half");
        assert_eq!(sides(&[0, 2, 3], |cpu| cpu / 2), (vec![0], vec![2, 3]), "cut before the half");
        assert_eq!(sides(&[0, 1], |_| 0), (vec![0], vec![1]), "the only core is shared");
    }

    #[test]
    fn lists_have_ranges() {
        assert_eq!((cpu_list(&[0, 2, 3, 4, 7]), cpu_list(&[])), ("0,2-4,7".to_owned(), String::new()));
    }

    #[test]
    fn shared_cpus_are_a_warning() {
        assert_eq!(shared_cpus(&[0], &[1]), None);
        let one = shared_cpus(&[0, 1], &[1, 2]).expect("a warning");
        assert!(one.starts_with("server and load generator share CPU 1:"), "{one}");
        let all = shared_cpus(&[0, 1], &[0, 1]).expect("a warning");
        assert!(all.starts_with("server and load generator share CPUs 0-1:"), "{all}");
    }

    #[test]
    fn a_thread_can_be_bound_to_the_cpus_it_has() {
        let cpus = bound_cpus().expect("affinity");
        assert!(!cpus.is_empty());
        std::thread::spawn(move || {
            bind_to(&cpus[..1]).expect("bind");
            assert_eq!(bound_cpus().expect("affinity"), cpus[..1]);
        })
        .join()
        .expect("the thread");
    }
}
