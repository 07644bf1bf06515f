//! The schema that a server tells of itself: `grpc.reflection.v1`, or `v1alpha`, which has the same messages.

use std::{collections::HashSet, future::poll_fn, io, time::Duration};

use bytes::{Bytes, BytesMut};
use echo_proto::reflection::{
    ServerReflectionRequest, ServerReflectionResponse, server_reflection_request::MessageRequest as Question,
    server_reflection_response::MessageResponse as Reply,
};
use h2::client::SendRequest;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{CONTENT_TYPE, TE},
};
use prost::Message as _;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::file::{FileResolver, GoogleFileResolver};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{
    Schema, SchemaError, Tls,
    schema::{no_service, split},
};
use crate::load::{Address, CallError, address::Socket, http2::check_status, message::prefixed};

/// Both versions, the newer first.
const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
/// More than any service needs.
const MAX_FILES: usize = 10_000;
/// Of one answer, in bytes: what gRPC's own clients take.
const MAX_ANSWER: usize = 4 << 20;
const PREFIX: usize = 5;

// gRPC's status codes.
const NOT_FOUND: i32 = 5;
const UNIMPLEMENTED: &str = "12";

/// Why a server's schema can't be had.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The server can't be reached.
    #[error("{addr}: can't connect: {source}")]
    Connect {
        /// Where it should be.
        addr: Address,
        /// Why not.
        source: io::Error,
    },
    /// It isn't who it should be, or speaks no TLS.
    #[error("{addr}: TLS: {source}")]
    Tls {
        /// Where it is.
        addr: Address,
        /// Why not.
        source: io::Error,
    },
    /// It doesn't answer.
    #[error("{addr}: {source}")]
    Call {
        /// Where it is.
        addr: Address,
        /// What went wrong.
        source: CallError,
    },
    /// It has neither version of the service.
    #[error("{0}: the server has no reflection, neither v1 nor v1alpha")]
    Missing(Address),
    /// It answers no, or something else than it was asked.
    #[error("{addr}: {what}: {problem}")]
    Answer {
        /// Where it is.
        addr: Address,
        /// What it was asked.
        what: String,
        /// What it says.
        problem: String,
    },
    /// What it tells is no schema, or has no such method.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Asks the server for all that belongs to a method, `package.Service/Method`. `metadata` goes with each question.
///
/// # Errors
/// [`ReflectionError`]; a service that the server doesn't have comes with those that it has.
pub async fn reflect(
    addr: &Address,
    authority: &str,
    metadata: &HeaderMap,
    method: &str,
    tls: Option<&Tls>,
    limit: Duration,
) -> Result<Schema, ReflectionError> {
    let silent = |_| ReflectionError::Call { addr: addr.clone(), source: CallError::TimedOut(limit) };
    let connect = |source| ReflectionError::Connect { addr: addr.clone(), source };
    let socket: Socket = timeout(limit, addr.connect()).await.map_err(silent)?.map_err(connect)?;
    let questions = async {
        let (handle, scheme) = match tls {
            None => (handle(socket, addr).await?, "http"),
            Some(tls) => {
                let socket =
                    tls.connect(socket).await.map_err(|source| ReflectionError::Tls { addr: addr.clone(), source })?;
                (handle(socket, addr).await?, "https")
            }
        };
        let mut server = Server { addr, scheme, authority, metadata, handle, path: PATHS[0] };
        server.schema(method).await
    };
    timeout(limit, questions).await.map_err(silent)?
}

async fn handle<S>(socket: S, addr: &Address) -> Result<SendRequest<Bytes>, ReflectionError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |source: h2::Error| ReflectionError::Call { addr: addr.clone(), source: source.into() };
    let (handle, connection) = h2::client::handshake(socket).await.map_err(failed)?;
    // It ends with the last handle.
    tokio::spawn(async move { drop(connection.await) });
    Ok(handle)
}

/// A server to ask.
struct Server<'a> {
    addr: &'a Address,
    scheme: &'static str,
    authority: &'a str,
    metadata: &'a HeaderMap,
    handle: SendRequest<Bytes>,
    path: &'static str,
}

impl Server<'_> {
    async fn schema(&mut self, method: &str) -> Result<Schema, ReflectionError> {
        let (service, _) = split(method)?;
        let first = match self.files(Question::FileContainingSymbol(service.to_owned())).await? {
            Found::Files(files) => files,
            Found::Refused(NOT_FOUND, _) => return Err(no_service(method, self.services().await?).into()),
            Found::Refused(_, problem) => return Err(self.wrong(service, problem)),
        };
        let mut files: Vec<FileDescriptorProto> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        let mut found = first;
        loop {
            files.extend(found.into_iter().filter(|file| known.insert(file.name().to_owned())));
            let wanted = files.iter().flat_map(|file| &file.dependency).find(|name| !known.contains(*name));
            let Some(wanted) = wanted.cloned() else { break };
            if known.len() > MAX_FILES {
                return Err(self.wrong(service, format!("more than {MAX_FILES} files")));
            }
            found = self.file(&wanted).await?;
        }
        Ok(Schema::from_reflection(FileDescriptorSet { file: files })?)
    }

    /// A file by its name, and others that the server thinks go with it. The well-known ones are known here as well.
    async fn file(&mut self, name: &str) -> Result<Vec<FileDescriptorProto>, ReflectionError> {
        let problem = match self.files(Question::FileByFilename(name.to_owned())).await? {
            Found::Files(files) if files.iter().any(|file| file.name() == name) => return Ok(files),
            Found::Files(_) => "not among the files it sends".to_owned(),
            Found::Refused(_, problem) => problem,
        };
        match GoogleFileResolver::new().open_file(name) {
            Ok(file) => Ok(vec![file.into()]),
            Err(_) => Err(self.wrong(name, problem)),
        }
    }

    async fn services(&mut self) -> Result<Vec<String>, ReflectionError> {
        match self.ask(Question::ListServices(String::new())).await? {
            Reply::ListServicesResponse(list) => Ok(list.service.into_iter().map(|service| service.name).collect()),
            _ => Err(self.wrong("its services", "another answer than was asked for".to_owned())),
        }
    }

    async fn files(&mut self, question: Question) -> Result<Found, ReflectionError> {
        let answer = match self.ask(question).await {
            // tonic's servers say it so.
            Err(ReflectionError::Call { source: CallError::Status { code, message }, .. })
                if code == NOT_FOUND.to_string() =>
            {
                return Ok(Found::Refused(NOT_FOUND, message));
            }
            answer => answer?,
        };
        match answer {
            Reply::FileDescriptorResponse(files) => {
                let files = files.file_descriptor_proto.into_iter().map(FileDescriptorProto::decode);
                let files = files.collect::<Result<_, _>>();
                files.map(Found::Files).map_err(|error| self.wrong("a file descriptor", error.to_string()))
            }
            Reply::ErrorResponse(error) => Ok(Found::Refused(error.error_code, error.error_message)),
            Reply::ListServicesResponse(_) => Err(self.wrong("a file", "another answer than was asked for".to_owned())),
        }
    }

    /// Asks in the version that the server has.
    async fn ask(&mut self, question: Question) -> Result<Reply, ReflectionError> {
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let request = prefixed(0, &request.encode_to_vec());
        loop {
            match self.exchange(request.clone()).await {
                Ok(message) => {
                    let answer = ServerReflectionResponse::decode(message)
                        .map_err(|error| self.wrong("reflection", error.to_string()))?;
                    let nothing = || self.wrong("reflection", "an empty answer".to_owned());
                    return answer.message_response.ok_or_else(nothing);
                }
                // Servers that route by path say the latter.
                Err(CallError::Status { code, .. }) if code == UNIMPLEMENTED => {}
                Err(CallError::Http(404)) => {}
                Err(source) => return Err(ReflectionError::Call { addr: self.addr.clone(), source }),
            }
            if self.path == PATHS[1] {
                return Err(ReflectionError::Missing(self.addr.clone()));
            }
            self.path = PATHS[1];
        }
    }

    /// A stream with one question and its answer.
    async fn exchange(&mut self, question: Bytes) -> Result<Bytes, CallError> {
        poll_fn(|cx| self.handle.poll_ready(cx)).await?;
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = format!("{}://{}{}", self.scheme, self.authority, self.path)
            .parse()
            .map_err(|_| CallError::Decode(format!("{:?} is no authority", self.authority)))?;
        *request.headers_mut() = self.metadata.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        request.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
        let (response, mut body) = self.handle.send_request(request, false)?;
        // Where the server has ended the stream before, its answer says why.
        let _ = body.send_data(question, true);
        let (head, mut body) = response.await?.into_parts();
        if head.status != StatusCode::OK {
            return Err(CallError::Http(head.status.as_u16()));
        }
        let mut answer = BytesMut::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            answer.extend_from_slice(&piece);
            if answer.len() > MAX_ANSWER {
                return Err(CallError::TooLong { got: answer.len(), limit: MAX_ANSWER });
            }
        }
        let trailers = body.trailers().await?;
        check_status(trailers.as_ref().unwrap_or(&head.headers))?;
        match answer.first_chunk::<PREFIX>() {
            Some(&[0, a, b, c, d]) if answer.len() - PREFIX == u32::from_be_bytes([a, b, c, d]) as usize => {
                Ok(answer.freeze().slice(PREFIX..))
            }
            Some([1, ..]) => Err(CallError::Compressed),
            _ => Err(CallError::Decode("not one whole message".to_owned())),
        }
    }

    fn wrong(&self, what: &str, problem: String) -> ReflectionError {
        ReflectionError::Answer { addr: self.addr.clone(), what: format!("asked for {what}"), problem }
    }
}

/// What comes of a question for a file.
enum Found {
    Files(Vec<FileDescriptorProto>),
    /// gRPC's status and what the server says.
    Refused(i32, String),
}
