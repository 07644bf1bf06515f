//! From the file's text to budgets, or everything that is wrong with it.

use std::{cell::RefCell, ops::Range, str::FromStr};

use analyze::{
    compare::{Bound, Cells, Limit, METRICS, Metric, Tolerance},
    scenario::Serialization,
};
use toml_edit::{Document, Item, Table, TableLike, Value};

use super::{Given, GivenLimit};
use crate::config::{Finding, Mark};

/// The keys of a budget beside those of figures.
const KEYS: [&str; 9] =
    ["framework", "scenario", "serialization", "compression", "mode", "rate", "tolerance", "baseline", "optional"];
/// Of a bare echo's messages.
const NO_SERIALIZATION: &str = "none";
/// The longest value that is quoted, in characters.
const QUOTED: usize = 60;
/// The most of a tolerance, and the most that a limit may be above its baseline, percent.
const MAX_PERCENT: f64 = 1000.0;

/// Reads the whole file.
pub(super) fn read(text: &str) -> Result<Vec<Given>, Vec<Finding>> {
    let reader = Reader { text, findings: RefCell::default() };
    let document = Document::parse(text).map_err(|error| {
        vec![Finding::new(reader.mark(error.span()), format!("not TOML: {}", printable(error.message())))]
    })?;
    let given = reader.budgets(document.as_table());
    let mut findings = reader.findings.into_inner();
    findings.sort_unstable();
    if findings.is_empty() { Ok(given) } else { Err(findings) }
}

struct Reader<'a> {
    text: &'a str,
    findings: RefCell<Vec<Finding>>,
}

impl Reader<'_> {
    /// Line and column of a place in the text.
    fn mark(&self, span: Option<Range<usize>>) -> Mark {
        let before = self.text.get(..span.unwrap_or_default().start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Mark { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }

    fn refuse(&self, at: Mark, problem: impl Into<String>) {
        self.findings.borrow_mut().push(Finding::new(at, problem));
    }

    /// Where a value stands; what dotted keys make has no place but its key's.
    fn at(&self, table: &dyn TableLike, key: &str, item: &Item) -> Mark {
        let span = item.span().filter(|_| item.is_value() || item.is_table());
        self.mark(span.or_else(|| table.key(key)?.span()))
    }

    /// The value as an error names it.
    fn quoted(&self, item: &Item) -> String {
        let scalar = item.as_value().filter(|value| !value.is_array() && !value.is_inline_table());
        let raw = scalar.and_then(|value| self.text.get(value.span()?));
        let Some(raw) = raw else { return format!("a value of kind {}", item.type_name()) };
        let mut short: String = printable(raw).chars().take(QUOTED).collect();
        if raw.chars().count() > QUOTED {
            short.push('…');
        }
        short
    }

    fn unknown_keys(&self, table: &dyn TableLike, known: &[&str], within: &str) {
        for (key, _) in table.iter().filter(|(key, _)| !known.contains(key)) {
            let at = self.mark(table.key(key).and_then(toml_edit::Key::span));
            self.refuse(at, format!("{within}unknown key {key:?}: must be one of {}", known.join(", ")));
        }
    }

    fn budgets(&self, top: &Table) -> Vec<Given> {
        self.unknown_keys(top, &["budget"], "");
        let Some(item) = top.get("budget") else {
            if top.is_empty() {
                self.refuse(Mark { line: 1, column: 1 }, "no budget: must have one [[budget]] or more");
            }
            return Vec::new();
        };
        let Some(tables) = item.as_array_of_tables() else {
            self.refuse(self.at(top, "budget", item), "budget: must be tables, each below a line [[budget]]");
            return Vec::new();
        };
        tables.iter().map(|table| self.budget(table)).collect()
    }

    fn budget(&self, table: &Table) -> Given {
        let at = self.mark(table.span());
        let known: Vec<&str> = KEYS.into_iter().chain(METRICS.iter().map(|metric| metric.key)).collect();
        self.unknown_keys(table, &known, "");
        let baseline = self.text(table, "baseline", |text| Ok::<_, String>(text.to_owned()));
        let baseline = baseline.zip(table.get("baseline").map(|item| self.at(table, "baseline", item)));
        let tolerance = table.get("tolerance").and_then(|item| self.tolerance(table, "tolerance", item, None));
        let figures = METRICS.iter().filter_map(|metric| Some((metric, table.get(metric.key)?)));
        let limits = figures
            .filter_map(|(metric, item)| {
                let mut given = self.limit(table, metric, item, baseline.is_some())?;
                given.limit.tolerance = given.limit.tolerance.or(tolerance);
                Some(given)
            })
            .collect();
        if METRICS.iter().all(|metric| !table.contains_key(metric.key)) {
            let keys: Vec<&str> = METRICS.iter().map(|metric| metric.key).collect();
            self.refuse(at, format!("limits nothing: must have one or more of {}", keys.join(", ")));
        }
        Given {
            at,
            cells: self.cells(table),
            limits,
            baseline,
            optional: self.truth(table, "optional").unwrap_or(false),
        }
    }

    fn cells(&self, table: &Table) -> Cells {
        Cells {
            framework: self.text(table, "framework", |text| Ok::<_, String>(text.to_owned())),
            scenario: self.text(table, "scenario", FromStr::from_str),
            serialization: self.text(table, "serialization", serialization),
            compression: self.text(table, "compression", FromStr::from_str),
            mode: self.text(table, "mode", FromStr::from_str),
            rate: table.get("rate").and_then(|item| {
                let rate = number(item).filter(|rate| *rate > 0.0);
                if rate.is_none() {
                    self.wrong(table, "rate", item, "must be calls a second, as 5000");
                }
                rate
            }),
        }
    }

    fn limit(
        &self,
        within: &dyn TableLike,
        metric: &'static Metric,
        item: &Item,
        relative: bool,
    ) -> Option<GivenLimit> {
        let at = self.at(within, metric.key, item);
        let given = |item: &Item, bound, tolerance, hard: Option<bool>| {
            let limit = Limit { metric, bound, tolerance, hard: hard.unwrap_or_else(|| metric.is_hard()) };
            GivenLimit { limit, at, number: item.span().unwrap_or_default() }
        };
        let Some(table) = item.as_table_like() else {
            return Some(given(item, self.bound(within, metric.key, item, relative)?, None, None));
        };
        let key = metric.bound_name();
        self.unknown_keys(table, &[key, "tolerance", "hard"], &format!("{}: ", metric.key));
        let own = table.get("tolerance").and_then(|item| self.tolerance(table, "tolerance", item, Some(metric)));
        let hard = self.truth(table, "hard");
        let Some(bound) = table.get(key) else {
            self.refuse(at, format!("{}: {key} is missing", metric.key));
            return None;
        };
        Some(given(bound, self.bound(table, key, bound, relative)?, own, hard))
    }

    fn bound(&self, within: &dyn TableLike, key: &str, item: &Item, relative: bool) -> Option<Bound> {
        let value = number(item).filter(|value| *value >= 0.0).map(Bound::Value);
        let change = || {
            let text = item.as_str().filter(|text| text.starts_with(['+', '-']))?;
            percent(text).filter(|share| *share >= -1.0).map(Bound::Change)
        };
        match value.or_else(change) {
            Some(Bound::Change(_)) if !relative => {
                self.wrong(within, key, item, "is relative: the budget must have a baseline");
                None
            }
            None => {
                self.wrong(within, key, item, "must be a number, 0 or more, or relative to a baseline, as \"+2%\"");
                None
            }
            bound => bound,
        }
    }

    /// Of one figure also in its unit.
    fn tolerance(&self, within: &dyn TableLike, key: &str, item: &Item, metric: Option<&Metric>) -> Option<Tolerance> {
        let share = item.as_str().and_then(percent).filter(|share| *share >= 0.0).map(Tolerance::Share);
        let value = || metric.and(number(item)).filter(|value| *value >= 0.0).map(Tolerance::Value);
        let tolerance = share.or_else(value);
        match (&tolerance, metric) {
            (Some(_), _) => {}
            (None, Some(metric)) => {
                let unit = metric.unit;
                self.wrong(within, key, item, &format!("must be a share, as \"1%\", or a number in {unit}, 0 or more"));
            }
            (None, None) => self.wrong(within, key, item, "must be a share, as \"1%\""),
        }
        tolerance
    }

    fn text<T, E: ToString>(&self, table: &Table, key: &str, read: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        let item = table.get(key)?;
        match item.as_str().filter(|text| !text.is_empty()) {
            Some(text) => {
                read(text).map_err(|problem| self.refuse(self.at(table, key, item), problem.to_string())).ok()
            }
            None => {
                self.wrong(table, key, item, "must be a text in quotes");
                None
            }
        }
    }

    fn truth(&self, table: &dyn TableLike, key: &str) -> Option<bool> {
        let item = table.get(key)?;
        let truth = item.as_bool();
        if truth.is_none() {
            self.wrong(table, key, item, "must be true or false");
        }
        truth
    }

    fn wrong(&self, table: &dyn TableLike, key: &str, item: &Item, problem: &str) {
        self.refuse(self.at(table, key, item), format!("{key}: {}: {problem}", self.quoted(item)));
    }
}

/// A finite number, whole or not.
fn number(item: &Item) -> Option<f64> {
    let value = item.as_value()?;
    let number = match value {
        Value::Integer(number) => *number.value() as f64,
        Value::Float(number) => *number.value(),
        _ => return None,
    };
    Some(number).filter(|number| number.is_finite())
}

/// `+2%`, `-0.5%` or `1%` as a share.
fn percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?;
    let plain = number.chars().all(|c| c.is_ascii_digit() || "+-.".contains(c));
    let percent: f64 = number.parse().ok().filter(|_| plain)?;
    (percent.abs() <= MAX_PERCENT).then_some(percent / 100.0)
}

fn serialization(text: &str) -> Result<String, String> {
    if text == NO_SERIALIZATION {
        return Ok(text.to_owned());
    }
    let known: Result<Serialization, _> = text.parse();
    known.map(|known| known.to_string()).map_err(|error| format!("{error}, {NO_SERIALIZATION}"))
}

/// A terminal obeys some characters.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
