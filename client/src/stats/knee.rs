//! Where a server stops keeping up, from what it did at several rates.
//!
//! The knee of a throughput-latency curve is the point past which more load buys delay instead of throughput. There is no one
//! formula for it: Jain, "The Art of Computer Systems Performance Analysis" (1991), section 3.3, calls it the knee capacity and
//! sets beside it the usable capacity, the greatest throughput within a given response time. What [`knee`] finds is the usable
//! capacity with a limit that any server sets for itself: [`SLOWED`] times its own p99 when it is hardly loaded.

/// A rate counts as reached from this share of it on.
pub const REACHED: f64 = 0.99;
/// A p99 of more than so many times that of the lowest rate is past the knee.
pub const SLOWED: f64 = 10.0;

/// Whether a rate was reached, both in calls per second.
pub fn reached(requested: f64, achieved: f64) -> bool {
    achieved >= requested * REACHED
}

/// What a server did at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Calls per second that were to be started.
    pub requested: f64,
    /// Calls per second that were started and answered.
    pub achieved: f64,
    /// 99th percentile of the response time, in any unit. `None` where it isn't known.
    pub p99: Option<f64>,
}

impl Step {
    /// Whether the server kept up with the rate.
    pub fn reached(&self) -> bool {
        reached(self.requested, self.achieved)
    }
}

/// The index of the highest rate that was reached with a p99 of at most [`SLOWED`] times that of the lowest rate. The steps may
/// be in any order. `None` without steps, and when the lowest rate was not reached or has no p99: nothing to judge by.
///
/// If it is the highest rate of all, the knee lies beyond what was tried.
pub fn knee(steps: &[Step]) -> Option<usize> {
    let lowest = steps.iter().min_by(|a, b| a.requested.total_cmp(&b.requested)).filter(|step| step.reached())?;
    let limit = lowest.p99? * SLOWED;
    let held = |step: &Step| step.reached() && step.p99.is_some_and(|p99| p99 <= limit);
    let held = steps.iter().enumerate().filter(|(_, step)| held(step));
    held.max_by(|(_, a), (_, b)| a.requested.total_cmp(&b.requested)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(requested: f64, achieved: f64, p99: f64) -> Step {
        Step { requested, achieved, p99: Some(p99) }
    }

    #[test]
    fn the_highest_rate_that_was_reached_in_time_is_the_knee() {
        let mut steps = vec![
            step(1_000.0, 1_000.0, 2.0),
            step(2_000.0, 1_999.0, 5.0),
            step(3_000.0, 2_970.0, 20.0),
            step(4_000.0, 3_990.0, 20.1),
            step(5_000.0, 4_100.0, 900.0),
        ];
        assert_eq!(knee(&steps), Some(2), "exactly ten times, and exactly 99 %");
        steps.reverse();
        assert_eq!(knee(&steps), Some(2), "whatever their order");
    }

    #[test]
    fn a_hiccup_below_the_knee_does_not_hide_it() {
        let steps = [step(1.0, 1.0, 1.0), step(2.0, 2.0, 11.0), step(3.0, 3.0, 2.0)];
        assert_eq!(knee(&steps), Some(2));
    }

    /// An M/M/1 queue answers 99 % of its calls within ln(100) ÷ (μ − λ): ten times the p99 of λ = 0.1 μ is reached at
    /// λ = 0.91 μ.
    #[test]
    fn the_knee_of_a_queue_is_where_theory_has_it() {
        let queue = |percent: u32| {
            let load = f64::from(percent) / 100.0;
            step(load, load, 100f64.ln() / (1.0 - load))
        };
        for (percents, expected) in [([10, 50, 90, 92], 0.9), ([10, 30, 70, 92], 0.7)] {
            let steps = percents.map(queue);
            assert_eq!(knee(&steps).map(|at| steps[at].requested), Some(expected));
        }
    }

    #[test]
    fn without_a_sound_lowest_rate_there_is_none() {
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[step(10.0, 9.0, 1.0), step(20.0, 20.0, 1.0)]), None, "the lowest was missed");
        assert_eq!(knee(&[Step { requested: 1.0, achieved: 1.0, p99: None }, step(2.0, 2.0, 1.0)]), None);
        assert_eq!(knee(&[step(1.0, 1.0, 1.0)]), Some(0));
    }
}
