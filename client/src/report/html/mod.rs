//! A report as one page for a browser, which loads nothing from anywhere.

mod flames;

use super::{
    blocks::{Block, Cell, Column, Kind, Note, Table},
    document::{Document, circumstances, found},
    facets, fate,
    markdown::entities,
};
use crate::{compare::Verdict, measure::result::RunResult, profile::Drawn};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A flamegraph of a result.
#[derive(Debug, Clone)]
pub struct Flamegraph {
    /// The run that the result is of.
    pub run: String,
    /// Which result of the run: what is the same in two runs is shown side by side.
    pub cell: String,
    /// What the widths are: `B/op`, `allocs/op` or `CPU`.
    pub metric: &'static str,
    /// The picture.
    pub drawn: Drawn,
}

impl Flamegraph {
    /// Of a result.
    pub fn new(result: &RunResult, metric: &'static str, drawn: Drawn) -> Self {
        Self { run: result.label.clone(), cell: facets::cell(result), metric, drawn }
    }
}

/// What a page shows beside its text. Pictures and timelines are SVG documents of `plot`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// Of the results.
    pub pictures: &'a [String],
    /// Of each of the document's traces.
    pub timelines: &'a [String],
    /// Of the run to judge by first.
    pub flamegraphs: &'a [Flamegraph],
}

/// The report as an HTML document. Text from results stays text, whatever it is.
pub fn page(document: &Document<'_>, Shown { pictures, timelines, flamegraphs }: Shown<'_>) -> String {
    let mut sections = sections(&[found(document), fate::blocks(document.traces)].concat());
    let title = sections.first().map(|(title, _)| title.clone()).unwrap_or_default();
    if !timelines.is_empty() {
        let timelines = document.traces.iter().zip(timelines).map(|(trace, svg)| timeline(&trace.cell, svg));
        sections.push(("One request".to_owned(), TIMELINES.to_owned() + &timelines.collect::<String>()));
    }
    if !pictures.is_empty() {
        let pictures: String = pictures.iter().map(|svg| picture(svg)).collect();
        sections.push(("Pictures".to_owned(), format!("<div class=\"pictures\">\n{pictures}</div>\n")));
    }
    if !flamegraphs.is_empty() {
        sections.push(("Flamegraphs".to_owned(), flames::CONTROLS.to_owned()));
    }
    sections.extend(self::sections(&circumstances(document)));
    let link = |(at, (title, _)): (usize, &(String, String))| format!("<a href=\"#s{at}\">{}</a>\n", entities(title));
    let links: String = sections.iter().enumerate().map(link).collect();
    let section = |(at, (title, body)): (usize, &(String, String))| {
        format!("<section id=\"s{at}\">\n<h2>{}</h2>\n{body}</section>\n", entities(title))
    };
    let body: String = sections.iter().enumerate().map(section).collect();
    let data = flames::json(flamegraphs);
    filled(
        PAGE,
        &[
            ("{{title}}", &entities(&title)),
            ("{{style}}", STYLE),
            ("{{links}}", &links),
            ("{{body}}", &body),
            ("{{flamegraphs}}", &data),
            ("{{script}}", SCRIPT),
        ],
    )
}

/// The template with a text in each place; the places come in this order, once. What is put in is not looked at again.
fn filled(template: &str, texts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    for (place, text) in texts {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page + rest
}

/// What follows each title.
fn sections(blocks: &[Block]) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for each in blocks {
        match (each, sections.last_mut()) {
            (Block::Title(title), _) => sections.push((title.clone(), String::new())),
            (other, Some((_, body))) => body.push_str(&block(other)),
            (other, None) => sections.push((String::new(), block(other))),
        }
    }
    sections
}

fn block(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("<h2>{}</h2>\n", entities(text)),
        Block::Heading(text) => format!("<h3>{}</h3>\n", entities(text)),
        Block::Table(table) => self::table(table),
        Block::Notes(notes) => format!("<ul>\n{}</ul>\n", notes.iter().map(note).collect::<String>()),
        Block::Folded(summary, inner) => {
            let inner: String = inner.iter().map(self::block).collect();
            format!("<details>\n<summary>{}</summary>\n{inner}</details>\n", entities(summary))
        }
        Block::Commands(lines) => format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", entities(&lines.join("\n"))),
    }
}

fn note(note: &Note) -> String {
    match note {
        Note::Plain(text) => format!("<li>{}</li>\n", entities(text)),
        Note::Warning(text) => format!("<li class=\"warning\">⚠ {}</li>\n", entities(text)),
    }
}

fn table(table: &Table) -> String {
    let figures = table.columns.iter().any(|column| column.kind == Kind::Figures);
    let sorted = figures && table.rows.len() > table.sums + 1;
    let heads: String = table.columns.iter().map(|column| head(column, sorted)).collect();
    let row = |cells: &Vec<Cell>| {
        let cells = cells.iter().zip(&table.columns).map(|(text, column)| cell(text, column));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let (rows, sums) = table.rows.split_at(table.rows.len() - table.sums.min(table.rows.len()));
    let body: String = rows.iter().map(row).collect();
    let foot: String = sums.iter().map(row).collect();
    let foot = if foot.is_empty() { foot } else { format!("<tfoot>\n{foot}</tfoot>\n") };
    let class = if figures { "" } else { " class=\"words\"" };
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table{class}>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n{foot}</table></div>\n"
    )
}

fn head(column: &Column, sorted: bool) -> String {
    let text = entities(&column.head);
    match (sorted && !text.is_empty(), class(column.kind)) {
        (true, class) => format!("<th scope=\"col\"{class}><button type=\"button\">{text}</button></th>"),
        (false, class) => format!("<th scope=\"col\"{class}>{text}</th>"),
    }
}

fn cell(cell: &Cell, column: &Column) -> String {
    let class = class(column.kind);
    match cell {
        Cell::Text(text) => format!("<td{class}>{}</td>", entities(text)),
        Cell::Code(text) => format!("<td{class}><code>{}</code></td>", entities(text)),
        Cell::Verdict(verdict) => {
            let class = match verdict {
                Verdict::Better => "better",
                Verdict::Worse => "worse",
                Verdict::Negligible | Verdict::WithinNoise | Verdict::CannotJudge => "even",
            };
            format!("<td class=\"{class}\">{}</td>", verdict.words())
        }
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Words => "",
        Kind::Figures => " class=\"figure\"",
    }
}

fn picture(svg: &str) -> String {
    format!("<figure class=\"picture\">\n{}</figure>\n", inlined(svg))
}

const TIMELINES: &str = "<p class=\"hint\">The typical request of each trace, with one call in flight: the bytes that are live, and \
                         a bar for each block. Point at a block, or walk with the arrow keys, to see what it is.</p>\n";

/// The page's script makes its bars known to the keyboard.
fn timeline(cell: &str, svg: &str) -> String {
    let cell = entities(cell);
    format!(
        "<details open>\n<summary>{cell}</summary>\n<figure class=\"picture timeline\" data-cell=\"{cell}\">\n{}<output></output>\n\
         </figure>\n</details>\n",
        inlined(svg)
    )
}

/// Within a page, an SVG needs no namespace.
fn inlined(svg: &str) -> String {
    svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1)
}
