//! Pictures as SVG, with plotters.

use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{
    PlotError,
    canvas::{Canvas, Drawn},
    look::{self, Look},
    picture::{Bar, Form, Line, Mark, Panel, Picture, Spread},
};

// Sizes in pixels.
/// The whole width, by the panels side by side.
const WIDTHS: [i32; 3] = [760, 1_160, 1_320];
const PANEL_HEIGHT: i32 = 300;
const EDGE: i32 = 18;
const GAP: i32 = 14;
const TITLE: f64 = 23.0;
const TITLE_HEIGHT: i32 = 36;
const PANEL_TITLE: f64 = 18.0;
const PANEL_TITLE_HEIGHT: i32 = 26;
const TEXT: f64 = 16.0;
const NOTE: f64 = 15.0;
const LEGEND_HEIGHT: i32 = 24;
const NOTE_HEIGHT: i32 = 20;
/// The line and mark before a legend's text.
const SAMPLE: i32 = 34;
const X_LABELS: i32 = 46;
/// Beside the labels along y: the name of the axis.
const Y_NAME: i32 = 40;
const LINE: u32 = 2;
const RADIUS: f64 = 4.0;
/// Half the length of an error bar's end.
const CAP: i32 = 4;
/// Half the width of a bar, of the room for one.
const HALF_BAR: f64 = 0.36;
/// The most that half a bar's width is, of the panel.
const WIDEST_BAR: f64 = 0.07;

/// The picture as an SVG document.
///
/// # Errors
/// [`PlotError::Draw`].
pub fn svg(picture: &Picture) -> Result<String, PlotError> {
    let (width, height) = size(picture);
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
    draw(&Canvas { root: &root }, picture)
        .and_then(|()| root.present())
        .map_err(|error| PlotError::Draw { name: picture.name.clone(), reason: error.to_string() })?;
    drop(root);
    Ok(text)
}

/// Width and height of the SVG.
fn size(picture: &Picture) -> (u32, u32) {
    let width = WIDTHS[picture.columns.clamp(1, WIDTHS.len()) - 1];
    let rows = picture.panels.len().div_ceil(picture.columns.max(1)) as i32;
    let legend = legend_rows(picture, width).len() as i32 * LEGEND_HEIGHT;
    let notes = picture.notes.len() as i32 * NOTE_HEIGHT;
    let height = EDGE * 2 + TITLE_HEIGHT + legend + GAP + rows * (PANEL_HEIGHT + GAP) + notes;
    (width as u32, height as u32)
}

fn draw(canvas: &Canvas, picture: &Picture) -> Drawn {
    canvas.root.fill(&WHITE)?;
    let width = size(picture).0 as i32;
    let mut y = EDGE;
    let title = shorten(&picture.title, TITLE, width - EDGE * 2);
    canvas.text(&title, (EDGE, y + TITLE_HEIGHT / 2), TITLE, &look::TEXT, HPos::Left)?;
    y += TITLE_HEIGHT;
    for row in legend_rows(picture, width) {
        for (x, series, text) in row {
            key(canvas, picture, (x, y + LEGEND_HEIGHT / 2), series, &text)?;
        }
        y += LEGEND_HEIGHT;
    }
    y += GAP;
    let columns = picture.columns.max(1);
    let across = (width - EDGE * 2 + GAP) / columns as i32;
    for (row, panels) in picture.panels.chunks(columns).enumerate() {
        for (column, shown) in panels.iter().enumerate() {
            let corner = (EDGE + across * column as i32, y + (PANEL_HEIGHT + GAP) * row as i32);
            panel(canvas, shown, corner, across - GAP)?;
        }
    }
    y += (PANEL_HEIGHT + GAP) * picture.panels.len().div_ceil(columns) as i32;
    for note in &picture.notes {
        let note = shorten(note, NOTE, width - EDGE * 2);
        canvas.text(&note, (EDGE, y + NOTE_HEIGHT / 2), NOTE, &look::QUIET, HPos::Left)?;
        y += NOTE_HEIGHT;
    }
    Ok(())
}

/// The legend in lines of `width`: place, series and text of each entry.
fn legend_rows(picture: &Picture, width: i32) -> Vec<Vec<(i32, usize, String)>> {
    let mut rows = vec![Vec::new()];
    let mut x = EDGE;
    for key in &picture.legend {
        let text = shorten(&key.text, TEXT, width - EDGE * 2 - SAMPLE);
        let needs = SAMPLE + look::text_width(&text, TEXT);
        if x > EDGE && x + needs > width - EDGE {
            rows.push(Vec::new());
            x = EDGE;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, key.series, text));
        }
        x += needs + GAP * 2;
    }
    rows
}

fn key(canvas: &Canvas, picture: &Picture, (x, y): (i32, i32), series: usize, text: &str) -> Drawn {
    let look = Look::of(series);
    if picture.panels.iter().any(|panel| matches!(panel.form, Form::Bars(_))) {
        canvas.fill((x + 6, y - 7), (x + SAMPLE - 10, y + 7), &look.color)?;
    } else {
        canvas.line(&[(x, y), (x + SAMPLE - 8, y)], &look, LINE)?;
        canvas.mark((x + (SAMPLE - 8) / 2, y), &look, RADIUS, Mark::Plain)?;
    }
    canvas.text(text, (x + SAMPLE, y), TEXT, &look::TEXT, HPos::Left)
}

fn panel(canvas: &Canvas, panel: &Panel, (x, y): (i32, i32), width: i32) -> Drawn {
    let labels = look::text_width(panel.y.widest_label(), TEXT) + Y_NAME;
    let title = shorten(&panel.title, PANEL_TITLE, width - labels);
    canvas.text(&title, (x + labels, y + PANEL_TITLE_HEIGHT / 2), PANEL_TITLE, &look::TEXT, HPos::Left)?;
    let height = PANEL_HEIGHT - PANEL_TITLE_HEIGHT;
    let area = canvas.root.clone().shrink((x, y + PANEL_TITLE_HEIGHT), (width as u32, height as u32));
    let bars = matches!(panel.form, Form::Bars(_));
    let mut chart = ChartBuilder::on(&area)
        .margin_right(8)
        .margin_top(4)
        .y_label_area_size(labels)
        .x_label_area_size(if bars { NOTE_HEIGHT / 2 } else { X_LABELS })
        .build_cartesian_2d(panel.x.clone(), panel.y.clone())?;
    let mut mesh = chart.configure_mesh();
    if bars {
        mesh.disable_x_mesh();
    }
    mesh.bold_line_style(look::GRID.stroke_width(1))
        .light_line_style(TRANSPARENT)
        .axis_style(look::AXIS.stroke_width(1))
        .set_all_tick_mark_size(4)
        .label_style(canvas.font(TEXT).color(&look::QUIET))
        .axis_desc_style(canvas.font(TEXT).color(&look::TEXT))
        .x_desc(&panel.x_is)
        .y_desc(&panel.y_is)
        .draw()?;
    let place = |x: f64, y: f64| chart.plotting_area().map_coordinate(&(x, y));
    match &panel.form {
        Form::Lines(lines) => lines.iter().try_for_each(|line| curve(canvas, line, place)),
        Form::Bars(bars) => {
            let half = HALF_BAR.min(WIDEST_BAR * bars.len() as f64);
            bars.iter().enumerate().try_for_each(|(at, shown)| bar(canvas, shown, at as f64, half, place))
        }
    }
}

type Pixel = (i32, i32);

fn curve(canvas: &Canvas, line: &Line, place: impl Fn(f64, f64) -> Pixel) -> Drawn {
    let look = Look::of(line.series);
    for point in &line.points {
        whiskers(canvas, point.y, &look.color, |y| place(point.x, y))?;
    }
    let through: Vec<Pixel> = line.points.iter().map(|point| place(point.x, point.y.value)).collect();
    canvas.line(&through, &look, LINE)?;
    line.points.iter().zip(through).try_for_each(|(point, at)| canvas.mark(at, &look, RADIUS, point.mark))
}

fn bar(canvas: &Canvas, bar: &Bar, at: f64, half: f64, place: impl Fn(f64, f64) -> Pixel) -> Drawn {
    let look = Look::of(bar.series);
    let corners = [place(at - half, 0.0), place(at + half, bar.y.value)];
    canvas.root.draw(&Rectangle::new(corners, look.color.filled()))?;
    whiskers(canvas, bar.y, &look::TEXT, |y| place(at, y))?;
    let top = bar.y.ends.map_or(bar.y.value, |(_, high)| high.max(bar.y.value));
    let (x, y) = place(at, top);
    let style = canvas.font(TEXT).color(&look::TEXT).pos(Pos::new(HPos::Center, VPos::Bottom));
    canvas.root.draw(&Text::new(bar.text.as_str(), (x, y - 5), style))
}

/// An error bar. One that is shorter than its ends are wide would only hide the point: it is left out.
fn whiskers(canvas: &Canvas, spread: Spread, color: &RGBColor, place: impl Fn(f64) -> Pixel) -> Drawn {
    let Some((low, high)) = spread.ends.map(|(low, high)| (place(low), place(high))) else { return Ok(()) };
    if low.1 - high.1 < CAP {
        return Ok(());
    }
    let style = color.mix(0.75).stroke_width(1);
    for path in
        [[low, high], [(low.0 - CAP, low.1), (low.0 + CAP, low.1)], [(high.0 - CAP, high.1), (high.0 + CAP, high.1)]]
    {
        canvas.root.draw(&PathElement::new(path.to_vec(), style))?;
    }
    Ok(())
}

/// A text with its middle cut out, if it is wider than the room for it.
fn shorten(text: &str, size: f64, room: i32) -> String {
    let mut text = text.to_owned();
    let mut kept = text.chars().count();
    while kept > 8 && look::text_width(&text, size) > room {
        kept -= 1;
        let chars: Vec<char> = text.chars().filter(|c| *c != '…').collect();
        let (head, tail) = (kept / 2, kept - kept / 2);
        let middle = std::iter::once('…');
        text = chars[..head].iter().copied().chain(middle).chain(chars[chars.len() - tail..].iter().copied()).collect();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_its_middle() {
        let long = "a-very-long-label-of-a-run-that-says-everything-about-it";
        let short = shorten(long, TEXT, 150);
        assert!(short.starts_with("a-ver") && short.ends_with("out-it") && short.contains('…'), "{short}");
        assert!(look::text_width(&short, TEXT) <= 150);
        assert_eq!(shorten("short", TEXT, 150), "short");
    }
}
