//! A call of the user's own, in place of the echo: any method of any gRPC server, or a request to a plain HTTP server.
//!
//! - `schema`: methods and messages, from `.proto` files or from the server; JSON to protobuf and back;
//! - `reflection`: the schema that a server tells of itself;
//! - `tls`: whom it trusts; `headers`: what the user adds to them; `answer`: which replies are right.
//!
//! The message is encoded once, before the load. Of replies there is no echo to compare: one is right when its status is, its
//! framing is whole and, where the user says what to expect, its message equals that. Of plain HTTP the status is 2xx and the body is
//! whole.

mod answer;
mod headers;
mod reflection;
mod schema;
mod tls;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method as HttpMethod, uri::PathAndQuery};
use prost::Message as _;
use serde::{Deserialize, Serialize};

pub(super) use self::answer::Answer;
pub(super) use self::tls::agreed;
pub use self::{
    headers::{headers, metadata},
    reflection::{ReflectionError, reflect},
    schema::{Method, Schema, SchemaError},
    tls::{Tls, TlsError, TlsOptions},
};

/// The most of a message that is kept as text in a result, in characters.
const TEXT_LIMIT: usize = 1000;

/// What is sent, and what must come back.
#[derive(Debug)]
pub struct Call {
    pub(super) http_method: HttpMethod,
    pub(super) path: PathAndQuery,
    pub(super) authority: String,
    pub(super) metadata: HeaderMap,
    /// The message, without gRPC's prefix; of plain HTTP the body.
    pub(super) request: Bytes,
    pub(super) answer: Arc<Answer>,
    pub(super) tls: Option<Tls>,
    info: CallInfo,
}

/// A call as it is kept with a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallInfo {
    /// `package.Service/Method`; of plain HTTP `GET /path`.
    pub method: String,
    /// How many replies the method has.
    pub kind: CallKind,
    /// Where its schema came from: a `.proto` file as it was named, or `reflection`. `none` of plain HTTP.
    pub schema: String,
    /// The request as JSON, or the body as text; of a long one its beginning.
    pub request: String,
    /// The preflight's reply as JSON, or its body as text; of a long one its beginning, of a stream its first message. `None` when none came.
    pub reply: Option<String>,
    /// What is asked of each reply.
    pub replies: Comparison,
}

/// How many replies a method has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// One.
    Unary,
    /// Any number. An op is the whole stream.
    ServerStreaming,
}

/// What is asked of each reply beyond its status and its framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// Nothing.
    #[serde(rename = "not compared")]
    None,
    /// Its message must equal the expected one: the first of each call in flight, every 64th, and each of another length than
    /// the last right one.
    #[serde(rename = "compared")]
    Expected,
}

impl Call {
    /// A call of `method` with the message that `data` is as JSON, and the headers of `metadata`; `authority` is what the
    /// server is called in its `:authority`, as `localhost:50051`.
    ///
    /// # Errors
    /// [`SchemaError::Json`], with what is wrong.
    pub fn new(
        method: &Method,
        data: &str,
        expect: Option<&str>,
        metadata: HeaderMap,
        authority: String,
    ) -> Result<Self, SchemaError> {
        let request = method.request(data)?;
        let expect = expect.map(|text| method.reply(text)).transpose()?;
        let info = CallInfo {
            method: method.name().to_owned(),
            kind: method.kind(),
            schema: method.schema().to_owned(),
            request: shortened(schema::json(&request)),
            reply: None,
            replies: if expect.is_some() { Comparison::Expected } else { Comparison::None },
        };
        Ok(Self {
            http_method: HttpMethod::POST,
            path: method.path(),
            authority,
            metadata,
            request: request.encode_to_vec().into(),
            answer: Arc::new(Answer::message(method, expect)),
            tls: None,
            info,
        })
    }

    /// A plain HTTP request: a GET, or a POST where there is a body. `expect` is the body of right replies; without it their status
    /// is enough.
    pub fn plain(
        path: PathAndQuery,
        body: Option<Bytes>,
        expect: Option<Bytes>,
        headers: HeaderMap,
        authority: String,
    ) -> Self {
        let http_method = if body.is_some() { HttpMethod::POST } else { HttpMethod::GET };
        let request = body.unwrap_or_default();
        let info = CallInfo {
            // A query may hold secrets, and the method is in names of files.
            method: format!("{http_method} {}{}", path.path(), path.query().map_or("", |_| "?…")),
            kind: CallKind::Unary,
            schema: "none".to_owned(),
            request: shortened(String::from_utf8_lossy(&request).into_owned()),
            reply: None,
            replies: if expect.is_some() { Comparison::Expected } else { Comparison::None },
        };
        let answer = Arc::new(Answer::Body { expect });
        Self { http_method, path, authority, metadata: headers, request, answer, tls: None, info }
    }

    /// The same over TLS, or as it is.
    pub fn over(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    /// Bytes of the message.
    pub fn size(&self) -> usize {
        self.request.len()
    }

    /// What is known of it before the preflight.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }
}

/// At most [`TEXT_LIMIT`] characters, and a sign that there were more.
fn shortened(text: String) -> String {
    match text.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
