//! Progress on stderr: a bar on terminals, a line a round elsewhere.

use std::{
    future::Future,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use analyze::{load::Live, units};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time;

use crate::terminal;

const REFRESH: Duration = Duration::from_millis(250);

/// How far a run is.
pub(crate) struct Progress {
    bar: ProgressBar,
    planned: Duration,
    done: Duration,
    terminal: bool,
}

impl Progress {
    /// For a run that is planned to take so long.
    pub(crate) fn new(planned: Duration) -> Self {
        let terminal = io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(planned.as_millis() as u64), target);
        // A template that doesn't parse would leave the default style; a test sees to it.
        if let Ok(style) = style() {
            bar.set_style(style);
        }
        Progress { bar, planned, done: Duration::ZERO, terminal }
    }

    /// Shows `what` while `work` runs, which is planned to take `length`, with its rate where `live` counts.
    pub(crate) async fn during<T>(
        &mut self,
        what: &str,
        length: Duration,
        live: Option<&Live>,
        work: impl Future<Output = T>,
    ) -> T {
        let began = Instant::now();
        let mut work = std::pin::pin!(work);
        let mut refresh = time::interval(REFRESH);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = refresh.tick(), if self.terminal => self.show(what, began.elapsed().min(length), live),
            }
        };
        self.done += length;
        done
    }

    fn show(&self, what: &str, elapsed: Duration, live: Option<&Live>) {
        let at = self.done + elapsed;
        let left = units::format_duration(Duration::from_secs(self.planned.saturating_sub(at).as_secs()));
        let rate = live.map(Live::ok).filter(|&ok| ok > 0 && !elapsed.is_zero());
        let rate = rate.map_or(String::new(), |ok| {
            format!(", {} replies/s so far", units::thousands((ok as f64 / elapsed.as_secs_f64()) as u64))
        });
        self.bar.set_position(at.as_millis() as u64);
        self.bar.set_message(format!("{what}{rate}, {left} left"));
    }

    /// Leaves out what was planned to take so long.
    pub(crate) fn skip(&mut self, length: Duration) {
        self.done += length;
    }

    /// Says something that stays on the screen.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| terminal::say(text));
    }

    /// Says that a round is done, where no bar shows it.
    pub(crate) fn finished(&self, text: &str) {
        if !self.terminal {
            terminal::say(text);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Says what is waited for, with the seconds it has taken, on terminals; until it is dropped.
pub(crate) struct Waiting(ProgressBar);

impl Waiting {
    pub(crate) fn new(what: &str) -> Self {
        let target =
            if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template(WAITING) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(REFRESH);
        Self(bar)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// What it is kept within the terminal's width.
const WAITING: &str = "{elapsed:>4}  {wide_msg}";

fn style() -> Result<ProgressStyle, indicatif::style::TemplateError> {
    Ok(ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}")?.progress_chars("=> "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_parse() {
        assert!(style().is_ok() && ProgressStyle::with_template(WAITING).is_ok());
    }
}
