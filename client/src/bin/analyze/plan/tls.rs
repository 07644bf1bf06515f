//! TLS to the server of a call, from its flags.

use analyze::load::{Tls, TlsError, TlsOptions};

use super::UsageError;
use crate::cli::CallArgs;

/// How TLS is spoken with a server that is called by this host's name unless told otherwise.
pub(super) fn tls(call: &CallArgs, host: &str, http1: bool) -> Result<Tls, UsageError> {
    if let (true, Some(ca)) = (call.insecure, &call.ca) {
        let why = "with it nobody's signature is asked for";
        return Err(UsageError(format!("--insecure: not with --ca {}: {why}", ca.display())));
    }
    let identity = match (&call.cert, &call.key) {
        (Some(cert), Some(key)) => Some((cert.clone(), key.clone())),
        (None, None) => None,
        (Some(_), None) => return Err(UsageError("--cert: --key is missing".to_owned())),
        (None, Some(_)) => return Err(UsageError("--key: --cert is missing".to_owned())),
    };
    let server_name = call.server_name.clone().unwrap_or_else(|| host.to_owned());
    let options = TlsOptions { ca: call.ca.clone(), identity, server_name, insecure: call.insecure, http1 };
    Tls::new(&options).map_err(|error| UsageError(format!("{}: {error}", flag(call, &error))))
}

/// Whose value is wrong.
fn flag(call: &CallArgs, error: &TlsError) -> &'static str {
    match error {
        TlsError::File { path, .. } if call.key.as_ref() == Some(path) => "--key",
        TlsError::File { path, .. } if call.cert.as_ref() == Some(path) => "--cert",
        TlsError::File { .. } | TlsError::System(_) => "--ca",
        TlsError::Name(_) => "--server-name",
        TlsError::Config(_) if call.cert.is_some() => "--cert",
        TlsError::Config(_) => "--tls",
    }
}

/// That nothing is said of TLS where it isn't spoken.
pub(super) fn without_tls(call: &CallArgs) -> Result<Option<Tls>, UsageError> {
    let given = [
        ("--ca", call.ca.is_some()),
        ("--cert", call.cert.is_some()),
        ("--key", call.key.is_some()),
        ("--server-name", call.server_name.is_some()),
        ("--insecure", call.insecure),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(UsageError(format!("{flag}: goes with --tls, or a URL of https"))),
        None => Ok(None),
    }
}

/// That whoever answers is taken for the server.
pub(super) fn insecure(args: &CallArgs) -> Option<String> {
    args.insecure.then(|| "--insecure: whoever answers is measured; the server's certificate is not checked".to_owned())
}
