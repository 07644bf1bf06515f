//! Flags of a call of the user's own.

use std::path::PathBuf;

use clap::Args;

/// What is called in place of the echo.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "A call of your own")]
pub(crate) struct CallArgs {
    /// Measure this method of the server at --addr HOST:PORT or unix:PATH, in place of the echo; with --concurrency, the calls in flight
    #[arg(long, value_name = "PKG.SERVICE/METHOD", allow_hyphen_values = true)]
    pub(crate) call: Option<String>,
    /// Measure a plain HTTP/1.1 server: GET this URL, or POST --data to it, in place of the echo; https is TLS. With --concurrency;
    /// --addr says where to connect, if not to the URL's host
    #[arg(long, value_name = "URL", allow_hyphen_values = true)]
    pub(crate) http1: Option<String>,
    /// The same over HTTP/2, without TLS too
    #[arg(long, value_name = "URL", allow_hyphen_values = true)]
    pub(crate) h2: Option<String>,
    /// The file that has the service of --call
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) proto: Option<PathBuf>,
    /// Where the files are that --proto imports; may be given again [default: the folder of --proto]
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub(crate) import_path: Vec<PathBuf>,
    /// Ask the server itself for the service, by gRPC server reflection, in place of --proto
    #[arg(long)]
    pub(crate) reflection: bool,
    /// The message of --call as JSON, or a file of it as @FILE [default: {}]; the body of --http1 and --h2, as it is
    #[arg(long, value_name = "JSON|@FILE", allow_hyphen_values = true)]
    pub(crate) data: Option<String>,
    /// What replies must equal, as --data is given: of --call each caller's first, every 64th and those of another length; of a stream
    /// its first message [default: replies are not compared, only their status counts]
    #[arg(long, value_name = "JSON|@FILE", allow_hyphen_values = true)]
    pub(crate) expect: Option<String>,
    /// A header of each call, as 'authorization: Bearer …'; may be given again. Bytes go as base64 under a key that ends in -bin
    #[arg(long, value_name = "KEY: VALUE", allow_hyphen_values = true)]
    pub(crate) metadata: Vec<String>,
    /// Speak TLS with the server of --call
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificates, in PEM, of whom to trust that the server is the right one [default: the system's]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) ca: Option<PathBuf>,
    /// Our own certificate, in PEM, for a server that asks for one
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) cert: Option<PathBuf>,
    /// The key of --cert, in PEM
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) key: Option<PathBuf>,
    /// The name that the server's certificate is for [default: the host of --addr, or of the URL]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) server_name: Option<String>,
    /// Take any certificate of the server: whoever answers is measured
    #[arg(long)]
    pub(crate) insecure: bool,
}
