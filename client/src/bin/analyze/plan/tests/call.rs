//! Plans of calls of the user's own.

use std::fs;

use analyze::scenario::PayloadPattern;
use tempfile::TempDir;

use super::{super::*, CPUS};
use crate::cli::run_args;

const PROTO: &str = r#"
syntax = "proto3";
package my;
message Hello { string name = 1; }
service Greeter { rpc SayHello(Hello) returns (Hello); }
"#;

/// A folder with `greeter.proto`, and with a file of JSON.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("greeter.proto"), PROTO).expect("a file");
        fs::write(folder.path().join("hello.json"), r#"{"name": "a file"}"#).expect("a file");
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// The plan of a call with these flags beside those that it needs.
    fn plan(&self, flags: &[&str]) -> Result<Plan, String> {
        let proto = self.path("greeter.proto");
        let call = ["--call", "my.Greeter/SayHello", "--addr", "127.0.0.1:1", "--proto", &proto];
        Plan::of_run(run_args(&[&call, flags].concat()), &CPUS).map_err(|error| error.0)
    }
}

fn refused(flags: &[&str]) -> String {
    Plan::of_run(run_args(flags), &CPUS).expect_err("a usage error").0
}

#[test]
fn a_call_is_a_cell_for_each_concurrency() {
    let files = Files::new();
    let data = format!("@{}", files.path("hello.json"));
    let plan =
        files.plan(&["--concurrency", "1,50", "--data", &data, "--debug", "http://127.0.0.1:2"]).expect("a plan");
    let stems: Vec<String> = plan.subjects().map(|subject| subject.file_stem(&plan.label)).collect();
    assert_eq!(
        stems,
        ["call-my.Greeter-SayHello_8_protobuf_none_1_unary", "call-my.Greeter-SayHello_8_protobuf_none_50_unary",]
    );
    let subject = &plan.groups[0].subjects[0];
    assert_eq!(subject.name(), "8B-1 my.Greeter/SayHello");
    assert_eq!((subject.case.pattern, subject.framework), (PayloadPattern::Given, Framework::Call));
    let Origin::Attach { addr, debug, .. } = &subject.origin else { panic!("it runs already") };
    assert_eq!(
        (addr.to_string().as_str(), debug.as_ref().map(|debug| debug.url())),
        ("127.0.0.1:1", Some("http://127.0.0.1:2".to_owned()))
    );
    assert!(plan.notes[0].starts_with("replies are not compared"), "{:?}", plan.notes);
    let compared = files.plan(&["--concurrency", "1", "--expect", "{}"]).expect("a plan");
    assert!(compared.notes.is_empty(), "{:?}", compared.notes);
    assert_eq!(compared.subjects().next().map(|subject| subject.case.scenario.to_string()).as_deref(), Some("0B-1"));
}

#[test]
fn what_is_missing_or_of_no_use_is_said() {
    let files = Files::new();
    let proto = files.path("greeter.proto");
    let call = ["--call", "my.Greeter/SayHello"];
    let with = |flags: &[&str]| refused(&[&call, flags].concat());
    let addr = ["--addr", "127.0.0.1:1"];
    assert!(with(&[]).starts_with("--call: --addr is missing"));
    assert!(with(&addr).starts_with("--call my.Greeter/SayHello: --proto FILE or --reflection is missing"));
    assert_eq!(refused(&["--data", "{}"]), "--data: goes with --call, --http1 or --h2");
    assert_eq!(refused(&["--metadata", "a: b"]), "--metadata: goes with --call, --http1 or --h2");
    assert!(files.plan(&[]).expect_err("no concurrency").starts_with("--concurrency is missing"));
    for (flags, problem) in [
        (["--scenario", "128B-1"], "--scenario: not with --call: the message is --data"),
        (["--framework", "grpc"], "--framework: not with --call: "),
        (["--mode", "streaming"], "--mode: not with --call: "),
        (["--serialization", "hessian2"], "--serialization: not with --call: "),
        (["--sleep", "1ms"], "--sleep: not with --call: "),
        (["--addr", "127.0.0.1:2"], "--addr: given twice"),
        (["--metadata", "te: x"], "--metadata: \"te: x\": te is the protocol's own"),
        (["--data", "{"], "--data: no my.Hello: EOF while parsing"),
        (["--data", "{\"nam\": 1}"], "--data: no my.Hello: unrecognized field name 'nam'"),
        (["--data", "@/nowhere.json"], "--data @/nowhere.json: No such file or directory"),
        (["--expect", "[]"], "--expect: no my.Hello: "),
        (["--ca", "/ca.pem"], "--ca: goes with --tls"),
        (["--server-name", "x"], "--server-name: goes with --tls"),
        (["--debug", "nowhere"], "--debug: debug URL \"nowhere\": must be http://HOST:PORT"),
    ] {
        let error = files.plan(&[&["--concurrency", "1"], &flags[..]].concat()).expect_err("a usage error");
        assert!(error.starts_with(problem), "{flags:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    for (flags, problem) in [
        (&["--ca", "/nowhere.pem"][..], "--ca: /nowhere.pem: no certificates: "),
        (&["--cert", "/me.pem"], "--cert: --key is missing"),
        (&["--key", "/me.key"], "--key: --cert is missing"),
        (&["--insecure", "--ca", "/ca.pem"], "--insecure: not with --ca /ca.pem: "),
        (
            &["--insecure", "--server-name", "a b"],
            "--server-name: server name \"a b\": must be a DNS name or an IP address",
        ),
    ] {
        let error = files.plan(&[&["--concurrency", "1", "--tls"], flags].concat()).expect_err("a usage error");
        assert!(error.starts_with(problem), "{flags:?}: {error}");
    }
    assert_eq!(refused(&["--tls"]), "--tls: goes with --call");
    let insecure = files.plan(&["--concurrency", "1", "--tls", "--insecure"]).expect("a plan");
    assert!(insecure.notes.iter().any(|note| note.starts_with("--insecure: whoever answers")), "{:?}", insecure.notes);
    let error = with(&[&addr[..], &["--reflection", "--proto", &proto]].concat());
    assert_eq!(error, "--reflection: not with --proto, which says the same");
    let error = refused(&["--call", "my.Greeter/Say", "--addr", "127.0.0.1:1", "--proto", &proto]);
    assert_eq!(error, "--call \"my.Greeter/Say\": my.Greeter has no method Say; it has SayHello");
    let error = refused(&[&call[..], &["--addr", "triple=127.0.0.1:1", "--proto", &proto]].concat());
    assert!(error.starts_with("--addr: \"triple=127.0.0.1:1\": must be HOST:PORT"), "{error}");
    let socket = format!("unix:{}", files.path("none.sock"));
    let error = with(&["--addr", &socket, "--reflection"]);
    assert!(error.starts_with(&format!("--addr {socket}: can't connect: No such file")), "{error}");
    let plan = refused(&["--scenario", "1B-1", "--framework", "raw", "--addr", "raw=unix:/x"]);
    assert_eq!(plan, "--addr raw: \"unix:/x\": must be HOST:PORT: raw is called over TCP");
    // Nobody listens at port 1 of the loopback.
    assert!(with(&[&addr[..], &["--reflection"]].concat()).starts_with("--addr 127.0.0.1:1: can't connect: "));
}

#[test]
fn a_plain_request_is_what_its_url_says() {
    let plan = |flags: &[&str]| Plan::of_run(run_args(flags), &CPUS).map_err(|error| error.0);
    let url = "http://127.0.0.1:1/a/b?c=1";
    let get = plan(&["--http1", url, "--concurrency", "3"]).expect("a plan");
    let subject = &get.groups[0].subjects[0];
    assert_eq!((subject.name().as_str(), subject.framework), ("0B-3 GET /a/b?…", Framework::Http1));
    assert_eq!((subject.case.connections, subject.case.sharing), (3, analyze::load::Sharing::Pool));
    assert_eq!(subject.file_stem(&get.label), "http1-GET--a-b--_0_none_none_3_unary");
    let post = plan(&["--h2", url, "--concurrency", "3", "--data", "hello", "--expect", "hello", "--addr", "unix:/x"]);
    let post = post.expect("a plan");
    let subject = &post.groups[0].subjects[0];
    assert_eq!((subject.name().as_str(), subject.case.connections), ("5B-3 POST /a/b?…", 1));
    assert!(matches!(&subject.origin, Origin::Attach { addr, .. } if addr.to_string() == "unix:/x"));
    assert!(post.notes.is_empty(), "{:?}", post.notes);
    for (flags, problem) in [
        (&["--http1", "127.0.0.1:1"][..], "--http1 \"127.0.0.1:1\": must be http://HOST[:PORT]/PATH"),
        (&["--h2", "ftp://x/"], "--h2 \"ftp://x/\": must be http://"),
        (&["--h2", "http://u:p@127.0.0.1:1/"], "--h2 \"http://u:p@127.0.0.1:1/\": must be http://"),
        (&["--h2", url, "--http1", url], "--http1: not with --h2"),
        (&["--h2", url, "--call", "a.B/C"], "--call: not with --http1 or --h2"),
        (&["--http1", url, "--mux"], "--mux: not with --http1: HTTP/1.1 has one call at a time"),
        (&["--http1", url, "--tls"], "--tls: not with --http1: the URL says https"),
        (&["--http1", url, "--ca", "x"], "--ca: goes with --tls, or a URL of https"),
        (&["--http1", url, "--reflection"], "--reflection: not with --http1: "),
        (&["--http1", url, "--compression", "default"], "--compression: not with --http1: "),
        (&["--http1", url, "--scenario", "1B-1"], "--scenario: not with --http1: "),
        (&["--http1", url, "--metadata", "Host: x"], "--metadata: \"Host: x\": host is the protocol's own"),
        (&["--http1", url, "--data", "@/nowhere"], "--data @/nowhere: No such file"),
        (&["--http1", url], "--concurrency is missing"),
    ] {
        let flags = if flags == ["--http1", url] { flags.to_vec() } else { [flags, &["--concurrency", "1"]].concat() };
        let error = refused(&flags);
        assert!(error.starts_with(problem), "{flags:?}: {error}");
    }
}
