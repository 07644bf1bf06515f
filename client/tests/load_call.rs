//! Calls of the user's own, against a service that knows nothing of the echo.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use analyze::{
    load::{
        Address, Call, CallInfo, Case, Driver, LoadError, LoadSample, LoadSpec, ReflectionError, Schema, metadata,
        reflect,
    },
    scenario::{Framework, Payload, PayloadPattern, Scenario},
};
use http::HeaderMap;
use load_support::{
    greeter::{greeter, protos},
    requests, run,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, UnixListener},
};

const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
const LIMIT: Duration = Duration::from_secs(60);

fn schema() -> Schema {
    let folder = tempfile::tempdir().unwrap();
    Schema::from_proto(&protos(folder.path()), &[]).unwrap()
}

/// A call of a method with a message, and what its replies must be, if anything.
fn call(method: &str, data: &str, expect: Option<&str>, metadata: HeaderMap) -> Call {
    let method = schema().method(method).unwrap();
    Call::new(&method, data, expect, metadata, "greeter.test:50051".to_owned()).unwrap()
}

fn spec(addr: impl Into<Address>, call: Call) -> LoadSpec {
    let payload = Payload::given(call.size() as u64).unwrap();
    let case = Case {
        pattern: PayloadPattern::Given,
        ..Case::new(Scenario { payload, concurrency: 4 }, Duration::from_secs(1))
    };
    LoadSpec { call: Some(Arc::new(call)), ..LoadSpec::new(Framework::Call, addr, case) }
}

/// The preflight and so many calls.
async fn measured(addr: impl Into<Address>, call: Call) -> Result<(CallInfo, LoadSample), LoadError> {
    let mut driver = Driver::connect(spec(addr, call)).await?;
    driver.preflight().await?;
    let sample = run(&mut driver, &requests(200)).await;
    Ok((driver.call_info().unwrap(), sample))
}

#[tokio::test]
async fn a_method_is_called_with_the_message_given_as_json() {
    let addr = greeter(None).await;
    let hello = call("my.Greeter/SayHello", r#"{"name": {"first": "you"}}"#, None, HeaderMap::new());
    assert_eq!(hello.size(), 7, "two fields' headers and three letters");
    let (info, sample) = measured(addr, hello).await.unwrap();
    assert_eq!(info.reply.as_deref(), Some(r#"{"message":"hello you"}"#));
    assert_eq!((sample.ok, sample.error, sample.payload_bytes, sample.replies), (200, 0, 1_400, None));

    let nothing = call("my.Greeter/Nothing", "{}", None, HeaderMap::new());
    let (info, sample) = measured(addr, nothing).await.unwrap();
    assert_eq!((info.request.as_str(), info.reply.as_deref()), ("{}", Some("{}")));
    assert_eq!((sample.ok, sample.payload_bytes), (200, 0));
}

#[tokio::test]
async fn a_reply_with_a_status_is_an_error_by_its_name_and_none_that_counts() {
    let addr = greeter(None).await;
    let nobody = || call("my.Greeter/SayHello", r#"{"name": {"first": "nobody"}}"#, None, HeaderMap::new());
    let error = measured(addr, nobody()).await.unwrap_err().to_string();
    assert!(error.ends_with("preflight call: grpc-status 5: as%20told"), "{error}");
    let mut driver = Driver::connect(spec(addr, nobody())).await.unwrap();
    let sample = run(&mut driver, &requests(100)).await;
    assert_eq!((sample.ok, sample.error, sample.qps()), (0, 100, Some(0.0)));
    assert_eq!((sample.errors[0].message.as_str(), sample.errors.len()), ("grpc-status 5: as%20told", 1));
}

#[tokio::test]
async fn what_is_expected_is_compared_field_by_field() {
    let addr = greeter(None).await;
    let hello =
        |expect: &str| call("my.Greeter/SayHello", r#"{"name": {"first": "you"}}"#, Some(expect), HeaderMap::new());
    // A field of its default is one that isn't there.
    let (_, sample) = measured(addr, hello(r#"{"message": "hello you", "number": "0"}"#)).await.unwrap();
    assert_eq!((sample.ok, sample.error), (200, 0));
    let error = measured(addr, hello(r#"{"message": "hello"}"#)).await.unwrap_err().to_string();
    assert!(error.ends_with(r#"reply is not the one expected: {"message":"hello you"}"#), "{error}");
}

#[tokio::test]
async fn messages_of_a_stream_are_counted_and_the_stream_is_the_op() {
    let addr = greeter(None).await;
    for times in [0u64, 1, 3] {
        let data = format!(r#"{{"name": {{"first": "you"}}, "times": {times}}}"#);
        let (info, sample) = measured(addr, call("my.Greeter/Repeat", &data, None, HeaderMap::new())).await.unwrap();
        assert_eq!((sample.ok, sample.error, sample.replies), (200, 0, Some(200 * times)), "{:?}", sample.errors);
        assert_eq!(info.reply.is_some(), times > 0);
    }
}

#[tokio::test]
async fn headers_go_with_each_call() {
    let addr = greeter(None).await;
    let own = metadata(["Authorization: Bearer a:b", "x-a: 1", "x-a: 2", "user-agent: me", "x-bin: AAE="]).unwrap();
    let (info, _) =
        measured(addr, call("my.Greeter/SayHello", r#"{"name": {"first": "headers"}}"#, None, own)).await.unwrap();
    let reply = info.reply.unwrap();
    for header in
        ["authorization=Bearer a:b", "x-a=1 x-a=2", "user-agent=me", "x-bin=AAE=", "authority=greeter.test:50051"]
    {
        assert!(reply.contains(header), "{header} in {reply}");
    }
    assert!(!reply.contains("analyze/"), "{reply}");
}

#[tokio::test]
async fn a_server_tells_its_schema_in_either_version() {
    for path in [V1, V1ALPHA] {
        let addr = greeter(Some(path)).await;
        let schema =
            reflect(&addr.into(), "localhost", &HeaderMap::new(), "my.Greeter/SayHello", None, LIMIT).await.unwrap();
        let method = schema.method("my.Greeter/SayHello").unwrap();
        let data = r#"{"name": {"first": "you"}}"#;
        let hello = Call::new(&method, data, None, HeaderMap::new(), "localhost".to_owned()).unwrap();
        let (info, _) = measured(addr, hello).await.unwrap();
        assert_eq!((info.schema.as_str(), info.reply.as_deref()), ("reflection", Some(r#"{"message":"hello you"}"#)));
    }
}

#[tokio::test]
async fn what_a_server_cannot_tell_is_said() {
    let ask = async |addr: SocketAddr, method| {
        reflect(&addr.into(), "localhost", &HeaderMap::new(), method, None, LIMIT).await.unwrap_err()
    };
    let missing = ask(greeter(None).await, "my.Greeter/SayHello").await;
    assert!(matches!(missing, ReflectionError::Missing(_)), "{missing}");
    assert!(missing.to_string().ends_with("no reflection, neither v1 nor v1alpha"), "{missing}");
    let addr = greeter(Some(V1)).await;
    let error = ask(addr, "my.Other/Call").await.to_string();
    assert_eq!(
        error,
        "\"my.Other/Call\": no service my.Other; there are my.Greeter, grpc.reflection.v1.ServerReflection"
    );
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let short = Duration::from_millis(100);
    let silent = silent.local_addr().unwrap().into();
    let error = reflect(&silent, "x", &HeaderMap::new(), "a.B/C", None, short).await.unwrap_err();
    assert!(error.to_string().ends_with("no reply within 100ms"), "{error}");
}

/// A Unix socket whose bytes go to the server at this address and back.
fn bridge(path: &Path, addr: SocketAddr) {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut server = TcpStream::connect(addr).await.unwrap();
                server.set_nodelay(true).unwrap();
                drop(copy_bidirectional(&mut socket, &mut server).await);
            });
        }
    });
}

#[tokio::test]
async fn a_server_at_a_unix_socket_is_called_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("greeter.sock");
    let text = format!("unix:{}", path.display());
    let address = Address::unix(&text).unwrap();
    assert_eq!((address.to_string(), address.authority()), (text, "localhost".to_owned()));
    let hello = || call("my.Greeter/SayHello", r#"{"name": {"first": "you"}}"#, None, HeaderMap::new());
    let error = measured(address.clone(), hello()).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("call server {address}: can't connect: No such file")), "{error}");
    bridge(&path, greeter(Some(V1)).await);
    let schema = reflect(&address, "localhost", &HeaderMap::new(), "my.Greeter/SayHello", None, LIMIT).await.unwrap();
    assert!(schema.method("my.Greeter/SayHello").is_ok());
    let (_, sample) = measured(address, hello()).await.unwrap();
    assert_eq!((sample.ok, sample.error), (200, 0), "{:?}", sample.errors);
    assert!(sample.sent_bytes > 0 && sample.received_bytes > 0, "{sample:?}");
}

#[test]
fn what_is_wrong_with_a_method_or_a_message_is_named() {
    let schema = schema();
    for (name, problem) in [
        ("SayHello", "\"SayHello\": must be package.Service/Method"),
        ("my.Greeter/Say Hello", "\"my.Greeter/Say Hello\": must be package.Service/Method"),
        ("my.Greter/SayHello", "\"my.Greter/SayHello\": no service my.Greter; there is my.Greeter"),
        (
            "my.Greeter/Hello",
            "\"my.Greeter/Hello\": my.Greeter has no method Hello; it has SayHello, Repeat, Chat, Nothing",
        ),
        ("my.Greeter/Chat", "\"my.Greeter/Chat\": takes a stream of requests: one request a call is what can be sent"),
    ] {
        assert_eq!(schema.method(name).unwrap_err().to_string(), problem);
    }
    let method = schema.method("/my.Greeter/SayHello").unwrap();
    let refused = |data| Call::new(&method, data, None, HeaderMap::new(), "x".to_owned()).unwrap_err().to_string();
    let unknown = refused(r#"{"nam": 1}"#);
    assert!(unknown.starts_with("no my.HelloRequest: unrecognized field name 'nam'"), "{unknown}");
    assert!(unknown.ends_with("; my.HelloRequest has name, times"), "{unknown}");
    for data in ["", "{", "[]", r#"{"times": "x"}"#, "{} {}", r#"{"name": {"first": 1}}"#] {
        let error = refused(data);
        assert!(error.starts_with("no my.HelloRequest: ") && error.contains("line 1"), "{data}: {error}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        let path = folder.path().join("bad.proto");
        std::fs::write(&path, text).unwrap();
        Schema::from_proto(&path, &[]).unwrap_err().to_string()
    };
    let error = refused("syntax = \"proto3\";\nmessage A { string x = ; }");
    assert!(error.starts_with("bad.proto:2:24: "), "{error}");
    let error = refused("syntax = \"proto3\";\nimport \"gone.proto\";");
    assert!(error.starts_with("bad.proto:2:") && error.contains("gone.proto"), "{error}");
    let error = refused("syntax = \"proto3\";\nmessage A { Missing x = 1; }");
    assert!(error.contains("Missing"), "{error}");
    let error = Schema::from_proto(&folder.path().join("none.proto"), &[]).unwrap_err().to_string();
    assert!(error.contains("none.proto"), "{error}");
}
