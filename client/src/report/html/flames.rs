//! Flamegraphs as data for the page's script, which draws them.

use serde::Serialize;

use super::Flamegraph;

/// What the script fills.
pub(super) const CONTROLS: &str = include_str!("flamegraphs.html");

#[derive(Serialize)]
struct Data<'a> {
    /// Every text of a frame, once.
    texts: Vec<&'a str>,
    graphs: Vec<Graph<'a>>,
}

#[derive(Serialize)]
struct Graph<'a> {
    run: &'a str,
    cell: &'a str,
    metric: &'a str,
    about: &'a str,
    /// Depth, start, width, and which texts are its name and its value.
    frames: Vec<[u64; 5]>,
}

/// JSON that can stand within a script element: nothing in it ends one.
pub(super) fn json(flamegraphs: &[Flamegraph]) -> String {
    let mut texts = Texts::default();
    let graphs = flamegraphs
        .iter()
        .map(|Flamegraph { run, cell, metric, drawn }| {
            let frames = drawn.frames.iter().map(|frame| {
                let (name, value) = (texts.place(&frame.name), texts.place(&frame.value));
                [u64::from(frame.depth), frame.start, frame.width, name, value]
            });
            let frames = frames.collect();
            Graph { run, cell, metric, about: &drawn.about, frames }
        })
        .collect();
    let data = Data { texts: texts.list, graphs };
    // Texts and numbers: there is nothing that JSON can't hold.
    serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c")
}

#[derive(Default)]
struct Texts<'a> {
    list: Vec<&'a str>,
    places: std::collections::HashMap<&'a str, u64>,
}

impl<'a> Texts<'a> {
    fn place(&mut self, text: &'a str) -> u64 {
        *self.places.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() as u64 - 1
        })
    }
}
