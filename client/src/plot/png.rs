//! Pictures as PNG: the SVG, rendered with resvg.

use std::{fmt::Display, sync::Arc};

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{self, fontdb},
};

use super::{PlotError, look::FONT, picture::Picture, svg};

/// Pixels for one of the SVG: sharp on dense screens.
const SCALE: f32 = 2.0;

/// The picture as a PNG file of twice the SVG's width and height.
///
/// # Errors
/// [`PlotError::Draw`].
pub fn png(picture: &Picture) -> Result<Vec<u8>, PlotError> {
    render(&svg(picture)?).map_err(|reason| PlotError::Draw { name: picture.name.clone(), reason })
}

fn render(svg: &str) -> Result<Vec<u8>, String> {
    let tree = usvg::Tree::from_str(svg, &options()).map_err(text)?;
    let side = |length: f32| (length * SCALE).ceil() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| format!("no picture of {width} x {height} pixels"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(text)
}

/// Every family is the built-in font.
fn options() -> usvg::Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    if let Some(family) = family {
        fonts.set_sans_serif_family(family);
    }
    usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() }
}

fn text(error: impl Display) -> String {
    error.to_string()
}
