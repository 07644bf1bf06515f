//! Parts of a profile by what is in the stacks.

use std::collections::HashMap;

use regex::Regex;

use super::{Frame, Profile, names::readable_frame};

/// Which samples to look at, as pprof's `-focus` and `-ignore` say it.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Those with a matching frame. `None`: all.
    pub focus: Option<Regex>,
    /// Not those with a matching frame.
    pub ignore: Option<Regex>,
}

impl Filter {
    /// What it asks for, as pprof says it: `focus=h2`.
    pub fn names(&self) -> Vec<String> {
        let named = [("focus", &self.focus), ("ignore", &self.ignore)];
        named.into_iter().filter_map(|(name, regex)| Some(format!("{name}={}", regex.as_ref()?))).collect()
    }

    /// The samples of a profile that pass. An expression is sought in a frame's function, as the profile and as we write it, in its
    /// source file, and in the binary's path.
    pub fn apply(&self, profile: &Profile) -> Profile {
        if self.focus.is_none() && self.ignore.is_none() {
            return profile.clone();
        }
        let mut known: HashMap<Frame<'_>, (bool, bool)> = HashMap::new();
        for (frames, _) in profile.samples() {
            for frame in frames {
                known.entry(frame).or_insert_with(|| {
                    let is = |regex: &Option<Regex>| regex.as_ref().is_some_and(|regex| matches(regex, &frame));
                    (is(&self.focus), is(&self.ignore))
                });
            }
        }
        profile.with_samples(|frames| {
            let mut focused = self.focus.is_none();
            for frame in frames {
                let (focus, ignore) = known.get(&frame).copied().unwrap_or_default();
                if ignore {
                    return false;
                }
                focused |= focus;
            }
            focused
        })
    }
}

fn matches(regex: &Regex, frame: &Frame<'_>) -> bool {
    let texts = [frame.function, frame.file, frame.mapping];
    texts.into_iter().flatten().any(|text| regex.is_match(text)) || regex.is_match(&readable_frame(frame))
}
