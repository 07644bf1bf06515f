//! Calls over HTTP/2, for gRPC and for Triple in gRPC mode.

use std::{future::poll_fn, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use h2::client::SendRequest;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version,
    header::{CONTENT_TYPE, TE, USER_AGENT},
};
use tokio::net::TcpStream;

use super::{
    CallError, CallMode, LoadSpec, PeerSettings, Wire,
    engine::Transport,
    message::{self, EchoCheck},
    meter::{Meter, Metered},
};
use crate::scenario::Framework;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

const AGENT: &str = concat!("analyze/", env!("CARGO_PKG_VERSION"));

/// How much of a server's `grpc-message` is kept.
const MESSAGE_TEXT_LIMIT: usize = 200;

/// One call, ready to be sent any number of times: nothing in it is built or copied per call.
#[derive(Debug)]
pub(super) struct Template {
    uri: Uri,
    headers: HeaderMap,
    message: Bytes,
    mode: CallMode,
}

impl Template {
    pub(super) fn new(spec: &LoadSpec) -> Arc<Self> {
        let path = match spec.case.mode {
            CallMode::Unary => echo_proto::UNARY_PATH,
            CallMode::Streaming => echo_proto::STREAM_PATH,
        };
        let content_type = match spec.framework {
            Framework::Triple => "application/grpc+proto",
            Framework::Grpc | Framework::Raw => "application/grpc",
        };
        let mut headers = HeaderMap::with_capacity(3);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        Arc::new(Self {
            uri: uri(spec.addr, path),
            headers,
            message: message::grpc(message::payload(spec.case.scenario.payload.largest() as usize)),
            mode: spec.case.mode,
        })
    }

    fn request(&self) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = self.headers.clone();
        request
    }
}

fn uri(addr: SocketAddr, path: &'static str) -> Uri {
    Uri::builder()
        .scheme("http")
        .authority(addr.to_string())
        .path_and_query(path)
        .build()
        .expect("a socket address is an authority, and the paths are constants")
}

/// One HTTP/2 connection. Its own task runs it until the last handle is gone.
#[derive(Debug)]
pub(super) struct Connection {
    handle: SendRequest<Bytes>,
    meter: Arc<Meter>,
}

impl Connection {
    pub(super) async fn open(socket: TcpStream, spec: &LoadSpec) -> Result<Self, h2::Error> {
        let (socket, meter) = Metered::new(socket);
        let (handle, connection) = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(spec.stream_window)
            .initial_connection_window_size(spec.connection_window)
            .max_frame_size(spec.max_frame)
            .handshake::<_, Bytes>(socket)
            .await?;
        // How the connection ended is told to every call of it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { handle, meter })
    }

    /// What its socket has seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of one task.
    pub(super) fn transport(&self, template: &Arc<Template>) -> Http2Transport {
        Http2Transport { handle: self.handle.clone(), template: template.clone() }
    }
}

/// Calls of one task, one after another.
#[derive(Debug)]
pub(super) struct Http2Transport {
    handle: SendRequest<Bytes>,
    template: Arc<Template>,
}

impl Transport for Http2Transport {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        self.exchange(verify).await.map(drop)
    }
}

/// The header blocks of a good reply.
struct ReplyHeaders {
    head: HeaderMap,
    trailers: HeaderMap,
}

impl Http2Transport {
    async fn exchange(&mut self, verify: bool) -> Result<ReplyHeaders, CallError> {
        poll_fn(|cx| self.handle.poll_ready(cx)).await?;
        let (response, mut body) = self.handle.send_request(self.template.request(), false)?;
        // The message is a handle to the same bytes in every call, so that queueing it whole costs no memory; h2 cuts it to
        // the server's frame size and windows as it writes. A stream that was reset meanwhile says why in the response.
        let sent = match self.template.mode {
            CallMode::Unary => body.send_data(self.template.message.clone(), true),
            CallMode::Streaming => {
                body.send_data(self.template.message.clone(), false).and_then(|()| body.send_data(Bytes::new(), true))
            }
        };
        let (head, mut reply) = response.await?.into_parts();
        sent?;
        if head.status != StatusCode::OK {
            return Err(CallError::Http(head.status.as_u16()));
        }

        let mut echo = EchoCheck::new(&self.template.message, verify);
        while let Some(piece) = poll_fn(|cx| reply.poll_data(cx)).await {
            let piece = piece?;
            if echo.is_at_start() && piece.first() == Some(&1) {
                return Err(CallError::Compressed);
            }
            echo.accept(&piece)?;
            reply.flow_control().release_capacity(piece.len())?;
        }
        let trailers = poll_fn(|cx| reply.poll_trailers(cx)).await?;
        // A reply that is an error from the start may have its status in the only header block there is.
        check_status(trailers.as_ref().unwrap_or(&head.headers))?;
        echo.finish()?;
        Ok(ReplyHeaders { head: head.headers, trailers: trailers.unwrap_or_default() })
    }
}

fn check_status(headers: &HeaderMap) -> Result<(), CallError> {
    let code = headers.get(GRPC_STATUS).ok_or(CallError::NoStatus)?;
    if code == "0" {
        return Ok(());
    }
    let message = headers.get(GRPC_MESSAGE).map(text).unwrap_or_default();
    Err(CallError::Status { code: text(code), message: message.chars().take(MESSAGE_TEXT_LIMIT).collect() })
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Makes one verified call on every connection and a second one on the first, which by then is warm: its bytes and headers
/// are what is reported.
pub(super) async fn preflight(
    connections: &[Connection],
    template: &Arc<Template>,
    spec: &LoadSpec,
) -> Result<Wire, CallError> {
    for connection in connections {
        connection.transport(template).exchange(true).await?;
    }
    let first = &connections[0];
    let (written, read) = (first.meter.written(), first.meter.read());
    let reply = first.transport(template).exchange(true).await?;
    let name = |name: &HeaderName| name.to_string();
    Ok(Wire {
        http_version: "HTTP/2".to_owned(),
        content_type: template.headers.get(CONTENT_TYPE).map(text),
        response_content_type: reply.head.get(CONTENT_TYPE).map(text),
        request_encoding: IDENTITY.to_owned(),
        response_encoding: reply.head.get(GRPC_ENCODING).map_or_else(|| IDENTITY.to_owned(), text),
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
    })
}

const IDENTITY: &str = "identity";
