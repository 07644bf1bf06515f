//! Reads a server's debug endpoints: ours, or a Go program's with `net/http/pprof` and `expvar`.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{net::TcpStream, time::timeout};

use super::result::{AllocCounters, OpCounts, ServerReading};

/// Everything but recording a profile answers within this.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Symbolizing a large program after recording.
const SYMBOLIZE_TIME: Duration = Duration::from_secs(60);
/// Profiles of large programs are some megabytes.
const MAX_ANSWER: usize = 256 << 20;

/// The debug endpoints of one server.
#[derive(Debug, Clone)]
pub struct DebugClient {
    authority: String,
}

/// Why an endpoint could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DebugError {
    /// The URL is not one of debug endpoints.
    #[error("debug URL {0:?}: must be http://HOST:PORT")]
    Url(String),
    /// Nothing usable came.
    #[error("http://{authority}{path}: {problem}")]
    Request {
        /// Whom it was asked.
        authority: String,
        /// What was asked.
        path: String,
        /// What happened.
        problem: String,
    },
}

/// What `/debug/vars` holds of what is read here; all of it may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Vars {
    pub(super) cmdline: Option<Vec<String>>,
    memstats: Option<MemStats>,
    counters: Option<Counters>,
    ops: Option<BTreeMap<String, OpCounts>>,
    process: Option<Process>,
    /// There only where the exact census is to be had.
    pub(super) census: Option<Census>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct MemStats {
    total_alloc: Option<u64>,
    mallocs: Option<u64>,
    frees: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counters {
    serving: Option<AllocCounters>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Process {
    pid: Option<u32>,
    cpu_ns: Option<u64>,
    rss_bytes: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Census {
    pub(super) active: bool,
}

impl DebugClient {
    /// The endpoints at `http://HOST:PORT`.
    ///
    /// # Errors
    /// [`DebugError::Url`] for anything else.
    pub fn new(url: &str) -> Result<Self, DebugError> {
        let wrong = || DebugError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let plain = uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/") && uri.query().is_none();
        match uri.authority() {
            Some(authority) if plain && authority.port().is_some() => Ok(Self { authority: authority.to_string() }),
            _ => Err(wrong()),
        }
    }

    /// Counters, requests, CPU time and memory, now.
    ///
    /// # Errors
    /// [`DebugError::Request`].
    pub async fn reading(&self) -> Result<ServerReading, DebugError> {
        Ok(self.vars().await?.reading())
    }

    /// How the server says it was started.
    ///
    /// # Errors
    /// [`DebugError::Request`].
    pub async fn cmdline(&self) -> Result<Option<Vec<String>>, DebugError> {
        Ok(self.vars().await?.cmdline)
    }

    /// jemalloc's version and its settings, where the server runs on it.
    pub async fn jemalloc(&self) -> Option<(String, String)> {
        let body = self.get("/debug/jemalloc/stats?json", ANSWER_TIME).await.ok()?;
        let stats: serde_json::Value = serde_json::from_slice(&body).ok()?;
        let jemalloc = stats.get("jemalloc")?;
        let settings = jemalloc.get("opt")?.as_object()?.iter().map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}:{text}"),
            None => format!("{name}:{value}"),
        });
        Some((jemalloc.get("version")?.as_str()?.to_owned(), settings.collect::<Vec<_>>().join(",")))
    }

    /// The server's process, where it is one of this machine.
    pub(super) async fn local_pid(&self) -> Option<u32> {
        let host = self.authority.rsplit_once(':')?.0;
        let loopback =
            host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().ok()?.is_loopback();
        self.vars().await.ok()?.process?.pid.filter(|_| loopback)
    }

    pub(super) async fn vars(&self) -> Result<Vars, DebugError> {
        let path = "/debug/vars";
        let body = self.get(path, ANSWER_TIME).await?;
        serde_json::from_slice(&body).map_err(|error| self.problem(path, format!("no counters in it: {error}")))
    }

    /// A CPU profile of so many seconds from now.
    pub(super) async fn cpu_profile(&self, seconds: u64, hz: u32) -> Result<Bytes, DebugError> {
        self.recorded(&format!("/debug/pprof/profile?seconds={seconds}&hz={hz}"), seconds).await
    }

    /// Every allocation of so many seconds from now; a Go server gives what it sampled.
    pub(super) async fn allocs_profile(&self, seconds: u64) -> Result<Bytes, DebugError> {
        self.recorded(&format!("/debug/pprof/allocs?seconds={seconds}&rate=1"), seconds).await
    }

    /// What is in use now.
    pub(super) async fn heap_profile(&self) -> Result<Bytes, DebugError> {
        self.recorded("/debug/pprof/heap", 0).await
    }

    async fn recorded(&self, path: &str, seconds: u64) -> Result<Bytes, DebugError> {
        self.get(path, Duration::from_secs(seconds) + SYMBOLIZE_TIME).await
    }

    async fn get(&self, path: &str, limit: Duration) -> Result<Bytes, DebugError> {
        let answer = timeout(limit, self.exchange(path)).await;
        match answer {
            Ok(answer) => answer.map_err(|problem| self.problem(path, problem)),
            Err(_) => Err(self.problem(path, format!("no answer within {} s", limit.as_secs()))),
        }
    }

    fn problem(&self, path: &str, problem: String) -> DebugError {
        DebugError::Request { authority: self.authority.clone(), path: path.to_owned(), problem }
    }

    async fn exchange(&self, path: &str) -> Result<Bytes, String> {
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| error.to_string())?;
        let (mut send, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        let request = Request::get(path)
            .header(header::HOST, &self.authority)
            .body(Empty::<Bytes>::new())
            .map_err(|error| error.to_string())?;
        let answered = async {
            let response = send.send_request(request).await.map_err(|error| error.to_string())?;
            let status = response.status();
            let body =
                Limited::new(response.into_body(), MAX_ANSWER).collect().await.map_err(|error| error.to_string())?;
            let body = body.to_bytes();
            match status {
                StatusCode::OK => Ok(body),
                status => {
                    Err(format!("{status}: {}", String::from_utf8_lossy(&body[..body.len().min(300)]).trim_end()))
                }
            }
        };
        // The connection is driven here and ends with the answer: no task is left behind.
        tokio::select! {
            biased;
            answer = answered => answer,
            ended = connection => Err(ended.err().map_or("connection closed".to_owned(), |error| error.to_string())),
        }
    }
}

impl Vars {
    pub(super) fn reading(self) -> ServerReading {
        let counters = self.counters.and_then(|counters| counters.serving).or_else(|| {
            // Go counts allocations as Mallocs, and their size classes in TotalAlloc.
            let memstats = self.memstats?;
            memstats.mallocs.is_some().then_some(AllocCounters {
                allocs: memstats.mallocs,
                frees: memstats.frees,
                usable_bytes: memstats.total_alloc,
                ..AllocCounters::default()
            })
        });
        let process = self.process.unwrap_or_default();
        ServerReading { counters, ops: self.ops, cpu_ns: process.cpu_ns, rss_bytes: process.rss_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_debug_endpoints_are_taken() {
        for url in ["http://127.0.0.1:8000", "http://localhost:6060/", "http://[::1]:8000"] {
            assert!(DebugClient::new(url).is_ok(), "{url}");
        }
        for url in
            ["127.0.0.1:8000", "https://127.0.0.1:8000", "http://127.0.0.1", "http://a:1/debug", "", "http://a:1?x=1"]
        {
            assert!(DebugClient::new(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_go_servers_vars_are_read() {
        let vars = r#"{"cmdline":["/tmp/x"],"memstats":{"Alloc":5,"TotalAlloc":900,"Mallocs":12,"Frees":7}}"#;
        let reading = serde_json::from_str::<Vars>(vars).expect("vars").reading();
        let counters = reading.counters.expect("counters");
        assert_eq!((counters.allocs, counters.usable_bytes, counters.requested_bytes), (Some(12), Some(900), None));
        assert_eq!((reading.ops, reading.cpu_ns), (None, None));
    }

    #[test]
    fn our_vars_are_read() {
        let vars = r#"{"memstats":{"Mallocs":99},"counters":{"serving":{"allocs":1,"zeroed_allocs":2,"reallocs":3,"frees":4,
            "requested_bytes":50,"usable_bytes":null},"excluded":null},"ops":{"m":{"started":3,"ok":2,"error":1}},
            "process":{"pid":1,"cpu_ns":7,"rss_bytes":8},"census":{"active":true}}"#;
        let vars = serde_json::from_str::<Vars>(vars).expect("vars");
        assert!(vars.census.as_ref().is_some_and(|census| census.active));
        let reading = vars.reading();
        let counters = reading.counters.expect("counters");
        assert_eq!((counters.reallocs, counters.frees, counters.usable_bytes), (Some(3), Some(4), None));
        assert_eq!(reading.ops.expect("ops")["m"], OpCounts { started: 3, ok: 2, error: 1 });
        assert_eq!((reading.cpu_ns, reading.rss_bytes), (Some(7), Some(8)));
    }
}
