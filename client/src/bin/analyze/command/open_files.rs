//! Room for the connections: each takes an open file here and one in the server.

use std::{io, mem::MaybeUninit};

use anyhow::Context;

use crate::plan::{Names, UsageError};

/// Files that are open beside the connections: logs, sockets of debug endpoints, the runtime's own.
const OTHERS: u64 = 200;

/// Raises the limit on open files as far as so many connections need; the servers that we start inherit it.
pub(super) fn make_room(connections: u64, names: Names) -> anyhow::Result<()> {
    let needed = connections + OTHERS;
    let limit = limit().context("reading the limit on open files")?;
    match wanted(limit, needed, names)? {
        None => Ok(()),
        Some(limit) => set_limit(limit).context("raising the limit on open files"),
    }
}

/// The limit to set; `None` when it is high enough.
fn wanted(limit: libc::rlimit, needed: u64, names: Names) -> Result<Option<libc::rlimit>, UsageError> {
    if limit.rlim_cur >= needed {
        Ok(None)
    } else if limit.rlim_max >= needed {
        Ok(Some(libc::rlimit { rlim_cur: limit.rlim_max, ..limit }))
    } else {
        Err(UsageError(format!(
            "{}: {} at a time need {needed} open files, but the limit is {}: raise it (ulimit -Hn), or take fewer",
            names.of_load("connections"),
            needed - OTHERS,
            limit.rlim_max
        )))
    }
}

fn limit() -> io::Result<libc::rlimit> {
    let mut limit = MaybeUninit::uninit();
    // SAFETY: the pointer is valid, and the struct is filled when the call returns 0.
    unsafe {
        match libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) {
            0 => Ok(limit.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn set_limit(limit: libc::rlimit) -> io::Result<()> {
    // SAFETY: the pointer is valid for the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_only_where_it_is_too_low() {
        let limits = |soft, hard| libc::rlimit { rlim_cur: soft, rlim_max: hard };
        let raised = |soft, hard, needed| {
            wanted(limits(soft, hard), needed, Names::Flags).map(|limit| limit.map(|l| l.rlim_cur))
        };
        assert!(matches!(raised(1024, 4096, 300), Ok(None)));
        assert!(matches!(raised(1024, 4096, 1300), Ok(Some(4096))));
        assert_eq!(
            raised(1024, 4096, 10_200).expect_err("too many").0,
            "--connections: 10000 at a time need 10200 open files, but the limit is 4096: raise it (ulimit -Hn), or take \
             fewer"
        );
        let of_a_config = wanted(limits(1024, 4096), 10_200, Names::Keys).expect_err("too many").0;
        assert!(of_a_config.starts_with("load.connections: 10000 at a time"), "{of_a_config}");
    }
}
