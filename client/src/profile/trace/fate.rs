//! What becomes of what requests allocate.

use serde::{Deserialize, Serialize};

use super::{
    stacks::{Blocks, StackFate},
    steps::Requests,
};
use crate::measure::result::PerOp;

/// By site, what became of the blocks of the first half of the requests: each is watched for at least as many more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fates {
    /// Requests whose blocks these are.
    pub ops: u64,
    /// Requests that each of their blocks was watched for, at least.
    pub watched: u64,
    /// Largest first.
    pub rows: Vec<SiteFate>,
    /// All of them.
    pub total: SiteFate,
}

/// What became of a site's blocks. `total` is the sum of the three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteFate {
    /// `None` for all sites together.
    pub site: Option<usize>,
    /// Allocated.
    pub total: PerOp,
    /// Given back, or grown to another block, within the same request.
    pub within: PerOp,
    /// The same in a later one.
    pub later: PerOp,
    /// Neither by the end of the log.
    pub kept: PerOp,
}

/// Sums up by site what became of the blocks of each stack.
pub(super) fn fates(requests: &Requests<'_>, stacks: &[(usize, StackFate)]) -> Fates {
    let followed = requests.followed;
    let (ops, watched) = requests.halves();
    let mut by_site: Vec<[Blocks; 3]> = vec![Default::default(); followed.sites.len()];
    let mut total: [Blocks; 3] = Default::default();
    for (stack, fate) in stacks {
        let site = &mut by_site[followed.site_of_stack[*stack]];
        for sums in [site, &mut total] {
            sums.iter_mut().zip(fate.fates()).for_each(|(sum, blocks)| sum.add(blocks));
        }
    }
    let row = |site: Option<usize>, sums: &[Blocks; 3]| {
        let [within, later, kept] = sums.map(|sum| sum.per(ops));
        SiteFate { site, total: sums.iter().copied().sum::<Blocks>().per(ops), within, later, kept }
    };
    let mut rows: Vec<SiteFate> = by_site
        .iter()
        .enumerate()
        .filter(|(_, sums)| sums.iter().any(|sum| sum.blocks > 0))
        .map(|(site, sums)| row(Some(site), sums))
        .collect();
    rows.sort_by(|a, b| b.total.bytes_per_op.total_cmp(&a.total.bytes_per_op).then(a.site.cmp(&b.site)));
    Fates { ops, watched, rows, total: row(None, &total) }
}
