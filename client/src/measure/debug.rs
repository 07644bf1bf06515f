//! Reads a server's debug endpoints: ours, a Go program's with `net/http/pprof`, or a JVM's with our agent.

use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    sync::OnceCell,
    time::{interval, timeout},
};

use super::{
    allocation_log::{AllocationLog, LOG_VERSION},
    process::{cmdline_of, listeners},
    result::{AllocCounters, Interval, ServerReading, SourceKind},
    source::{CounterSource, Recording, SOURCES, Silent, Vars},
};

/// Everything but recording a profile answers within this.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Symbolizing a large program after recording.
const SYMBOLIZE_TIME: Duration = Duration::from_secs(60);
/// How often it is asked whether a recording is on.
const RECORDING_POLL: Duration = Duration::from_millis(10);
/// Profiles of large programs are some megabytes.
const MAX_ANSWER: usize = 256 << 20;

/// The debug endpoints of one server. Where its counters come from is asked once, with the first reading.
#[derive(Debug, Clone)]
pub struct DebugClient {
    authority: String,
    source: Arc<OnceCell<&'static dyn CounterSource>>,
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
            Some(authority) if plain && authority.port().is_some() => {
                Ok(Self { authority: authority.to_string(), source: Arc::default() })
            }
            _ => Err(wrong()),
        }
    }

    /// Where they are: `http://HOST:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Counters, requests and CPU time, now.
    ///
    /// # Errors
    /// [`DebugError::Request`].
    pub async fn reading(&self) -> Result<ServerReading, DebugError> {
        let source = self.asked().await?;
        if source.kind() == SourceKind::None {
            // Whatever else it tells.
            let answer = self.answer(source.path(), ANSWER_TIME).await?.unwrap_or_default();
            return Ok(source.reading(&answer).unwrap_or_default());
        }
        let answer = self.get(source.path(), ANSWER_TIME).await?;
        source.reading(&answer).map_err(|problem| self.problem(source.path(), problem))
    }

    /// Where its counters come from.
    ///
    /// # Errors
    /// [`DebugError::Request`] where nobody answers.
    pub async fn source(&self) -> Result<SourceKind, DebugError> {
        Ok(self.asked().await?.kind())
    }

    /// What the server itself allocates for answering one reading, where its counters hold that: the least of three, as something
    /// else may allocate meanwhile. The first reading, in which much is made that is kept, is not among them. It is the cost at rest: after
    /// collections Go's pools are empty, and a reading takes some dozens of objects more. `None` where the counters leave it out.
    ///
    /// # Errors
    /// [`DebugError::Request`].
    pub async fn reading_cost(&self) -> Result<Option<AllocCounters>, DebugError> {
        if !self.asked().await?.counts_its_answers() {
            return Ok(None);
        }
        self.reading().await?;
        let mut least: Option<AllocCounters> = None;
        for _ in 0..3 {
            let pair = Interval { before: self.reading().await?, after: self.reading().await? };
            let cost = pair.counters();
            least = [least, cost].into_iter().flatten().min_by_key(|cost| cost.usable_bytes);
        }
        Ok(least)
    }

    async fn asked(&self) -> Result<&'static dyn CounterSource, DebugError> {
        self.source.get_or_try_init(|| self.ask()).await.copied()
    }

    async fn ask(&self) -> Result<&'static dyn CounterSource, DebugError> {
        let mut answers: BTreeMap<&str, Option<Bytes>> = BTreeMap::new();
        for source in SOURCES {
            let path = source.path();
            if !answers.contains_key(path) {
                answers.insert(path, self.answer(path, ANSWER_TIME).await?);
            }
            if answers[path].as_ref().is_some_and(|answer| source.reading(answer).is_ok()) {
                return Ok(source);
            }
        }
        Ok(&Silent)
    }

    /// How the server says it was started. `None` where it doesn't.
    ///
    /// # Errors
    /// [`DebugError::Request`].
    pub async fn cmdline(&self) -> Result<Option<Vec<String>>, DebugError> {
        if let Some(cmdline) = self.vars().await?.and_then(|vars| vars.cmdline) {
            return Ok(Some(cmdline));
        }
        // Go's has NUL between the arguments.
        let answer = self.answer("/debug/pprof/cmdline", ANSWER_TIME).await?;
        Ok(answer.filter(|answer| !answer.is_empty()).map(|answer| {
            String::from_utf8_lossy(&answer).trim_end_matches('\0').split('\0').map(str::to_owned).collect()
        }))
    }

    /// Which JVM it runs on. `None` where it is none.
    ///
    /// # Errors
    /// [`DebugError::Request`].
    pub async fn jvm_version(&self) -> Result<Option<String>, DebugError> {
        Ok(self.vars().await?.and_then(|vars| vars.jvm_version().map(str::to_owned)))
    }

    /// jemalloc's version and its settings, where the server runs on it.
    pub async fn jemalloc(&self) -> Option<(String, String)> {
        let body = self.get("/debug/jemalloc/stats?json", ANSWER_TIME).await.ok()?;
        let stats: serde_json::Value = serde_json::from_slice(&body).ok()?;
        version_and_settings(&stats)
    }

    /// The server's process, where it is one of this machine and network namespace: it must hold the very socket that listens
    /// here, and be the one it says it is, by its id or, as Go programs don't tell that, by its command line. Behind a
    /// forwarded port, in another container or of another user it is `None`: its id would be another process's, or nobody can
    /// tell.
    pub async fn local_pid(&self) -> Option<u32> {
        let (host, port) = self.authority.rsplit_once(':')?;
        let loopback =
            host == "localhost" || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().ok()?.is_loopback();
        if !loopback {
            return None;
        }
        let mut listeners = listeners(port.parse().ok()?);
        match self.vars().await.ok()?.and_then(|vars| vars.pid()) {
            Some(pid) => listeners.retain(|listener| *listener == pid),
            None => {
                let cmdline = self.cmdline().await.ok()??;
                listeners.retain(|listener| cmdline_of(*listener).as_ref() == Some(&cmdline));
            }
        }
        // Of two that share the socket it isn't known which one counts.
        <[u32; 1]>::try_from(listeners).ok().map(|[pid]| pid)
    }

    /// `None` where there are none, or they are not JSON.
    pub(super) async fn vars(&self) -> Result<Option<Vars>, DebugError> {
        let answer = self.answer("/debug/vars", ANSWER_TIME).await?;
        Ok(answer.and_then(|answer| Vars::parse(&answer).ok()))
    }

    /// Waits until the server says that this is being recorded, for so long at most.
    pub(super) async fn wait_for(
        &self,
        recording: impl Fn(Vars) -> Option<Recording>,
        limit: Duration,
    ) -> Result<(), DebugError> {
        let mut poll = interval(RECORDING_POLL);
        for _ in 0..limit.as_millis() / RECORDING_POLL.as_millis() {
            poll.tick().await;
            if self.vars().await?.and_then(&recording).is_some_and(|recording| recording.active) {
                break;
            }
        }
        Ok(())
    }

    /// A CPU profile of so many seconds from now.
    pub(super) async fn cpu_profile(&self, seconds: u64, hz: u32) -> Result<Bytes, DebugError> {
        self.recorded(&format!("/debug/pprof/profile?seconds={seconds}&hz={hz}"), seconds).await
    }

    /// Every allocation of so many seconds from now.
    pub(super) async fn allocs_profile(&self, seconds: u64) -> Result<Bytes, DebugError> {
        self.recorded(&format!("/debug/pprof/allocs?seconds={seconds}&rate=1"), seconds).await
    }

    /// What is in use now, and in all but our own crate what was allocated since the start; Go collects garbage first.
    pub(super) async fn heap_profile(&self) -> Result<Bytes, DebugError> {
        self.recorded("/debug/pprof/heap?gc=1", 0).await
    }

    /// What the server does with memory until so many requests have ended, for so many seconds at most.
    pub(super) async fn allocation_log(&self, ops: u64, seconds: u64) -> Result<AllocationLog, DebugError> {
        let path = format!("/debug/allocations?ops={ops}&seconds={seconds}");
        let body = self.recorded(&path, seconds).await?;
        let log: AllocationLog = serde_json::from_slice(&body)
            .map_err(|error| self.problem(&path, format!("no log of allocations: {error}")))?;
        match log.schema_version {
            LOG_VERSION if log.is_sound() => Ok(log),
            LOG_VERSION => Err(self.problem(&path, "an event names what isn't there".to_owned())),
            other => {
                Err(self.problem(&path, format!("version {other} of the log, of which only {LOG_VERSION} is known")))
            }
        }
    }

    async fn recorded(&self, path: &str, seconds: u64) -> Result<Bytes, DebugError> {
        self.get(path, Duration::from_secs(seconds) + SYMBOLIZE_TIME).await
    }

    async fn get(&self, path: &str, limit: Duration) -> Result<Bytes, DebugError> {
        let (status, body) = self.exchanged(path, limit).await?;
        if status == StatusCode::OK {
            return Ok(body);
        }
        let said = String::from_utf8_lossy(&body[..body.len().min(300)]).trim_end().to_owned();
        Err(self.problem(path, format!("{status}: {said}")))
    }

    /// What stands there; `None` where nothing does.
    async fn answer(&self, path: &str, limit: Duration) -> Result<Option<Bytes>, DebugError> {
        let (status, body) = self.exchanged(path, limit).await?;
        Ok((status == StatusCode::OK).then_some(body))
    }

    async fn exchanged(&self, path: &str, limit: Duration) -> Result<(StatusCode, Bytes), DebugError> {
        match timeout(limit, self.exchange(path)).await {
            Ok(answer) => answer.map_err(|problem| self.problem(path, problem)),
            Err(_) => Err(self.problem(path, format!("no answer within {} s", limit.as_secs()))),
        }
    }

    fn problem(&self, path: &str, problem: String) -> DebugError {
        DebugError::Request { authority: self.authority.clone(), path: path.to_owned(), problem }
    }

    async fn exchange(&self, path: &str) -> Result<(StatusCode, Bytes), String> {
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
            Ok((status, body.to_bytes()))
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

fn version_and_settings(stats: &serde_json::Value) -> Option<(String, String)> {
    let jemalloc = stats.get("jemalloc")?;
    let opt = jemalloc.get("opt")?;
    let settings = SETTINGS.iter().filter_map(|name| {
        let value = opt.get(name)?;
        Some(value.as_str().map_or_else(|| format!("{name}:{value}"), |text| format!("{name}:{text}")))
    });
    Some((jemalloc.get("version")?.as_str()?.to_owned(), settings.collect::<Vec<_>>().join(",")))
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
}
