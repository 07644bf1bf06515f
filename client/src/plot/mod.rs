//! Results as pictures, with plotters: speed and memory by payload and by concurrency, and the throughput-latency curve.
//!
//! [`pictures`] decides what is shown and is a pure function of results. [`svg`] draws it; its text is shown in the reader's own
//! `sans-serif`. [`png`] is the same SVG as pixels, with a font that is part of the program: it needs none on the machine. [`timeline`] draws a traced request. What wasn't measured is left out, never drawn as 0.

mod axis;
mod canvas;
mod curve;
mod draw;
mod figures;
mod look;
mod picture;
mod png;
mod series;
mod timeline;

pub use self::{draw::svg, picture::Picture, png::png, timeline::timeline};
use crate::measure::result::RunResult;

/// Why a picture couldn't be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// None of the results holds a figure that pictures show.
    #[error(
        "nothing to draw: {0} results, and none holds QPS, latency, B/op or allocs/op, or response times at several rates"
    )]
    Nothing(usize),
    /// A library refused.
    #[error("drawing {name}: {reason}")]
    Draw {
        /// Which picture.
        name: String,
        /// Why.
        reason: String,
    },
}

/// Everything that can be drawn of these results, of one run or of several.
///
/// # Errors
/// [`PlotError::Nothing`].
pub fn pictures(results: &[RunResult]) -> Result<Vec<Picture>, PlotError> {
    let results: Vec<&RunResult> = results.iter().collect();
    // What a server does at a rate says nothing of how fast it is, and the other way round.
    let (rated, closed): (Vec<&RunResult>, Vec<&RunResult>) = results.iter().partition(|r| r.load.qps.is_some());
    let pictures = [figures::pictures(&closed), curve::pictures(&rated)].concat();
    if pictures.is_empty() { Err(PlotError::Nothing(results.len())) } else { Ok(pictures) }
}

const SPREAD_NOTE: &str = "Error bars: half the range of the rounds, up and down; none where a mark would hide it.";

/// Where the results were measured, a line each.
fn machines<'a>(results: impl Iterator<Item = &'a RunResult>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for result in results {
        let environment = &result.environment;
        let Some(model) = &environment.cpu_model else { continue };
        let cpus =
            |cpus: &Option<Vec<u32>>| cpus.as_ref().map_or_else(|| "?".to_owned(), |cpus| cpus.len().to_string());
        let (server, client) = (cpus(&environment.server_cpus), cpus(&environment.client_cpus));
        let line = format!("Run {}: {model}; CPUs of the server {server}, of the load {client}.", result.label);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
