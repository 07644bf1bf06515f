//! Text of any kind: never a panic, never long, and findings stand where they point.

use proptest::{collection::vec, prelude::*, sample::select};

use super::{super::*, read};

const EVERY_KEY: &str = include_str!("../../../../../tests/configs/every-key.yaml");

/// What YAML and the keys are made of.
const PIECES: [&str; 60] = [
    "rounds",
    "load",
    "qps",
    "cells",
    "match",
    "skip",
    "servers",
    "service",
    "port",
    "triple",
    "benchmark",
    "label",
    "payload_sizes",
    "call_modes",
    "streaming",
    "think",
    "requests",
    "true",
    "128B",
    "128B:80%",
    "1..9/3",
    "1m30s",
    "5",
    "18446744073709551616",
    "-1",
    "~",
    "null",
    "a: ",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "\n",
    "\n  ",
    "\n    ",
    "\r\n",
    "\t",
    " ",
    "\"",
    "'",
    "|",
    ">",
    "#",
    "&a ",
    "*a",
    "!!str ",
    "!",
    "%TAG ! x\n",
    "---\n",
    "...\n",
    "<<",
    "\\",
    "\u{85}",
    "é\u{301}日\u{1f600}",
];

/// Lines that may stand before another key.
const BEFORE: [&str; 5] = ["# é日\n", "\n", "rounds: 3\n", "out: \"日本\" \n", "load: {think: 1s}\r\n"];

/// Every finding stands in the text, or at its end.
fn check(text: &str) -> Result<(), TestCaseError> {
    let Err(invalid) = read(text) else { return Ok(()) };
    prop_assert!(!invalid.findings.is_empty());
    prop_assert!(invalid.to_string().lines().count() <= 21);
    let lines = text.split('\n').count();
    for Finding { at, text } in invalid.findings {
        prop_assert!(at.column >= 1 && (1..=lines + 1).contains(&at.line), "{at:?} of {lines} lines: {text}");
        prop_assert!(!text.is_empty() && text.chars().all(|c| !c.is_control()), "{text:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Config::read("config.yaml", &bytes, None);
    }

    #[test]
    fn text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn pieces_of_yaml(pieces in vec(select(&PIECES[..]), 0..60)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn a_good_file_with_holes_and_patches(
        edits in vec((0..EVERY_KEY.len(), 0..30_usize, select(&PIECES[..])), 1..6),
    ) {
        let mut text = EVERY_KEY.to_owned();
        for (at, length, piece) in edits {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.replace_range(at..end, if length % 2 == 0 { piece } else { "" });
            // The pieces hold letters of several bytes, the next edit may fall within one.
            text = text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        }
        check(&text)?;
    }

    /// A value that can't be right is pointed at to the column, whatever stands around it.
    #[test]
    fn a_finding_stands_where_its_value_does(
        before in vec(select(&BEFORE[..]), 0..4),
        key in select(&["payload_sizes", "call_modes", "frameworks", "concurrency_levels"][..]),
        flow in any::<bool>(),
        indent in 0..5_usize,
        quote in select(&["", "'", "\""][..]),
    ) {
        let distinct = |(at, line): &(usize, &&str)| !before[..*at].contains(line);
        let before: String = before.iter().enumerate().filter(distinct).map(|(_, line)| *line).collect();
        let gap = " ".repeat(indent);
        let value = format!("{quote}WRONG{quote}");
        let text = match flow {
            true => format!("{before}{key}: [{gap}{value}{gap}]\n"),
            false => format!("{before}{key}:\n{gap}- {gap}{value}\n"),
        };
        let at = text.find(&value).expect("the value");
        let line = text[..at].matches('\n').count() + 1;
        let column = text[..at].rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let findings = read(&text).expect_err("a wrong value").findings;
        prop_assert_eq!(findings.len(), 1, "{:?}", findings);
        prop_assert_eq!((findings[0].at.line, findings[0].at.column), (line, column), "{}", text);
    }
}

#[test]
fn what_would_grow_or_nest_without_end_is_refused() {
    let first = |text: &str| {
        let finding = read(text).expect_err("an error").findings.remove(0);
        format!("{}:{}: {}", finding.at.line, finding.at.column, finding.text)
    };
    assert_eq!(first(&"[\n".repeat(50)), "12:1: nested deeper than 10");
    assert_eq!(first(&"[".repeat(60_000)), "1:256: not YAML: recursion limit exceeded");
    assert_eq!(first(&"- ".repeat(30_000)), "1:23: nested deeper than 10");
    assert_eq!(first(&"x".repeat(65_537)), "1:1: more than 65536 bytes");
    assert_eq!(first(&format!("label: {}", "x".repeat(2000))), "1:8: a text of 2000 bytes: must be 1000 at most");
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]";
    assert_eq!(first(bomb), "1:4: an anchor: anchors are not read, write the value out");
    let lines: String = (0..3000).map(|n| format!("key{n}: {n}\n")).collect();
    let invalid = read(&lines).expect_err("unknown keys");
    assert_eq!(invalid.findings.len(), 3000);
    assert!(invalid.to_string().ends_with("\nconfig.yaml: and 2980 more"));
}
