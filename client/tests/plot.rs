//! Pictures of results.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod results;

use analyze::{
    load::Sharing,
    measure::result::RunResult,
    plot::{self, PlotError},
};
use results::{Costs, derive, full, no_rounds, ramp};

fn names(results: &[RunResult]) -> Vec<String> {
    plot::pictures(results).unwrap().into_iter().map(|picture| picture.name).collect()
}

/// A framework's result in a scenario: QPS, p99, B/op and allocs/op.
fn result(framework: &str, payload: u64, concurrency: u32, figures: [Option<f64>; 4]) -> RunResult {
    let mut result =
        derive(framework, Costs { requests: 50, allocs: 4, requested: 900, usable: Some(1_000), cpu_us: 9 });
    let [qps, p99, bytes, allocs] = figures;
    result.payload_size = payload;
    result.concurrency = concurrency;
    result.scenario = format!("{}-{concurrency}", analyze::units::format_size(payload));
    result.figures.qps = qps;
    result.figures.latency_p99_ms = p99;
    result.figures.latency_p999_ms = p99.map(|p99| p99 * 1.7);
    result.figures.bytes_per_op = bytes;
    result.figures.allocs_per_op = allocs;
    result.spread.qps = qps.map(|_| 0.12);
    result.spread.latency_p99_ms = p99.map(|_| 0.3);
    result
}

/// The figures that the Triple protocol performance report gives for three frameworks.
fn report_b() -> Vec<RunResult> {
    type Row = (u64, u32, [f64; 3], [f64; 3], [f64; 3], [f64; 2]);
    const ROWS: [Row; 8] = [
        (128, 50, [4_425.0, 40_562.0, 10_626.0], [19.56, 3.58, 6.74], [23_307.0, 5_899.0, 20_345.0], [151.5, 79.4]),
        (128, 100, [4_538.0, 47_065.0, 10_667.0], [33.29, 5.54, 12.23], [22_976.0, 5_895.0, 20_342.0], [151.5, 79.3]),
        (1_024, 50, [3_598.0, 33_509.0, 8_870.0], [21.51, 4.09, 7.79], [27_659.0, 8_847.0, 23_160.0], [153.1, 79.6]),
        (1_024, 100, [3_671.0, 42_400.0, 8_919.0], [42.96, 6.8, 14.07], [27_317.0, 8_844.0, 23_163.0], [153.1, 79.4]),
        (
            16_384,
            50,
            [1_980.0, 11_882.0, 4_773.0],
            [43.24, 10.07, 21.03],
            [123_700.0, 60_638.0, 86_883.0],
            [161.2, 81.7],
        ),
        (
            16_384,
            100,
            [1_830.0, 12_853.0, 4_819.0],
            [93.16, 16.28, 32.91],
            [113_426.0, 60_625.0, 86_922.0],
            [164.5, 81.4],
        ),
        (
            1 << 20,
            50,
            [123.0, 285.0, 288.0],
            [1_075.0, 261.0, 279.0],
            [3_124_173.0, 3_176_880.0, 4_417_419.0],
            [407.4, 119.7],
        ),
        (
            1 << 20,
            100,
            [119.0, 274.0, 294.0],
            [2_400.0, 511.0, 697.0],
            [3_085_140.0, 3_173_124.0, 4_413_321.0],
            [406.9, 104.9],
        ),
    ];
    let frameworks = ["dubbo-go", "grpc-go", "dubbo-java"];
    ROWS.iter()
        .flat_map(|(payload, concurrency, qps, p99, bytes, allocs)| {
            frameworks.iter().enumerate().map(move |(at, framework)| {
                let figures = [Some(qps[at]), Some(p99[at]), Some(bytes[at]), allocs.get(at).copied()];
                result(framework, *payload, *concurrency, figures)
            })
        })
        .collect()
}

#[test]
fn a_matrix_is_drawn_by_payload_and_by_concurrency() {
    let both = ["qps", "latency", "bytes_per_op", "allocs_per_op"]
        .iter()
        .flat_map(|metric| ["payload", "concurrency"].map(|direction| format!("{metric}_by_{direction}")));
    assert_eq!(names(&report_b()), both.collect::<Vec<_>>());
}

#[test]
fn a_single_scenario_is_drawn_as_bars() {
    assert_eq!(names(&full()), ["qps", "latency", "bytes_per_op", "allocs_per_op"]);
}

#[test]
fn several_rates_are_drawn_as_a_curve_and_nothing_else() {
    assert_eq!(names(&ramp("triple", 15_000.0, 20_000)), ["curve_128B_50"]);
    let both = [full(), ramp("triple", 15_000.0, 20_000)].concat();
    assert_eq!(names(&both), ["qps", "latency", "bytes_per_op", "allocs_per_op", "curve_128B_50"]);
}

#[test]
fn more_series_than_can_be_told_apart_are_cut_by_what_differs() {
    let variants =
        [("protobuf", "none"), ("protobuf", "best"), ("hessian2", "none"), ("hessian2", "best"), ("msgpack", "none")];
    let mut results: Vec<RunResult> = Vec::new();
    for (serialization, compression) in variants {
        for mut result in report_b() {
            result.serialization = serialization.to_owned();
            result.compression = compression.to_owned();
            results.push(result);
        }
    }
    let names = names(&results);
    assert_eq!(names.len(), 5 * 8);
    assert_eq!(names[0], "qps_by_payload_protobuf-none");
    let first: Vec<RunResult> = results.into_iter().filter(|r| r.framework == "grpc-go").collect();
    assert_eq!(self::names(&first).len(), 8, "five lines fit in one picture");
}

#[test]
fn unary_calls_have_pictures_beside_streams_of_several_lengths() {
    let mut results: Vec<RunResult> = Vec::new();
    for messages in [None, Some("1"), Some("100")] {
        for mut result in report_b().into_iter().chain([result("raw", 128, 50, [Some(9e4); 4])]) {
            result.messages_per_stream = messages.map(|messages| messages.parse().unwrap());
            result.call_mode = if messages.is_some() { "streaming" } else { "unary" }.to_owned();
            results.push(result);
        }
    }
    // Whatever comes first: what fits every picture makes none of its own.
    results.reverse();
    let names = names(&results);
    for variant in ["unary", "streaming-1", "streaming-100"] {
        assert!(names.contains(&format!("qps_by_payload_{variant}")), "{names:?}");
    }
    assert_eq!(names.len(), 3 * 8, "{names:?}");
}

#[test]
fn pooled_calls_with_a_connection_each_make_lines_by_concurrency() {
    let mut results = report_b();
    for result in &mut results {
        (result.load.sharing, result.load.connections) = (Sharing::Pool, result.concurrency as usize);
    }
    assert_eq!(names(&results), names(&report_b()));
}

#[test]
fn what_was_not_measured_is_left_out() {
    let mut results = report_b();
    for result in &mut results {
        result.figures.allocs_per_op = result.figures.allocs_per_op.filter(|_| result.framework == "grpc-go");
        result.figures.bytes_per_op = None;
    }
    assert!(names(&results).iter().all(|name| !name.starts_with("bytes")), "no picture without a value");
    let pictures = plot::pictures(&results).unwrap();
    let allocs = pictures.iter().find(|picture| picture.name == "allocs_per_op_by_payload").unwrap();
    let svg = plot::svg(allocs).unwrap();
    assert!(svg.contains("grpc-go") && !svg.contains("dubbo-go"), "no entry in the legend without a point");
}

#[test]
fn nothing_to_draw_is_an_error() {
    for results in [vec![], vec![no_rounds()]] {
        let error = plot::pictures(&results).unwrap_err();
        assert!(matches!(error, PlotError::Nothing(n) if n == results.len()), "{error}");
    }
}

/// Eight series with long names: nothing may lie outside of the picture or on something else.
fn crowded() -> Vec<RunResult> {
    let mut results = Vec::new();
    for (at, label) in ["before", "2026-01-31T17-05-09Z-a-change-with-a-very-long-label"].into_iter().enumerate() {
        for framework in ["triple", "grpc", "dubbo-go", "dubbo-java"] {
            for mut result in report_b().into_iter().filter(|r| r.framework == "grpc-go") {
                result.framework = framework.to_owned();
                result.label = label.to_owned();
                let factor = 1.0 + 0.21 * framework.len() as f64 + 0.1 * at as f64;
                result.figures.qps = result.figures.qps.map(|qps| qps / factor);
                result.figures.latency_p99_ms = result.figures.latency_p99_ms.map(|ms| ms * factor);
                result.figures.latency_p999_ms = result.figures.latency_p999_ms.map(|ms| ms * factor);
                results.push(result);
            }
        }
    }
    results
}

#[test]
fn texts_of_a_crowded_picture_do_not_overlap() {
    for picture in plot::pictures(&crowded()).unwrap() {
        let svg = plot::svg(&picture).unwrap();
        let texts = texts(&svg);
        assert!(texts.len() > 20);
        for (at, a) in texts.iter().enumerate() {
            for b in &texts[at + 1..] {
                assert!(!a.meets(b), "{}: {:?} and {:?}", picture.name, a.text, b.text);
            }
        }
    }
}

/// The room a text takes, roughly: an average character is half as wide as it is high.
struct Place {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Place {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

fn texts(svg: &str) -> Vec<Place> {
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.unwrap_or_else(|| panic!("{name} in {tag}")).to_owned()
    };
    let number = |tag: &str, name: &str| attribute(tag, name).parse::<f64>().unwrap();
    let place = |part: &str| {
        let (tag, rest) = part.split_once('>').unwrap();
        let text = rest.split('<').next().unwrap().trim().to_owned();
        let (x, y, size) = (number(tag, "x"), number(tag, "y"), number(tag, "font-size"));
        let length = text.chars().count() as f64 * size * 0.5;
        let before = match attribute(tag, "text-anchor").as_str() {
            "start" => 0.0,
            "middle" => length / 2.0,
            _ => length,
        };
        let after = length - before;
        let (half, turned) = (size * 0.4, tag.contains("rotate(270"));
        let (left, right, top, bottom) = if turned {
            (x - half, x + half, y - after, y + before)
        } else {
            (x - before, x + after, y - half, y + half)
        };
        Place { text, left, right, top, bottom }
    };
    svg.split("<text").skip(1).map(place).collect()
}

/// Also writes every kind of picture to the folder that `PLOTS` names, for the eye.
#[test]
fn pictures_are_svg_and_png_of_twice_the_size() {
    let folder = std::env::var_os("PLOTS").map(std::path::PathBuf::from);
    let curves = [ramp("triple", 15_000.0, 20_000), ramp("grpc", 22_000.0, 20_000)].concat();
    let one_curve = ramp("triple", 15_000.0, 20_000);
    let flat = ramp("triple", 1e6, 20_000);
    let sets = [
        ("matrix", report_b()),
        ("bars", full()),
        ("crowded", crowded()),
        ("curves", curves),
        ("curve", one_curve),
        ("flat", flat),
    ];
    for (set, results) in sets {
        let pictures = plot::pictures(&results).unwrap();
        let shown = if folder.is_some() { pictures.len() } else { 1 };
        for picture in &pictures[..shown] {
            let (svg, png) = (plot::svg(picture).unwrap(), plot::png(picture).unwrap());
            let side = |name: &str| {
                svg.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse::<u32>()
            };
            let (width, height) = (side("width").unwrap(), side("height").unwrap());
            assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
            assert_eq!(png[16..20], (width * 2).to_be_bytes());
            assert_eq!(png[20..24], (height * 2).to_be_bytes());
            if let Some(folder) = &folder {
                std::fs::create_dir_all(folder.join(set)).unwrap();
                std::fs::write(folder.join(set).join(format!("{}.svg", picture.name)), svg).unwrap();
                std::fs::write(folder.join(set).join(format!("{}.png", picture.name)), png).unwrap();
            }
        }
    }
}

/// Replies within the window leave out those in flight at its end; the table has the share of the schedule.
#[test]
fn a_curve_is_drawn_at_the_rates_that_the_table_has() {
    let drawn = |results: &[RunResult]| plot::svg(&plot::pictures(results).unwrap()[0]).unwrap();
    let mut exact = ramp("triple", 1e6, 20_000);
    exact.iter_mut().for_each(|result| result.figures.qps = result.load.qps);
    let mut late = exact.clone();
    for result in &mut late {
        result.missed_requests = Some(0);
        result.figures.qps = result.load.qps.map(|qps| qps * 0.8);
    }
    assert!(drawn(&late) == drawn(&exact), "all were answered, some of them late");
}

#[test]
fn a_mark_shows_the_knee_and_what_was_not_reached() {
    let pictures = plot::pictures(&ramp("triple", 15_000.0, 20_000)).unwrap();
    let svg = plot::svg(&pictures[0]).unwrap();
    // Ten times the p99 of 1,000/s comes at 15,000/s − (15,000/s − 1,000/s) ÷ 10; the step below that is 11,556/s.
    assert!(svg.contains("triple, knee at 11,556/s"));
    assert!(svg.contains("Hollow:") && svg.contains("Ring:"));
    let beyond = plot::svg(&plot::pictures(&ramp("triple", 150_000.0, 20_000)).unwrap()[0]).unwrap();
    assert!(beyond.contains("triple, knee beyond 20,000/s") && !beyond.contains("Hollow:"));
}
