//! The driver against this project's own servers: their counts and the ledger agree.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::future::pending;

use analyze::{
    load::{CallMode, Driver},
    scenario::Framework,
};
use debug_pprof::ops;
use echo_server::{grpc, methods, raw, triple};
use load_support::{WINDOW, run, spec};
use tokio::net::TcpListener;

/// Alone in this program, since the servers' counts are the process's.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_count_the_calls_that_the_ledger_has() {
    for framework in Framework::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move {
            match framework {
                Framework::Triple => triple::run(listener, Default::default(), pending()).await,
                Framework::Grpc => grpc::run(listener, Default::default(), pending()).await,
                Framework::Raw => raw::run(listener, Default::default(), pending()).await,
            }
        });
        for mode in [CallMode::Unary, CallMode::Streaming] {
            let method = ops::method(match (framework, mode) {
                (Framework::Raw, _) => methods::RAW,
                (_, CallMode::Unary) => methods::UNARY,
                (_, CallMode::Streaming) => methods::STREAM,
            });
            for scenario in ["128B-50", "1MiB-10", "16MiB-1"] {
                let mut spec = spec(framework, addr, scenario);
                spec.case.mode = mode;
                spec.case.connections = 2;
                let mut driver = Driver::connect(spec).await.unwrap();
                driver.preflight().await.unwrap();
                let before = method.counts();
                let sample = run(&mut driver, WINDOW).await;
                let after = method.counts();
                assert!(sample.ok > 0, "{framework} {scenario}: {sample:?}");
                assert_eq!(sample.ok, sample.started, "{framework} {scenario}: {:?}", sample.errors);
                assert_eq!(after.ok - before.ok, sample.ok, "{framework} {mode:?} {scenario}");
            }
        }
    }
}
