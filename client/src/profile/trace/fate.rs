//! What becomes of what requests allocate.

use serde::Serialize;

use super::steps::Requests;
use crate::measure::result::PerOp;

/// By site, what became of the blocks of the first half of the requests: each is watched for at least as many more.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
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

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    bytes: u64,
    blocks: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.blocks += 1;
    }

    fn per(self, ops: u64) -> PerOp {
        let ops = ops.max(1) as f64;
        PerOp { bytes_per_op: self.bytes as f64 / ops, allocs_per_op: self.blocks as f64 / ops }
    }
}

/// Within, later, kept.
type Sums = [Sum; 3];

pub(super) fn fates(requests: &Requests<'_>) -> Fates {
    let followed = requests.followed;
    let all = requests.ranges.len();
    let ops = all.div_ceil(2);
    let end = requests.ranges[ops - 1].end;
    let mut by_site: Vec<Sums> = vec![Sums::default(); followed.sites.len()];
    let mut total = Sums::default();
    for block in followed.blocks.iter().filter(|block| block.born < end) {
        let fate = match requests.lifetime(block) {
            Some(lifetime) if lifetime.ops == 0 => 0,
            Some(_) => 1,
            None => 2,
        };
        by_site[block.site][fate].add(block.bytes());
        total[fate].add(block.bytes());
    }
    let row = |site: Option<usize>, sums: &Sums| {
        let whole = Sum { bytes: sums.iter().map(|s| s.bytes).sum(), blocks: sums.iter().map(|s| s.blocks).sum() };
        let [within, later, kept] = sums.map(|sum| sum.per(ops as u64));
        SiteFate { site, total: whole.per(ops as u64), within, later, kept }
    };
    let mut rows: Vec<SiteFate> = by_site
        .iter()
        .enumerate()
        .filter(|(_, sums)| sums.iter().any(|sum| sum.blocks > 0))
        .map(|(site, sums)| row(Some(site), sums))
        .collect();
    rows.sort_by(|a, b| b.total.bytes_per_op.total_cmp(&a.total.bytes_per_op).then(a.site.cmp(&b.site)));
    Fates { ops: ops as u64, watched: (all - ops) as u64, rows, total: row(None, &total) }
}
