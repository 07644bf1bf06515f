//! The cells of a group, measured in turn.

use analyze::measure::result::RunResult;

use super::{
    cell::Cell,
    gateways::set_against_direct,
    rooflines::Rooflines,
    run::{Bench, unless_stopped},
};
use crate::{plan::Group, progress::Progress};

/// Groups as they are measured, one after another.
pub(super) struct Measuring<'a> {
    bench: Bench<'a>,
    rooflines: Rooflines,
    pub(super) progress: Progress,
    /// Those of the groups so far, for whoever takes them.
    pub(super) results: Vec<RunResult>,
    /// Whether the measurement of any cell failed.
    pub(super) failed: bool,
    /// Cells begun.
    begun: usize,
}

impl<'a> Measuring<'a> {
    /// `earlier` are whole results of the same plan.
    pub(super) fn new(bench: Bench<'a>, progress: Progress, earlier: &[RunResult]) -> Self {
        let mut rooflines = Rooflines::default();
        earlier.iter().for_each(|result| rooflines.learn(result));
        Self { bench, rooflines, progress, results: Vec::new(), failed: false, begun: 0 }
    }

    /// Measures the cells of a group, in turn round by round, until the run is stopped. What was measured is saved and among
    /// the results also on error; a round or a profile in the making is dropped. The error is one of saving: nothing that
    /// comes after would be kept.
    pub(super) async fn group(&mut self, group: &Group) -> anyhow::Result<()> {
        let mut cells = Vec::new();
        let measured = self.measure(group, &mut cells).await;
        // Also after an error: nobody else would stop them.
        for cell in &mut cells {
            cell.stop_server().await;
        }
        let saved = self.finish(&mut cells);
        self.results.extend(cells.into_iter().filter(Cell::has_result).map(|cell| cell.result));
        measured.and(saved)
    }

    /// Sets results of before against the rooflines as they are known now.
    pub(super) fn finish_earlier(&self, results: &mut [RunResult]) -> anyhow::Result<()> {
        for result in results {
            let before = result.roofline_ratio;
            self.rooflines.apply(result);
            if result.roofline_ratio != before {
                self.bench.store.save(result)?;
            }
        }
        Ok(())
    }

    async fn measure(&mut self, group: &Group, cells: &mut Vec<Cell>) -> anyhow::Result<()> {
        let Bench { plan, stop, .. } = self.bench;
        let of = plan.subjects().count();
        for subject in &group.subjects {
            self.begun += 1;
            // One group is watched as a whole.
            let at = if plan.groups.len() > 1 { format!("[{}/{of}] ", self.begun) } else { String::new() };
            let Some(cell) = unless_stopped(stop, Cell::prepare(subject, at, self.bench)).await else { return Ok(()) };
            cells.push(cell);
            self.look_after(cells).await;
        }
        let rounds = group.subjects.iter().map(|subject| subject.rounds).max().unwrap_or(0);
        for round in 1..=rounds {
            for index in turn(round, cells.len()) {
                if !cells[index].is_due(round) {
                    continue;
                }
                let measured = cells[index].round(round, self.bench, &mut self.progress);
                let Some(measured) = unless_stopped(stop, measured).await else { return Ok(()) };
                measured?;
                self.look_after(cells).await;
            }
        }
        for cell in cells.iter_mut() {
            if unless_stopped(stop, cell.count_syscalls(&mut self.progress)).await.is_none() {
                return Ok(());
            }
            cell.stop_server().await;
        }
        // The figures are whole now; whatever becomes of the profiles, they are on the disk.
        self.finish(cells)?;
        for cell in cells.iter_mut().filter(|cell| cell.wants_profiles()) {
            match unless_stopped(stop, cell.profiles(self.bench, &mut self.progress)).await {
                Some(Ok(())) => {}
                Some(Err(error)) => cell.warn(format!("no profiles: {error:#}")),
                None => cell.warn("interrupted before all profiles were taken".to_owned()),
            }
        }
        Ok(())
    }

    /// Says of cells that have just failed why, and stops their servers.
    async fn look_after(&mut self, cells: &mut [Cell]) {
        for cell in cells {
            let Some(failure) = cell.take_news_of_failure() else { continue };
            self.failed = true;
            let saved = cell.length_left();
            self.progress.say(&format!("error: {}: {failure}", cell.name()));
            self.progress.skip(saved);
            cell.stop_server().await;
        }
    }

    /// Sets the results against the roofline, and those through a gateway against those without, and saves them.
    fn finish(&mut self, cells: &mut [Cell]) -> anyhow::Result<()> {
        cells.iter().filter(|cell| cell.is_measured()).for_each(|cell| self.rooflines.learn(&cell.result));
        set_against_direct(cells);
        for cell in cells.iter_mut().filter(|cell| cell.has_result()) {
            self.rooflines.apply(&mut cell.result);
            cell.save(self.bench.store)?;
        }
        Ok(())
    }
}

/// The order in a round: there and back again, so that a machine that drifts hits all alike.
fn turn(round: u32, cells: usize) -> Vec<usize> {
    if round % 2 == 1 { (0..cells).collect() } else { (0..cells).rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_there_and_back_again() {
        assert_eq!(turn(1, 3), [0, 1, 2]);
        assert_eq!(turn(2, 3), [2, 1, 0]);
        assert_eq!(turn(3, 2), [0, 1]);
    }
}
