//! Whether a trace that was read from a file leads nowhere astray.

use super::{Request, Step, Trace};

/// More than any log holds, and sums of so many don't overflow.
const MOST: u64 = 1 << 53;

impl Trace {
    /// Whether every position in it is one of its list, time goes on only, and amounts are such as there are.
    pub fn is_sound(&self) -> bool {
        let stacks = self.stacks.iter().all(|stack| {
            let [within, later, kept] = stack.fates();
            let blocks =
                [within, later, kept, stack.after].into_iter().flat_map(|blocks| [blocks.blocks, blocks.bytes]);
            let grown = [stack.grown.blocks, stack.grown.steps, stack.grown.moves, stack.grown.copied_bytes];
            stack.frames.iter().all(|&frame| frame < self.frames.len())
                && blocks.chain(grown).all(|amount| amount < MOST)
        });
        let compared = self.variants.iter().flat_map(|variant| &variant.differences).chain(self.next.iter().flatten());
        let mut steps = self.request.steps.iter().chain(compared.map(|compared| &compared.step));
        let sites = self.sites.len();
        stacks && is_sound(&self.request) && steps.all(|step| of(step) && step.site.is_none_or(|site| site < sites))
    }
}

fn is_sound(request: &Request) -> bool {
    request.steps.is_sorted_by_key(|step| step.at_ns)
        && request
            .steps
            .iter()
            .all(|step| step.at_ns <= request.length_ns && step.other.is_none_or(|other| other < request.steps.len()))
}

fn of(step: &Step) -> bool {
    let amounts = [Some(step.at_ns), step.requested, step.usable, step.from, step.lifetime.map(|lifetime| lifetime.ns)];
    amounts.into_iter().flatten().chain([step.live_bytes.unsigned_abs()]).all(|amount| amount < MOST)
}
