//! Lines, marks and words, in pixels.

use std::io;

use plotters::{
    coord::Shift,
    drawing::DrawingAreaErrorKind,
    element::DashedPathElement,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    look::{self, FAMILY, Look},
    picture::Mark,
};

pub(super) type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// Of a dashed line.
const DASH: i32 = 7;
const GAP: i32 = 4;

/// The whole drawing area.
pub(super) struct Canvas<'a, 'b> {
    pub(super) root: &'a DrawingArea<SVGBackend<'b>, Shift>,
}

impl Canvas<'_, '_> {
    pub(super) fn font(&self, size: f64) -> TextStyle<'static> {
        TextStyle::from((FAMILY, size).into_font())
    }

    /// A text at half its height.
    pub(super) fn text(&self, text: &str, (x, y): (i32, i32), size: f64, color: &RGBColor, anchor: HPos) -> Drawn {
        let style = self.font(size).color(color).pos(Pos::new(anchor, VPos::Center));
        self.root.draw(&Text::new(text, (x, y), style))
    }

    pub(super) fn fill(&self, from: (i32, i32), to: (i32, i32), color: &RGBColor) -> Drawn {
        self.root.draw(&Rectangle::new([from, to], color.filled()))
    }

    /// A line through pixels.
    pub(super) fn line(&self, through: &[(i32, i32)], look: &Look, width: u32) -> Drawn {
        let style = look.color.stroke_width(width);
        if look.dashed {
            self.root.draw(&DashedPathElement::new(through.iter().copied(), DASH, GAP, style))
        } else {
            self.root.draw(&PathElement::new(through.to_vec(), style))
        }
    }

    /// A mark at a pixel.
    pub(super) fn mark(&self, at: (i32, i32), look: &Look, radius: f64, mark: Mark) -> Drawn {
        match mark {
            Mark::Plain => self.shape(at, look, radius, &look.color),
            Mark::Missed => {
                self.shape(at, look, radius * 1.15, &look.color)?;
                self.shape(at, look, radius * 0.6, &WHITE)
            }
            Mark::Knee => {
                self.root.draw(&Circle::new(at, (radius * 2.3) as i32, look::TEXT.filled()))?;
                self.root.draw(&Circle::new(at, (radius * 1.9) as i32, WHITE.filled()))?;
                self.shape(at, look, radius, &look.color)
            }
        }
    }

    fn shape(&self, (x, y): (i32, i32), look: &Look, radius: f64, color: &RGBColor) -> Drawn {
        match look.corners(radius) {
            None => self.root.draw(&Circle::new((x, y), radius.round() as i32, color.filled())),
            Some(corners) => {
                let corners: Vec<(i32, i32)> = corners.into_iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
                self.root.draw(&Polygon::new(corners, color.filled()))
            }
        }
    }
}
