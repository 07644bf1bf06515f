//! Reports as pages for a browser.

mod results;

use analyze::{
    compare::{Criteria, compare},
    measure::result::RunResult,
    plot,
    profile::{Drawn, DrawnFrame},
    report::{Against, Document, Flamegraph, Shown, page},
};
use results::{full, ramp};

fn frame(name: &str, depth: u32, start: u64, width: u64) -> DrawnFrame {
    DrawnFrame { name: name.to_owned(), value: format!("{width} B/op"), depth, start, width }
}

fn flamegraphs(results: &[RunResult], function: &str) -> Vec<Flamegraph> {
    let drawn = Drawn {
        about: "alloc_space, bytes per op".to_owned(),
        frames: vec![frame("all", 0, 0, 4), frame(function, 1, 0, 3), frame("all", 1, 3, 1)],
    };
    results.iter().map(|result| Flamegraph::new(result, "B/op", drawn.clone())).collect()
}

fn pictures(results: &[RunResult]) -> Vec<String> {
    let pictures = plot::pictures(results).expect("something to draw");
    pictures.iter().map(|picture| plot::svg(picture).expect("a picture")).collect()
}

fn page_of(base: Option<&[RunResult]>, results: &[RunResult], function: &str) -> String {
    let comparison = base.map(|base| compare(base, results, &Criteria::default()));
    let against = base.zip(comparison.as_ref()).map(|(results, comparison)| Against { results, comparison });
    let all = [base.unwrap_or_default(), results].concat();
    let (pictures, flamegraphs) = (&pictures(&all), &flamegraphs(&all, function));
    page(&Document { results, against, traces: &[] }, Shown { pictures, timelines: &[], flamegraphs })
}

/// The same figures, measured an hour before.
fn base() -> Vec<RunResult> {
    let mut results = full();
    for result in &mut results {
        result.label = "base".to_owned();
        result.timestamp = "2026-01-31T16:05:09Z".to_owned();
    }
    results
}

#[test]
fn a_page_loads_nothing() {
    let page = page_of(Some(&base()), &full(), "main");
    for outside in
        ["http://", "https://", "//www", " src=", "url(", "@import", "<iframe", "<object", "<embed", "<image"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    let links: Vec<&str> = page.split(" href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.iter().all(|link| link.starts_with('#') || *link == "data:,"), "{links:?}");
    assert!(page.contains("default-src 'none'"), "what slips through is not loaded");
}

#[test]
fn a_page_has_all_that_a_pull_request_has_and_pictures() {
    let page = page_of(Some(&base()), &full(), "main");
    assert!(page.contains("<title>t against base</title>"), "{page}");
    let heads: Vec<&str> = page.split("<h2>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(
        heads,
        [
            "t against base",
            "Results of t",
            "Pictures",
            "Flamegraphs",
            "Environment",
            "How it was measured",
            "To measure it again"
        ]
    );
    assert!(page.contains("<th scope=\"col\" class=\"figure\"><button type=\"button\">change</button></th>"));
    assert!(
        page.contains("<td class=\"even\">cannot judge</td>") && page.contains("<details>\n<summary>Results of base")
    );
    assert!(
        page.contains("<tfoot>\n<tr><td class=\"figure\">128</td><td class=\"figure\">0.50</td><td>(7 others)</td>")
    );
    assert!(page.contains("<svg width=\"760\"") && page.contains("analyze --scenario 128B-50 --rounds 3"));
    assert!(page_of(None, &ramp("triple", 15_000.0, 20_000), "main").contains("triple, knee at 11,556/s"));
}

#[test]
fn a_page_without_pictures_has_no_place_for_them() {
    let page = page(&Document { results: &full(), against: None, traces: &[] }, Shown::default());
    assert!(page.contains("<h2>Run t</h2>") && !page.contains("<h2>Pictures") && !page.contains("<h2>Flamegraphs"));
    assert!(page.contains(r#"<script type="application/json" id="data">{"texts":[],"graphs":[]}</script>"#));
}

#[test]
fn flamegraphs_are_data() {
    let page = page_of(None, &full()[..1], "main");
    let json = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(data["texts"], serde_json::json!(["all", "4 B/op", "main", "3 B/op", "1 B/op"]));
    assert_eq!(
        data["graphs"],
        serde_json::json!([{
            "run": "t",
            "cell": "triple 128B-50: protobuf, unary",
            "metric": "B/op",
            "about": "alloc_space, bytes per op",
            "frames": [[0, 0, 4, 0, 1], [1, 0, 3, 2, 3], [1, 3, 1, 0, 4]],
        }])
    );
}

#[test]
fn text_of_others_stays_text() {
    let script = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{script}}";
    let mut results = full();
    for result in &mut results {
        result.label = script.to_owned();
        result.framework = script.to_owned();
        result.scenario = format!("{script}-50");
        result.warnings = vec![script.to_owned()];
        result.environment.kernel = Some(script.to_owned());
        result.environment.cpu_model = Some(script.to_owned());
        if let Some(sites) = &mut result.sites {
            sites.rows[0].function = script.to_owned();
        }
    }
    let page = page_of(Some(&base()[..1]), &results[..1], script);
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    assert!(page.contains("⚠ ") && page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}
