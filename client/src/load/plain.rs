//! Calls to a plain HTTP server, a GET or a POST each, over HTTP/1.1 or HTTP/2.
//!
//! A reply is right when its status is 2xx, its body came whole and, where the user says what to expect, equals that. Redirects are
//! replies that aren't right.
//!
//! Over HTTP/1.1 a connection has one call at a time. One that the server closed after a reply, as it may, or that a call took with it
//! is opened anew by the next call, and that is part of its time: so it is for the server's other clients.

use std::{io, sync::Arc};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, Version,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT},
};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Mutex,
    time::timeout,
};

use super::{
    AGENT, CallError, IDENTITY, LoadError, LoadSpec, PeerSettings, Wire,
    call::{Answer, agreed},
    encodings::Encodings,
    engine::Transport,
    message::{ANSWER_LIMIT, Picker},
    meter::{Meter, Metered},
    preflight::{FailedCall, Preflight},
};
use crate::scenario::{Framework, Payload};

/// A socket, or TLS on one.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// What every task of a driver sends, and how connections are opened.
#[derive(Debug)]
pub(super) struct Template {
    spec: LoadSpec,
    request: Request<Full<Bytes>>,
    answer: Arc<Answer>,
    payload: Payload,
}

impl Template {
    /// Of a load with a call of plain HTTP.
    pub(super) fn new(spec: &LoadSpec) -> Option<Arc<Self>> {
        let call = spec.call.as_ref()?;
        let mut request = Request::new(Full::new(call.request.clone()));
        *request.method_mut() = call.http_method.clone();
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if !call.request.is_empty() {
            headers.insert(CONTENT_LENGTH, call.request.len().into());
        }
        for name in call.metadata.keys() {
            headers.remove(name);
        }
        headers.extend(call.metadata.clone());
        if spec.framework == Framework::Http1 {
            headers.insert(HOST, call.authority.parse().ok()?);
            *request.uri_mut() = call.path.clone().into();
        } else {
            let scheme = if call.tls.is_some() { "https" } else { "http" };
            let uri =
                Uri::builder().scheme(scheme).authority(call.authority.as_str()).path_and_query(call.path.clone());
            *request.uri_mut() = uri.build().ok()?;
            *request.version_mut() = Version::HTTP_2;
        }
        let (answer, payload) = (call.answer.clone(), spec.case.scenario.payload);
        Some(Arc::new(Self { spec: spec.clone(), request, answer, payload }))
    }

    pub(super) fn is_http2(&self) -> bool {
        self.request.version() == Version::HTTP_2
    }

    /// The names of its headers, in the order they are sent; of HTTP/2 the pseudo-headers first.
    fn header_names(&self) -> Vec<String> {
        let pseudo: &[&str] = match self.request.version() {
            Version::HTTP_2 => &[":method", ":scheme", ":authority", ":path"],
            _ => &[],
        };
        let names = self.request.headers().keys().map(HeaderName::as_str);
        pseudo.iter().copied().chain(names).map(str::to_owned).collect()
    }

    /// A new connection, counted by a meter; what TLS was agreed on, if it is spoken.
    async fn open(&self, meter: &Arc<Meter>) -> Result<(Link, Option<String>), LoadError> {
        let &LoadSpec { framework, connect_timeout, .. } = &self.spec;
        let addr = || self.spec.addr.clone();
        let socket = super::driver::open_socket(&self.spec).await?;
        let is_http1 = framework == Framework::Http1;
        let (stream, agreed): (Box<dyn Stream>, _) = match self.spec.call.as_ref().and_then(|call| call.tls.as_ref()) {
            None if is_http1 => (Box::new(Metered::counting(socket, meter.clone())), None),
            None => (Box::new(Metered::sharing(socket, meter.clone())), None),
            Some(tls) => {
                let refuse = |source| LoadError::Tls { framework, addr: addr(), source };
                let connecting = tls.connect(Metered::counting(socket, meter.clone()));
                let late = |_| refuse(io::ErrorKind::TimedOut.into());
                let stream = timeout(connect_timeout, connecting).await.map_err(late)?.map_err(refuse)?;
                let agreed = Some(agreed(&stream));
                match is_http1 {
                    true => (Box::new(stream), agreed),
                    false => (Box::new(Metered::reading(stream, meter.clone())), agreed),
                }
            }
        };
        let refuse = |source| LoadError::Http { framework, addr: addr(), source };
        meter.count_connection();
        // How the connection ended is told to every call of it.
        if is_http1 {
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(refuse)?;
            tokio::spawn(async move { drop(connection.await) });
            return Ok((Link::Http1(Arc::new(Mutex::new(Some(sender)))), agreed));
        }
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(self.spec.stream_window)
            .initial_connection_window_size(self.spec.connection_window)
            .max_frame_size(self.spec.max_frame)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(refuse)?;
        tokio::spawn(async move { drop(connection.await) });
        Ok((Link::Http2(sender), agreed))
    }
}

/// A way to send on a connection.
#[derive(Debug, Clone)]
enum Link {
    /// `None` while a call has it, and when that call was given up.
    Http1(Arc<Mutex<Option<http1::SendRequest<Full<Bytes>>>>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// One connection, or over HTTP/1.1 one after another.
#[derive(Debug)]
pub(super) struct Connection {
    link: Link,
    meter: Arc<Meter>,
    tls: Option<String>,
}

impl Connection {
    pub(super) async fn open(template: &Template) -> Result<Self, LoadError> {
        let meter = Arc::<Meter>::default();
        let (link, tls) = template.open(&meter).await?;
        Ok(Self { link, meter, tls })
    }

    /// What its sockets have seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of the `task`th task.
    pub(super) fn transport(&self, template: &Arc<Template>, task: usize) -> PlainTransport {
        PlainTransport {
            link: self.link.clone(),
            template: template.clone(),
            picker: Picker::new(template.payload, task, self.meter.clone()),
            encodings: Encodings::new(self.meter.clone()),
            meter: self.meter.clone(),
            kept: Vec::new(),
        }
    }
}

/// A task's side of a connection.
#[derive(Debug)]
pub(super) struct PlainTransport {
    link: Link,
    template: Arc<Template>,
    picker: Picker,
    meter: Arc<Meter>,
    encodings: Encodings,
    /// The body of the last reply, where it is to be looked at.
    kept: Vec<Bytes>,
}

impl Transport for PlainTransport {
    async fn call(&mut self, _verify: bool) -> Result<(), CallError> {
        self.picker.next();
        let keep = self.template.answer.is_compared();
        self.exchange(keep).await.map(drop)
    }

    /// Every reply is compared where one is expected.
    fn check(&mut self) -> Result<(), CallError> {
        let body = std::mem::take(&mut self.kept).concat();
        if self.template.answer.is_compared() { self.template.answer.compare(&body) } else { Ok(()) }
    }
}

impl PlainTransport {
    /// One call, whose headers are returned; its body is kept if that is asked for.
    async fn exchange(&mut self, keep: bool) -> Result<HeaderMap, CallError> {
        self.kept.clear();
        let request = self.template.request.clone();
        match self.link.clone() {
            Link::Http1(slot) => {
                let mut slot = slot.lock().await;
                let open = match slot.take() {
                    Some(mut sender) => sender.ready().await.is_ok().then_some(sender),
                    None => None,
                };
                let mut sender = match open {
                    Some(sender) => sender,
                    None => self.reopen().await?,
                };
                let response = sender.send_request(request).await.map_err(broken)?;
                let head = self.read(response, keep).await;
                if !matches!(head, Err(CallError::Broken(_))) {
                    *slot = Some(sender);
                }
                head
            }
            Link::Http2(mut sender) => {
                let lost = |error: hyper::Error, sender: &http2::SendRequest<_>| match sender.is_closed() {
                    true => CallError::ConnectionLost(whole(&error)),
                    false => broken(error),
                };
                sender.ready().await.map_err(|error| CallError::ConnectionLost(whole(&error)))?;
                let response = sender.send_request(request).await.map_err(|error| lost(error, &sender))?;
                self.read(response, keep).await
            }
        }
    }

    /// A connection in the place of one that has ended.
    async fn reopen(&self) -> Result<http1::SendRequest<Full<Bytes>>, CallError> {
        let lost = |error: LoadError| CallError::ConnectionLost(error.to_string());
        let (link, _) = self.template.open(&self.meter).await.map_err(lost)?;
        let sender = match link {
            Link::Http1(slot) => slot.lock().await.take(),
            Link::Http2(_) => None,
        };
        sender.ok_or_else(|| CallError::ConnectionLost("not HTTP/1.1".to_owned()))
    }

    /// Reads a reply to its end, whatever its status, so that an HTTP/1.1 connection can go on.
    async fn read(&mut self, response: Response<Incoming>, keep: bool) -> Result<HeaderMap, CallError> {
        let (head, mut body) = response.into_parts();
        let mut len = 0;
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(broken)?.into_data() else { continue };
            len += piece.len();
            if keep {
                if len > ANSWER_LIMIT {
                    return Err(CallError::TooLong { got: len, limit: ANSWER_LIMIT });
                }
                self.kept.push(piece);
            }
        }
        if !head.status.is_success() {
            return Err(CallError::Http(head.status.as_u16()));
        }
        self.encodings.count(head.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != IDENTITY));
        Ok(head.headers)
    }
}

fn broken(error: hyper::Error) -> CallError {
    CallError::Broken(whole(&error))
}

/// An error with what it came of: hyper's own say only what it was doing.
fn whole(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

/// Calls once on every connection, then once more on the first, which by then is warm: its bytes, headers and body are what is reported.
pub(super) async fn preflight(
    connections: &[Connection],
    template: &Arc<Template>,
    preflight: &Preflight,
) -> Result<(Wire, Option<String>), FailedCall> {
    for (index, connection) in connections.iter().enumerate() {
        let mut transport = connection.transport(template, 0);
        preflight.call(index, 0, checked(&mut transport)).await?;
    }
    let first = &connections[0];
    let (written, read) = (first.meter.written(), first.meter.read());
    let mut transport = first.transport(template, 0);
    let (head, text) = preflight.call(0, 0, checked(&mut transport)).await?;
    let sent = template.request.headers();
    let spec = &template.spec;
    let text_of = |headers: &HeaderMap, name| headers.get(name).map(super::http2::text);
    let encoding = |headers: &HeaderMap| text_of(headers, CONTENT_ENCODING).unwrap_or_else(|| IDENTITY.to_owned());
    let is_http2 = template.is_http2();
    let status = is_http2.then(|| ":status".to_owned());
    let wire = Wire {
        http_version: if is_http2 { "HTTP/2" } else { "HTTP/1.1" }.to_owned(),
        tls: first.tls.clone(),
        content_type: text_of(sent, CONTENT_TYPE),
        response_content_type: text_of(&head, CONTENT_TYPE),
        request_encoding: encoding(sent),
        response_encoding: encoding(&head),
        connections: connections.len(),
        client_settings: is_http2.then_some(PeerSettings {
            max_frame_size: spec.max_frame,
            stream_window: spec.stream_window,
            connection_window: spec.connection_window,
            max_concurrent_streams: None,
        }),
        server_settings: first.meter.settings(),
        request_header_names: template.header_names(),
        response_header_names: status.into_iter().chain(head.keys().map(ToString::to_string)).collect(),
        request_bytes: first.meter.written() - written,
        response_bytes: first.meter.read() - read,
        opening_frames: is_http2.then(|| first.meter.frames()),
    };
    Ok((wire, Some(text)))
}

/// A call whose body is kept and compared; its headers, and the body as people read it.
async fn checked(transport: &mut PlainTransport) -> Result<(HeaderMap, String), CallError> {
    let head = transport.exchange(true).await?;
    let text = transport.template.answer.text(&transport.kept.concat())?;
    transport.check()?;
    Ok((head, text))
}
