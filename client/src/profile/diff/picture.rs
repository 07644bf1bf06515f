//! A differential flamegraph: laid out by inferno, every frame coloured by its own change.
//!
//! inferno's own differential mode knows a change for the innermost frame of a stack only: all others stay white. Here what it has
//! written of a frame is found again by the frame's place, and its colour and text are replaced.

use std::collections::HashMap;

use inferno::flamegraph::{
    Options,
    color::{BackgroundColor, Color, StrokeColor},
};

use super::{Both, Diff, tree::Node};
use crate::profile::{ProfileError, flame};

/// Whose values the frames' widths are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Widths {
    /// The first profile's: shows what went, not what appeared.
    A,
    /// The second profile's: shows what appeared, not what went.
    B,
    /// The sum of both: shows everything.
    Both,
}

/// Stand in names for what separates frames and values, and for what separates names: inferno takes them for nothing else. From
/// Unicode's private use area; taken out of names.
const SEMICOLON: char = '\u{e000}';
const SPACE: char = '\u{e001}';

/// The width of a picture as inferno counts it: fine enough for every frame that is drawn.
const WIDTH: f64 = 1e9;

impl Widths {
    fn of(self, both: Both) -> f64 {
        match self {
            Self::A => both.a,
            Self::B => both.b,
            Self::Both => both.a + both.b,
        }
    }
}

impl Diff {
    /// Draws the difference as an SVG. Red frames grew, blue ones shrank, with what they call, the deeper the larger a share of the
    /// larger whole the change is; each frame's text is both values and the difference. The same profiles give the same bytes.
    ///
    /// # Errors
    /// [`ProfileError::NoSamples`] when the side that gives the widths is empty.
    pub fn flamegraph(&self, title: &str, widths: Widths) -> Result<String, ProfileError> {
        let total = self.total();
        if widths.of(total) <= 0.0 {
            return Err(ProfileError::NoSamples(self.subject()));
        }
        let layout = self.layout(widths);
        let mut options = Options::default();
        options.title = title.to_owned();
        options.subtitle = Some(self.subtitle(widths));
        options.bgcolors = Some(BackgroundColor::Flat(Color { r: 238, g: 238, b: 238 }));
        options.stroke_color = StrokeColor::Color(Color { r: 190, g: 190, b: 190 });
        let frame_height = options.frame_height;
        let svg = flame::draw(options, &layout.lines)?;
        let larger = total.a.max(total.b);
        let svg = repaint(&svg, frame_height, |start, depth| {
            let node = layout.frames.get(&(start, depth))?;
            let name = if depth == 0 { "all" } else { &clean(&node.name) };
            Some((format!("{name} ({})", self.change(node.whole)), shade(node.whole.difference() / larger)))
        });
        Ok(svg.replace(SEMICOLON, ";").replace(SPACE, " "))
    }

    fn subtitle(&self, widths: Widths) -> String {
        let widths = match widths {
            Widths::A => "before",
            Widths::B => "after",
            Widths::Both => "before + after",
        };
        let whole = self.change(self.total());
        format!("{}; whole = {whole}; widths: {widths}; red grew, blue shrank, white is unchanged", self.subject())
    }

    /// The stacks as inferno reads them, and which node it draws where.
    fn layout(&self, widths: Widths) -> Layout<'_> {
        let scale = WIDTH / widths.of(self.total());
        let mut layout = Layout { lines: Vec::new(), frames: HashMap::new() };
        let mut path: Vec<String> = Vec::new();
        let mut start = 0u64;
        for node in self.tree.walk() {
            path.truncate(node.depth.saturating_sub(1));
            if node.depth > 0 {
                path.push(clean(&node.name).replace(';', &SEMICOLON.to_string()).replace(' ', &SPACE.to_string()));
            }
            // A node without width stands where the next one does.
            layout.frames.insert((start, node.depth), node);
            let own = (widths.of(node.own) * scale).round() as u64;
            if own > 0 {
                layout.lines.push(format!("{} {own}", path.join(";")));
                start += own;
            }
        }
        layout
    }
}

struct Layout<'a> {
    lines: Vec<String>,
    /// By where they start, and by depth.
    frames: HashMap<(u64, usize), &'a Node>,
}

/// A name without what has a meaning here or none in XML.
fn clean(name: &str) -> String {
    name.replace([SEMICOLON, SPACE], "?").replace(char::is_control, " ")
}

/// Red for what grew and blue for what shrank, by the change as a share of the whole. The root makes small shares visible, and
/// leaves what profiles of the same program differ by as good as white. Black text is legible on all of them.
fn shade(share: f64) -> Color {
    const UNCHANGED: [f64; 3] = [250.0, 250.0, 250.0];
    const GROWN: [f64; 3] = [255.0, 90.0, 75.0];
    const SHRUNK: [f64; 3] = [75.0, 140.0, 255.0];
    let depth = share.abs().min(1.0).sqrt();
    let deepest = if share > 0.0 { GROWN } else { SHRUNK };
    let [r, g, b] = [0, 1, 2].map(|at| (UNCHANGED[at] + (deepest[at] - UNCHANGED[at]) * depth).round() as u8);
    Color { r, g, b }
}

/// Replaces the text and the colour of every frame in inferno's SVG by what `frame` says of where it starts and its depth.
fn repaint(svg: &str, frame_height: usize, frame: impl Fn(u64, usize) -> Option<(String, Color)>) -> String {
    const FRAME: &str = "<g><title>";
    let mut parts = svg.split(FRAME);
    let mut out = parts.next().unwrap_or_default().to_owned();
    let parts: Vec<&str> = parts.collect();
    let y = |part: &str| attribute(part, " y").and_then(|y| y.parse::<usize>().ok());
    // The root is drawn lowest.
    let bottom = parts.iter().filter_map(|part| y(part)).max().unwrap_or(0);
    for part in parts {
        let place = attribute(part, "fg:x").and_then(|x| x.parse().ok()).zip(y(part));
        let painted = place.and_then(|(start, y)| frame(start, (bottom - y) / frame_height));
        let rest = part.split_once("</title>").map(|(_, rest)| rest);
        out += FRAME;
        match (painted, rest.zip(attribute(part, "fill"))) {
            (Some((text, color)), Some((rest, fill))) => {
                let painted = format!("rgb({},{},{})", color.r, color.g, color.b);
                out += &format!("{}</title>{}", escape(&text), rest.replacen(fill, &painted, 1));
            }
            _ => out += part,
        }
    }
    out
}

/// The value of the first attribute of that name after the frame's text.
fn attribute<'a>(part: &'a str, name: &str) -> Option<&'a str> {
    let (_, tags) = part.split_once("</title>")?;
    let (_, value) = tags.split_once(&format!("{name}=\""))?;
    value.split('"').next()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG's relative luminance.
    fn luminance(color: Color) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)
    }

    #[test]
    fn black_text_is_legible_on_every_shade() {
        for percent in -100..=100 {
            let contrast = (luminance(shade(f64::from(percent) / 100.0)) + 0.05) / 0.05;
            assert!(contrast >= 4.5, "{percent} %: {contrast:.1}:1");
        }
    }

    #[test]
    fn the_larger_the_change_the_deeper_the_shade() {
        let white = shade(0.0);
        assert_eq!((white.r, white.g, white.b), (250, 250, 250));
        for [less, more] in [[0.01, 0.1], [0.1, 0.5], [0.5, 1.0]] {
            assert!(shade(more).g < shade(less).g && shade(more).r >= shade(less).r, "{more} is redder than {less}");
            assert!(shade(-more).r < shade(-less).r && shade(-more).b >= shade(-less).b, "{more} is bluer than {less}");
        }
    }
}
