//! The load side: connections, calls in flight, and the ledger of what became of them.
//!
//! [`Driver`] holds the connections. Each [`run`](Driver::run) is one [`Window`]: `concurrency` tasks each send a call, wait
//! for its reply, and send the next, at once, after a think time, or when its time at a fixed rate has come. The layers,
//! downward:
//!
//! - `driver`: opens connections, runs the preflight and the windows;
//! - `http2`, `framed`, `raw`: transports, one call after another for one task; `pool`: their turns, where connections carry one call at
//!   a time; `plain`: HTTP/1.1 and HTTP/2 without gRPC;
//! - `engine`: tasks, pacing, draining, over the `Transport` trait, so that it is tested without a network;
//! - `tally`, `latency`: what each task records, without a lock per call;
//! - `address`: where a server listens, TCP or a Unix socket;
//! - `call`: a call of the user's own in place of the echo;
//! - `message`, `meter`, `frames`, `wire`: what is sent and must come back, counted and read off the wire.
//!
//! # What the figures mean
//! *Latency* is service time: from handing the call to the HTTP/2 layer (or the socket's queue) until the whole reply was
//! read. Where the peer allows fewer streams than there are tasks, waiting for a free stream counts, and with pooled connections
//! waiting for a free connection. On a stream of many messages a call is one message and its reply; what opens and ends the
//! stream belongs to its first and last message. A closed loop sends
//! nothing while it waits, so a stall is seen once a task (coordinated omission). At a rate there is *response time* as well,
//! from when the call was to start, whoever kept it from it: the server, the calls in flight, or the client's own pacer
//! (`engine::schedule` says what that one adds).
//!
//! # What is checked
//! Of every reply its status, and its framing: one message, of the length it announces. Then, of a reply that is known byte for
//! byte (protobuf that isn't compressed): its length; of every 64th of each task, and the first, all bytes. Comparing 1 MiB
//! takes about 60 µs, so a 64th of it is a quarter of a percent of what such a call costs.
//!
//! Any other reply can be right in several ways: compressors differ, and so do writers of envelopes. The first of each task,
//! every 64th, and every one of another length than the last of its size that was right, is decompressed and decoded and its
//! payload compared. That is after the call's time was taken; it costs the client CPU all the same. The longest reply that is
//! read is twice what is expected and 1 KiB.
//!
//! A [`Call`] of the user's own has no echo: of its replies the status and the framing are checked, and the message only where one is
//! to be expected.
//!
//! Of plain HTTP a reply is right with a status of 2xx and a whole body.
//!
//! How a stream ends that is open at the end of a window isn't looked at: its messages were answered.

mod address;
mod call;
mod case;
mod driver;
mod encodings;
mod engine;
mod error;
mod framed;
mod frames;
mod http2;
mod latency;
mod message;
mod meter;
mod plain;
mod pool;
mod preflight;
mod raw;
mod sample;
mod spec;
mod tally;
mod tickets;
mod window;
mod wire;
mod wire_use;

pub use address::Address;
pub use call::{
    Call, CallInfo, CallKind, Comparison, Method, ReflectionError, Schema, SchemaError, Tls, TlsError, TlsOptions,
    headers, metadata, reflect,
};
pub use case::{CallMode, Case, MessagesPerStream, Sharing};
pub use driver::Driver;
pub use error::{CallError, LoadError};
pub use frames::{FrameCount, FrameCounts, FrameType, Frames};
pub use latency::Latency;
pub use sample::{ErrorCount, LoadSample};
pub use spec::{LoadSpec, MAX_RATE};
pub use tally::Live;
pub use window::{End, Window};
pub(crate) use wire::IDENTITY;
pub use wire::{PeerSettings, Wire};
pub use wire_use::{Http2Use, WireUse};

/// What this client calls itself.
const AGENT: &str = concat!("analyze/", env!("CARGO_PKG_VERSION"));
