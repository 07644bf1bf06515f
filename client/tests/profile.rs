//! Profiles of other programs, and of none: numbers against `go tool pprof`, and files made to break a reader.

mod profiles;
mod results;

use std::{io::Write, num::NonZeroU64};

use analyze::{
    profile::{self, Filter, Flame, Profile, ProfileError, collapsed, flamegraph, sites, top},
    report,
};
use echo_proto::profile as proto;
use flate2::{Compression, write::GzEncoder};
use profiles::{Builder, go_top, golden_profile};
use prost::Message;
use results::assert_golden;

const ONE: NonZeroU64 = NonZeroU64::MIN;
const ALL: Filter = Filter { focus: None, ignore: None };
const HUNDRED: NonZeroU64 = NonZeroU64::new(100).unwrap();

#[test]
fn top_is_that_of_go_tool_pprof() {
    for (file, kind) in [
        ("go_cpu", "cpu"),
        ("go_cpu", "samples"),
        ("go_heap", "inuse_space"),
        ("go_heap", "alloc_space"),
        ("go_allocs", "alloc_objects"),
    ] {
        let path = golden_profile(&format!("{file}.pb.gz"));
        let golden = golden_profile(&format!("{file}.{kind}.top.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, go_top(&path, kind, &[])).unwrap();
        }
        let profile = profile::load(&path).unwrap();
        let table = top(&profile, &ALL, profile.type_index(Some(kind)).unwrap(), None);
        let (ours, pprofs) = (report::top(&table), std::fs::read_to_string(&golden).unwrap());
        let differ = ours.lines().zip(pprofs.lines()).find(|(a, b)| a != b);
        assert!(ours == pprofs, "{file} {kind}: {differ:#?}, {} and {} bytes", ours.len(), pprofs.len());
    }
}

#[test]
fn a_limit_keeps_the_first_and_says_so() {
    let profile = profile::load(&golden_profile("go_heap.pb.gz")).unwrap();
    let index = profile.type_index(Some("alloc_space")).unwrap();
    let (all, three) = (top(&profile, &ALL, index, None), top(&profile, &ALL, index, Some(3)));
    assert_eq!(three.rows, all.rows[..3]);
    assert!(report::top(&three).contains(&format!("Showing top 3 nodes out of {}\n", all.rows.len())));
}

#[test]
fn the_default_type_is_the_profiles_own() {
    for (file, kind) in [("go_cpu", "cpu"), ("go_heap", "inuse_space"), ("go_allocs", "alloc_space")] {
        let profile = profile::load(&golden_profile(&format!("{file}.pb.gz"))).unwrap();
        assert_eq!(profile.types()[profile.type_index(None).unwrap()].kind, kind);
    }
}

#[test]
fn a_type_that_is_not_there_is_named_with_those_that_are() {
    let profile = profile::load(&golden_profile("go_cpu.pb.gz")).unwrap();
    let error = sites(&profile, ONE, 10).unwrap_err();
    assert_eq!(error.to_string(), "has no sample type \"alloc_space\"; it has samples, cpu");
}

#[test]
fn sites_of_a_go_program_add_up_to_its_profile() {
    let profile = profile::load(&golden_profile("go_allocs.pb.gz")).unwrap();
    let ops = 1_000;
    let table = sites(&profile, NonZeroU64::new(ops).unwrap(), 5).unwrap();
    let whole: i64 =
        profile.samples().map(|(_, values)| values[profile.type_index(Some("alloc_space")).unwrap()]).sum();
    assert_eq!(table.rows.len(), 5);
    assert!((table.total.bytes_per_op - whole as f64 / ops as f64).abs() < 1e-6);
    let sum: f64 = table.rows.iter().map(|row| row.per_op.bytes_per_op).sum::<f64>() + table.others.per_op.bytes_per_op;
    assert!((sum / table.total.bytes_per_op - 1.0).abs() < 1e-9);
    assert!(table.rows.is_sorted_by(|a, b| a.per_op.bytes_per_op >= b.per_op.bytes_per_op));
    assert!(table.rows.iter().all(|row| !row.function.starts_with("runtime.")), "{:?}", table.rows);
}

const ALLOC_TYPES: &[(&str, &str)] = &[("alloc_objects", "count"), ("alloc_space", "bytes")];
const ALLOCATOR: &[(&str, &str, i64)] =
    &[("<debug_pprof::alloc::CountingAlloc<A> as core::alloc::global::GlobalAlloc>::alloc", "alloc.rs", 9)];
const RESERVE: &[(&str, &str, i64)] = &[
    // Line tables give inlined functions no module.
    ("grow_amortized<u8, A>", "/rustc/0/library/alloc/src/raw_vec.rs", 1),
    // A type of h2's, but a method of the standard library's trait.
    ("<h2::frame::Data<B> as core::iter::Iterator>::for_each", "/rustc/0/library/core/src/iter.rs", 1),
    ("<bytes::bytes_mut::BytesMut as bytes::buf::buf_mut::BufMut>::put_slice", "/r/bytes-1.12/src/bytes_mut.rs", 2),
    (
        "<h2::codec::framed_read::FramedRead<T> as futures_core::stream::Stream>::poll_next",
        "/r/h2-0.4.20/src/codec/framed_read.rs",
        213,
    ),
];
const MAIN: &[(&str, &str, i64)] = &[("echo_server::main", "/w/server/src/main.rs", 5)];

fn server_profile() -> Builder {
    let mut builder = Builder::new(ALLOC_TYPES);
    builder
        .sample(&[ALLOCATOR, RESERVE, MAIN], &[300, 240_000])
        .sample(&[ALLOCATOR, MAIN], &[100, 6_400])
        .sample(&[ALLOCATOR, &[("std::thread::spawn", "/rustc/0/library/std/src/thread.rs", 7)]], &[6, 600]);
    builder
}

#[test]
fn a_site_is_the_line_that_asked_for_memory() {
    let table = sites(&server_profile().decoded().unwrap(), HUNDRED, 10).unwrap();
    let rows: Vec<(&str, String, f64, f64)> = table
        .rows
        .iter()
        .map(|s| {
            let place = format!("{}:{}", s.file.as_deref().unwrap_or("?"), s.line.unwrap_or(0));
            (s.function.as_str(), place, s.per_op.bytes_per_op, s.per_op.allocs_per_op)
        })
        .collect();
    assert_eq!(
        rows,
        [
            (
                "h2::codec::framed_read::FramedRead::poll_next",
                "h2-0.4.20/src/codec/framed_read.rs:213".to_owned(),
                2_400.0,
                3.0
            ),
            ("echo_server::main", "server/src/main.rs:5".to_owned(), 64.0, 1.0),
            // All of the stack is plumbing: the innermost frame.
            ("debug_pprof::alloc::CountingAlloc::alloc", "alloc.rs:9".to_owned(), 6.0, 0.06),
        ]
    );
    assert_eq!((table.total.bytes_per_op, table.total.allocs_per_op, table.others.sites), (2_470.0, 4.06, 0));
    let short = sites(&server_profile().decoded().unwrap(), HUNDRED, 1).unwrap();
    assert_eq!((short.rows.len(), short.others.sites, short.others.per_op.bytes_per_op), (1, 2, 70.0));
}

#[test]
fn stacks_are_root_first_with_inlined_frames() {
    let profile = server_profile().decoded().unwrap();
    let stacks = collapsed(&profile, profile.type_index(Some("alloc_objects")).unwrap());
    let h2 = "echo_server::main;h2::codec::framed_read::FramedRead::poll_next;bytes::bytes_mut::BytesMut::put_slice;\
              h2::frame::Data::for_each;alloc::raw_vec::grow_amortized;debug_pprof::alloc::CountingAlloc::alloc";
    assert_eq!(stacks.get(h2), Some(&300));
    assert_eq!(stacks.len(), 3);
}

#[test]
fn names_cannot_break_the_folded_format() {
    let mut builder = Builder::new(ALLOC_TYPES);
    builder.sample(&[&[("a;b\n[u8; 8] 12 34", "", 0)]], &[1, 2]).sample(&[&[("\u{e000}", "", 0)]], &[1, 6]);
    let profile = builder.decoded().unwrap();
    let stacks = collapsed(&profile, 1);
    assert_eq!(stacks.keys().map(String::as_str).collect::<Vec<_>>(), ["a,b [u8, 8] 12_34", "\u{e000}"]);
    let svg = flamegraph(&profile, &Flame { title: "t", kind: Some("alloc_space"), ops: None }).unwrap();
    assert!(
        svg.contains("<title>a,b [u8, 8] 12_34 (2 B, 25.00%)</title>")
            && svg.contains("<title>? (6 B, 75.00%)</title>"),
        "{svg}"
    );
}

#[test]
fn a_function_is_one_frame_whatever_stands_beside_it() {
    let mut builder = Builder::new(ALLOC_TYPES);
    let [poll, poll2, read]: [&[(&str, &str, i64)]; 3] = [&[("poll", "", 0)], &[("poll2", "", 0)], &[("read", "", 0)]];
    // As text, the second comes between the first and the third.
    builder.sample(&[poll], &[1, 5]).sample(&[read, poll2], &[1, 1]).sample(&[read, poll], &[1, 2]);
    let flame = Flame { title: "t", kind: Some("alloc_space"), ops: None };
    let svg = flamegraph(&builder.decoded().unwrap(), &flame).unwrap();
    assert!(svg.contains("<title>poll (7 B, 87.50%)</title>"), "{svg}");
}

#[test]
fn a_flamegraphs_whole_is_the_tables_figure_per_op() {
    let profile = server_profile().decoded().unwrap();
    let draw =
        |kind| flamegraph(&profile, &Flame { title: "triple 128B-50", kind: Some(kind), ops: Some(100) }).unwrap();
    let space = draw("alloc_space");
    for text in [
        ">triple 128B-50<",
        "alloc_space, bytes per op; whole = 2,470 B/op",
        "<title>all (2,470 B/op, 100%)</title>",
        "<title>h2::codec::framed_read::FramedRead::poll_next (2,400 B/op, 97.17%)</title>",
    ] {
        assert!(space.contains(text), "{text}");
    }
    let objects = draw("alloc_objects");
    for text in [
        "whole = 4.06 allocs/op",
        "<title>all (4.06 allocs/op, 100%)</title>",
        "<title>std::thread::spawn (0.060 allocs/op, 1.48%)</title>",
    ] {
        assert!(objects.contains(text), "{text}");
    }
    assert_eq!(draw("alloc_space"), space, "the same profile gives the same bytes");
    assert!(!space.contains('\u{e000}'));
}

#[test]
fn flamegraphs_of_other_programs() {
    let profile = profile::load(&golden_profile("go_cpu.pb.gz")).unwrap();
    let svg = flamegraph(&profile, &Flame { title: "go", kind: None, ops: None }).unwrap();
    assert!(
        svg.contains("cpu, ms of CPU time; whole = 2,490 ms")
            && svg.contains("<title>main.work (")
            && svg.contains(" ms, ")
    );
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let draw = |builder: &Builder| {
        flamegraph(&builder.decoded().unwrap(), &Flame { title: "", kind: Some("alloc_space"), ops: Some(1) })
    };
    let mut negative = Builder::new(ALLOC_TYPES);
    negative.sample(&[MAIN], &[-1, -8]);
    assert!(matches!(draw(&negative), Err(ProfileError::Negative(kind)) if kind == "alloc_space"));
    assert!(matches!(draw(&Builder::new(ALLOC_TYPES)), Err(ProfileError::NoSamples(_))));
    assert!(matches!(draw(&Builder::new(&[("cpu", "nanoseconds")])), Err(ProfileError::NoSuchType { .. })));
}

#[test]
fn broken_references_are_named() {
    let broken = |edit: fn(&mut proto::Profile)| {
        let mut builder = server_profile();
        edit(&mut builder.profile);
        builder.decoded().unwrap_err().to_string()
    };
    for (error, expected) in [
        (broken(|p| p.sample_type.clear()), "has samples but no sample types"),
        (broken(|p| p.sample[1].value.truncate(1)), "sample 1 has 1 values; the profile has 2 sample types"),
        (broken(|p| p.sample[0].location_id[0] = 99), "sample 0 refers to location 99, which is not in the profile"),
        (broken(|p| p.location[0].mapping_id = 5), "location 1 refers to mapping 5, which is not in the profile"),
        (
            broken(|p| p.location[1].line[0].function_id = 0),
            "location 2 refers to function 0, which is not in the profile",
        ),
        (broken(|p| p.location[0].id = 0), "location id 0 is reserved"),
        (broken(|p| p.function[1].id = 1), "function id 1 is used twice"),
        (broken(|p| p.function[0].name = -1), "a function refers to string -1, which is not in the profile"),
        (
            broken(|p| p.function[0].filename = i64::MAX),
            "a function refers to string 9223372036854775807, which is not in the profile",
        ),
        (
            broken(|p| p.sample_type[0].r#type = 1 << 40),
            "a sample type refers to string 1099511627776, which is not in the profile",
        ),
    ] {
        assert_eq!(error, expected);
    }
}

#[test]
fn extreme_values_are_no_panic() {
    let mut builder = Builder::new(ALLOC_TYPES);
    builder
        .sample(&[MAIN], &[i64::MIN, i64::MIN])
        .sample(&[MAIN], &[i64::MAX, i64::MAX])
        .sample(&[], &[i64::MAX, i64::MAX]);
    let profile = builder.decoded().unwrap();
    assert_eq!(sites(&profile, ONE, 10).unwrap().rows.len(), 2);
    for (index, (kind, _)) in ALLOC_TYPES.iter().enumerate() {
        report::top(&top(&profile, &ALL, index, None));
        assert!(flamegraph(&profile, &Flame { title: "", kind: Some(kind), ops: None }).is_err());
    }
}

#[test]
fn what_is_no_profile_is_said() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let whole = gzip(&server_profile().profile.encode_to_vec());
    assert!(Profile::decode(&whole).is_ok());
    assert!(matches!(Profile::decode(b""), Err(ProfileError::Empty)));
    assert!(matches!(Profile::decode(&gzip(b"")), Err(ProfileError::Empty)));
    assert!(matches!(Profile::decode(&whole[..whole.len() / 2]), Err(ProfileError::Gzip(_))));
    assert!(matches!(Profile::decode(b"<html>404 not found</html>"), Err(ProfileError::Proto(_))));
    assert!(matches!(
        Profile::decode(&gzip(b"heap profile: 1: 2 [3: 4] @ heap_v2/524288")),
        Err(ProfileError::Proto(_))
    ));
    // 300 KB that unpack to 300 MiB.
    let bomb = gzip(&vec![0; 300 << 20]);
    assert!(matches!(Profile::decode(&bomb), Err(ProfileError::TooLarge)));
    let error = profile::load(&golden_profile("none.pb.gz")).unwrap_err().to_string();
    assert!(error.contains("none.pb.gz: can't be read: "), "{error}");
}

#[test]
fn a_file_cut_or_changed_anywhere_is_no_panic() {
    let bytes = server_profile().profile.encode_to_vec();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        for hostile in [&bytes[..at], &changed] {
            if let Ok(profile) = Profile::decode(hostile) {
                for index in 0..profile.types().len() {
                    report::top(&top(&profile, &ALL, index, None));
                    collapsed(&profile, index);
                }
                // A profile of other types, or of negative values, is refused.
                let _ = sites(&profile, ONE, 10);
                let _ = flamegraph(&profile, &Flame { title: "", kind: None, ops: Some(1) });
            }
        }
    }
}

#[test]
fn inlined_frames_may_not_multiply_without_bound() {
    let mut builder = Builder::new(&[("cpu", "nanoseconds")]);
    let lines: Vec<(&str, &str, i64)> = vec![("f", "", 0); 20_000];
    builder.sample(&[&lines], &[1]);
    builder.profile.sample[0].location_id = vec![1; 20_000];
    assert!(matches!(builder.decoded(), Err(ProfileError::TooManyFrames)));
}

#[test]
fn unsymbolized_frames_show_their_mapping() {
    let mut builder = Builder::new(&[("cpu", "nanoseconds")]);
    builder.sample(&[&[], MAIN], &[10]).sample(&[&[]], &[5]);
    let filename = builder.string("/usr/lib/libc.so.6");
    builder.profile.mapping.push(proto::Mapping { id: 1, filename, ..Default::default() });
    builder.profile.location[0].mapping_id = 1;
    let table = top(&builder.decoded().unwrap(), &ALL, 0, None);
    let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["[libc.so.6]", "<unknown>", "echo_server::main"]);
}

#[test]
fn a_table_of_functions_reads_as_pprofs() {
    let profile = server_profile().decoded().unwrap();
    assert_golden("top_alloc_space.txt", &report::top(&top(&profile, &ALL, 1, None)));
}
