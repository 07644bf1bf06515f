//! Which CPUs the server gets and which the load generator.

use std::{fmt::Write, io, mem};

/// Disjoint CPUs for both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSplit {
    /// The server's.
    pub server: Vec<u32>,
    /// The load generator's.
    pub client: Vec<u32>,
}

/// Half of the CPUs to each side, the server the first ones and the odd one. `None` with fewer than two: they share it.
pub fn split_cpus(cpus: &[u32]) -> Option<CpuSplit> {
    if cpus.len() < 2 {
        return None;
    }
    let (server, client) = cpus.split_at(cpus.len().div_ceil(2));
    Some(CpuSplit { server: server.to_vec(), client: client.to_vec() })
}

impl CpuSplit {
    /// The server's CPUs as `--cpus` takes them.
    pub fn server_list(&self) -> String {
        self.server.iter().enumerate().fold(String::new(), |mut list, (index, cpu)| {
            // Writing to a String can't fail.
            let _ = write!(list, "{}{cpu}", if index == 0 { "" } else { "," });
            list
        })
    }
}

/// The CPUs the calling thread may run on.
///
/// # Errors
/// What the system said.
pub fn bound_cpus() -> io::Result<Vec<u32>> {
    // SAFETY: a cpu_set_t is plain bits, for which zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is valid and the size is its own.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
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
        assert_eq!(split_cpus(&[0]), None);
        assert_eq!(split_cpus(&[0, 1]), Some(CpuSplit { server: vec![0], client: vec![1] }));
        let split = split_cpus(&[2, 3, 6, 7, 9]).expect("enough");
        assert_eq!(split.server_list(), "2,3,6");
        assert_eq!(split.client, [7, 9]);
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
