//! Query parameters of the debug endpoints: parsed, bounded, refused in a sentence.

use std::{collections::HashMap, str::FromStr};

use crate::error::Error;

/// A request's parameters. Unknown ones are ignored, as Go does.
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    pub(crate) fn new(parameters: HashMap<String, String>) -> Self {
        Query(parameters)
    }

    /// A number within bounds, or `default` when the parameter isn't there.
    fn number<T: FromStr + PartialOrd>(
        &self,
        name: &'static str,
        default: T,
        (low, high): (T, T),
        allowed: &'static str,
    ) -> Result<T, Error> {
        match self.0.get(name) {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(number) if number >= low && number <= high => Ok(number),
                _ => Err(Error::Query { name, value: text.clone(), allowed }),
            },
        }
    }

    /// `seconds`; 0, as in Go, is the same as not given.
    pub(crate) fn seconds(&self) -> Result<Option<u64>, Error> {
        let seconds = self.number("seconds", 0, (0, 3600), "whole seconds, 0 to 3600")?;
        Ok((seconds > 0).then_some(seconds))
    }

    /// The span of time that a memory profile is of. Go refuses it together with `debug`, and so does this.
    pub(crate) fn span(&self) -> Result<Option<u64>, Error> {
        let seconds = self.seconds()?;
        match (seconds, self.text()?) {
            (Some(seconds), true) => {
                let allowed = "not together with debug: the text is of all since the start";
                Err(Error::Query { name: "seconds", value: seconds.to_string(), allowed })
            }
            _ => Ok(seconds),
        }
    }

    /// `ops`: requests after which a log ends; `None` when only time ends it.
    pub(crate) fn ops(&self) -> Result<Option<u64>, Error> {
        let ops = self.number("ops", 0, (0, 1_000_000), "whole requests, 1 to 1000000; 0 for no such end")?;
        Ok((ops > 0).then_some(ops))
    }

    pub(crate) fn hz(&self, default: u32, max: u32) -> Result<u32, Error> {
        self.number("hz", default, (1, max), "samples a second, 1 to 1000")
    }

    /// `debug`: 0 the profile, more the text.
    pub(crate) fn text(&self) -> Result<bool, Error> {
        Ok(self.number("debug", 0u32, (0, 2), "0, 1 or 2")? > 0)
    }

    /// `rate=1`: every allocation. Other rates belong to the whole process, not to a request.
    pub(crate) fn census(&self) -> Result<bool, Error> {
        let allowed = "only 1, every allocation; the sampler's rate is set by the program";
        Ok(self.number("rate", 0u64, (1, 1), allowed)? == 1)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        Query::new(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn values_within_bounds_are_taken() {
        let q = query(&[("seconds", "5"), ("hz", "250"), ("debug", "1"), ("rate", "1"), ("other", "x")]);
        assert_eq!(q.seconds().unwrap(), Some(5));
        assert_eq!(q.hz(99, 1000).unwrap(), 250);
        assert!(q.text().unwrap() && q.census().unwrap());
        let none = query(&[("seconds", "0")]);
        assert_eq!(none.seconds().unwrap(), None);
        assert_eq!(none.hz(99, 1000).unwrap(), 99);
        assert!(!none.text().unwrap() && !none.census().unwrap());
    }

    #[test]
    fn others_are_refused_with_name_value_and_what_is_allowed() {
        let refused = |pairs, parse: fn(&Query) -> bool| assert!(parse(&query(pairs)), "{pairs:?}");
        refused(&[("seconds", "-1")], |q| q.seconds().is_err());
        refused(&[("seconds", "3601")], |q| q.seconds().is_err());
        refused(&[("hz", "0")], |q| q.hz(99, 1000).is_err());
        refused(&[("hz", "1001")], |q| q.hz(99, 1000).is_err());
        refused(&[("debug", "yes")], |q| q.text().is_err());
        refused(&[("rate", "512")], |q| q.census().is_err());
        let error = query(&[("hz", "x")]).hz(99, 1000).unwrap_err().to_string();
        assert_eq!(error, "parameter hz=\"x\": samples a second, 1 to 1000");
    }
}
