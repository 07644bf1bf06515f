//! Calls over HTTP/2, for gRPC and for Triple in gRPC mode.
//!
//! - `template`: what is sent; `transport`: one call after another, on streams of one message or of many.

mod template;
mod transport;

use std::{io, sync::Arc};

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

pub(super) use self::template::Template;
use self::{template::GRPC_ENCODING, transport::Http2Transport};
use super::{
    CallError, IDENTITY, LoadSpec, PeerSettings, Wire,
    address::Socket,
    call::agreed,
    meter::{Meter, Metered},
    preflight::{FailedCall, Preflight},
};

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// How much of a server's `grpc-message` is kept.
const MESSAGE_TEXT_LIMIT: usize = 200;

/// One HTTP/2 connection. Its own task runs it until the last handle is gone.
#[derive(Debug)]
pub(super) struct Connection {
    handle: SendRequest<Bytes>,
    meter: Arc<Meter>,
    /// What TLS was agreed on.
    tls: Option<String>,
}

/// Which handshake went wrong.
#[derive(Debug)]
pub(super) enum OpenError {
    Tls(io::Error),
    Http2(h2::Error),
}

impl Connection {
    pub(super) async fn open(socket: Socket, spec: &LoadSpec) -> Result<Self, OpenError> {
        let Some(tls) = spec.call.as_ref().and_then(|call| call.tls.as_ref()) else {
            let (socket, meter) = Metered::new(socket);
            return Self::shake_hands(socket, meter, None, spec).await;
        };
        let meter = Arc::<Meter>::default();
        let connecting = tls.connect(Metered::counting(socket, meter.clone()));
        let late = |_| OpenError::Tls(io::ErrorKind::TimedOut.into());
        let stream = timeout(spec.connect_timeout, connecting).await.map_err(late)?.map_err(OpenError::Tls)?;
        let agreed = agreed(&stream);
        Self::shake_hands(Metered::reading(stream, meter.clone()), meter, Some(agreed), spec).await
    }

    async fn shake_hands<S>(
        socket: S,
        meter: Arc<Meter>,
        tls: Option<String>,
        spec: &LoadSpec,
    ) -> Result<Self, OpenError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (handle, connection) = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(spec.stream_window)
            .initial_connection_window_size(spec.connection_window)
            .max_frame_size(spec.max_frame)
            .handshake::<_, Bytes>(socket)
            .await
            .map_err(OpenError::Http2)?;
        meter.count_connection();
        // How the connection ended is told to every call of it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { handle, meter, tls })
    }

    /// What its socket has seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of the `task`th task.
    pub(super) fn transport(&self, template: &Arc<Template>, task: usize) -> Http2Transport {
        Http2Transport::new(self.handle.clone(), template.clone(), task, self.meter.clone())
    }
}

pub(super) fn check_status(headers: &HeaderMap) -> Result<(), CallError> {
    let code = headers.get(GRPC_STATUS).ok_or(CallError::NoStatus)?;
    if code == "0" {
        return Ok(());
    }
    let message = headers.get(GRPC_MESSAGE).map(text).unwrap_or_default();
    Err(CallError::Status { code: text(code), message: message.chars().take(MESSAGE_TEXT_LIMIT).collect() })
}

pub(super) fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Calls once on every connection for each size of the payload, then once more on the first, which by then is warm, for the
/// largest: its bytes, headers and, of a call of the user's own, its message are what is reported. Where streams are long, these have one message all the same.
pub(super) async fn preflight(
    connections: &[Connection],
    template: &Arc<Template>,
    spec: &LoadSpec,
    preflight: &Preflight,
) -> Result<(Wire, Option<String>), FailedCall> {
    for (index, connection) in connections.iter().enumerate() {
        for share in 0..template.messages.len() {
            preflight.call(index, share, connection.transport(template, 0).exchange(share)).await?;
        }
    }
    let first = &connections[0];
    let sizes = template.payload.shares().iter().map(|share| share.size).enumerate();
    let largest = sizes.max_by_key(|&(_, size)| size).map_or(0, |(share, _)| share);
    let (written, read) = (first.meter.written(), first.meter.read());
    let mut transport = first.transport(template, 0);
    let reply = preflight.call(0, largest, transport.exchange(largest)).await?;
    let response_encoding = reply.head.get(GRPC_ENCODING).filter(|_| transport.was_compressed());
    let encoding = |header: Option<&HeaderValue>| header.map_or_else(|| IDENTITY.to_owned(), text);
    let name = |name: &HeaderName| name.to_string();
    let wire = Wire {
        http_version: "HTTP/2".to_owned(),
        tls: first.tls.clone(),
        content_type: template.headers.get(CONTENT_TYPE).map(text),
        response_content_type: reply.head.get(CONTENT_TYPE).map(text),
        request_encoding: encoding(template.headers.get(GRPC_ENCODING)),
        response_encoding: encoding(response_encoding),
        connections: connections.len(),
        client_settings: Some(PeerSettings {
            max_frame_size: spec.max_frame,
            stream_window: spec.stream_window,
            connection_window: spec.connection_window,
            max_concurrent_streams: None,
        }),
        server_settings: first.meter.settings(),
        request_header_names: [":method", ":scheme", ":authority", ":path"]
            .into_iter()
            .map(str::to_owned)
            .chain(template.headers.keys().map(name))
            .collect(),
        response_header_names: std::iter::once(":status".to_owned())
            .chain(reply.head.keys().map(name))
            .chain(reply.trailers.keys().map(name))
            .collect(),
        request_bytes: first.meter.written() - written,
        response_bytes: first.meter.read() - read,
        opening_frames: Some(first.meter.frames()),
    };
    Ok((wire, reply.text))
}
