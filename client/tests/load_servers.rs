//! The driver against this project's own servers: their counts and the ledger agree.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::future::pending;

use analyze::{
    load::{CallMode, Driver},
    scenario::{Framework, Protocol},
};
use debug_pprof::ops::{self, Method, MethodCounts};
use echo_server::{grpc, methods, raw, triple};
use load_support::{requests, run, spec};
use tokio::net::TcpListener;

/// Alone in this program, since the servers' counts are the process's.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_count_the_calls_that_the_ledger_has() {
    for framework in Framework::OURS {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move {
            match framework.protocol() {
                Protocol::Triple => triple::run(listener, Default::default(), pending()).await,
                Protocol::Grpc => grpc::run(listener, Default::default(), pending()).await,
                Protocol::Raw => raw::run(listener, Default::default(), pending()).await,
                _ => unreachable!("none of ours speaks it"),
            }
        });
        for mode in [CallMode::Unary, CallMode::Streaming] {
            let method = ops::method(match (framework, mode) {
                (Framework::Raw, _) => methods::RAW,
                (_, CallMode::Unary) => methods::UNARY,
                (_, CallMode::Streaming) => methods::STREAM,
            });
            for (scenario, calls) in [("128B-50", 1000), ("1MiB-10", 50), ("16MiB-1", 5)] {
                let mut spec = spec(framework, addr, scenario);
                spec.case.mode = mode;
                spec.case.connections = 2;
                let mut driver = Driver::connect(spec).await.unwrap();
                driver.preflight().await.unwrap();
                let before = counted(method, |counts| counts.started == counts.ok + counts.error).await;
                let sample = run(&mut driver, &requests(calls)).await;
                assert_eq!((sample.started, sample.ok), (calls, calls), "{framework} {scenario}: {:?}", sample.errors);
                let after = counted(method, |counts| counts.ok - before.ok >= calls).await;
                assert_eq!(after.ok - before.ok, calls, "{framework} {mode:?} {scenario}");
            }
        }
    }
}

/// The counts once they are as they should be: a reply may be here before its server has counted it.
async fn counted(method: &Method, enough: impl Fn(&MethodCounts) -> bool) -> MethodCounts {
    loop {
        let counts = method.counts();
        if enough(&counts) {
            return counts;
        }
        tokio::task::yield_now().await;
    }
}
