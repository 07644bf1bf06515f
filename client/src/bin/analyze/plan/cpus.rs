//! Which CPUs the servers get that we start, and which the load generator.

use analyze::measure::{CpuSplit, cpu_list, shared_cpus, split_cpus};

use super::{Names, UsageError};

/// Where both sides run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The CPUs that servers are bound to; `None` leaves them where they are.
    pub(crate) server: Option<Vec<u32>>,
    /// The load generator's.
    pub(crate) client: Vec<u32>,
}

/// CPUs that were asked for, ascending.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) server: Option<Vec<u32>>,
    pub(super) client: Option<Vec<u32>>,
    pub(super) names: Names,
}

impl Placement {
    /// Divides the CPUs that may be used (`allowed`). Which side is not asked for gets what the other leaves, or all where
    /// nothing is left. `ours` says whether there is a server that we start.
    pub(super) fn new(wanted: Wanted, allowed: &[u32], ours: bool) -> Result<Self, UsageError> {
        for (key, cpus) in [("server_cpus", &wanted.server), ("client_cpus", &wanted.client)] {
            let name = wanted.names.alone(key);
            let cpus = cpus.as_deref().unwrap_or_default();
            if let Some(wrong) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                let (cpus, allowed) = (cpu_list(cpus), cpu_list(allowed));
                return Err(UsageError(format!("{name} {cpus}: CPU {wrong} may not be used: allowed are {allowed}")));
            }
        }
        let others = |cpus: &[u32]| {
            let others: Vec<u32> = allowed.iter().copied().filter(|cpu| !cpus.contains(cpu)).collect();
            if others.is_empty() { allowed.to_vec() } else { others }
        };
        let (server, client) = match (wanted.server, wanted.client) {
            (Some(server), _) if !ours => {
                return Err(UsageError(format!(
                    "{} {}: every server runs already: start it with echo-server --cpus",
                    wanted.names.alone("server_cpus"),
                    cpu_list(&server)
                )));
            }
            (None, client) if !ours => (None, client.unwrap_or_else(|| allowed.to_vec())),
            (Some(server), Some(client)) => (Some(server), client),
            (Some(server), None) => {
                let client = others(&server);
                (Some(server), client)
            }
            (None, Some(client)) => (Some(others(&client)), client),
            (None, None) => match split_cpus(allowed) {
                Some(CpuSplit { server, client }) => (Some(server), client),
                None => (None, allowed.to_vec()),
            },
        };
        Ok(Self { server, client })
    }

    /// A warning where the servers that we start share CPUs with the load generator.
    pub(crate) fn overlap(&self) -> Option<String> {
        shared_cpus(self.server.as_deref().unwrap_or(&self.client), &self.client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(server: &[u32], client: &[u32], ours: bool) -> Result<(Option<Vec<u32>>, Vec<u32>), String> {
        let given = |cpus: &[u32]| Some(cpus.to_vec()).filter(|cpus| !cpus.is_empty());
        let wanted = Wanted { server: given(server), client: given(client), names: Names::Flags };
        Placement::new(wanted, &[0, 1, 2, 3], ours).map(|p| (p.server, p.client)).map_err(|error| error.0)
    }

    #[test]
    fn what_is_not_asked_for_gets_the_others() {
        assert_eq!(place(&[3], &[], true), Ok((Some(vec![3]), vec![0, 1, 2])));
        assert_eq!(place(&[], &[0, 1, 2], true), Ok((Some(vec![3]), vec![0, 1, 2])));
        assert_eq!(place(&[0, 1, 2, 3], &[], true), Ok((Some(vec![0, 1, 2, 3]), vec![0, 1, 2, 3])));
        assert_eq!(place(&[], &[2], false), Ok((None, vec![2])));
        assert_eq!(place(&[], &[], false), Ok((None, vec![0, 1, 2, 3])));
        let nothing = Wanted { server: None, client: None, names: Names::Flags };
        let one = Placement::new(nothing, &[5], true).expect("a placement");
        assert_eq!((one.server, one.client), (None, vec![5]));
    }

    #[test]
    fn cpus_that_may_not_be_used_are_refused() {
        assert_eq!(
            place(&[0, 7], &[], true),
            Err("--server-cpus 0,7: CPU 7 may not be used: allowed are 0-3".to_owned())
        );
        assert_eq!(place(&[], &[9], true), Err("--client-cpus 9: CPU 9 may not be used: allowed are 0-3".to_owned()));
        assert_eq!(
            place(&[0, 1], &[], false),
            Err("--server-cpus 0-1: every server runs already: start it with echo-server --cpus".to_owned())
        );
    }

    #[test]
    fn a_server_without_cpus_of_its_own_shares_the_load_generators() {
        assert_eq!(Placement { server: Some(vec![0]), client: vec![1] }.overlap(), None);
        let all = Placement { server: None, client: vec![0, 1] }.overlap().expect("a warning");
        assert!(all.starts_with("server and load generator share CPUs 0-1:"), "{all}");
    }
}
