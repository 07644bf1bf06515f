//! HTTP/2 as the h2 crate speaks it, frame by frame where that matters.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::{RecvStream, SendStream, client};
use http::{HeaderMap, Request, Response, StatusCode};
use tokio::net::TcpStream;

#[derive(Clone)]
pub(crate) struct Client {
    send: client::SendRequest<Bytes>,
}

/// All there was to a reply.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: HeaderMap,
}

/// A call whose request may still go on.
pub(crate) struct Call {
    pub(crate) request: SendStream<Bytes>,
    response: Option<client::ResponseFuture>,
    pub(crate) body: Option<RecvStream>,
}

impl Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        Self::with(addr, &mut client::Builder::new()).await
    }

    pub(crate) async fn with(addr: SocketAddr, builder: &mut client::Builder) -> Self {
        let socket = TcpStream::connect(addr).await.unwrap();
        socket.set_nodelay(true).unwrap();
        let (send, connection) = builder.handshake(socket).await.unwrap();
        // Ends with the server or the test; its outcome is seen in the calls.
        tokio::spawn(connection);
        Self { send }
    }

    pub(crate) async fn open(&self, path: &str, headers: &[(&str, &str)]) -> Call {
        self.open_with("POST", path, headers).await
    }

    pub(crate) async fn open_with(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Call {
        let mut request = Request::builder().method(method).uri(format!("http://test{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut send = self.send.clone().ready().await.unwrap();
        let (response, request) = send.send_request(request.body(()).unwrap(), false).unwrap();
        Call { request, response: Some(response), body: None }
    }

    /// Sends each piece as DATA of its own, then END_STREAM with the last of them.
    pub(crate) async fn call(&self, path: &str, headers: &[(&str, &str)], pieces: &[&[u8]]) -> Reply {
        let mut call = self.open(path, headers).await;
        for (position, piece) in pieces.iter().enumerate() {
            call.send(piece, position + 1 == pieces.len());
        }
        if pieces.is_empty() {
            call.send(&[], true);
        }
        call.reply().await
    }
}

impl Call {
    pub(crate) fn send(&mut self, piece: &[u8], end: bool) {
        // Refused once the server has reset the stream, which its reply will tell.
        let _ = self.request.send_data(Bytes::copy_from_slice(piece), end);
    }

    pub(crate) async fn headers(&mut self) -> Response<()> {
        let (head, body) = self.response.take().unwrap().await.unwrap().into_parts();
        self.body = Some(body);
        Response::from_parts(head, ())
    }

    /// The next DATA frame; none at the end of the body.
    pub(crate) async fn data(&mut self) -> Option<Bytes> {
        let body = self.body.as_mut().unwrap();
        let data = body.data().await?.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        Some(data)
    }

    pub(crate) async fn trailers(&mut self) -> HeaderMap {
        self.body.as_mut().unwrap().trailers().await.unwrap().unwrap_or_default()
    }

    pub(crate) async fn reply(mut self) -> Reply {
        let head = self.headers().await;
        let mut body = Vec::new();
        while let Some(data) = self.data().await {
            body.extend_from_slice(&data);
        }
        let trailers = self.trailers().await;
        Reply { status: head.status(), headers: head.headers().clone(), body, trailers }
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// `grpc-status`, in trailers or headers.
    pub(crate) fn grpc_status(&self) -> Option<u32> {
        let value = self.trailers.get("grpc-status").or_else(|| self.headers.get("grpc-status"))?;
        Some(value.to_str().unwrap().parse().unwrap())
    }
}
