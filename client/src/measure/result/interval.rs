//! What happened between two readings.

use super::{AllocCounters, ClientReading, Interval, OpCounts, PerOp, ServerReading, derive::ratio};

impl AllocCounters {
    /// Calls that handed out memory. What a runtime doesn't tell apart counts as none of that kind.
    pub(super) fn calls(&self) -> Option<u64> {
        Some(self.allocs? + self.zeroed_allocs.unwrap_or(0) + self.reallocs.unwrap_or(0))
    }

    /// These totals spread over so many requests; requested bytes where usable ones are unknown. `None` without requests.
    pub fn per_op(&self, ops: u64) -> Option<PerOp> {
        let bytes = self.usable_bytes.or(self.requested_bytes)?;
        Some(PerOp {
            bytes_per_op: ratio(bytes as f64, ops as f64)?,
            allocs_per_op: ratio(self.calls()? as f64, ops as f64)?,
        })
    }

    /// These less what `cost` holds of them; never less than nothing.
    pub(in crate::measure) fn without(&self, cost: &Self) -> Self {
        let of =
            |total: fn(&Self) -> Option<u64>| total(self).map(|whole| whole.saturating_sub(total(cost).unwrap_or(0)));
        Self::each(of)
    }

    /// What was added since `before`. A total that went down (the process was restarted) is `None`.
    fn since(&self, before: &Self) -> Self {
        Self::each(|total| increase(total(before), total(self)))
    }

    fn each(of: impl Fn(fn(&Self) -> Option<u64>) -> Option<u64>) -> Self {
        Self {
            allocs: of(|c| c.allocs),
            zeroed_allocs: of(|c| c.zeroed_allocs),
            reallocs: of(|c| c.reallocs),
            frees: of(|c| c.frees),
            requested_bytes: of(|c| c.requested_bytes),
            usable_bytes: of(|c| c.usable_bytes),
        }
    }
}

impl Interval<ServerReading> {
    /// What the serving threads allocated between the readings.
    pub fn counters(&self) -> Option<AllocCounters> {
        Some(self.after.counters?.since(&self.before.counters?))
    }

    /// Requests between the readings, all methods together. `None` without counts, when they went down, or when none was counted: a
    /// server may count nothing, or other methods only.
    pub fn ops(&self) -> Option<OpCounts> {
        let (before, after) = (self.before.ops.as_ref()?, self.after.ops.as_ref()?);
        let mut sum = OpCounts::default();
        for (method, now) in after {
            let then = before.get(method).copied().unwrap_or_default();
            sum.started += now.started.checked_sub(then.started)?;
            sum.ok += now.ok.checked_sub(then.ok)?;
            sum.error += now.error.checked_sub(then.error)?;
        }
        (sum != OpCounts::default()).then_some(sum)
    }

    /// CPU time between the readings, ns.
    pub fn cpu_ns(&self) -> Option<u64> {
        increase(self.before.cpu_ns, self.after.cpu_ns)
    }

    /// Connections accepted between the readings.
    pub fn connections(&self) -> Option<u64> {
        increase(self.before.connections, self.after.connections)
    }
}

impl Interval<ClientReading> {
    /// What the load generator allocated between the readings.
    pub fn counters(&self) -> Option<AllocCounters> {
        Some(self.after.counters?.since(&self.before.counters?))
    }

    /// CPU time between the readings, ns.
    pub fn cpu_ns(&self) -> Option<u64> {
        increase(self.before.cpu_ns, self.after.cpu_ns)
    }
}

fn increase(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(counts: &[(&str, u64)]) -> ServerReading {
        let ops = counts.iter().map(|&(method, ok)| (method.to_owned(), OpCounts { started: ok, ok, error: 0 }));
        ServerReading { ops: Some(ops.collect()), ..ServerReading::default() }
    }

    #[test]
    fn a_server_that_counts_no_request_has_no_count() {
        let ops = |before, after| Interval { before: reading(before), after: reading(after) }.ops().map(|ops| ops.ok);
        assert_eq!(ops(&[("a", 1)], &[("a", 3), ("b", 4)]), Some(6));
        assert_eq!(ops(&[], &[]), None, "none at all");
        assert_eq!(ops(&[("other", 7)], &[("other", 7)]), None, "other methods only");
        assert_eq!(ops(&[("a", 3)], &[("a", 1)]), None, "started again");
    }
}
