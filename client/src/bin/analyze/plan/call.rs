//! A call of the user's own, from its flags to the message that is sent.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use analyze::{
    load::{Address, Call, Comparison, ReflectionError, Schema, SchemaError, Tls, metadata, reflect},
    scenario::{Framework, Payload},
};

use super::{
    Names, Origin, UsageError,
    cases::read,
    request::own_request,
    servers::{Servers, attach},
    tls::{tls, without_tls},
};
use crate::{
    cli::{CallArgs, RunArgs, SentArgs, ServerArgs},
    values,
};

/// The longest that a server's reflection is waited for.
const REFLECTION_TIME: Duration = Duration::from_secs(10);

/// The call and its server. `None` where the echo is measured. `starts` says that the server is still to be started, so that it can't be asked
/// for anything.
pub(super) fn own_call(args: &RunArgs, starts: bool) -> Result<Option<(Arc<Call>, Servers)>, UsageError> {
    let name = match (&args.call.call, &args.call.http1, &args.call.h2) {
        (Some(name), None, None) => name,
        (None, Some(url), None) => return own_request(args, Framework::Http1, url).map(Some),
        (None, None, Some(url)) => return own_request(args, Framework::H2, url).map(Some),
        (None, None, None) => {
            return match leftover(&args.call) {
                Some((flag, with)) => Err(UsageError(format!("{flag}: goes with {with}"))),
                None => Ok(None),
            };
        }
        (Some(_), ..) => return Err(UsageError("--call: not with --http1 or --h2".to_owned())),
        (None, ..) => return Err(UsageError("--http1: not with --h2".to_owned())),
    };
    refuse_echo_flags("--call", &args.sent, &args.servers)?;
    let (addr, origin) = server(&args.servers)?;
    let authority = authority(&args.servers)?;
    let tls = if args.call.tls { Some(tls(&args.call, host(&authority), false)?) } else { without_tls(&args.call)? };
    let metadata = read("--metadata", "", |_| metadata(args.call.metadata.iter().map(String::as_str)))?;
    let schema = match (&args.call.proto, args.call.reflection) {
        (Some(_), true) => return Err(UsageError("--reflection: not with --proto, which says the same".to_owned())),
        (Some(file), false) => {
            let problem = |error: SchemaError| UsageError(format!("--proto {}: {error}", file.display()));
            Schema::from_proto(file, &args.call.import_path).map_err(problem)?
        }
        (None, true) if !args.call.import_path.is_empty() => {
            return Err(UsageError("--import-path: goes with --proto".to_owned()));
        }
        (None, true) if starts => {
            return Err(UsageError("--reflection: the server doesn't run yet: --proto FILE is needed".to_owned()));
        }
        (None, true) => ask(&addr, &authority, &metadata, tls.as_ref(), name)?,
        (None, false) => {
            return Err(UsageError(format!(
                "--call {name}: --proto FILE or --reflection is missing: where its messages are described"
            )));
        }
    };
    let method = schema.method(name).map_err(|error| UsageError(format!("--call {error}")))?;
    let data = json("--data", args.call.data.as_deref())?.unwrap_or_else(|| "{}".to_owned());
    let expect = json("--expect", args.call.expect.as_deref())?;
    // Once for each text, to know which is wrong.
    let call = |expect: Option<&str>| {
        Call::new(&method, &data, expect, metadata.clone(), authority.clone()).map(|call| call.over(tls.clone()))
    };
    let plain = call(None).map_err(|error| UsageError(format!("--data: {error}")))?;
    let call = match &expect {
        None => plain,
        Some(text) => call(Some(text.as_str())).map_err(|error| UsageError(format!("--expect: {error}")))?,
    };
    check_size(&call)?;
    Ok(Some((Arc::new(call), vec![(Framework::Call, origin)])))
}

pub(super) fn check_size(call: &Call) -> Result<(), UsageError> {
    let size = call.size();
    let problem = || UsageError(format!("--data: {size} bytes: must be 16 MiB at most"));
    payload(call).map(drop).ok_or_else(problem)
}

/// The size of its message, which is its payload.
pub(super) fn payload(call: &Call) -> Option<Payload> {
    Payload::given(call.size() as u64)
}

/// What people should know of how its replies are judged.
pub(super) fn note(call: &Call) -> Option<String> {
    let compared = call.info().replies == Comparison::Expected;
    (!compared)
        .then(|| "replies are not compared, only their status counts; --expect says what they must be".to_owned())
}

/// A flag that is of no use without a call, and what it goes with.
fn leftover(args: &CallArgs) -> Option<(&'static str, &'static str)> {
    let (call, any) = ("--call", "--call, --http1 or --h2");
    [
        ("--proto", args.proto.is_some(), call),
        ("--import-path", !args.import_path.is_empty(), call),
        ("--reflection", args.reflection, call),
        ("--data", args.data.is_some(), any),
        ("--expect", args.expect.is_some(), any),
        ("--metadata", !args.metadata.is_empty(), any),
        ("--tls", args.tls, call),
        ("--ca", args.ca.is_some(), any),
        ("--cert", args.cert.is_some(), any),
        ("--key", args.key.is_some(), any),
        ("--server-name", args.server_name.is_some(), any),
        ("--insecure", args.insecure, any),
    ]
    .into_iter()
    .find_map(|(flag, given, with)| given.then_some((flag, with)))
}

/// What is said of the echo's messages and of the servers that know it.
pub(super) fn refuse_echo_flags(call: &str, sent: &SentArgs, servers: &ServerArgs) -> Result<(), UsageError> {
    let message = "the message is --data";
    let given = [
        ("--scenario", !sent.scenario.is_empty(), "the message is --data, the calls in flight --concurrency"),
        ("--payload", !sent.payload.is_empty(), message),
        ("--payload-pattern", sent.payload_pattern != "random", message),
        ("--response-size", sent.response_size.is_some(), "the server knows what it replies"),
        ("--sleep", sent.sleep.is_some(), "the server knows how long it takes"),
        ("--mode", sent.mode != "unary", "what is called says whether it is a stream"),
        ("--messages-per-stream", sent.messages_per_stream.is_some(), "what is called says whether it is a stream"),
        ("--serialization", sent.serialization.is_some(), "--data is all that is said of it"),
        ("--framework", !servers.framework.is_empty(), "the call goes to one server"),
    ];
    match given.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => Err(UsageError(format!("{flag}: not with {call}: {why}"))),
        None => Ok(()),
    }
}

/// The one server, which runs already.
fn server(args: &ServerArgs) -> Result<(Address, Origin), UsageError> {
    let addr = one("--addr", &args.addr)?.ok_or_else(|| {
        UsageError("--call: --addr is missing, the server to call, as --addr 127.0.0.1:50051".to_owned())
    })?;
    read("--addr", addr, values::address)?;
    let (debug, pid) = (one("--debug", &args.debug)?, one("--pid", &args.pid)?);
    let origin = attach(Framework::Call, Names::Flags, addr, debug, pid)?;
    match &origin {
        Origin::Attach { addr, .. } => Ok((addr.clone(), origin)),
        Origin::Start(_) => unreachable!("attached above"),
    }
}

/// What the server is called in its headers: as it was given, where that is a name.
fn authority(args: &ServerArgs) -> Result<String, UsageError> {
    let given = one("--addr", &args.addr)?.unwrap_or_default();
    Ok(Address::unix(given).map_or_else(|| given.to_owned(), |socket| socket.authority()))
}

/// The host of `HOST:PORT`.
pub(super) fn host(authority: &str) -> &str {
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// The only value of a flag.
pub(super) fn one<'a>(flag: &str, given: &'a [String]) -> Result<Option<&'a str>, UsageError> {
    match given {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(UsageError(format!("{flag}: given twice: a call has one server"))),
    }
}

/// JSON that is given as such or in a file.
fn json(flag: &str, given: Option<&str>) -> Result<Option<String>, UsageError> {
    match given.map(|text| (text, text.strip_prefix('@').map(PathBuf::from))) {
        None => Ok(None),
        Some((text, None)) => Ok(Some(text.to_owned())),
        Some((_, Some(path))) => fs::read_to_string(&path)
            .map(Some)
            .map_err(|error| UsageError(format!("{flag} @{}: {error}: must be a file of JSON", path.display()))),
    }
}

fn ask(
    addr: &Address,
    authority: &str,
    metadata: &http::HeaderMap,
    tls: Option<&Tls>,
    name: &str,
) -> Result<Schema, UsageError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| UsageError(format!("--reflection: no runtime: {error}")))?;
    runtime.block_on(reflect(addr, authority, metadata, name, tls, REFLECTION_TIME)).map_err(|error| {
        UsageError(match error {
            ReflectionError::Schema(error) => format!("--call {error}"),
            ReflectionError::Connect { .. } => format!("--addr {error}"),
            ReflectionError::Missing(_) => format!("--reflection: {error}: --proto FILE is another way"),
            error => format!("--reflection: {error}"),
        })
    })
}
