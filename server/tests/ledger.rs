//! What counts as an op, and how it ends. A program of its own, and one test: the counters are the process's.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::time::Duration;

use debug_pprof::ops::{Method, MethodCounts, method};
use echo_server::{Handler, methods, triple};
use support::{CHECK, STREAM, Server, UNARY, benchmark, framed, http2::Client};

const GRPC: (&str, &str) = ("content-type", "application/grpc+proto");

/// Started, answered, failed since the last time.
struct Ledger {
    method: &'static Method,
    last: MethodCounts,
}

impl Ledger {
    fn of(name: &'static str) -> Self {
        let method = method(name);
        Self { method, last: method.counts() }
    }

    fn since(&mut self) -> (u64, u64, u64) {
        let (now, last) = (self.method.counts(), self.last);
        self.last = now;
        (now.started - last.started, now.ok - last.ok, now.error - last.error)
    }
}

#[tokio::test]
async fn each_call_and_each_streamed_message_is_one_op() {
    let server = Server::start(triple::Options::default()).await;
    let client = Client::connect(server.addr).await;
    let (mut unary, mut stream) = (Ledger::of(methods::UNARY), Ledger::of(methods::STREAM));
    let message = framed(0, &benchmark(b"hi"));

    client.call(UNARY, &[GRPC], &[&message]).await;
    client.call(UNARY, &[("content-type", "application/json")], &[b"{}"]).await;
    assert_eq!(unary.since(), (2, 2, 0), "answered calls");

    client.call(UNARY, &[GRPC], &[b"x"]).await;
    client.call(UNARY, &[("content-type", "application/json")], &[b"{bad"]).await;
    client.call(UNARY, &[GRPC, ("grpc-encoding", "br")], &[&message]).await;
    assert_eq!(unary.since(), (3, 0, 3), "failed calls");

    client.call(UNARY, &[("content-type", "text/plain")], &[&message]).await;
    client.call(CHECK, &[GRPC], &[&framed(0, b"")]).await;
    assert_eq!(unary.since(), (0, 0, 0), "HTTP's refusals and health checks are no ops");

    let three = [&message[..], &message, &message].concat();
    client.call(STREAM, &[GRPC], &[&three]).await;
    client.call(STREAM, &[GRPC], &[]).await;
    assert_eq!(stream.since(), (3, 3, 0), "a message each");

    client.call(STREAM, &[GRPC], &[&three[..three.len() - 1]]).await;
    assert_eq!(stream.since(), (3, 2, 1), "the last one broken off");
    assert_eq!(unary.since(), (0, 0, 0));

    // The client leaves: the reset is known to the server before the reply to the next call.
    let mut abandoned = client.open(UNARY, &[GRPC]).await;
    abandoned.send(&message[..7], false);
    client.call(CHECK, &[GRPC], &[&framed(0, b"")]).await;
    abandoned.request.send_reset(h2::Reason::CANCEL);
    while unary.method.counts().error == unary.last.error {
        client.call(CHECK, &[GRPC], &[&framed(0, b"")]).await;
    }
    assert_eq!(unary.since(), (1, 0, 1), "an abandoned call");

    let sleeping = Handler { sleep: Some(Duration::from_secs(3600)), ..Handler::default() };
    let server = Server::start(triple::Options { handler: sleeping, ..triple::Options::default() }).await;
    let client = Client::connect(server.addr).await;
    for (path, ledger) in [(UNARY, &mut unary), (STREAM, &mut stream)] {
        let mut abandoned = client.open(path, &[GRPC]).await;
        abandoned.send(&message, true);
        while ledger.method.counts().started == ledger.last.started {
            client.call(CHECK, &[GRPC], &[&framed(0, b"")]).await;
        }
        abandoned.request.send_reset(h2::Reason::CANCEL);
        while ledger.method.counts().error == ledger.last.error {
            client.call(CHECK, &[GRPC], &[&framed(0, b"")]).await;
        }
        assert_eq!(ledger.since(), (1, 0, 1), "{path}: abandoned in its sleep");
    }
}
