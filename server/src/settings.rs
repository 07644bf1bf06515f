//! What the HTTP/2 servers announce, and the limits all servers share.

use serde::Serialize;

/// The largest message taken or given unless told otherwise: a payload of 16 MiB and room for what encloses it, such as
/// the 3 bytes that Hessian, as dubbo-go writes it, puts in front of every 4,096.
pub const DEFAULT_MESSAGE_LIMIT: usize = (16 << 20) + (16 << 10);

/// The HTTP/2 settings a server announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Http2Settings {
    /// SETTINGS_MAX_FRAME_SIZE in bytes, 16,384 to 16,777,215. At large payloads this decides how many buffers the
    /// frame decoder allocates a message.
    pub max_frame_size: u32,
    /// Flow-control window of a stream, in bytes.
    pub stream_window: u32,
    /// Flow-control window of a connection, in bytes.
    pub connection_window: u32,
    /// SETTINGS_MAX_CONCURRENT_STREAMS of a connection.
    pub max_concurrent_streams: u32,
}

impl Default for Http2Settings {
    fn default() -> Self {
        Self {
            max_frame_size: 1 << 20,
            stream_window: 4 << 20,
            connection_window: 16 << 20,
            max_concurrent_streams: 10_000,
        }
    }
}
