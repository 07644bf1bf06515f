//! What a log of allocations says of requests, against logs of known events.

mod traces;

use analyze::{
    measure::allocation_log::LogEnd,
    profile::{StackFate, StepKind, TraceError, Whose, trace},
};
use traces::Events;

/// Sites of the test's logs, by their stack.
const READ: usize = 0;
const WRITE: usize = 1;

/// A request of a block that it gives back, one that grows twice and one that the next request gives back; `extra` allocates one
/// block more, that stays.
fn request(events: &mut Events, number: u64, extra: bool) {
    let kept = |number: u64| 0x9000 + number * 0x100;
    events.at(5_000_000).alloc(0x1000, (24, 32), READ);
    events.at(100).start();
    events.at(100).alloc(0x2000, (8, 8), WRITE);
    events.at(100).realloc((0x2000, 8), 0x3000, (64, 64), WRITE);
    events.at(100).realloc((0x3000, 64), 0x3000, (100, 112), WRITE);
    events.at(100).alloc(kept(number), (7, 8), READ);
    events.at(100).ok();
    if extra {
        events.at(50).alloc(0x100_0000 + number * 0x100, (1_000, 1_024), WRITE);
    }
    events.at(100).free(0x1000, 24);
    events.at(100).free(0x3000, 100);
    if number > 0 {
        events.at(100).free(kept(number - 1), 7);
    }
}

/// Such requests, every tenth with the extra block.
fn log(requests: u64) -> Events {
    let mut events = Events::of(&["app::read", "app::write"]);
    (0..requests).for_each(|number| request(&mut events, number, number % 10 == 9));
    events
}

#[test]
fn requests_are_parted_by_the_pauses_and_every_event_is_one_of_theirs() {
    let traced = trace(&log(40).done()).expect("a trace");
    assert_eq!(traced.ops, 40);
    assert!(traced.check.agrees(), "{:?}", traced.check);
    assert_eq!((traced.check.listed.allocs, traced.check.listed.frees), (40 * 5 + 4, 40 * 5 - 1));
    // The first has nothing of an earlier one to give back, and four have the extra block.
    assert_eq!((traced.same, traced.request.number), (35, 21));
    let request = &traced.request;
    assert_eq!((request.allocs, request.frees, request.length_ns), (5, 5, 900));
    assert_eq!((request.requested_bytes, request.bytes), (24 + 8 + 64 + 100 + 7, 32 + 8 + 64 + 112 + 8));
    assert_eq!(request.peak_bytes, 32 + 112 + 8);
    let kinds: Vec<StepKind> = request.steps.iter().map(|step| step.kind).collect();
    use StepKind::{Alloc, Free, Ok, Realloc, Start};
    assert_eq!(kinds, [Alloc, Start, Alloc, Realloc, Realloc, Alloc, Ok, Free, Free, Free]);
    let live: Vec<i64> = request.steps.iter().map(|step| step.live_bytes).collect();
    assert_eq!(live, [32, 32, 40, 96, 144, 152, 152, 120, 8, 0]);
    assert_eq!(traced.sites.iter().map(|site| &*site.function).collect::<Vec<_>>(), ["app::read", "app::write"]);
}

#[test]
fn blocks_live_until_they_are_given_back_or_made_larger() {
    let traced = trace(&log(40).done()).expect("a trace");
    let steps = &traced.request.steps;
    let lives = |step: usize| steps[step].lifetime.map(|lifetime| (lifetime.ns, lifetime.ops));
    assert_eq!(
        [lives(0), lives(2), lives(3), lives(4)],
        [Some((700, 0)), Some((100, 0)), Some((100, 0)), Some((400, 0))]
    );
    assert!(lives(5).is_some_and(|(ns, ops)| ops == 1 && ns > 5_000_000));
    let others: Vec<Option<usize>> = steps.iter().map(|step| step.other).collect();
    assert_eq!(others, [Some(7), None, Some(3), Some(4), Some(8), None, None, Some(0), Some(4), None]);
    assert_eq!((steps[3].from, steps[3].moved, steps[4].moved), (Some(8), Some(true), Some(false)));
    assert_eq!(lives(9).map(|(_, ops)| ops), Some(1));
}

#[test]
fn the_fate_of_bytes_and_what_grew_add_up() {
    let traced = trace(&log(40).done()).expect("a trace");
    let fates = &traced.fates;
    assert_eq!((fates.ops, fates.watched), (20, 20));
    let [write, read] = &fates.rows[..] else { panic!("two sites: {fates:?}") };
    // In the first twenty two had the extra block, which stays.
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    close(write.within.bytes_per_op, 184.0);
    close(write.kept.bytes_per_op, 102.4);
    close(write.kept.allocs_per_op, 0.1);
    assert_eq!((read.within.bytes_per_op, read.later.bytes_per_op, read.kept.allocs_per_op), (32.0, 8.0, 0.0));
    for row in [write, read, &fates.total] {
        close(row.within.bytes_per_op + row.later.bytes_per_op + row.kept.bytes_per_op, row.total.bytes_per_op);
        close(row.within.allocs_per_op + row.later.allocs_per_op + row.kept.allocs_per_op, row.total.allocs_per_op);
    }
    let [growth] = &traced.growth[..] else { panic!("one site: {:?}", traced.growth) };
    assert_eq!((growth.chains_per_op, growth.steps, growth.most_steps), (1.0, 2.0, 2));
    assert_eq!((growth.first, growth.last), ((8, 8), (100, 100)));
    // The second realloc found room where the block was.
    assert_eq!((growth.moves_per_op, growth.copied_bytes_per_op), (1.0, 8.0));
}

#[test]
fn the_fates_of_stacks_are_all_allocations_of_the_log() {
    let traced = trace(&log(41).done()).expect("a trace");
    let sum = |of: fn(&StackFate) -> u64| traced.stacks.iter().map(of).sum::<u64>();
    let listed = traced.check.listed;
    let all = |stack: &StackFate| [stack.within, stack.later, stack.kept, stack.after];
    let blocks: u64 = traced.stacks.iter().flat_map(all).map(|blocks| blocks.blocks).sum();
    let bytes: u64 = traced.stacks.iter().flat_map(all).map(|blocks| blocks.bytes).sum();
    assert_eq!((blocks, Some(bytes)), (listed.allocs, listed.usable_bytes));
    assert_eq!(traced.check.counted, Some(listed));
    // What is said per op is the same blocks: of the first 21 requests.
    let judged = blocks - sum(|stack| stack.after.blocks);
    assert_eq!((traced.fates.ops, judged), (21, 21 * 5 + 2));
    assert_eq!((traced.fates.total.total.allocs_per_op * 21.0).round(), judged as f64);
    assert_eq!([sum(|s| s.grown.blocks), sum(|s| s.grown.steps), sum(|s| s.grown.copied_bytes)], [41, 82, 41 * 8]);
}

#[test]
fn what_the_next_request_and_others_did_otherwise_is_marked() {
    let traced = trace(&log(40).done()).expect("a trace");
    assert!(traced.next.expect("a next one").iter().all(|compared| compared.side == Whose::Both));
    let [extra, first] = &traced.variants[..] else { panic!("two kinds: {:?}", traced.variants) };
    assert_eq!((&extra.requests[..], extra.allocs, extra.bytes), (&[10, 20, 30, 40][..], 6, 224 + 1_024));
    let [difference] = extra.differences[..] else { panic!("{extra:?}") };
    assert_eq!(
        (difference.side, difference.step.kind, difference.step.requested),
        (Whose::Second, StepKind::Alloc, Some(1_000))
    );
    assert_eq!(first.requests, [1]);
    let [difference] = first.differences[..] else { panic!("{first:?}") };
    assert_eq!(
        (difference.side, difference.step.kind, difference.step.requested),
        (Whose::First, StepKind::Free, Some(7))
    );

    // With the extra one right behind it.
    let traced = trace(&log(10).done()).expect("a trace");
    assert_eq!(traced.request.number, 6);
    let mut events = log(0);
    (0..4).for_each(|number| request(&mut events, number, number == 3));
    let traced = trace(&events.done()).expect("a trace");
    let next = traced.next.expect("a next one");
    assert_eq!(traced.request.number, 3);
    assert_eq!(next.iter().filter(|compared| compared.side == Whose::Second).count(), 1);
    assert_eq!(next.len(), 11);
}

#[test]
fn a_list_that_is_not_whole_does_not_agree() {
    let mut log = log(4).done();
    log.counters.as_mut().expect("counters").allocs = Some(7);
    assert!(!trace(&log).expect("a trace").check.agrees());
    let mut log = self::log(4).done();
    (log.dropped, log.ended) = (1, LogEnd::Full);
    assert!(!trace(&log).expect("a trace").check.agrees());
    let mut log = self::log(4).done();
    log.counters = None;
    assert!(!trace(&log).expect("a trace").check.agrees());
}

#[test]
fn a_realloc_without_memory_leaves_its_block() {
    let mut events = Events::of(&["app::read", "app::write"]);
    events.start();
    events.at(10).alloc(0x1000, (8, 8), READ);
    events.at(10).realloc_from(0x1000, 8);
    events.at(10).free(0x1000, 8);
    events.at(10).ok();
    let traced = trace(&events.done()).expect("a trace");
    assert_eq!(traced.request.steps[1].lifetime.map(|lifetime| lifetime.ns), Some(20));
    assert_eq!((traced.growth.len(), traced.unseen_frees), (0, 0));
}

#[test]
fn memory_that_another_thread_gets_during_a_realloc_is_told_apart() {
    let mut events = Events::of(&["app::read", "app::write"]);
    events.start();
    events.at(10).alloc(0x1000, (8, 8), READ);
    events.at(10).realloc_from(0x1000, 8);
    events.at(10).on(1).alloc(0x1000, (4, 8), WRITE);
    events.at(10).on(0).realloc_to(0x2000, (64, 64), READ);
    events.at(10).free(0x1000, 4);
    events.at(10).free(0x2000, 64);
    events.at(10).ok();
    let traced = trace(&events.done()).expect("a trace");
    assert_eq!(traced.unseen_frees, 0);
    assert_eq!(traced.request.steps[3].from, Some(8));
    assert_eq!(traced.fates.total.kept.allocs_per_op, 0.0);
}

#[test]
fn logs_that_tell_nothing_of_single_requests_are_refused() {
    let mut events = Events::of(&["app::read"]);
    events.start();
    events.at(10).start();
    events.at(10).ok();
    assert_eq!(trace(&events.done()), Err(TraceError::AtOnce));
    let mut events = Events::of(&["app::read"]);
    events.alloc(0x1000, (8, 8), READ);
    assert_eq!(trace(&events.done()), Err(TraceError::NoRequests(1)));
}
