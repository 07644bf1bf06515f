//! A mapping of the file, read key by key: what is not allowed becomes a finding, the rest goes on.

use std::fmt::Display;

use super::{
    finding::{Finding, Findings},
    yaml::{Node, Value},
};

/// A value with the path of its key.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    node: &'a Node,
    findings: &'a Findings,
}

/// A mapping, in which only known keys stand.
#[derive(Debug)]
pub(super) struct Section<'a> {
    field: Field<'a>,
    entries: Vec<(&'a str, &'a Node)>,
}

impl<'a> Field<'a> {
    pub(super) fn root(node: &'a Node, findings: &'a Findings) -> Self {
        Self { path: String::new(), node, findings }
    }

    pub(super) fn line(&self) -> usize {
        self.node.at.line
    }

    /// Says what is wrong with this value.
    pub(super) fn refuse(&self, problem: impl Display) {
        let path = &self.path;
        let separator = if path.is_empty() { "" } else { ": " };
        self.findings.add(self.node.at, format!("{path}{separator}{problem}"));
    }

    /// A sentence about this value that is no objection.
    pub(super) fn note(&self, text: impl Display) -> Finding {
        Finding::new(self.node.at, format!("{}: {text}", self.path))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    /// Each key in here; none where this is no mapping.
    pub(super) fn children(&self) -> Vec<(&'a str, Self)> {
        let Value::Map(entries) = &self.node.value else { return Vec::new() };
        entries.iter().map(|(key, node)| (key.text.as_str(), self.at(&key.text, node))).collect()
    }

    pub(super) fn child(&self, key: &str) -> Option<Self> {
        self.children().into_iter().find(|(name, _)| *name == key).map(|(_, field)| field)
    }

    fn at(&self, key: &str, node: &'a Node) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Self { path, node, findings: self.findings }
    }

    /// The value as `read` takes its text.
    pub(super) fn value<T, E: Display>(&self, read: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        let Value::Scalar(text) = &self.node.value else {
            self.refuse(format!("{}: must be one value", self.node.value));
            return None;
        };
        read(text).map_err(|problem| self.refuse(problem)).ok()
    }

    /// One value or a list of different ones. `None` when any of them is not allowed.
    pub(super) fn values<T: PartialEq, E: Display>(&self, read: impl Fn(&str) -> Result<T, E>) -> Option<Vec<T>> {
        let Value::List(_) = &self.node.value else { return self.value(read).map(|value| vec![value]) };
        let fields = self.items();
        if fields.is_empty() {
            self.refuse("an empty list: must be one value or more");
        }
        let mut values: Vec<(T, usize)> = Vec::new();
        for field in &fields {
            let Some(value) = field.value(&read) else { continue };
            match values.iter().find(|(known, _)| *known == value) {
                Some((_, line)) => field.refuse(format!("{}: given twice, first in line {line}", field.node.value)),
                None => values.push((value, field.line())),
            }
        }
        (!fields.is_empty() && values.len() == fields.len())
            .then(|| values.into_iter().map(|(value, _)| value).collect())
    }

    /// The items of a list; no items and a finding for anything else.
    pub(super) fn items(&self) -> Vec<Field<'a>> {
        let Value::List(items) = &self.node.value else {
            self.refuse(format!("{}: must be a list", self.node.value));
            return Vec::new();
        };
        let item = |(index, node)| Self { path: format!("{}[{index}]", self.path), node, findings: self.findings };
        items.iter().enumerate().map(item).collect()
    }

    /// A mapping with these keys and no others. Those others are findings, the mapping is there without them.
    pub(super) fn section(self, known: &[&str]) -> Option<Section<'a>> {
        let Value::Map(entries) = &self.node.value else {
            self.refuse(format!("{}: must be a mapping with keys of {}", self.node.value, known.join(", ")));
            return None;
        };
        let (entries, others): (Vec<_>, Vec<_>) =
            entries.iter().partition(|(key, _)| known.contains(&key.text.as_str()));
        for (key, _) in others {
            let within = if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) };
            let problem = format!("{within}unknown key {:?}: must be one of {}", key.text, known.join(", "));
            self.findings.add(key.at, problem);
        }
        let entries = entries.into_iter().map(|(key, node)| (key.text.as_str(), node)).collect();
        Some(Section { field: self, entries })
    }
}

impl<'a> Section<'a> {
    pub(super) fn field(&self, key: &str) -> Option<Field<'a>> {
        self.fields().find(|(name, _)| *name == key).map(|(_, field)| field)
    }

    /// Each key that stands in the file, in its order.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        self.entries.iter().map(|&(name, node)| (name, self.field.at(name, node)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a key of a key.
    pub(super) fn inner(&self, key: &str, inner: &str) -> Option<Field<'a>> {
        self.field(key)?.child(inner)
    }

    /// Says what is wrong with the whole mapping.
    pub(super) fn refuse(&self, problem: impl Display) {
        self.field.refuse(problem);
    }

    pub(super) fn value<T, E: Display>(&self, key: &str, read: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        self.field(key)?.value(read)
    }

    /// Puts a key's value where its default stands.
    pub(super) fn set<T, E: Display>(&self, key: &str, target: &mut T, read: impl Fn(&str) -> Result<T, E>) {
        if let Some(value) = self.value(key, read) {
            *target = value;
        }
    }

    /// The same for a key that takes a list.
    pub(super) fn set_list<T: PartialEq, E: Display>(
        &self,
        key: &str,
        target: &mut Vec<T>,
        read: impl Fn(&str) -> Result<T, E>,
    ) {
        if let Some(values) = self.field(key).and_then(|field| field.values(read)) {
            *target = values;
        }
    }
}
