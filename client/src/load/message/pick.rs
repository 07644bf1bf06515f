//! Which size each message of a mix has.

use std::sync::Arc;

use super::random::SplitMix64;
use crate::{
    load::meter::Meter,
    scenario::{Payload, Share},
};

/// Picks a share for each call of a task: the same ones in every run, others in every task.
#[derive(Debug)]
pub(in crate::load) struct Picker {
    payload: Payload,
    random: SplitMix64,
    /// Bytes of payload picked, which the meter is told of in the end.
    picked: u64,
    meter: Arc<Meter>,
}

impl Picker {
    /// Of the `task`th task, over the connection with this meter.
    pub(in crate::load) fn new(payload: Payload, task: usize, meter: Arc<Meter>) -> Self {
        Self { payload, random: SplitMix64::new(task as u64), picked: 0, meter }
    }

    /// The next call's share, as a place in [`Payload::shares`].
    pub(in crate::load) fn next(&mut self) -> usize {
        let share = self.pick();
        self.picked += self.payload.shares().get(share).map_or(0, |share| share.size);
        share
    }

    fn pick(&mut self) -> usize {
        if !self.payload.is_mix() {
            return 0;
        }
        // The percents add up to 100, and a hundred divides 2⁶⁴ but for 10⁻¹⁸.
        let number = (self.random.next() % 100) as u32;
        let mut below = 0;
        let reached = |share: &Share| {
            below += share.percent;
            number < below
        };
        self.payload.shares().iter().position(reached).unwrap_or_default()
    }
}

impl Drop for Picker {
    fn drop(&mut self) {
        self.meter.add_payload(self.picked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(payload: &str, task: usize, calls: usize) -> Vec<usize> {
        let payload: Payload = payload.parse().unwrap();
        let meter = Arc::<Meter>::default();
        let mut picker = Picker::new(payload, task, meter.clone());
        let mut counts = vec![0; payload.shares().len()];
        (0..calls).for_each(|_| counts[picker.next()] += 1);
        drop(picker);
        let bytes = payload.shares().iter().zip(&counts).map(|(share, &count)| share.size * count as u64).sum::<u64>();
        assert_eq!(meter.payload(), bytes);
        counts
    }

    #[test]
    fn percents_are_met_over_a_run_and_over_tasks() {
        // Binomial: five standard deviations are 5·√(n·p·(1-p)).
        let near = |got: usize, calls: usize, percent: usize| {
            let (n, p) = (calls as f64, percent as f64 / 100.0);
            (got as f64 - n * p).abs() <= 5.0 * (n * p * (1.0 - p)).sqrt()
        };
        for (mix, percents) in [("128B:80%+1MiB:20%", vec![80, 20]), ("1B:1%+2B:33%+3B:66%", vec![1, 33, 66])] {
            for task in [0, 1, 9_999] {
                let counts = counts(mix, task, 100_000);
                assert!(counts.iter().zip(&percents).all(|(&got, &p)| near(got, 100_000, p)), "{mix} {counts:?}");
            }
            let mut all = vec![0; percents.len()];
            for task in 0..1000 {
                all.iter_mut().zip(counts(mix, task, 10)).for_each(|(all, count)| *all += count);
            }
            assert!(all.iter().zip(&percents).all(|(&got, &p)| near(got, 10_000, p)), "{mix} {all:?}");
        }
    }

    #[test]
    fn one_size_is_always_the_same() {
        assert_eq!(counts("1KiB", 7, 10), [10]);
    }
}
