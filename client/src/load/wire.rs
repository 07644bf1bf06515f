//! Which wire is really used: what the preflight saw, not what was asked for.

use serde::{Deserialize, Serialize};

use super::Frames;

/// The wire between client and server, as the preflight found it. A client that sends other headers makes the server
/// allocate otherwise, so that figures compare only between equal wires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// `HTTP/2`, `HTTP/1.1`, `TCP` for the raw echo, or how calls are framed over TCP: `Thrift framed in TTHeader`.
    pub http_version: String,
    /// Version and cipher suite of TLS, as rustls names them; `None` where there is none.
    pub tls: Option<String>,
    /// The request's content-type; `None` where nothing has one.
    pub content_type: Option<String>,
    /// The reply's content-type.
    pub response_content_type: Option<String>,
    /// How requests are compressed: `gzip`, or `identity` for not at all.
    pub request_encoding: String,
    /// How the reply's message was compressed, whatever its headers announce.
    pub response_encoding: String,
    /// Connections open.
    pub connections: usize,
    /// What the client announced.
    pub client_settings: Option<PeerSettings>,
    /// What the server announced, read off the wire.
    pub server_settings: Option<PeerSettings>,
    /// Names in the order they are sent, pseudo-headers first.
    pub request_header_names: Vec<String>,
    /// Names in the order they came, `:status` first, trailers last.
    pub response_header_names: Vec<String>,
    /// Bytes that one call, of the payload's largest size, sends on the socket, framing included, once the connection is
    /// warm: header tables filled, settings exchanged. Acknowledgements and window updates that fall into the call count.
    pub request_bytes: u64,
    /// Bytes that one call receives on the socket, likewise.
    pub response_bytes: u64,
    /// Frames of the first connection from its opening to the end of the preflight, settings and their acknowledgements among
    /// them. `None` where it isn't HTTP/2, and in results from before they were counted.
    #[serde(default)]
    pub opening_frames: Option<Frames>,
}

impl Wire {
    /// Of a protocol of frames over TCP, which has neither headers nor settings, with the bytes that one call sends and receives.
    pub(super) fn in_frames(name: &str, connections: usize, [request_bytes, response_bytes]: [u64; 2]) -> Self {
        Self {
            http_version: name.to_owned(),
            tls: None,
            content_type: None,
            response_content_type: None,
            request_encoding: IDENTITY.to_owned(),
            response_encoding: IDENTITY.to_owned(),
            connections,
            client_settings: None,
            server_settings: None,
            request_header_names: Vec::new(),
            response_header_names: Vec::new(),
            request_bytes,
            response_bytes,
            opening_frames: None,
        }
    }

    /// Whether messages are compressed in either direction.
    pub fn is_compressed(&self) -> bool {
        self.request_encoding != IDENTITY || self.response_encoding != IDENTITY
    }
}

/// One side's HTTP/2 SETTINGS, with the defaults of RFC 9113 (6.5.2) for what it did not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSettings {
    /// SETTINGS_MAX_FRAME_SIZE in bytes.
    pub max_frame_size: u32,
    /// SETTINGS_INITIAL_WINDOW_SIZE in bytes: the window of each stream towards this side.
    pub stream_window: u32,
    /// The connection's window towards this side in bytes: 65,535 and what it added before its first other frame.
    pub connection_window: u32,
    /// SETTINGS_MAX_CONCURRENT_STREAMS; `None` is no limit.
    pub max_concurrent_streams: Option<u32>,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self { max_frame_size: 16_384, stream_window: 65_535, connection_window: 65_535, max_concurrent_streams: None }
    }
}

/// The encoding of what isn't compressed.
pub(crate) const IDENTITY: &str = "identity";
const FRAME_HEADER: usize = 9;
/// A server that announces more than this many bytes of settings gets no more of them read.
const SNIFF_LIMIT: usize = 4096;

/// Reads a server's settings off the first bytes of a connection: its SETTINGS frame and the connection's WINDOW_UPDATEs
/// after it, up to the first other frame. h2 exposes none of these.
#[derive(Debug, Default)]
pub(super) struct SettingsReader {
    unread: Vec<u8>,
    taken: usize,
    settings: Option<PeerSettings>,
}

impl SettingsReader {
    /// Takes the next bytes received; whether there is more to read.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> bool {
        let room = SNIFF_LIMIT - self.taken.min(SNIFF_LIMIT);
        let bytes = &bytes[..bytes.len().min(room)];
        self.taken += bytes.len();
        self.unread.extend_from_slice(bytes);
        while let Some(&[a, b, c, kind, flags, s0, s1, s2, s3]) = self.unread.first_chunk::<FRAME_HEADER>() {
            let end = FRAME_HEADER + u32::from_be_bytes([0, a, b, c]) as usize;
            let on_connection = u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff == 0;
            if !on_connection || !matches!(kind, SETTINGS | WINDOW_UPDATE) {
                return false;
            }
            let Some(body) = self.unread.get(FRAME_HEADER..end) else { break };
            match kind {
                SETTINGS if flags & ACK == 0 => apply_settings(self.settings.get_or_insert_default(), body),
                WINDOW_UPDATE => apply_window_update(self.settings.get_or_insert_default(), body),
                _ => {}
            }
            self.unread.drain(..end);
        }
        self.taken < SNIFF_LIMIT
    }

    /// What was read so far; `None` before the first SETTINGS frame.
    pub(super) fn settings(&self) -> Option<PeerSettings> {
        self.settings
    }
}

// RFC 9113, 6.5 and 6.9.
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;

fn apply_settings(settings: &mut PeerSettings, body: &[u8]) {
    for &[i0, i1, v0, v1, v2, v3] in body.as_chunks::<6>().0 {
        let value = u32::from_be_bytes([v0, v1, v2, v3]);
        match u16::from_be_bytes([i0, i1]) {
            3 => settings.max_concurrent_streams = Some(value),
            4 => settings.stream_window = value,
            5 => settings.max_frame_size = value,
            _ => {}
        }
    }
}

fn apply_window_update(settings: &mut PeerSettings, body: &[u8]) {
    if let Ok(increment) = body.try_into() {
        let increment = u32::from_be_bytes(increment) & 0x7fff_ffff;
        settings.connection_window = settings.connection_window.saturating_add(increment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first frames of a dubbo-go server: SETTINGS of {header table 4096, 250 streams, window and frame 1 MiB, header
    /// list, 9:1}, WINDOW_UPDATE of 983,041, and the acknowledgement of ours.
    fn dubbo_go() -> Vec<u8> {
        let settings: [(u16, u32); 6] = [(1, 4096), (3, 250), (4, 1 << 20), (5, 1 << 20), (6, 1_048_896), (9, 1)];
        let mut bytes = vec![0, 0, 36, SETTINGS, 0, 0, 0, 0, 0];
        for (id, value) in settings {
            bytes.extend(id.to_be_bytes());
            bytes.extend(value.to_be_bytes());
        }
        bytes.extend([0, 0, 4, WINDOW_UPDATE, 0, 0, 0, 0, 0]);
        bytes.extend(983_041u32.to_be_bytes());
        bytes.extend([0, 0, 0, SETTINGS, ACK, 0, 0, 0, 0]);
        bytes
    }

    const DUBBO_GO: PeerSettings = PeerSettings {
        max_frame_size: 1 << 20,
        stream_window: 1 << 20,
        connection_window: 1_048_576,
        max_concurrent_streams: Some(250),
    };

    #[test]
    fn settings_are_read_in_any_pieces() {
        for piece in [1, 5, 9, 1000] {
            let mut reader = SettingsReader::default();
            assert!(dubbo_go().chunks(piece).all(|piece| reader.feed(piece)));
            assert_eq!(reader.settings(), Some(DUBBO_GO));
        }
    }

    #[test]
    fn reading_ends_at_the_first_other_frame() {
        let mut bytes = dubbo_go();
        bytes.extend([0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88]);
        let mut reader = SettingsReader::default();
        assert!(!reader.feed(&bytes));
        assert_eq!(reader.settings(), Some(DUBBO_GO));
    }

    #[test]
    fn what_is_not_said_has_the_default_and_what_is_no_http2_has_none() {
        let mut empty = SettingsReader::default();
        assert!(empty.feed(&[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]));
        assert_eq!(empty.settings(), Some(PeerSettings::default()));

        let mut http1 = SettingsReader::default();
        assert!(!http1.feed(b"HTTP/1.1 400 Bad Request\r\n"));
        assert_eq!(http1.settings(), None);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let mut reader = SettingsReader::default();
        let endless = [[0xff, 0xff, 0xff, SETTINGS, 0, 0, 0, 0, 0].as_slice(), &[0; 100_000]].concat();
        assert!(!reader.feed(&endless));
        assert!(reader.unread.len() <= SNIFF_LIMIT);
        assert!(!reader.feed(&[0; 100]), "once it has ended it stays so");
    }
}
