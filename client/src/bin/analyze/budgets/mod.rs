//! `budgets.toml`: what a run may cost, read and checked as a whole before anything of it is used.
//!
//! Each `[[budget]]` says which results it is of, how far they may go, and how much beyond is still within:
//!
//! | key | value | default |
//! |---|---|---|
//! | `framework` | a name, as `triple` | any |
//! | `scenario` | payload and concurrency, as `128B-50` | any |
//! | `serialization` | `protobuf`, `hessian2`, `msgpack`; `none` for the bare echo | any |
//! | `compression` | `none`, `default`, `fastest`, `best` | any |
//! | `mode` | `unary`, `streaming` | any |
//! | `rate` | the calls a second asked for | any, and none |
//! | `tolerance` | a share of each limit, `"1%"` | the noise floor that the rounds show |
//! | `baseline` | a result's file or a folder of them, from the folder of the budgets file | none |
//! | `optional` | `true`, `false`: whether a run may have no such result | `false` |
//! | a figure's key, as `allocs_per_op` or `qps` | a limit | none |
//!
//! A limit is a number in the figure's unit, or relative to the baseline's median, as `"+2%"`: the most, or the least where more is
//! better. Or a table: `max` or `min` as before, `tolerance` also as a number in the figure's unit, and `hard`, which is `true` for
//! allocations and `false` for all else unless said.

mod read;
#[cfg(test)]
mod tests;

use std::{fs, io, ops::Range, path::Path};

use analyze::{
    compare::{Cells, Limit, Metric, Update},
    units::thousands,
};

use crate::config::{Finding, Invalid, Mark};

/// The longest file that is read, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Why there are no budgets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BudgetsError {
    /// The file can't be read.
    #[error("--budgets {file}: {source}")]
    Unreadable { file: String, source: io::Error },
    /// It says something that is not allowed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// A budgets file.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// As errors name it.
    file: String,
    text: String,
    /// In the order of the file; none is empty of limits.
    pub(crate) given: Vec<Given>,
}

/// A budget as it stands in the file, its baseline not yet read.
#[derive(Debug)]
pub(crate) struct Given {
    at: Mark,
    pub(crate) cells: Cells,
    limits: Vec<GivenLimit>,
    /// A path.
    pub(crate) baseline: Option<(String, Mark)>,
    pub(crate) optional: bool,
}

/// A limit, where it stands, and which bytes of the text are its number.
#[derive(Debug)]
struct GivenLimit {
    limit: Limit,
    at: Mark,
    number: Range<usize>,
}

impl Given {
    pub(crate) fn limits(&self) -> Vec<Limit> {
        self.limits.iter().map(|given| given.limit.clone()).collect()
    }

    /// Where the limit of a figure stands; without one, where the budget begins.
    pub(crate) fn mark(&self, metric: Option<&str>) -> Mark {
        metric.and_then(|metric| self.limit(metric)).map_or(self.at, |given| given.at)
    }

    fn limit(&self, metric: &str) -> Option<&GivenLimit> {
        self.limits.iter().find(|given| given.limit.metric.key == metric)
    }
}

impl Budgets {
    pub(crate) fn open(path: &Path) -> Result<Self, BudgetsError> {
        let file = path.display().to_string();
        match fs::read(path) {
            Ok(text) => Ok(Self::read(file, text)?),
            Err(source) => Err(BudgetsError::Unreadable { file, source }),
        }
    }

    /// Reads a file's text; `file` is the name that errors give it.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the file.
    fn read(file: String, text: Vec<u8>) -> Result<Self, Invalid> {
        let start = Mark { line: 1, column: 1 };
        let wrong = |finding| Invalid { file: file.clone(), findings: vec![finding] };
        if text.len() > MAX_TEXT {
            return Err(wrong(Finding::new(start, format!("more than {MAX_TEXT} bytes"))));
        }
        let text = String::from_utf8(text).map_err(|_| wrong(Finding::new(start, "not UTF-8")))?;
        match read::read(&text) {
            Ok(given) => Ok(Self { file, text, given }),
            Err(findings) => Err(Invalid { file, findings }),
        }
    }

    /// What turned out to be wrong with the file once runs were held against it.
    pub(crate) fn invalid(&self, findings: Vec<Finding>) -> Invalid {
        Invalid { file: self.file.clone(), findings }
    }

    /// The file's text with other numbers, all else as it is, and a line for each change, in the order of the file.
    pub(crate) fn updated(&self, updates: &[Update]) -> (String, Vec<String>) {
        let place = |update: &Update| self.given.get(update.budget)?.limit(update.metric.key);
        let mut places: Vec<_> = updates.iter().filter_map(|update| Some((update, place(update)?))).collect();
        places.sort_by_key(|(_, given)| given.number.start);
        let (mut text, mut copied, mut lines) = (String::new(), 0, Vec::new());
        for (update, GivenLimit { at, number, .. }) in places {
            let old = &self.text[number.clone()];
            let new = written(update.metric, update.to, old.contains('_'));
            let word = if update.is_looser() { "looser" } else { "tighter" };
            let (key, cell) = (update.metric.key, &update.cell);
            lines.push(format!("{}:{}: {key} {old} → {new}, {word} ({cell})", self.file, at.line));
            text += &self.text[copied..number.start];
            text += &new;
            copied = number.end;
        }
        (text + &self.text[copied..], lines)
    }
}

/// A limit to its figure's last digit, in groups of three where the old one was.
fn written(metric: &Metric, value: f64, grouped: bool) -> String {
    let digits = match metric.resolution(value) {
        r if r >= 1.0 => 0,
        r if r >= 0.1 => 1,
        r if r >= 0.01 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    match whole.parse() {
        Ok(number) if grouped => thousands(number).replace(',', "_") + fraction,
        _ => text,
    }
}
