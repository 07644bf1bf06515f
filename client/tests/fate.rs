//! What becomes of what is allocated, against logs of known events: by whom, as tables and in reports.
//! `UPDATE_GOLDEN=1 cargo test -p analyze --test fate` rewrites the files.

mod results;
mod traces;

use analyze::{
    measure::allocation_log::LogFrame,
    plot,
    profile::{BUILTIN_LAYERS, By, FateSums, Filter, Layers, Trace, fate_table, trace},
    report::{CellTrace, Document, Fated, Shown, Style, Traced, fate, page, pull_request},
    store::{Label, Store, StoreError, load_trace},
};
use results::{assert_golden, full, meta};
use traces::Events;

const FUNCTION: By = By::Function { split: false };
const ALL: [By; 5] = [FUNCTION, By::Line { split: false }, By::Crate, By::Layer, By::Type { split: false }];

/// Positions of the stacks.
const READ: usize = 0;
const WRITE: usize = 1;
const SPAWN: usize = 2;

fn layers() -> Layers {
    Layers::parse(BUILTIN_LAYERS).expect("layers")
}

fn stacks() -> Vec<Vec<LogFrame>> {
    let frame =
        |function: &str, file: &str, line: u64| LogFrame { function: function.to_owned(), file: file.to_owned(), line };
    let vec = frame("<alloc::vec::Vec<u8>>::reserve", "/rustc/0/library/alloc/src/vec/mod.rs", 3);
    let poll = frame("tokio::runtime::task::poll", "/r/tokio-1.54.1/src/runtime/task/mod.rs", 9);
    let main = frame("echo_server::main", "server/src/main.rs", 5);
    let h2 = frame("h2::codec::framed_read::decode", "/r/h2-0.4.20/src/codec/framed_read.rs", 7);
    let handler = frame("echo_server::triple::handler::echo", "server/src/triple/handler.rs", 8);
    let boxed = frame("<alloc::boxed::Box<echo_server::Call>>::new", "/rustc/0/library/alloc/src/boxed.rs", 2);
    vec![
        vec![vec.clone(), h2, poll.clone(), main.clone()],
        vec![vec, handler.clone(), poll.clone(), main.clone()],
        vec![boxed, handler, poll, main],
    ]
}

/// A request of a block that lives as long as it, one that grows twice, one that the next gives back and, every tenth, one that stays.
fn traced(requests: u64) -> Trace {
    let mut events = Events::with(stacks());
    let later = |number: u64| 0x9000 + number * 0x100;
    for number in 0..requests {
        events.at(5_000_000).alloc(0x1000, (24, 32), READ);
        events.at(100).start();
        events.at(100).alloc(0x2000, (8, 8), WRITE);
        events.at(100).realloc((0x2000, 8), 0x3000, (64, 64), WRITE);
        events.at(100).realloc((0x3000, 64), 0x4000, (100, 112), WRITE);
        events.at(100).alloc(later(number), (30, 32), SPAWN);
        events.at(100).ok();
        if number % 10 == 9 {
            events.at(50).alloc(0x100_0000 + number * 0x100, (1_000, 1_024), READ);
        }
        events.at(100).free(0x1000, 24);
        events.at(100).free(0x4000, 100);
        if number > 0 {
            events.at(100).free(later(number - 1), 30);
        }
    }
    trace(&events.done()).expect("a trace")
}

fn sums(trace: &Trace, by: By, name: &str) -> FateSums {
    let table = fate_table(trace, &Filter::default(), by, &layers());
    let row = table.rows.iter().find(|row| row.row.name == name);
    row.unwrap_or_else(|| panic!("no {name} in {table:?}")).sums
}

#[test]
fn every_grouping_adds_up_to_what_the_trace_allocated() {
    let trace = traced(40);
    let judged = trace.fates.total.total;
    for by in ALL {
        let table = fate_table(&trace, &Filter::default(), by, &layers());
        assert_eq!(table.rows.iter().map(|row| row.sums).sum::<FateSums>(), table.total, "{by:?}");
        assert_eq!(table.total.bytes, table.total.within + table.total.later + table.total.kept, "{by:?}");
        let per_op = |sum: i128| sum as f64 / trace.fates.ops as f64;
        assert_eq!(
            (per_op(table.total.bytes), per_op(table.total.blocks)),
            (judged.bytes_per_op, judged.allocs_per_op)
        );
        assert_eq!((table.total.grown, table.total.steps, table.total.copied), (40, 80, 40 * (8 + 64)), "{by:?}");
    }
}

#[test]
fn the_fate_of_each_ones_bytes_is_told() {
    let trace = traced(40);
    let read = sums(&trace, FUNCTION, "h2::codec::framed_read::decode");
    assert_eq!((read.within, read.later, read.kept, read.blocks), (20 * 32, 0, 2 * 1_024, 22));
    let handler = sums(&trace, FUNCTION, "echo_server::triple::handler::echo");
    assert_eq!((handler.within, handler.later, handler.kept), (20 * (8 + 64 + 112), 20 * 32, 0));
    assert_eq!((read.grown, handler.grown, handler.steps), (0, 40, 80));
    assert_eq!(sums(&trace, By::Layer, "RPC framework"), handler);
    assert_eq!(sums(&trace, By::Layer, "HTTP/2"), read);
    assert_eq!(sums(&trace, By::Crate, "h2"), read);
    assert_eq!(sums(&trace, By::Type { split: false }, "echo_server::Call").later, 20 * 32);
    let filter = Filter { focus: Some(regex::Regex::new("h2::").expect("an expression")), ignore: None };
    assert_eq!(fate_table(&trace, &filter, By::Layer, &layers()).total, read);
}

#[test]
fn tables_fit_the_terminal() {
    let trace = traced(40);
    for width in [80, 120] {
        let text = ALL.map(|by| {
            let table = &fate_table(&trace, &Filter::default(), by, &layers());
            let what = Fated {
                subject: "triple 128B-50, protobuf, unary",
                trace: &trace,
                table,
                concurrency: Some(50),
                part: None,
                is_below: by == By::Layer,
            };
            fate(what, Some(2), Style { width, color: false })
        });
        let text = text.join("\n");
        let widest = text.lines().max_by_key(|line| line.chars().count()).expect("lines");
        assert!(widest.chars().count() <= width, "{widest}");
        assert_golden(&format!("fate_{width}.txt"), &text);
    }
}

/// A trace of the first of the results.
fn of_a_result(trace: Trace) -> CellTrace {
    let meta = meta("triple", 1);
    let wire = meta.wire.clone().expect("a wire");
    CellTrace::new(&full()[0], Traced::new(&meta, wire, trace), &layers())
}

#[test]
fn reports_say_what_becomes_of_it() {
    let traces = [of_a_result(traced(40))];
    let document = Document { results: &full()[..1], against: None, traces: &traces };
    let text = pull_request(&document);
    let from = text.find("## What becomes of it").expect("the section");
    let to = text.find("## Environment").expect("what follows");
    assert_golden("document_fate.md", &text[from..to]);

    let timelines = [plot::timeline(&traces[0].traced)];
    let page = page(&document, Shown { timelines: &timelines, ..Shown::default() });
    let heads: Vec<&str> = page.split("<h2>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(heads[1..4], ["What becomes of it", "Growth", "One request"]);
    // A bar for each block of the typical request: its four, and that of the one before.
    assert_eq!(page.matches("<g><title>").count(), 6, "{page}");
    assert!(page.contains("data-cell=\"triple 128B-50: protobuf, unary\"") && !page.contains("http://"));
}

#[test]
fn what_allocates_nothing_has_no_section() {
    let mut events = Events::with(stacks());
    for _ in 0..4 {
        events.at(5_000_000).start();
        events.at(100).ok();
    }
    let traces = [of_a_result(trace(&events.done()).expect("a trace"))];
    let text = pull_request(&Document { results: &full()[..1], against: None, traces: &traces });
    assert!(!text.contains("What becomes of it") && !text.contains("Growth"), "{text}");
}

#[test]
fn a_trace_is_read_back_as_it_was_and_a_wrong_one_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path(), "t".parse::<Label>().expect("a label")).expect("folders");
    let CellTrace { mut traced, .. } = of_a_result(traced(40));
    let [path, _] = store.save_trace("stem", &traced).expect("files");
    assert_eq!(load_trace(&path).expect("a trace"), traced);
    traced.trace.stacks[0].frames[0] = 99;
    let [path, _] = store.save_trace("stem", &traced).expect("files");
    let error = load_trace(&path).expect_err("no such frame");
    assert!(
        matches!(error, StoreError::Format { .. }) && error.to_string().contains("names what isn't there"),
        "{error}"
    );
    traced.schema_version = 2;
    let [path, _] = store.save_trace("stem", &traced).expect("files");
    assert!(load_trace(&path).is_err_and(|error| error.to_string().contains("version 2 of traces")));
}
