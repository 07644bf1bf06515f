//! How late calls at a rate start for the client's own reasons: what response times have beyond service times.
//!
//! The server is the raw echo, on a thread and a runtime of its own; the client has a runtime like `analyze`'s. Nothing in
//! the server delays a call before it is sent, and there are many more tasks than calls in flight, so that the difference is
//! the pacer's. No limits are asserted: they would test the machine.
//!
//! `cargo bench -p analyze --bench pacing`

use std::{net::SocketAddr, sync::mpsc, thread, time::Duration};

use analyze::{
    load::{Case, Driver, Latency, Live, LoadSpec, Window},
    scenario::Framework,
    stats,
};
use tokio::{net::TcpListener, runtime};

const ROUNDS: usize = 3;
const WINDOW: Duration = Duration::from_secs(2);
const RATES: [f64; 4] = [1_000.0, 5_000.0, 20_000.0, 50_000.0];

/// One round, in µs.
struct Round {
    service: [f64; 2],
    response: [f64; 2],
    missed: f64,
}

fn main() {
    let addr = serve();
    let client = runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    println!(
        "{:>8} {:>23} {:>23} {:>15} {:>7}",
        "", "service p50/p99 us", "response p50/p99 us", "difference us", "missed"
    );
    for rate in RATES {
        let rounds: Vec<_> = (0..ROUNDS).map(|_| client.block_on(round(addr, rate))).collect();
        let median = |figure: fn(&Round) -> f64| {
            stats::median(&rounds.iter().map(figure).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        println!(
            "{rate:>6}/s {:>11.0} {:>11.0} {:>11.0} {:>11.0} {:>7.0} {:>7.0} {:>7.0}",
            median(|r| r.service[0]),
            median(|r| r.service[1]),
            median(|r| r.response[0]),
            median(|r| r.response[1]),
            median(|r| r.response[0] - r.service[0]),
            median(|r| r.response[1] - r.service[1]),
            median(|r| r.missed),
        );
    }
}

async fn round(addr: SocketAddr, rate: f64) -> Round {
    let case = Case::new("128B-256".parse().expect("a scenario"), WINDOW);
    let mut driver = Driver::connect(LoadSpec::new(Framework::Raw, addr, case)).await.expect("a connection");
    driver.preflight().await.expect("an echo");
    let window = Window { rate: Some(rate), ..Window::lasting(WINDOW) };
    let sample = driver.run(&window, &Live::default()).await;
    assert_eq!(sample.ok, sample.started, "{:?}", sample.errors);
    let us = |ns: Option<u64>| ns.unwrap_or_default() as f64 / 1e3;
    let quantiles = |latency: &Latency| [us(latency.p50()), us(latency.p99())];
    let response = sample.response.expect("there is a rate");
    let missed = sample.scheduled.expect("there is a rate") - sample.started;
    Round { service: quantiles(&sample.latency), response: quantiles(&response), missed: missed as f64 }
}

/// Starts the server on a thread of its own, until the process ends.
fn serve() -> SocketAddr {
    let (ready, addr) = mpsc::channel();
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            ready.send(listener.local_addr().expect("its address")).expect("the main thread waits");
            echo_server::raw::run(listener, Default::default(), std::future::pending())
                .await
                .expect("the server serves");
        });
    });
    addr.recv().expect("the server starts")
}
