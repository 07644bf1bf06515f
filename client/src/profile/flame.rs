//! Flamegraphs: stacks drawn by inferno, with figures per op.

use inferno::flamegraph::{self, Options, Palette, color::BasicPalette};

use super::{Profile, ProfileError, collapsed, quantity::Quantity};

/// What to draw.
#[derive(Debug, Clone)]
pub struct Flame<'a> {
    /// The headline.
    pub title: &'a str,
    /// The sample type. `None` is the profile's default one.
    pub kind: Option<&'a str>,
    /// Requests the profile covers: every figure is divided by it. `None` shows the profile's totals.
    pub ops: Option<u64>,
}

/// Stands for the count's name in what inferno writes, so that the counts can be found again. From Unicode's private use area; taken
/// out of names.
const MARK: char = '\u{e000}';

/// Draws a profile as an SVG of one sample type. The line under the title says what is drawn and what the whole is; each
/// frame's text is its name, its value and its share. The same profile gives the same bytes.
///
/// # Errors
/// When the profile has no such sample type, no samples of it, or negative ones.
pub fn flamegraph(profile: &Profile, flame: &Flame<'_>) -> Result<String, ProfileError> {
    let type_index = profile.type_index(flame.kind)?;
    let kind = profile.types()[type_index].kind.clone();
    let stacks = collapsed(profile, type_index);
    if stacks.values().any(|value| *value < 0) {
        return Err(ProfileError::Negative(kind));
    }
    if stacks.is_empty() {
        return Err(ProfileError::NoSamples(kind));
    }
    let whole: i64 = stacks.values().fold(0, |sum, value| sum.saturating_add(*value));
    let quantity = Quantity::new(&kind, &profile.types()[type_index].unit, flame.ops);

    let mut options = Options::default();
    options.title = flame.title.to_owned();
    options.subtitle = Some(format!("{kind}, {}; whole = {}", quantity.long, quantity.format(whole as f64)));
    options.count_name = MARK.to_string();
    options.colors = Palette::Basic(if quantity.is_memory { BasicPalette::Mem } else { BasicPalette::Hot });

    // A process's own stack count is a whole number already, so inferno draws the profile's values as they are.
    let stacks = stacks.iter().map(|(stack, value)| (stack.replace(MARK, "?"), value));
    let mut stacks: Vec<(String, &i64)> = stacks.collect();
    stacks.sort_by(|(a, _), (b, _)| a.split(';').cmp(b.split(';')));
    let lines: Vec<String> = stacks.into_iter().map(|(stack, value)| format!("{stack} {value}")).collect();
    Ok(with_quantities(&draw(options, &lines)?, |count| quantity.format(count)))
}

/// What makes inferno's search button all but invisible until the mouse is over it.
const FAINT_SEARCH: &str = " opacity:0.1;";

/// Draws stacks in the order of their lines, in which those that share frames must follow each other.
pub(super) fn draw(mut options: Options<'_>, lines: &[String]) -> Result<String, ProfileError> {
    options.deterministic = true;
    // inferno would sort the lines as text, and draw a function whose callees another's name comes between as two: `a`, `a1;c`, `a;c`.
    // It leaves alone a flame chart only, which it reads from its end.
    options.flame_chart = true;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().rev().map(String::as_str), &mut svg)
        .map_err(ProfileError::Flamegraph)?;
    Ok(String::from_utf8_lossy(&svg).replacen(FAINT_SEARCH, "", 1))
}

/// Puts a text in the place of every `<count> MARK` in inferno's SVG. It rounds counts to whole numbers before it writes them, so
/// that its own `factor` can't show 4.06 allocations.
fn with_quantities(svg: &str, text: impl Fn(f64) -> String) -> String {
    let mark = format!(" {MARK}");
    let mut out = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some(at) = rest.find(&mark) {
        let before = &rest[..at];
        let digits = before.len() - before.bytes().rev().take_while(|b| b.is_ascii_digit() || *b == b',').count();
        let count = before[digits..].replace(',', "").parse::<u64>();
        out.push_str(&before[..digits]);
        match count {
            Ok(count) => out.push_str(&text(count as f64).replace('<', "&lt;")),
            Err(_) => out.push_str(&before[digits..]),
        }
        rest = &rest[at + mark.len()..];
    }
    out.push_str(rest);
    out
}
