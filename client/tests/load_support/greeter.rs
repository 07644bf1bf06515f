//! A service as people have them, with and without reflection.

use std::{fs, net::SocketAddr, path::Path};

use bytes::{BufMut, Bytes, BytesMut};
use echo_proto::reflection::{
    ErrorResponse, FileDescriptorResponse, ListServiceResponse, ServerReflectionRequest, ServerReflectionResponse,
    ServiceResponse, server_reflection_request::MessageRequest as Question,
    server_reflection_response::MessageResponse as Answer,
};
use h2::{RecvStream, server::SendResponse};
use http::{HeaderMap, Request, Response};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};

use super::{http2, read_all, reply, trailers};

/// What it speaks; `names.proto` is its own, `empty.proto` a well-known one.
const GREETER: &str = r#"
syntax = "proto3";
package my;
import "google/protobuf/empty.proto";
import "names.proto";
message HelloRequest { Name name = 1; int32 times = 2; }
message HelloReply { string message = 1; int64 number = 2; }
service Greeter {
  rpc SayHello(HelloRequest) returns (HelloReply);
  rpc Repeat(HelloRequest) returns (stream HelloReply);
  rpc Chat(stream HelloRequest) returns (stream HelloReply);
  rpc Nothing(google.protobuf.Empty) returns (google.protobuf.Empty);
}
"#;
const NAMES: &str = r#"
syntax = "proto3";
package my;
message Name { string first = 1; }
"#;

/// Writes the files of the schema.
pub(crate) fn protos(folder: &Path) -> std::path::PathBuf {
    fs::write(folder.join("names.proto"), NAMES).unwrap();
    let path = folder.join("greeter.proto");
    fs::write(&path, GREETER).unwrap();
    path
}

fn files() -> prost_reflect::prost_types::FileDescriptorSet {
    let folder = tempfile::tempdir().unwrap();
    protox::compile([protos(folder.path())], [folder.path()]).unwrap()
}

/// What the greeter speaks.
pub(crate) fn pool() -> DescriptorPool {
    DescriptorPool::from_file_descriptor_set(files()).unwrap()
}

/// Serves the greeter, and reflection at this path of its own.
pub(crate) async fn greeter(reflection: Option<&'static str>) -> SocketAddr {
    let pool = pool();
    let mut builder = h2::server::Builder::new();
    builder.max_frame_size(1 << 20);
    http2(builder, move |request, respond| {
        let pool = pool.clone();
        async move {
            match request.uri().path().to_owned() {
                path if Some(&*path) == reflection => reflect(request, respond).await,
                path => answer(&pool, &path, request, respond).await,
            }
        }
    })
    .await
}

pub(crate) async fn answer(
    pool: &DescriptorPool,
    path: &str,
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
) {
    let headers = request.headers().clone();
    let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
    let message = read_all(request.into_body()).await.slice(5..);
    let asked = DynamicMessage::decode(pool.get_message_by_name("my.HelloRequest").unwrap(), message).unwrap();
    let first =
        asked.get_field_by_name("name").unwrap().as_message().unwrap().get_field_by_name("first").unwrap().into_owned();
    let first = first.as_str().unwrap().to_owned();
    let times = asked.get_field_by_name("times").unwrap().as_i32().unwrap();
    match (path, &*first) {
        (_, "nobody") => refuse(respond, "5"),
        (_, "headers") => reply(respond, framed(&hello(pool, &seen(&headers, &authority))), "0"),
        ("/my.Greeter/SayHello", name) => reply(respond, framed(&hello(pool, &format!("hello {name}"))), "0"),
        ("/my.Greeter/Repeat", name) => {
            let all: Vec<u8> = (0..times).flat_map(|at| framed(&hello(pool, &format!("{name} {at}")))).collect();
            in_pieces(respond, all.into(), 7);
        }
        ("/my.Greeter/Nothing", _) => reply(respond, framed(&[]), "0"),
        _ => refuse(respond, "12"),
    }
}

/// The headers that a call came with, by which a test tells what was sent.
fn seen(headers: &HeaderMap, authority: &str) -> String {
    let mut lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
    lines.push(format!("authority={authority}"));
    lines.join(" ")
}

fn hello(pool: &DescriptorPool, text: &str) -> Vec<u8> {
    let mut message = DynamicMessage::new(pool.get_message_by_name("my.HelloReply").unwrap());
    message.set_field_by_name("message", Value::String(text.to_owned()));
    message.encode_to_vec()
}

fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(message);
    framed.freeze()
}

/// Messages that are cut anywhere.
fn in_pieces(mut respond: SendResponse<Bytes>, mut all: Bytes, piece: usize) {
    let Ok(mut stream) = respond.send_response(Response::new(()), false) else { return };
    while !all.is_empty() {
        let _ = stream.send_data(all.split_to(piece.min(all.len())), false);
    }
    let _ = stream.send_trailers(trailers("0"));
}

/// An error from the start: its status is in the only header block.
fn refuse(mut respond: SendResponse<Bytes>, status: &'static str) {
    let mut head = Response::new(());
    *head.headers_mut() = trailers(status);
    let _ = respond.send_response(head, true);
}

/// Gives each file by itself, and of the well-known ones none.
async fn reflect(request: Request<RecvStream>, respond: SendResponse<Bytes>) {
    let message = read_all(request.into_body()).await.slice(5..);
    let files = files().file;
    let named = |name: &str| files.iter().find(|file| file.name() == name && !name.starts_with("google/"));
    let found = match ServerReflectionRequest::decode(message).unwrap().message_request.unwrap() {
        Question::FileContainingSymbol(name) if name == "my.Greeter" => named("greeter.proto"),
        Question::FileByFilename(name) => named(&name),
        Question::ListServices(_) => {
            let service = ["my.Greeter", "grpc.reflection.v1.ServerReflection"];
            let service = service.map(|name| ServiceResponse { name: name.to_owned() }).to_vec();
            return tell(respond, Answer::ListServicesResponse(ListServiceResponse { service }));
        }
        Question::FileContainingSymbol(_) => None,
    };
    tell(
        respond,
        match found {
            Some(file) => Answer::FileDescriptorResponse(FileDescriptorResponse {
                file_descriptor_proto: vec![file.encode_to_vec().into()],
            }),
            None => Answer::ErrorResponse(ErrorResponse { error_code: 5, error_message: "not here".to_owned() }),
        },
    );
}

fn tell(respond: SendResponse<Bytes>, answer: Answer) {
    let answer = ServerReflectionResponse { message_response: Some(answer) };
    reply(respond, framed(&answer.encode_to_vec()), "0");
}
