//! What changed from one profile to another, as a table and as a picture.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

use std::num::NonZeroU64;

use analyze::{
    profile::{Both, Change, Diff, DiffError, Folded, Profile, Side, Stacks, Values, Widths, covered_ops, diff, sites},
    report::{self, Style},
};
use echo_proto::profile as proto;

const BEFORE: &str = "p;a 10\np;b 10\nq 30\n";
const AFTER: &str = "p;a 30\np;b 30\nq 30\n";

fn folded(name: &str, text: &str, ops: u64) -> Side {
    Side { name: name.to_owned(), stacks: Stacks::Folded(Folded::parse(text).unwrap()), ops: NonZeroU64::new(ops) }
}

/// Texts without types; 0 ops are unknown.
fn between(a: &str, b: &str, ops: [u64; 2]) -> Diff {
    diff(&folded("before", a, ops[0]), &folded("after", b, ops[1]), None).unwrap()
}

/// The title and the fill of every frame of that name, in the picture's order.
fn frames(svg: &str, name: &str) -> Vec<(String, [u8; 3])> {
    svg.split("<g><title>")
        .skip(1)
        .filter_map(|part| {
            let (title, rest) = part.split_once("</title>")?;
            let fill = rest.split_once("fill=\"rgb(")?.1.split_once(')')?.0;
            let channels: Vec<u8> = fill.split(',').map(|channel| channel.parse().unwrap()).collect();
            title.strip_prefix(name)?.starts_with(" (").then(|| (title.to_owned(), channels.try_into().unwrap()))
        })
        .collect()
}

fn frame(svg: &str, name: &str) -> (String, Change) {
    let found = frames(svg, name);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    let (title, [red, _, blue]) = found.into_iter().next().unwrap();
    (
        title,
        if red > blue {
            Change::Grew
        } else if red < blue {
            Change::Shrank
        } else {
            Change::Unchanged
        },
    )
}

fn rows(diff: &Diff, values: Values) -> Vec<(String, f64, f64)> {
    diff.table(values, None).rows.into_iter().map(|row| (row.function, row.value.a, row.value.b)).collect()
}

#[test]
fn inner_frames_have_the_colour_of_their_own_change() {
    for (ops, p, all) in [
        ([0, 0], "p (20 → 60, +40, +200%)", "all (50 → 90, +40, +80.0%)"),
        ([10, 10], "p (2 → 6 per op, +4 per op, +200%)", "all (5 → 9 per op, +4 per op, +80.0%)"),
    ] {
        let svg = between(BEFORE, AFTER, ops).flamegraph("t", Widths::B).unwrap();
        assert_eq!(frame(&svg, "p"), (p.to_owned(), Change::Grew));
        assert_eq!(frame(&svg, "all"), (all.to_owned(), Change::Grew));
        assert_eq!(frame(&svg, "a").1, Change::Grew);
        assert_eq!(frame(&svg, "q").1, Change::Unchanged);
    }
    let svg = between(AFTER, BEFORE, [0, 0]).flamegraph("t", Widths::B).unwrap();
    assert_eq!(frame(&svg, "p"), ("p (60 → 20, −40, −66.7%)".to_owned(), Change::Shrank));
}

#[test]
fn the_same_name_has_a_colour_for_each_place() {
    let svg = between("x;f 5\ny;f 9\ny;f;f 1\n", "x;f 8\ny;f 4\ny;f;f 1\n", [0, 0]).flamegraph("t", Widths::B).unwrap();
    let found = frames(&svg, "f");
    let titles: Vec<&str> = found.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles, ["f (5 → 8, +3, +60.0%)", "f (10 → 5, −5, −50.0%)", "f (1 → 1, unchanged)"]);
    let [[red, ..], [.., blue], [white, ..]] = [found[0].1, found[1].1, found[2].1];
    assert_eq!([red > 250, white == 250, blue > 250], [true; 3], "{found:?}");
}

#[test]
fn callees_stay_together_whatever_their_names_sort_like() {
    let svg = between("a 5\na b 1\na;c 2\na1;c 1\n", "a 5\na b 1\na;c 2\na1;c 1\n", [0, 0]);
    let svg = svg.flamegraph("t", Widths::B).unwrap();
    assert_eq!(frame(&svg, "a").0, "a (7 → 7, unchanged)");
    assert_eq!(frame(&svg, "a b").0, "a b (1 → 1, unchanged)");
}

#[test]
fn the_table_adds_up_and_has_what_changed_most_first() {
    let diff = between(BEFORE, "p;a 30\nq 5\nr 40\n", [0, 0]);
    assert_eq!(
        rows(&diff, Values::Own),
        [("r", 0.0, 40.0), ("q", 30.0, 5.0), ("a", 10.0, 30.0), ("b", 10.0, 0.0)].map(|(n, a, b)| (n.to_owned(), a, b))
    );
    let table = diff.table(Values::Own, Some(2));
    let mut sum = table.others.unwrap();
    table.rows.iter().for_each(|row| sum += row.value);
    assert_eq!((sum, table.other_functions), (table.total, 2));
    assert_eq!(table.total, Both { a: 50.0, b: 75.0 });
    assert_eq!(
        report::diff(&diff, Values::Own, Some(2), Style::default()),
        "\
values: A before → B after
function              A   B  difference    change
r                     0  40         +40  appeared
q                    30   5         −25    −83.3%
(2 other functions)  20  30         +10    +50.0%
(all)                50  75         +25    +50.0%
  ! Totals, not per op: how many ops before or after covers is not known (--ops-a, --ops-b).
"
    );
    let with_callees = rows(&between(BEFORE, AFTER, [0, 0]), Values::WithCallees);
    assert_eq!(with_callees[0], ("p".to_owned(), 20.0, 60.0), "an inner function");
    let recursive = rows(&between("f;f;f 1\n", "f;f;f 3\n", [0, 0]), Values::WithCallees);
    assert_eq!(recursive, [("f".to_owned(), 1.0, 3.0)], "once for each stack");
}

#[test]
fn every_form_has_the_same_lines() {
    let diff = between(BEFORE, "p;a 30\nq 5\nr 40\n", [10, 10]);
    assert_eq!(
        report::diff_markdown(&diff, Values::Own, Some(1)),
        "\
### values per op: before → after

| function | A | B | difference | change |
| --- | ---: | ---: | ---: | ---: |
| `r` | 0 | 4 | +4 | appeared |
| (3 other functions) | 5 | 3.50 | −1.50 | −30.0% |
| (all) | 5 | 7.50 | +2.50 | +50.0% |
"
    );
    assert_eq!(
        report::diff_csv(&diff, Values::Own, Some(1)).unwrap(),
        "function,a,b,difference,ratio,change\nr,0,4,4,,appeared\n(3 other functions),5,3.5,-1.5,-0.3,shrank\n\
         (all),5,7.5,2.5,0.5,grew\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&report::diff_json(&diff, Values::Own, Some(1)).unwrap()).unwrap();
    assert_eq!(json["ops"], serde_json::json!([10, 10]));
    assert_eq!(
        json["rows"],
        serde_json::json!([
            {"function": "r", "a": 0.0, "b": 4.0, "difference": 4.0, "ratio": null, "change": "appeared"}
        ])
    );
}

#[test]
fn a_profile_against_itself_has_no_difference() {
    let diff = between(AFTER, AFTER, [7, 7]);
    let text = report::diff(&diff, Values::Own, None, Style::default());
    assert!(text.contains("\nNo function changed.\n") && text.contains("(all)"), "{text}");
    let svg = diff.flamegraph("t", Widths::Both).unwrap();
    for name in ["all", "p", "a", "b", "q"] {
        assert_eq!(frame(&svg, name).1, Change::Unchanged, "{name}");
    }
}

#[test]
fn values_are_per_op_when_the_ops_of_both_sides_are_known() {
    let diff = between("f 1000\n", "f 2000\n", [100, 200]);
    assert_eq!(diff.total(), Both { a: 10.0, b: 10.0 });
    assert!(rows(&diff, Values::Own).is_empty(), "1000 of 100 ops are 2000 of 200");
    assert_eq!(frame(&diff.flamegraph("t", Widths::B).unwrap(), "f").1, Change::Unchanged);
    for ops in [[100, 0], [0, 200]] {
        let diff = between("f 1000\n", "f 2000\n", ops);
        assert_eq!(diff.total(), Both { a: 1000.0, b: 2000.0 }, "neither side is divided");
        assert!(diff.table(Values::Own, None).notes[0].starts_with("Totals, not per op"));
    }
    // Thirds aren't exact.
    assert!(rows(&between("f 1\ng 2\n", "f 10\ng 20\n", [3, 30]), Values::WithCallees).is_empty());
}

#[test]
fn what_went_shows_in_the_widths_of_the_first_side_or_of_both() {
    let diff = between("old 10\n", "new 30\n", [0, 0]);
    let seen = |widths| {
        let svg = diff.flamegraph("t", widths).unwrap();
        let count = |name| frames(&svg, name).len();
        (count("old"), count("new"), svg)
    };
    let (old, new, svg) = seen(Widths::B);
    assert_eq!((old, new), (0, 1));
    assert!(svg.contains("whole = 10 → 30, +20, +200%; widths: after"), "{svg}");
    let (old, new, svg) = seen(Widths::A);
    assert_eq!((old, new), (1, 0));
    assert!(svg.contains("widths: before;"), "{svg}");
    let (old, new, svg) = seen(Widths::Both);
    assert_eq!((old, new), (1, 1));
    assert!(svg.contains("widths: before + after;"), "{svg}");
    assert_eq!(frame(&svg, "old"), ("old (10 → 0, −10, gone)".to_owned(), Change::Shrank));
    assert_eq!(frame(&svg, "new"), ("new (0 → 30, +30, appeared)".to_owned(), Change::Grew));
}

#[test]
fn nothing_at_all_is_no_number() {
    let nothing = between("p;a 0\n", "p;a 0\n", [0, 0]);
    assert_eq!(nothing.total(), Both::default());
    assert!([Widths::A, Widths::B, Widths::Both].into_iter().all(|widths| nothing.flamegraph("t", widths).is_err()));
    let text = report::diff(&nothing, Values::Own, None, Style::default());
    assert!(text.contains("No function changed.") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    let appeared = between("p;a 0\n", "p;a 5\n", [1, 1]);
    let text = report::diff(&appeared, Values::Own, None, Style::default());
    assert!(text.contains("(all)") && text.contains("appeared") && !text.contains("NaN"), "{text}");
    assert!(appeared.flamegraph("t", Widths::A).is_err());
    assert_eq!(frame(&appeared.flamegraph("t", Widths::B).unwrap(), "p").1, Change::Grew);
}

#[test]
fn names_are_those_of_every_build() {
    let diff = between(
        "m;f::h0123456789abcdef.llvm.12;<[u8; 2] as Default>::default 10\nm.S[go.shape.int].func1 3\nm;g::{closure#1} 2\n",
        "m;f::hfedcba9876543210;<[u8; 2] as Default>::default 10\nm.S[go.shape.string].func2 3\nm;g::{closure#2} 2\n",
        [0, 0],
    );
    assert!(rows(&diff, Values::WithCallees).is_empty(), "{:?}", rows(&diff, Values::WithCallees));
    let svg = diff.flamegraph("t", Widths::B).unwrap();
    for name in ["&lt;[u8; 2] as Default&gt;::default", "f", "m.S[...].func", "g::{closure}"] {
        assert_eq!(frame(&svg, name).1, Change::Unchanged, "{name}");
    }
}

#[test]
fn names_cannot_break_the_picture() {
    let text = "a\u{e000}b;c 12 34;# d <&> 5\n";
    let svg = between(text, text, [0, 0]).flamegraph("<t> & u", Widths::B).unwrap();
    for name in ["a?b", "c 12 34", "# d &lt;&amp;&gt;"] {
        assert_eq!(frame(&svg, name).0, format!("{name} (5 → 5, unchanged)"));
    }
}

/// A profile of stacks, root first, each with its values.
fn profile(types: &[(&str, &str)], stacks: &[(&[&str], &[i64])]) -> Profile {
    let mut strings = vec![String::new()];
    let mut string = |text: &str| {
        strings.push(text.to_owned());
        strings.len() as i64 - 1
    };
    let mut made = proto::Profile::default();
    for (kind, unit) in types {
        made.sample_type.push(proto::ValueType { r#type: string(kind), unit: string(unit) });
    }
    for (stack, values) in stacks {
        let mut location_id = Vec::new();
        for name in stack.iter().rev() {
            let id = made.function.len() as u64 + 1;
            made.function.push(proto::Function { id, name: string(name), ..Default::default() });
            let line = vec![proto::Line { function_id: id, line: 1, column: 0 }];
            made.location.push(proto::Location { id, line, ..Default::default() });
            location_id.push(id);
        }
        made.sample.push(proto::Sample { location_id, value: values.to_vec(), label: Vec::new() });
    }
    made.string_table = strings;
    Profile::check_valid(made).unwrap()
}

const ALLOCS: &[(&str, &str)] = &[("alloc_objects", "count"), ("alloc_space", "bytes")];

fn side(name: &str, profile: Profile) -> Side {
    Side { name: name.to_owned(), stacks: Stacks::Profile(profile), ops: None }
}

#[test]
fn of_memory_a_function_has_what_it_asked_for() {
    let allocs = |bytes| {
        profile(ALLOCS, &[(&["app::main", "app::encode", "alloc::vec::Vec<T>::push", "__rust_alloc"], &[1, bytes])])
    };
    let diff = diff(&side("a", allocs(64)), &side("b", allocs(8_192)), None).unwrap();
    assert_eq!(rows(&diff, Values::Own), [("app::encode".to_owned(), 64.0, 8_192.0)]);
    assert_eq!(diff.subject(), "alloc_space, bytes");
}

#[test]
fn a_text_takes_the_type_of_the_profile_it_is_set_against() {
    let allocs = profile(ALLOCS, &[(&["m", "<alloc::vec::Vec<u8> as a::B>::c::h0123456789abcdef"], &[1, 64])]);
    let text = folded("text", "m;<alloc::vec::Vec<u8> as a::B>::c 64\n", 0);
    let diff = diff(&text, &side("profile", allocs), None).unwrap();
    assert_eq!(rows(&diff, Values::WithCallees), [], "names are read alike");
    let notes = diff.table(Values::Own, None).notes;
    assert_eq!(notes[1..], ["text doesn't say what it counts: taken for alloc_space."]);
}

#[test]
fn what_counts_differently_is_not_compared() {
    let allocs = side("allocs", profile(ALLOCS, &[(&["f"], &[1, 64])]));
    let cpu = side("cpu", profile(&[("cpu", "nanoseconds")], &[(&["f"], &[5])]));
    let ms = side("ms", profile(&[("cpu", "milliseconds")], &[(&["f"], &[5])]));
    let objects = side("objects", profile(&[("alloc_objects", "count")], &[(&["f"], &[5])]));
    let less = side("less", profile(&[("cpu", "nanoseconds")], &[(&["f"], &[-5])]));
    for (a, b, kind, expected) in [
        (&allocs, &cpu, None, "allocs is of alloc_space and cpu of cpu: they have no sample type in common"),
        (
            &allocs,
            &objects,
            None,
            "allocs is of alloc_space and objects of alloc_objects: --type must be one that both have: alloc_objects",
        ),
        (&cpu, &ms, None, "cpu is in nanoseconds in cpu and in milliseconds in ms"),
        (&allocs, &cpu, Some("cpu"), "--type cpu: allocs has alloc_objects, alloc_space"),
        (&cpu, &less, None, "less: has negative values of cpu: a difference can't be drawn as a flamegraph"),
    ] {
        assert_eq!(diff(a, b, kind).unwrap_err().to_string(), expected);
    }
    assert!(diff(&allocs, &objects, Some("alloc_objects")).is_ok());
    let texts = [folded("a", BEFORE, 0), folded("b", AFTER, 0)];
    assert!(matches!(diff(&texts[0], &texts[1], Some("cpu")), Err(DiffError::NoTypes { .. })));
}

#[test]
fn a_results_sites_tell_how_many_ops_its_profile_covers() {
    let ops = NonZeroU64::new(4_321).unwrap();
    let some = profile(ALLOCS, &[(&["f"], &[7, 1_000]), (&["g"], &[3, 77])]);
    assert_eq!(covered_ops(&some, &sites(&some, ops, 1).unwrap()), Some(ops));
    let none = profile(ALLOCS, &[]);
    assert_eq!(covered_ops(&none, &sites(&none, ops, 1).unwrap()), None);
    let cpu = profile(&[("cpu", "nanoseconds")], &[(&["f"], &[5])]);
    assert_eq!(covered_ops(&cpu, &sites(&some, ops, 1).unwrap()), None);
}
