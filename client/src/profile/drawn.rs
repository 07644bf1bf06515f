//! Reads back what [`flamegraph`](super::flamegraph) drew, for those who draw it another way.

use resvg::usvg::roxmltree::{Document, Node, ParsingOptions};

/// The namespace of what inferno adds to an SVG.
const INFERNO: &str = "http://github.com/jonhoo/inferno";
/// Pixels between frames one upon the other.
const FRAME_HEIGHT: f64 = 16.0;

/// A flamegraph as it is in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The line under the headline: what is drawn, and what the whole is.
    pub about: String,
    /// From the left to the right, with the root below all.
    pub frames: Vec<DrawnFrame>,
}

/// A frame of a flamegraph, in the profile's own unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnFrame {
    /// The function.
    pub name: String,
    /// Its value and its share of the whole, as text.
    pub value: String,
    /// Callers below it; 0 is the root.
    pub depth: u32,
    /// Where it begins.
    pub start: u64,
    /// How wide it is.
    pub width: u64,
}

/// Reads an SVG that [`flamegraph`](super::flamegraph) wrote. `None` for any other text.
pub fn drawn(svg: &str) -> Option<Drawn> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(svg, options).ok()?;
    let with_id = |id: &str| document.descendants().find(|node| node.attribute("id") == Some(id));
    let about = with_id("subtitle").and_then(|node| node.text()).unwrap_or_default().to_owned();
    let groups = with_id("frames")?.children().filter(Node::is_element);
    let mut placed: Vec<(f64, DrawnFrame)> = groups.map(|group| frame(group)).collect::<Option<_>>()?;
    let lowest = placed.iter().map(|(y, _)| *y).reduce(f64::max)?;
    for (y, frame) in &mut placed {
        frame.depth = ((lowest - *y) / FRAME_HEIGHT).round() as u32;
    }
    let mut frames: Vec<DrawnFrame> = placed.into_iter().map(|(_, frame)| frame).collect();
    frames.sort_by_key(|frame| (frame.start, frame.depth));
    Some(Drawn { about, frames })
}

/// A frame with its height in the picture; its depth isn't known yet.
fn frame(group: Node<'_, '_>) -> Option<(f64, DrawnFrame)> {
    let child = |name: &str| group.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name)));
    let (title, rect) = (child("title")?.text()?, child("rect")?);
    let number = |name: &str| rect.attribute((INFERNO, name))?.parse().ok();
    let (name, value) = title.rsplit_once(" (").unwrap_or((title, ""));
    let frame = DrawnFrame {
        name: name.to_owned(),
        value: value.trim_end_matches(')').to_owned(),
        depth: 0,
        start: number("x")?,
        width: number("w")?,
    };
    Some((rect.attribute("y")?.parse().ok()?, frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flamegraph_is_read_as_it_was_drawn() {
        let options = &mut inferno::flamegraph::Options::default();
        options.subtitle = Some("a & b".to_owned());
        let mut svg = Vec::new();
        inferno::flamegraph::from_lines(options, ["main;<a as B>::f (x) 3", "main;g 1"], &mut svg).unwrap();
        let drawn = drawn(&String::from_utf8(svg).unwrap()).expect("a flamegraph");
        assert_eq!(drawn.about, "a & b");
        let frames: Vec<_> =
            drawn.frames.iter().map(|f| (f.name.as_str(), f.value.as_str(), f.depth, f.start, f.width)).collect();
        assert_eq!(
            frames,
            [
                ("all", "4 samples, 100%", 0, 0, 4),
                ("main", "4 samples, 100.00%", 1, 0, 4),
                ("<a as B>::f (x)", "3 samples, 75.00%", 2, 0, 3),
                ("g", "1 samples, 25.00%", 2, 3, 1),
            ]
        );
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["", "<svg/>", "<svg xmlns=\"http://www.w3.org/2000/svg\"><svg id=\"frames\"/></svg>", "{}"] {
            assert_eq!(drawn(text), None, "{text}");
        }
    }
}
