//! Profiles for tests: small ones made by hand, and Go's.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its share of this module")]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use analyze::profile::{Profile, ProfileError};
use echo_proto::profile as proto;
use prost::Message;

pub fn golden_profile(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/profiles").join(name)
}

/// What `go tool pprof -top` prints from the line with the type on, less the time and duration that a table of ours doesn't know.
pub fn go_top(path: &Path, kind: &str, flags: &[&str]) -> String {
    let output = Command::new("go")
        .args(["tool", "pprof", "-top"])
        .args(flags)
        .arg(format!("-sample_index={kind}"))
        .arg(path)
        .output()
        .expect("Go is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let from = text.find("Active filters").or_else(|| text.find("Showing"));
    let table = &text[from.expect("a table")..];
    format!("Type: {kind}\n{table}")
}

/// A small profile as a Rust server's: leaf first, the allocator at the leaf, inlined frames in one location.
pub struct Builder {
    pub profile: proto::Profile,
}

impl Builder {
    pub fn new(types: &[(&str, &str)]) -> Self {
        let mut builder = Self { profile: proto::Profile { string_table: vec![String::new()], ..Default::default() } };
        for (kind, unit) in types {
            let value_type = proto::ValueType { r#type: builder.string(kind), unit: builder.string(unit) };
            builder.profile.sample_type.push(value_type);
        }
        builder
    }

    pub fn string(&mut self, text: &str) -> i64 {
        self.profile.string_table.push(text.to_owned());
        self.profile.string_table.len() as i64 - 1
    }

    /// A sample of locations, leaf first, each of functions, innermost first.
    pub fn sample(&mut self, locations: &[&[(&str, &str, i64)]], value: &[i64]) -> &mut Self {
        let location_id = locations.iter().map(|lines| self.location(lines)).collect();
        self.profile.sample.push(proto::Sample { location_id, value: value.to_vec(), label: Vec::new() });
        self
    }

    fn location(&mut self, lines: &[(&str, &str, i64)]) -> u64 {
        let line = lines
            .iter()
            .map(|(name, file, line)| {
                let id = self.profile.function.len() as u64 + 1;
                let (name, filename) = (self.string(name), self.string(file));
                self.profile.function.push(proto::Function { id, name, filename, ..Default::default() });
                proto::Line { function_id: id, line: *line, column: 0 }
            })
            .collect();
        let id = self.profile.location.len() as u64 + 1;
        self.profile.location.push(proto::Location { id, line, ..Default::default() });
        id
    }

    pub fn decoded(&self) -> Result<Profile, ProfileError> {
        Profile::decode(&self.profile.encode_to_vec())
    }
}
