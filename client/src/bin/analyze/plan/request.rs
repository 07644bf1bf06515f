//! A request of the user's own to a plain HTTP server, from its flags.

use std::{fs, sync::Arc};

use analyze::{
    load::{Call, headers},
    scenario::Framework,
};
use bytes::Bytes;
use http::{Uri, uri::PathAndQuery};

use super::{
    Names, UsageError,
    call::{check_size, host, one, refuse_echo_flags},
    cases::read,
    servers::{Servers, attach},
    tls::{tls, without_tls},
};
use crate::{cli::RunArgs, values};

/// The request to a URL, and its server: the URL's, or the one at `--addr`.
pub(super) fn own_request(args: &RunArgs, framework: Framework, url: &str) -> Result<(Arc<Call>, Servers), UsageError> {
    let flag = format!("--{framework}");
    refuse(args, framework, &flag)?;
    let wrong = || UsageError(format!("{flag} {url:?}: must be http://HOST[:PORT]/PATH, or https"));
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let (port, is_tls) = match uri.scheme_str() {
        Some("http") => (80, false),
        Some("https") => (443, true),
        _ => return Err(wrong()),
    };
    let authority = uri.authority().map(ToString::to_string).ok_or_else(wrong)?;
    let with_port = if uri.port().is_some() { authority.clone() } else { format!("{authority}:{port}") };
    values::address(&with_port).map_err(|_| wrong())?;
    let tls = match is_tls {
        true => Some(tls(&args.call, host(&with_port), framework == Framework::Http1)?),
        false => without_tls(&args.call)?,
    };
    let headers = read("--metadata", "", |_| headers(args.call.metadata.iter().map(String::as_str)))?;
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let (data, expect) = (bytes("--data", &args.call.data)?, bytes("--expect", &args.call.expect)?);
    let call = Call::plain(path, data, expect, headers, authority).over(tls);
    check_size(&call)?;
    let addr = one("--addr", &args.servers.addr)?.unwrap_or(&with_port);
    read("--addr", addr, values::address)?;
    let (debug, pid) = (one("--debug", &args.servers.debug)?, one("--pid", &args.servers.pid)?);
    let origin = attach(framework, Names::Flags, addr, debug, pid)?;
    Ok((Arc::new(call), vec![(framework, origin)]))
}

/// What is said of gRPC, and what a request has in its own headers.
fn refuse(args: &RunArgs, framework: Framework, flag: &str) -> Result<(), UsageError> {
    refuse_echo_flags(flag, &args.sent, &args.servers)?;
    let (call, sent) = (&args.call, &args.sent);
    let described = "nothing describes plain HTTP";
    let given = [
        ("--proto", call.proto.is_some(), described),
        ("--import-path", !call.import_path.is_empty(), described),
        ("--reflection", call.reflection, described),
        ("--tls", call.tls, "the URL says https"),
        (
            "--compression",
            sent.compression != "none",
            "compress --data, and say so in --metadata 'content-encoding: …'",
        ),
        ("--accept-gzip", sent.accept_gzip, "say so in --metadata 'accept-encoding: gzip'"),
        ("--mux", args.load.mux && framework == Framework::Http1, "HTTP/1.1 has one call at a time on a connection"),
    ];
    match given.into_iter().find(|(_, given, _)| *given) {
        Some((other, _, why)) => Err(UsageError(format!("{other}: not with {flag}: {why}"))),
        None => Ok(()),
    }
}

/// Bytes that are given as such or in a file.
fn bytes(flag: &str, given: &Option<String>) -> Result<Option<Bytes>, UsageError> {
    match given.as_deref().map(|text| (text, text.strip_prefix('@'))) {
        None => Ok(None),
        Some((text, None)) => Ok(Some(Bytes::copy_from_slice(text.as_bytes()))),
        Some((_, Some(path))) => fs::read(path)
            .map(|read| Some(read.into()))
            .map_err(|error| UsageError(format!("{flag} @{path}: {error}: must be a file"))),
    }
}
