//! YAML as a tree that knows where each key and value stands.
//!
//! A configuration needs little of YAML, and what it doesn't need is refused by name: anchors and aliases (with them goes the
//! text that grows to gigabytes), tags, several documents, keys that aren't text. Text and nesting are bounded.

use std::{collections::HashMap, fmt};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::finding::Finding;

/// The longest text that is read, in bytes; a file with every key and a hundred cells has a tenth of it.
pub(super) const MAX_TEXT: usize = 64 << 10;
/// The longest key or value, in bytes.
const MAX_SCALAR: usize = 1000;
/// The deepest nesting; no key stands deeper than half of it.
const MAX_DEPTH: usize = 10;

/// A place in the text: line and column from 1, in characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A value and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Mark,
    pub(super) value: Value,
}

/// A value. A scalar is its text: `5` and `"5"` are the same.
#[derive(Debug)]
pub(super) enum Value {
    /// Nothing after the colon, `~` or `null`.
    Nothing,
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) at: Mark,
    pub(super) text: String,
}

/// The value as an error names it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no value"),
            Self::Scalar(text) => write!(f, "{text:?}"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a mapping"),
        }
    }
}

/// Reads one document.
pub(super) fn parse(text: &str) -> Result<Node, Finding> {
    const START: Mark = Mark { line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        return Err(Finding::new(START, format!("more than {MAX_TEXT} bytes")));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut tree = Tree { events: Parser::new_from_str(text) };
    let mut document = None;
    while let Some((event, at)) = tree.next()? {
        match event {
            Event::DocumentStart(_) if document.is_some() => {
                return Err(Finding::new(at, "a second document: must be one"));
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
            event => document = Some(tree.node(event, at, 0)?),
        }
    }
    Ok(document.unwrap_or(Node { at: START, value: Value::Nothing }))
}

struct Tree<'text> {
    events: Parser<'text, StrInput<'text>>,
}

impl<'text> Tree<'text> {
    fn next(&mut self) -> Result<Option<(Event<'text>, Mark)>, Finding> {
        match self.events.next_event() {
            None => Ok(None),
            Some(Ok((event, span))) => Ok(Some((event, mark(span)))),
            Some(Err(error)) => Err(not_yaml(&error)),
        }
    }

    /// The node that begins with an event.
    fn node(&mut self, event: Event<'text>, at: Mark, depth: usize) -> Result<Node, Finding> {
        if depth > MAX_DEPTH {
            return Err(Finding::new(at, format!("nested deeper than {MAX_DEPTH}")));
        }
        let plain = |anchor: usize, tagged: bool| match (anchor, tagged) {
            (0, false) => Ok(()),
            (0, true) => Err(Finding::new(at, "a tag: tags are not read")),
            _ => Err(Finding::new(at, "an anchor: anchors are not read, write the value out")),
        };
        let value = match event {
            Event::Scalar(text, style, anchor, tag) => {
                plain(anchor, tag.is_some())?;
                scalar(&text, style, at)?
            }
            Event::SequenceStart(anchor, tag) => {
                plain(anchor, tag.is_some())?;
                Value::List(self.list(at, depth)?)
            }
            Event::MappingStart(anchor, tag) => {
                plain(anchor, tag.is_some())?;
                Value::Map(self.map(at, depth)?)
            }
            Event::Alias(_) => return Err(Finding::new(at, "an alias: aliases are not read, write the value out")),
            _ => return Err(Finding::new(at, "not YAML: a value was expected")),
        };
        Ok(Node { at, value })
    }

    fn list(&mut self, at: Mark, depth: usize) -> Result<Vec<Node>, Finding> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Some((Event::SequenceEnd, _)) => return Ok(items),
                Some((event, at)) => items.push(self.node(event, at, depth + 1)?),
                None => return Err(Finding::new(at, "not YAML: a list without an end")),
            }
        }
    }

    fn map(&mut self, at: Mark, depth: usize) -> Result<Vec<(Key, Node)>, Finding> {
        let endless = || Finding::new(at, "not YAML: a mapping without an end");
        let mut entries = Vec::new();
        let mut lines = HashMap::new();
        loop {
            let (event, at) = self.next()?.ok_or_else(endless)?;
            if matches!(event, Event::MappingEnd) {
                return Ok(entries);
            }
            let key = match self.node(event, at, depth + 1)?.value {
                Value::Scalar(text) => Key { at, text },
                other => return Err(Finding::new(at, format!("{other} as a key: must be a word"))),
            };
            if let Some(first) = lines.insert(key.text.clone(), at.line) {
                return Err(Finding::new(at, format!("{:?}: given twice, first in line {first}", key.text)));
            }
            let (event, at) = self.next()?.ok_or_else(endless)?;
            entries.push((key, self.node(event, at, depth + 1)?));
        }
    }
}

fn scalar(text: &str, style: ScalarStyle, at: Mark) -> Result<Value, Finding> {
    match text {
        text if text.len() > MAX_SCALAR => {
            Err(Finding::new(at, format!("a text of {} bytes: must be {MAX_SCALAR} at most", text.len())))
        }
        "" | "~" | "null" if style == ScalarStyle::Plain => Ok(Value::Nothing),
        text => Ok(Value::Scalar(text.to_owned())),
    }
}

fn mark(span: Span) -> Mark {
    Mark { line: span.start.line(), column: span.start.col() + 1 }
}

fn not_yaml(error: &ScanError) -> Finding {
    let mark = Mark { line: error.marker().line(), column: error.marker().col() + 1 };
    // The parser may quote a character of the text, and a terminal obeys some.
    let info: String = error.info().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Finding::new(mark, format!("not YAML: {info}"))
}
