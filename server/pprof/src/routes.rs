//! The debug endpoints: names, parameters and formats as Go's `net/http/pprof` and `expvar` have them.

use std::{
    collections::HashMap,
    env, fs, io,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime},
};

use axum::{
    Json, Router,
    extract::{Query as AxumQuery, Request},
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use echo_proto::profile::Profile;

use crate::{
    allocations::{AllocationLog, Ended},
    builder::{self, Recording, Stack, StackSample},
    census, cpu,
    error::Error,
    event_log::{self, EventLog},
    flame, heap, jemalloc,
    mem_stats::{JemallocStats, MemStats},
    modules,
    query::Query,
    sample,
    symbolize::Symbolizer,
    text, thread,
    vars::Vars,
};

/// Go's default for a CPU profile, in seconds.
const CPU_SECONDS: u64 = 30;
/// How long events are logged unless told.
const LOG_SECONDS: u64 = 10;
/// How often it is looked whether the last of the requests asked for has ended: when it has, and nothing happened between two
/// looks, the log is over.
const LOG_POLL: Duration = Duration::from_millis(20);
/// How long the flamegraph endpoint records unless told.
const FLAMEGRAPH_SECONDS: u64 = 5;

static READY: AtomicBool = AtomicBool::new(false);
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What `/healthz` answers from now on: 200 when ready, else 503, which is also what it answers before the first call.
pub fn set_ready(ready: bool) {
    READY.store(ready, Relaxed);
}

/// The debug endpoints as a router to nest or merge in a server of your own; [`serve`](crate::serve) gives them a thread
/// of their own instead.
///
/// Nested, the few allocations of routing a request are made on your threads and counted as theirs; recording,
/// symbolizing and encoding run on a thread that isn't counted either way. Whoever can reach these routes can see the
/// program's insides and slow it down: keep them on loopback.
pub fn router() -> Router {
    LazyLock::force(&BEGAN);
    Router::new()
        .route("/debug/pprof/", get(index))
        .route("/debug/pprof", get(|| async { (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, "/debug/pprof/")]) }))
        .route("/debug/pprof/profile", get(cpu_profile))
        .route("/debug/pprof/allocs", get(allocs))
        .route("/debug/pprof/heap", get(heap_profile))
        .route("/debug/pprof/flamegraph", get(flamegraph))
        .route("/debug/pprof/cmdline", get(cmdline))
        .route("/debug/pprof/symbol", get(symbol).post(symbol))
        .route("/debug/pprof/threadcreate", get(threadcreate))
        .route(
            "/debug/pprof/goroutine",
            get(|| {
                no_meaning(
                    "goroutine: this program has threads and tasks, no goroutines; threadcreate lists the threads",
                )
            }),
        )
        .route(
            "/debug/pprof/block",
            get(|| no_meaning("block: waiting in async code is not blocking, and blocking is not recorded")),
        )
        .route("/debug/pprof/mutex", get(|| no_meaning("mutex: lock contention is not recorded")))
        .route(
            "/debug/pprof/trace",
            get(|| {
                no_meaning(
                    "trace: Go's execution trace has no counterpart here; use profile, allocs or /debug/allocations",
                )
            }),
        )
        .route("/debug/allocations", get(allocations))
        .route("/debug/vars", get(|| async { answer(|| Json(Vars::read())).await }))
        .route("/debug/jemalloc/stats", get(jemalloc_stats))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
}

type Parameters = AxumQuery<HashMap<String, String>>;

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match self {
            Error::Query { .. } => StatusCode::BAD_REQUEST,
            Error::CpuBusy(_) | Error::EventLogBusy | Error::SignalTaken => StatusCode::CONFLICT,
            Error::NotCounting => StatusCode::NOT_IMPLEMENTED,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, [("x-go-pprof", "1")], format!("{self}\n")).into_response()
    }
}

/// Runs work on a thread of its own that isn't counted, and waits for it without blocking the runtime.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let (send, receive) = tokio::sync::oneshot::channel();
    thread::spawn_excluded(move || {
        // The caller may have gone away; then nobody wants the result.
        let _ = send.send(work());
    })
    .map_err(|source| Error::System { what: "starting a thread", source })?;
    receive.await.map_err(|_| Error::Panicked)
}

/// Answers with what such work comes to.
async fn answer<T: IntoResponse + Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Response {
    off_thread(work).await.into_response()
}

async fn no_meaning(sentence: &'static str) -> Response {
    (StatusCode::NOT_IMPLEMENTED, [("x-go-pprof", "1")], format!("{sentence}\n")).into_response()
}

fn symbolized(recording: &Recording) -> Profile {
    let modules = modules::loaded();
    let mut symbolizer = Symbolizer::new(&modules);
    builder::build(recording, &modules, &mut |address| symbolizer.frames(address).to_vec())
}

fn attachment(name: &'static str, recording: &Recording) -> Response {
    match builder::encode(&symbolized(recording)) {
        Ok(bytes) => (
            [
                (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
                (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
                (header::CONTENT_DISPOSITION, HeaderValue::from_static(name)),
            ],
            bytes,
        )
            .into_response(),
        Err(source) => Error::System { what: "compressing the profile", source }.into_response(),
    }
}

fn text_of(recording: &Recording) -> String {
    text::heap(&symbolized(recording)) + &MemStats::read(&JemallocStats::read()).text()
}

async fn cpu_profile(AxumQuery(parameters): Parameters) -> Response {
    match record_cpu(&Query::new(parameters), CPU_SECONDS).await {
        Ok(session) => answer(move || attachment("attachment; filename=\"profile\"", &session.finish())).await,
        Err(error) => error.into_response(),
    }
}

/// Samples for as long as the query says; the session is still to be finished.
async fn record_cpu(query: &Query, default_seconds: u64) -> Result<cpu::Session, Error> {
    let (seconds, hz) = (query.seconds()?.unwrap_or(default_seconds), query.hz(cpu::DEFAULT_HZ, cpu::MAX_HZ)?);
    let session = off_thread(move || cpu::Session::start(hz, seconds)).await??;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Ok(session)
}

async fn allocs(AxumQuery(parameters): Parameters) -> Response {
    let query = Query::new(parameters);
    match (query.text(), record_allocs(&query, None).await) {
        (Err(error), _) | (_, Err(error)) => error.into_response(),
        (Ok(true), Ok(recording)) => answer(move || text_of(&recording)).await,
        (Ok(false), Ok(recording)) => answer(move || attachment("attachment; filename=\"allocs\"", &recording)).await,
    }
}

/// The allocations that the query asks for.
async fn record_allocs(query: &Query, default_seconds: Option<u64>) -> Result<Recording, Error> {
    let (seconds, census) = (query.span()?.or(default_seconds), query.census()?);
    if thread::serving_counts().is_none() {
        return Err(Error::NotCounting);
    }
    match (seconds, census) {
        (Some(seconds), true) => {
            let running = off_thread(census::start).await?;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            off_thread(move || heap::census_recording(running.finish())).await
        }
        (None, true) => {
            let allowed = "needs seconds: a census is of a span of time";
            Err(Error::Query { name: "rate", value: "1".to_owned(), allowed })
        }
        (Some(seconds), false) => sampled_span(seconds, "alloc_space").await,
        (None, false) => off_thread(|| heap::sampled_recording(sample::read(), BEGAN.elapsed(), "alloc_space")).await,
    }
}

/// What the sampler sees in so many seconds.
async fn sampled_span(seconds: u64, default_kind: &'static str) -> Result<Recording, Error> {
    let before = off_thread(sample::read).await?;
    let span = Duration::from_secs(seconds);
    tokio::time::sleep(span).await;
    off_thread(move || heap::sampled_recording(sample::read().since(&before), span, default_kind)).await
}

/// Every allocation, growth and free, in order: see [`AllocationLog`].
async fn allocations(AxumQuery(parameters): Parameters) -> Response {
    match log_events(&Query::new(parameters)).await {
        Ok((log, ended)) => answer(move || Json(AllocationLog::new(&log, ended, symbolized))).await,
        Err(error) => error.into_response(),
    }
}

/// Logs until so many requests have ended and the threads rest, for so many seconds at most.
async fn log_events(query: &Query) -> Result<(EventLog, Ended), Error> {
    let (ops, seconds) = (query.ops()?, query.seconds()?.unwrap_or(LOG_SECONDS));
    if thread::serving_counts().is_none() {
        return Err(Error::NotCounting);
    }
    let session = off_thread(event_log::Session::start).await??;
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut events = 0;
    let ended = loop {
        tokio::time::sleep(LOG_POLL).await;
        let seen = std::mem::replace(&mut events, session.len());
        if events >= event_log::CAPACITY {
            break Ended::Full;
        }
        if ops.is_some_and(|ops| session.completed() >= ops) && events == seen {
            break Ended::Ops;
        }
        if Instant::now() >= until {
            break Ended::Seconds;
        }
    };
    Ok((off_thread(move || session.finish()).await?, ended))
}

async fn heap_profile(AxumQuery(parameters): Parameters) -> Response {
    let query = Query::new(parameters);
    // `gc=1` is accepted: what isn't in use has been given back already.
    match (query.text(), recorded_heap(&query).await) {
        (Err(error), _) | (_, Err(error)) => error.into_response(),
        (Ok(true), Ok(recording)) => answer(move || text_of(&recording)).await,
        (Ok(false), Ok(recording)) => answer(move || attachment("attachment; filename=\"heap\"", &recording)).await,
    }
}

/// The heap as it is, or its change over a span of time, which only the sampler can tell.
async fn recorded_heap(query: &Query) -> Result<Recording, Error> {
    match query.span()? {
        None => off_thread(record_heap).await?,
        Some(_) if thread::serving_counts().is_none() => Err(Error::NotCounting),
        Some(seconds) => sampled_span(seconds, "inuse_space").await,
    }
}

/// jemalloc's own profile where its profiler runs, else the sampler's.
fn record_heap() -> Result<Recording, Error> {
    if heap::jemalloc_profiles() {
        return heap::jemalloc_recording(BEGAN.elapsed());
    }
    if thread::serving_counts().is_none() {
        return Err(Error::NotCounting);
    }
    let mut recording = heap::sampled_recording(sample::read(), BEGAN.elapsed(), "inuse_space");
    recording.comments.push("jemalloc's own profiler is off (prof:true,prof_active:true turns it on)".to_owned());
    Ok(recording)
}

async fn flamegraph(AxumQuery(parameters): Parameters) -> Response {
    let query = Query::new(parameters);
    let recorded = match query.get("type").unwrap_or("cpu") {
        "cpu" => match record_cpu(&query, FLAMEGRAPH_SECONDS).await {
            Ok(session) => off_thread(move || (session.finish(), "cpu", "CPU time")).await,
            Err(error) => Err(error),
        },
        "allocs" => record_allocs(&query, query.census().unwrap_or(false).then_some(FLAMEGRAPH_SECONDS))
            .await
            .map(|recording| (recording, "alloc_space", "Allocated bytes")),
        "heap" => recorded_heap(&query).await.map(|recording| (recording, "inuse_space", "Bytes in use")),
        other => Err(Error::Query { name: "type", value: other.to_owned(), allowed: "cpu, allocs or heap" }),
    };
    match recorded {
        Err(error) => error.into_response(),
        Ok((recording, kind, title)) => {
            answer(move || match flame::svg(&symbolized(&recording), kind, title) {
                Some(svg) => ([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response(),
                None => (StatusCode::NOT_FOUND, "nothing was recorded in this span\n").into_response(),
            })
            .await
        }
    }
}

async fn cmdline() -> String {
    env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>().join("\0")
}

/// Go's: without addresses, how many symbols there are; else a line for each address of the query or body.
async fn symbol(request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let asked = match (parts.uri.query(), axum::body::to_bytes(body, 1 << 20).await) {
        (Some(query), _) => query.to_owned(),
        (None, Ok(body)) => String::from_utf8_lossy(&body).into_owned(),
        (None, Err(_)) => return (StatusCode::PAYLOAD_TOO_LARGE, "at most 1 MiB of addresses\n").into_response(),
    };
    answer(move || {
        let modules = modules::loaded();
        let mut symbolizer = Symbolizer::new(&modules);
        let mut text = "num_symbols: 1\n".to_owned();
        for word in asked.split(['+', '&', ' ', '\n']) {
            let Ok(address) = usize::from_str_radix(word.trim().trim_start_matches("0x"), 16) else { continue };
            if let Some(frame) = symbolizer.frames(address).last() {
                text.push_str(&format!("{address:#x} {}\n", frame.name));
            }
        }
        text
    })
    .await
}

/// The threads there are, by name: where they were made is not recorded.
async fn threadcreate(AxumQuery(parameters): Parameters) -> Response {
    let text = match Query::new(parameters).text() {
        Ok(text) => text,
        Err(error) => return error.into_response(),
    };
    answer(move || {
        let mut threads = match thread_names() {
            Ok(threads) => threads,
            Err(source) => return Error::System { what: "listing threads", source }.into_response(),
        };
        threads.sort();
        if text {
            return format!("threadcreate profile: total {}\n{}\n", threads.len(), threads.join("\n")).into_response();
        }
        let sample = |name| StackSample { stack: Stack::Named(name), values: vec![1] };
        let recording = Recording {
            kinds: vec![("threadcreate", "count")],
            default_kind: "threadcreate",
            period_kind: ("threadcreate", "count"),
            period: 1,
            ended: SystemTime::now(),
            duration: Duration::ZERO,
            samples: threads.into_iter().map(sample).collect(),
            comments: vec!["threads alive, by name; where they were made is not recorded".to_owned()],
            hide_allocator: false,
        };
        attachment("attachment; filename=\"threadcreate\"", &recording)
    })
    .await
}

fn thread_names() -> io::Result<Vec<String>> {
    let names = fs::read_dir("/proc/self/task")?.filter_map(|task| {
        // A thread may end while it is looked at.
        let name = fs::read_to_string(task.ok()?.path().join("comm")).ok()?;
        Some(name.trim_end().to_owned())
    });
    Ok(names.collect())
}

async fn jemalloc_stats(AxumQuery(parameters): Parameters) -> Response {
    let json = Query::new(parameters).has("json");
    answer(move || {
        let content_type = if json { "application/json" } else { "text/plain; charset=utf-8" };
        ([(header::CONTENT_TYPE, content_type)], jemalloc::stats_text(json))
    })
    .await
}

async fn metrics() -> Response {
    answer(|| ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], Vars::read().prometheus())).await
}

async fn healthz() -> (StatusCode, &'static str) {
    if READY.load(Relaxed) { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not ready\n") }
}

async fn index() -> Response {
    answer(|| {
        let stacks = sample::read().stacks.len();
        let threads = thread_names().map_or(0, |names| names.len());
        let rows = [
            (stacks.to_string(), "allocs?debug=1", "allocs", "all allocations since start, sampled"),
            (String::new(), "allocs?seconds=5&rate=1", "allocs, 5 s, every one", "the exact census of a span of time"),
            (stacks.to_string(), "heap?debug=1", "heap", "memory in use"),
            (threads.to_string(), "threadcreate?debug=1", "threadcreate", "threads, by name"),
            (String::new(), "profile?seconds=5", "profile", "CPU; seconds=30 and hz=99 unless given"),
            (String::new(), "flamegraph?type=cpu&seconds=5", "flamegraph, CPU", "type is cpu, allocs or heap"),
            (String::new(), "flamegraph?type=allocs&seconds=5&rate=1", "flamegraph, allocations", "of 5 s, every one"),
            (String::new(), "/debug/allocations?seconds=5", "allocations", "in order, with their frees, as JSON"),
            (String::new(), "cmdline", "cmdline", "how the program was started"),
            (String::new(), "/debug/vars", "vars", "all counters as JSON"),
            (String::new(), "/debug/jemalloc/stats", "jemalloc", "its own statistics"),
            (String::new(), "/metrics", "metrics", "the counters for Prometheus"),
        ];
        let rows = rows.map(|(count, href, name, what)| {
            let href = href.replace('&', "&amp;");
            format!("<tr><td>{count}</td><td><a href=\"{href}\">{name}</a></td><td>{what}</td></tr>\n")
        });
        Html(format!(
            "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>/debug/pprof/</title>\n<style>body{{font-family:\
             sans-serif}}td{{padding:2px 12px 2px 0}}td:first-child{{text-align:right}}</style></head>\n<body>\n<h1>\
             /debug/pprof/</h1>\n<table>\n<tr><th>count</th><th align=\"left\">profile</th><th></th></tr>\n{}</table>\n\
             </body></html>\n",
            rows.concat()
        ))
    })
    .await
}
