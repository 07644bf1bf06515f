//! A server as a child process: started, awaited by its ready line, drained, and never left behind.

use std::{
    fs::File,
    io::{self, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::Duration,
};

use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::{Child, ChildStdout, Command},
    time::{Instant, sleep, timeout},
};

use super::bind_to;

/// From its start to its ready line.
const START_TIME: Duration = Duration::from_secs(20);
/// The same for a program of which nothing is known: a JVM on a busy machine takes its time.
const FOREIGN_START_TIME: Duration = Duration::from_secs(120);
/// How often it is looked whether something listens, or has ended.
const POLL: Duration = Duration::from_millis(20);
/// From the signal to drain to its end; our servers drain for at most 10 s.
const STOP_TIME: Duration = Duration::from_secs(15);

/// What to start.
#[derive(Debug, Clone)]
pub struct ServerStart {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to its environment.
    pub env: Vec<(String, String)>,
    /// Where its stderr goes, appended, and what it prints after its ready line.
    pub log: PathBuf,
}

/// The line with which a server says that it can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerReady {
    /// Must be true.
    pub ready: bool,
    /// Where it serves.
    pub addr: SocketAddr,
    /// Its debug endpoints, `http://HOST:PORT`.
    pub debug_addr: Option<String>,
    /// Its process.
    pub pid: u32,
    /// The CPUs it is bound to.
    #[serde(default)]
    pub cpus: Vec<u32>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its log can't be written.
    #[error("server log {}: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It can't be started.
    #[error("starting {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It did not say that it is ready.
    #[error("the server {problem}; its log is {}", log.display())]
    NotReady {
        /// What it did instead.
        problem: String,
        /// Its log.
        log: PathBuf,
    },
}

/// A running server. Dropped, it is killed; [`stop`](Self::stop) lets it drain.
#[derive(Debug)]
pub struct ServerProcess {
    child: Leader,
    ready: ServerReady,
}

impl ServerProcess {
    /// Starts a server and waits for its ready line, at most 20 s.
    ///
    /// # Errors
    /// [`ServerError`]; no process is left then.
    pub async fn start(start: &ServerStart) -> Result<Self, ServerError> {
        Self::await_ready(start, command(start), START_TIME).await
    }

    /// Starts somebody else's server that prints a ready line as ours do, bound to these CPUs, and waits for the line, at most
    /// 120 s. It is told to end when this process ends.
    ///
    /// # Errors
    /// [`ServerError`]; no process is left then.
    pub async fn start_bound(start: &ServerStart, cpus: Option<&[u32]>) -> Result<Self, ServerError> {
        let mut command = command(start);
        bind(&mut command, cpus);
        Self::await_ready(start, command, FOREIGN_START_TIME).await
    }

    async fn await_ready(start: &ServerStart, mut command: Command, limit: Duration) -> Result<Self, ServerError> {
        let log = open_log(&start.log)?;
        let both = log.try_clone().map_err(|source| ServerError::Log { path: start.log.clone(), source })?;
        let mut child = spawn(start, command.stdout(Stdio::piped()).stderr(both))?;
        let not_ready = |problem| ServerError::NotReady { problem, log: start.log.clone() };
        let mut line = String::new();
        let Some(stdout) = child.0.stdout.take() else {
            return Err(not_ready("has no stdout".to_owned()));
        };
        let mut stdout = BufReader::new(stdout);
        match timeout(limit, stdout.read_line(&mut line)).await {
            Err(_) => return Err(not_ready(format!("said nothing for {} s", limit.as_secs()))),
            Ok(Err(error)) => return Err(not_ready(format!("could not be heard: {error}"))),
            Ok(Ok(0)) => {
                return Err(not_ready(format!("ended before it was ready{}", exit_status(&mut child.0).await)));
            }
            Ok(Ok(_)) => {}
        }
        match serde_json::from_str::<ServerReady>(&line) {
            Ok(ready) if ready.ready => {
                pass_on(stdout, log).map_err(|error| not_ready(format!("can't be heard any longer: {error}")))?;
                Ok(Self { child, ready })
            }
            _ => Err(not_ready(format!("said {:?} in place of its ready line", line.trim_end()))),
        }
    }

    /// Starts somebody else's server, bound to these CPUs, and waits until something listens at `addr`, at most 20 s. What it
    /// writes goes to its log.
    ///
    /// # Errors
    /// [`ServerError`], also when something listens there before; no process is left then.
    pub async fn start_at(start: &ServerStart, addr: SocketAddr, cpus: Option<&[u32]>) -> Result<Self, ServerError> {
        let not_ready = |problem| ServerError::NotReady { problem, log: start.log.clone() };
        if TcpStream::connect(addr).await.is_ok() {
            return Err(not_ready(format!("was not started, as another listens at {addr} already")));
        }
        let log = open_log(&start.log)?;
        let both = log.try_clone().map_err(|source| ServerError::Log { path: start.log.clone(), source })?;
        let mut command = command(start);
        command.stdout(both).stderr(log);
        bind(&mut command, cpus);
        let mut child = spawn(start, &mut command)?;
        let deadline = Instant::now() + START_TIME;
        while TcpStream::connect(addr).await.is_err() {
            if let Ok(Some(status)) = child.0.try_wait() {
                return Err(not_ready(format!("ended with {status} before anything listened at {addr}")));
            }
            if Instant::now() > deadline {
                return Err(not_ready(format!("did not listen at {addr} for {} s", START_TIME.as_secs())));
            }
            sleep(POLL).await;
        }
        let pid = child.0.id().unwrap_or_default();
        let cpus = cpus.map(<[u32]>::to_vec).unwrap_or_default();
        Ok(Self { child, ready: ServerReady { ready: true, addr, debug_addr: None, pid, cpus } })
    }

    /// What it said of itself.
    pub fn ready(&self) -> &ServerReady {
        &self.ready
    }

    /// Lets it drain and waits for its end; after 15 s it is killed.
    pub async fn stop(mut self) {
        let Some(pid) = self.child.0.id() else { return };
        let group = Group(pid as libc::pid_t);
        group.signal(libc::SIGTERM);
        let ended = async {
            // What it says of its end doesn't matter.
            let _ = self.child.0.wait().await;
            while group.signal(0) {
                sleep(POLL).await;
            }
        };
        if timeout(STOP_TIME, ended).await.is_err() {
            group.signal(libc::SIGKILL);
            let _ = self.child.0.kill().await;
        }
    }
}

/// The first process of a server. Dropped, it is killed with all of its group: its children would not end by themselves.
#[derive(Debug)]
struct Leader(Child);

impl Drop for Leader {
    fn drop(&mut self) {
        // `None` once it was waited for: its id may be another's then.
        if let Some(pid) = self.0.id() {
            Group(pid as libc::pid_t).signal(libc::SIGKILL);
        }
    }
}

/// The processes of a server: a shell may stay before its command, and end before it.
struct Group(libc::pid_t);

impl Group {
    /// Whether there was one to send it to. The leader's id isn't given to another while the group has members.
    fn signal(&self, signal: libc::c_int) -> bool {
        // SAFETY: sends a signal.
        unsafe { libc::kill(-self.0, signal) == 0 }
    }
}

fn command(start: &ServerStart) -> Command {
    let mut command = Command::new(&start.program);
    command
        .args(&start.args)
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        // Ctrl-C is for the load generator, which then stops the server: it must not drain under a round.
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Binds what is started to these CPUs, and to this process's life.
fn bind(command: &mut Command, cpus: Option<&[u32]>) {
    let bound = cpus.map(<[u32]>::to_vec);
    // SAFETY: between fork and exec it makes two system calls and takes no memory and no lock.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            bound.as_deref().map_or(Ok(()), bind_to)
        });
    }
}

fn spawn(start: &ServerStart, command: &mut Command) -> Result<Leader, ServerError> {
    command.spawn().map(Leader).map_err(|source| ServerError::Start { program: start.program.clone(), source })
}

/// Writes what a server prints from now on to its log, so that it never waits for a reader. A thread does: the runtime's are for load.
fn pass_on(stdout: BufReader<ChildStdout>, mut log: File) -> io::Result<()> {
    let read = stdout.buffer().to_vec();
    let mut stdout = File::from(stdout.into_inner().into_owned_fd()?);
    let pass_on = move || {
        if log.write_all(&read).and_then(|()| io::copy(&mut stdout, &mut log)).is_err() {
            // A log that is full must not stop the server.
            let _ = io::copy(&mut stdout, &mut io::sink());
        }
    };
    thread::Builder::new().name("server-stdout".to_owned()).spawn(pass_on).map(drop)
}

async fn exit_status(child: &mut Child) -> String {
    match timeout(Duration::from_secs(1), child.wait()).await {
        Ok(Ok(status)) => format!(" with {status}"),
        _ => String::new(),
    }
}

fn open_log(path: &Path) -> Result<File, ServerError> {
    let open = File::options().create(true).append(true).open(path);
    open.map_err(|source| ServerError::Log { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, log: &Path) -> ServerStart {
        ServerStart {
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: Vec::new(),
            log: log.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_server_is_ready_when_it_says_so_and_ends_when_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let script =
            r#"echo '{"ready":true,"addr":"127.0.0.1:1","debug_addr":null,"pid":7,"cpus":[0]}'; exec sleep 100"#;
        let server = ServerProcess::start(&shell(script, &dir.path().join("log"))).await.expect("ready");
        assert_eq!(server.ready().pid, 7);
        server.stop().await;
    }

    #[tokio::test]
    async fn a_server_that_prints_on_is_not_stopped_by_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("log");
        // More than a pipe holds; it says on stderr that all of it is out.
        let script = r#"echo '{"ready":true,"addr":"127.0.0.1:1","debug_addr":null,"pid":7}'
            head -c 300000 /dev/zero | tr '\0' x; echo done >&2; exec sleep 100"#;
        let server = ServerProcess::start(&shell(script, &log)).await.expect("ready");
        let all = async {
            loop {
                let said = std::fs::read_to_string(&log).expect("a log");
                if said.contains("done") && said.matches('x').count() == 300_000 {
                    break;
                }
                sleep(POLL).await;
            }
        };
        timeout(Duration::from_secs(60), all).await.expect("all that it prints is in its log");
        server.stop().await;
    }

    #[tokio::test]
    async fn a_command_is_ready_when_it_listens_and_ends_with_all_its_processes() {
        let dir = tempfile::tempdir().expect("a folder");
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        let addr: SocketAddr = ([127, 0, 0, 1], port).into();
        // The shell stays, and its child takes a while to end.
        let serve = format!(
            "import signal, socket, time\n\
             signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), exit()))\n\
             s = socket.create_server(('127.0.0.1', {port}))\n\
             while True: time.sleep(1)"
        );
        let start = shell(&format!("python3 -c \"{serve}\"; true"), &dir.path().join("log"));
        let server = ServerProcess::start_at(&start, addr, None).await.expect("listens");
        let taken = ServerProcess::start_at(&start, addr, None).await.expect_err("taken").to_string();
        assert!(taken.contains("was not started, as another listens at 127.0.0.1:"), "{taken}");
        server.stop().await;
        assert!(TcpStream::connect(addr).await.is_err(), "its child has ended too");
        drop(ServerProcess::start_at(&start, addr, None).await.expect("listens"));
        let ended = async {
            while TcpStream::connect(addr).await.is_ok() {
                sleep(POLL).await;
            }
        };
        timeout(Duration::from_secs(60), ended).await.expect("dropped, it ends with its child");
        let start = shell("echo no >&2; exit 4", &dir.path().join("log"));
        let ended = ServerProcess::start_at(&start, addr, None).await.expect_err("ended").to_string();
        assert!(ended.contains("ended with exit status: 4 before anything listened at"), "{ended}");
    }

    #[tokio::test]
    async fn a_server_that_ends_or_babbles_is_an_error_that_names_its_log() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("server.log");
        let ended = ServerProcess::start(&shell("echo oh >&2; exit 3", &log)).await.expect_err("ended");
        assert!(ended.to_string().contains("ended before it was ready with exit status: 3"), "{ended}");
        assert!(ended.to_string().contains("server.log"), "{ended}");
        assert_eq!(std::fs::read_to_string(&log).expect("log"), "oh\n");
        let babbles = ServerProcess::start(&shell("echo hello; sleep 5", &log)).await.expect_err("babbles");
        assert!(babbles.to_string().contains("said \"hello\""), "{babbles}");
    }
}
