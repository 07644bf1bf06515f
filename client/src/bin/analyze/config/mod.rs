//! `config.yaml`: what `analyze suite` measures, read and checked as a whole before anything starts.
//!
//! The file of dubbo-go's `tools/benchmark` is read unchanged; its keys come first. Every key may be left out, and any other
//! is an error. Where several values are taken, one alone may stand without brackets. What stands in the file and changes
//! nothing, as the ports of servers that aren't measured, is noted.
//!
//! | key | value | default |
//! |---|---|---|
//! | `service.name` | `BenchmarkService` or `benchmark.BenchmarkService` | that |
//! | `service.port.F` | 1 to 65535. Used for a server of `servers` without an `addr`; one that we start takes a free port | F's own |
//! | `payload_sizes` | sizes as `128`, `128B`, `16KiB`, `1MiB`; mixes as `"128B:80%,1MiB:20%"` | 128B, 1KiB, 16KiB, 1MiB |
//! | `serializations` | `protobuf`, `hessian2`, `msgpack`, `thrift` | `protobuf`, or what a server's protocol has in its place |
//! | `compressions` | `none`, `default`, `fastest`, `best` | `none` |
//! | `call_modes` | `unary`, `streaming` | `unary` |
//! | `concurrency_levels` | calls in flight, 1 to 10000 | 50, 100 |
//! | `benchmark.warmup_duration` | load before each round, not counted; times are Go's: `500ms`, `10s`, `1m30s` | 2s |
//! | `benchmark.test_duration` | length of a round, from 100ms | 5s |
//! | `benchmark.request_timeout` | the longest a call may take | 30s |
//! | `benchmark.connect_timeout` | the longest a connection may take | 5s |
//! | `frameworks` | `triple`, `grpc`, `raw` | `triple`, `grpc` |
//! | `rounds` | rounds of each cell, 1 to 1000; figures are medians over them | 5 |
//! | `roofline` | `true`, `false`: whether the bare TCP echo is measured beside them | `true` |
//! | `profiles` | `true`, `false`: whether profiles are taken; at several rates they never are | `false` |
//! | `load.qps` | calls a second (an open loop): `5000`, a list, or evenly spaced rates as `1000..20000/10` | a closed loop |
//! | `load.requests` | calls of each round, in place of `test_duration` | |
//! | `load.think` | how long a caller waits after each reply, in a closed loop | 0 |
//! | `load.connections` | 1 to 10000 | 1, with a pool one for each call in flight |
//! | `load.sharing` | `mux`; `pool` for one call at a time on each connection | `mux` |
//! | `load.messages_per_stream` | a number, or `unbounded`; with `streaming` among `call_modes` | 1 |
//! | `load.payload_pattern` | `random`, `zeros`, `text` | `random` |
//! | `load.response_size` | bytes of payload in each reply | the request's |
//! | `load.sleep` | how long the handler waits before each reply, 1h at most | 0 |
//! | `load.accept_gzip` | `true`, `false`: whether gzipped replies are asked for | `false` |
//! | `servers.F.addr` | `HOST:PORT`, or `unix:PATH`, of a server that runs already, in place of one of ours | `service.port.F` here |
//! | `servers.F.debug` | `http://HOST:PORT` of its debug endpoints | none |
//! | `servers.F.pid` | its process, for CPU and memory | none |
//! | `server_cpus`, `client_cpus` | CPUs as `0,2-3` | half each |
//! | `label`, `out` | the run's name and folder, as the flags | |
//! | `cells` | a list of changes for some of the cells; of two for the same cell the later one counts, but skipped is skipped | |
//!
//! A change has `match`, with one or more of `framework`, `payload`, `serialization`, `compression`, `call_mode`,
//! `concurrency` and `qps`, each a value of the suite or several; and `skip: true`, or one or more of `profiles`, `rounds`,
//! `warmup_duration`, `test_duration` and `request_timeout`. The bare echo has no serialization, compression and call mode, so
//! that no change that names one is about it:
//!
//! ```yaml
//! cells:
//!   - match: {framework: grpc, payload: [16KiB, 1MiB]}
//!     profiles: true
//!     rounds: 3
//! ```

mod cells;
mod finding;
mod load;
mod section;
mod servers;
mod settings;
mod suite;
#[cfg(test)]
mod tests;
mod yaml;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use analyze::{
    load::{CallMode, Case},
    scenario::{Compression, Framework, Payload, Serialization},
    store::Label,
};

use self::cells::Change;
pub(crate) use self::{
    finding::{Finding, Invalid},
    load::Load,
    servers::Attached,
    settings::Settings,
    yaml::Mark,
};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file can't be read.
    #[error("--config {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// It says something that is not allowed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// A suite as its file has it, defaults filled in. No list is empty and none has a value twice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) frameworks: Vec<Framework>,
    pub(crate) payloads: Vec<Payload>,
    pub(crate) serializations: Vec<Serialization>,
    /// Whether they stand in the file; otherwise each protocol has its own.
    pub(crate) encoding_asked: bool,
    pub(crate) compressions: Vec<Compression>,
    pub(crate) call_modes: Vec<CallMode>,
    pub(crate) concurrency_levels: Vec<u32>,
    pub(crate) load: Load,
    /// Of every cell that no change speaks of: [`settings`](Self::settings) gives those of a cell.
    pub(crate) settings: Settings,
    pub(crate) connect_timeout: Duration,
    pub(crate) roofline: bool,
    /// The servers that run already; the others are started.
    pub(crate) servers: Vec<Attached>,
    /// CPU numbers, ascending.
    pub(crate) server_cpus: Option<Vec<u32>>,
    /// CPU numbers, ascending.
    pub(crate) client_cpus: Option<Vec<u32>>,
    pub(crate) label: Option<Label>,
    pub(crate) out: Option<PathBuf>,
    changes: Vec<Change>,
    /// What stands in the file and changes nothing, for people to know.
    pub(crate) notes: Vec<Finding>,
}

impl Default for Config {
    /// What a file without keys would stand for.
    fn default() -> Self {
        let payload = |text: &str| text.parse().ok();
        Self {
            frameworks: vec![Framework::Triple, Framework::Grpc],
            payloads: ["128B", "1KiB", "16KiB", "1MiB"].into_iter().filter_map(payload).collect(),
            serializations: vec![Serialization::Protobuf],
            encoding_asked: false,
            compressions: vec![Compression::None],
            call_modes: vec![CallMode::Unary],
            concurrency_levels: vec![50, 100],
            load: Load::default(),
            settings: Settings::default(),
            connect_timeout: Duration::from_secs(5),
            roofline: true,
            servers: Vec::new(),
            server_cpus: None,
            client_cpus: None,
            label: None,
            out: None,
            changes: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl Config {
    /// Reads a file, and not much more of it than is allowed; `frameworks` as in [`read`](Self::read).
    pub(crate) fn open(path: &Path, frameworks: Option<Vec<Framework>>) -> Result<Self, ConfigError> {
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(yaml::MAX_TEXT as u64 + 1).read_to_end(&mut text))
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Ok(Self::read(&path.display().to_string(), &text, frameworks)?)
    }

    /// Reads a file's text; `file` is the name that errors give it. `frameworks` are measured in place of the file's own, by
    /// which all else in it is judged.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the file.
    pub(crate) fn read(file: &str, text: &[u8], frameworks: Option<Vec<Framework>>) -> Result<Self, Invalid> {
        suite::read(text, frameworks).map_err(|findings| Invalid { file: file.to_owned(), findings })
    }

    /// How a cell is measured, after the changes that match it. `None` for a cell that one of them skips.
    pub(crate) fn settings(&self, framework: Framework, case: &Case) -> Option<Settings> {
        let mut matching = self.changes.iter().filter(|change| change.matches(framework, case));
        matching.try_fold(self.settings, |settings, change| change.apply(settings))
    }
}
