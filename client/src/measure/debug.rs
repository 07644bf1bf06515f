//! Reads a server's debug endpoints: ours, or a Go program's with `net/http/pprof` and `expvar`.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use tokio::{net::TcpStream, time::timeout};

use super::{
    process::listens,
    result::{AllocCounters, OpCounts, ServerReading},
};

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

/// jemalloc's options that shape what is measured; it tells some sixty more.
const SETTINGS: [&str; 15] = [
    "narenas",
    "percpu_arena",
    "dirty_decay_ms",
    "muzzy_decay_ms",
    "background_thread",
    "tcache",
    "tcache_max",
    "retain",
    "thp",
    "metadata_thp",
    "disable_large_size_classes",
    "prof",
    "prof_active",
    "prof_accum",
    "lg_prof_sample",
];

/// What `/debug/vars` holds of what is read here; all of it may be missing, or be a variable of the program's own that only
/// shares the name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Vars {
    #[serde(deserialize_with = "known_shape")]
    pub(super) cmdline: Option<Vec<String>>,
    #[serde(deserialize_with = "known_shape")]
    memstats: Option<MemStats>,
    #[serde(deserialize_with = "known_shape")]
    counters: Option<Counters>,
    #[serde(deserialize_with = "known_shape")]
    ops: Option<BTreeMap<String, OpCounts>>,
    #[serde(deserialize_with = "known_shape")]
    process: Option<Process>,
    /// There only where the exact census is to be had.
    #[serde(deserialize_with = "known_shape")]
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

    /// Where they are: `http://HOST:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
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
        version_and_settings(&stats)
    }

    /// The server's process, where it is one of this machine and network namespace: the one it says it is must hold the very
    /// socket that listens here. Behind a forwarded port, in another container or of another user it is `None`: its id would
    /// be another process's, or nobody can tell.
    pub async fn local_pid(&self) -> Option<u32> {
        let (host, port) = self.authority.rsplit_once(':')?;
        let loopback =
            host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().ok()?.is_loopback();
        let port = port.parse().ok()?;
        let pid = self.vars().await.ok()?.process?.pid?;
        (loopback && listens(pid, port)).then_some(pid)
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
        let mut answered = pin!(answered);
        // The connection is driven here and ends with the answer: no task is left behind.
        tokio::select! {
            biased;
            answer = &mut answered => answer,
            ended = connection => match ended {
                // The server closed it after an answer, which is all here then.
                Ok(()) => answered.await,
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

/// `None` for a value that isn't one of ours.
fn known_shape<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

fn version_and_settings(stats: &serde_json::Value) -> Option<(String, String)> {
    let jemalloc = stats.get("jemalloc")?;
    let opt = jemalloc.get("opt")?;
    let settings = SETTINGS.iter().filter_map(|name| {
        let value = opt.get(name)?;
        Some(value.as_str().map_or_else(|| format!("{name}:{value}"), |text| format!("{name}:{text}")))
    });
    Some((jemalloc.get("version")?.as_str()?.to_owned(), settings.collect::<Vec<_>>().join(",")))
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
        ServerReading { counters, ops: self.ops, cpu_ns: process.cpu_ns }
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
    fn variables_that_only_share_a_name_are_passed_over() {
        let vars =
            r#"{"cmdline":"x","memstats":{"Mallocs":12},"counters":7,"ops":{"reads":5},"process":[],"census":"2020"}"#;
        let vars = serde_json::from_str::<Vars>(vars).expect("vars");
        assert!(vars.cmdline.is_none() && vars.census.is_none());
        let reading = vars.reading();
        assert_eq!(reading.counters.and_then(|counters| counters.allocs), Some(12));
        assert_eq!((reading.ops, reading.cpu_ns), (None, None));
    }

    /// Answers one request, and ends the connection with it.
    async fn serve(listener: &tokio::net::TcpListener, vars: &str) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut socket, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(socket.read_u8().await.expect("a request"));
        }
        socket.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{vars}").as_bytes()).await.expect("an answer");
    }

    #[tokio::test]
    async fn an_answer_that_ends_with_its_connection_is_read() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let debug = DebugClient::new(&format!("http://{addr}")).expect("a URL");
        let (cmdline, ()) = tokio::join!(debug.cmdline(), serve(&listener, r#"{"cmdline":["old"]}"#));
        assert_eq!(cmdline.expect("an answer"), Some(vec!["old".to_owned()]));
    }

    #[test]
    fn settings_that_shape_measurements_are_kept() {
        let opt = r#"{"abort":false,"narenas":1,"percpu_arena":"disabled","prof_active":true,"malloc_conf":{"x":1}}"#;
        let stats = format!(r#"{{"jemalloc":{{"version":"5.3.1","opt":{opt}}}}}"#);
        let (version, settings) = version_and_settings(&serde_json::from_str(&stats).expect("JSON")).expect("both");
        assert_eq!((&*version, &*settings), ("5.3.1", "narenas:1,percpu_arena:disabled,prof_active:true"));
    }

    #[tokio::test]
    async fn a_process_is_known_by_the_socket_it_listens_on() {
        let vars = |pid: u32| async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let addr = listener.local_addr().expect("an address");
            let debug = DebugClient::new(&format!("http://{addr}")).expect("a URL");
            let vars = format!(r#"{{"process":{{"pid":{pid}}}}}"#);
            let (pid, ()) = tokio::join!(debug.local_pid(), serve(&listener, &vars));
            pid
        };
        assert_eq!(vars(std::process::id()).await, Some(std::process::id()));
        // One that is there but isn't the listener, and one that isn't there.
        assert_eq!(vars(1).await, None);
        assert_eq!(vars(u32::MAX).await, None);
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
        assert_eq!(reading.cpu_ns, Some(7));
    }
}
