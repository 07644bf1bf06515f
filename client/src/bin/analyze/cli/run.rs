//! Flags of `analyze run`, under the headings of its help.

use std::path::PathBuf;

use clap::Args;

use super::{CallArgs, Format, ViaArgs};

/// Flags of a measurement.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) sent: SentArgs,
    #[command(flatten)]
    pub(crate) call: CallArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) servers: ServerArgs,
    #[command(flatten)]
    pub(crate) via: ViaArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What is sent")]
pub(crate) struct SentArgs {
    /// Payload and calls in flight, as 1MiB-100. Sizes: bytes, or B, KiB, MiB
    #[arg(long, value_name = "S,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) scenario: Vec<String>,
    /// Payloads, each with every --concurrency, in place of --scenario; a mix is 128B:80%,1MiB:20%
    #[arg(long, value_name = "SIZE,…", allow_hyphen_values = true)]
    pub(crate) payload: Vec<String>,
    /// Calls in flight, 1 to 10000, for --payload and --call
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) concurrency: Vec<String>,
    /// unary, or streaming: open, one message, close
    #[arg(long, value_name = "MODE", default_value = "unary", allow_hyphen_values = true)]
    pub(crate) mode: String,
    /// Messages before a stream is closed, or unbounded; with --mode streaming [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) messages_per_stream: Option<String>,
    /// protobuf, hessian2 or msgpack, the last two as arguments in Triple's envelope; thrift [default: protobuf, or what the
    /// server's protocol has in its place]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) serialization: Option<String>,
    /// none, default, fastest or best: gzip at level 6, 1 or 9, requests and replies; replies of gRPC at 6 always, those of
    /// a server given with --addr at its own
    #[arg(long, value_name = "NAME", default_value = "none", allow_hyphen_values = true)]
    pub(crate) compression: String,
    /// Take gzipped replies to requests that are not, as dubbo-go's client does
    #[arg(long)]
    pub(crate) accept_gzip: bool,
    /// random, zeros or text: how far payloads can be compressed
    #[arg(long, value_name = "NAME", default_value = "random", allow_hyphen_values = true)]
    pub(crate) payload_pattern: String,
    /// Payload of each reply [default: that of its request]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) response_size: Option<String>,
    /// How long the server's handler waits before each reply, as 5ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) sleep: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "How it is sent")]
pub(crate) struct LoadArgs {
    /// Timed rounds for each scenario and server; figures are medians over them
    #[arg(long, value_name = "N", default_value = "5", allow_hyphen_values = true)]
    pub(crate) rounds: String,
    /// Load before each timed round, not counted
    #[arg(long, value_name = "TIME", default_value = "2s", allow_hyphen_values = true)]
    pub(crate) warmup: String,
    /// Length of a timed round, as 5s or 500ms [default: 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<String>,
    /// Calls of a timed round, in place of --duration
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) requests: Option<String>,
    /// Calls a second, whatever the server does: 5000, several as 1000,2000, or a ramp as 1000..20000/10 [default: each
    /// call when the one before is answered]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) qps: Option<String>,
    /// How long a caller waits after each reply; not with --qps
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) think: Option<String>,
    /// Connections for the calls in flight [default: 1, with --pool one for each call]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) connections: Option<String>,
    /// One call at a time on each connection
    #[arg(long)]
    pub(crate) pool: bool,
    /// Any number of calls at a time on each connection, as without the flag
    #[arg(long)]
    pub(crate) mux: bool,
    /// The longest a call may take before it counts as failed
    #[arg(
        long,
        visible_alias = "request-timeout",
        value_name = "TIME",
        default_value = "30s",
        allow_hyphen_values = true
    )]
    pub(crate) timeout: String,
    /// The longest a connection may take
    #[arg(long, value_name = "TIME", default_value = "5s", allow_hyphen_values = true)]
    pub(crate) connect_timeout: String,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Servers")]
pub(crate) struct ServerArgs {
    /// Servers to measure: triple, grpc, raw, and those of other frameworks that analyze peers lists [default: triple,grpc]
    #[arg(long, value_name = "F,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) framework: Vec<String>,
    /// Measure a server that runs already, in place of one of our own; needs --debug for what it allocates. The server of a
    /// --call is given without F=, as --debug and --pid are
    #[arg(long, value_name = "F=HOST:PORT|F=unix:PATH", allow_hyphen_values = true)]
    pub(crate) addr: Vec<String>,
    /// Debug endpoints of a server given with --addr
    #[arg(long, value_name = "F=URL", allow_hyphen_values = true)]
    pub(crate) debug: Vec<String>,
    /// Process of a server given with --addr, on this machine: its CPU time and memory
    #[arg(long, value_name = "F=PID", allow_hyphen_values = true)]
    pub(crate) pid: Vec<String>,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "This machine")]
pub(crate) struct MachineArgs {
    /// CPUs of the servers we start, as 0,2-3 [default: half of them]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) server_cpus: Option<String>,
    /// CPUs of the load generator [default: the others]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) client_cpus: Option<String>,
    /// Serve the load generator's own debug endpoints while it runs, as 127.0.0.1:18888
    #[arg(long, value_name = "IP:PORT", allow_hyphen_values = true)]
    pub(crate) client_debug: Option<String>,
    /// Let --client-debug be an address that is not loopback
    #[arg(long)]
    pub(crate) allow_remote: bool,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Take no profiles: no allocating lines, no flamegraphs
    #[arg(long)]
    pub(crate) no_profiles: bool,
    /// Leave out the bare TCP echo that QPS is set against
    #[arg(long)]
    pub(crate) no_roofline: bool,
    /// Name of the run and of its folders [default: the time it starts]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    /// Where data/, profiles/, flamegraphs/ and logs/ go
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// What is printed on standard output
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub(crate) format: Format,
}
