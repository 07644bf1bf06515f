//! Colours, marks and type.

use std::sync::OnceLock;

use plotters::style::{FontStyle, IntoFont, RGBColor, register_font};

/// Okabe and Ito, "Color Universal Design" (2008): told apart with every kind of colour blindness. Grey stands in for their yellow,
/// which is no colour for thin lines on white.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(120, 120, 120),
];

/// Corners of a mark and the direction of its first, in degrees clockwise from the right; no corners are a circle. With the colour they
/// make a series known twice over.
const MARKS: [(u32, f64); 8] = [(0, 0.0), (4, 45.0), (3, -90.0), (4, 0.0), (3, 90.0), (5, -90.0), (6, 0.0), (4, 20.0)];

/// The colours of what isn't data.
pub(super) const TEXT: RGBColor = RGBColor(34, 34, 34);
pub(super) const QUIET: RGBColor = RGBColor(95, 95, 95);
pub(super) const AXIS: RGBColor = RGBColor(130, 130, 130);
pub(super) const GRID: RGBColor = RGBColor(226, 226, 226);

/// How a series looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) color: RGBColor,
    /// Every other set of eight.
    pub(super) dashed: bool,
    mark: (u32, f64),
}

impl Look {
    pub(super) fn of(series: usize) -> Self {
        Self {
            color: COLORS[series % COLORS.len()],
            dashed: (series / COLORS.len()) % 2 == 1,
            mark: MARKS[series % MARKS.len()],
        }
    }

    /// The corners of the mark around its point. `None` is a circle.
    pub(super) fn corners(&self, radius: f64) -> Option<Vec<(i32, i32)>> {
        let (corners, turn) = self.mark;
        // Of equal area a shape with few corners reaches further.
        let reach = radius * (1.0 + 1.2 / f64::from(corners.max(1)));
        let corner = |n: u32| {
            let angle = (turn + 360.0 * f64::from(n) / f64::from(corners)).to_radians();
            ((reach * angle.cos()).round() as i32, (reach * angle.sin()).round() as i32)
        };
        (corners > 0).then(|| (0..corners).map(corner).collect())
    }
}

/// The family that SVGs name.
pub(super) const FAMILY: &str = "sans-serif";
/// The font that PNGs have for it, and by which texts are measured.
pub(super) const FONT: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

/// Makes the font known to the plotting library, once.
fn ensure_font() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| register_font(FAMILY, FontStyle::Normal, FONT).is_ok())
}

/// A reader's own font may be so much wider than ours.
const WIDER: f64 = 1.1;

/// Room for a text of that size, in pixels.
pub(super) fn text_width(text: &str, size: f64) -> i32 {
    ensure_font();
    // Without a font, more than most would need.
    let measured = (FAMILY, size)
        .into_font()
        .box_size(text)
        .map_or_else(|_| text.chars().count() as f64 * size, |size| f64::from(size.0));
    (measured * WIDER).ceil() as i32
}
