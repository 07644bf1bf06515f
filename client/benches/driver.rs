//! What the driver costs the client, against this project's own servers and a loop over h2 that measures nothing.
//!
//! Client and server each have a thread and a runtime of their own. A figure is the client thread's CPU time
//! (`/proc/thread-self/schedstat`) by the calls it made, the median of interleaved rounds. The bare loop is the floor: the
//! same requests over the same library, without deadlines, checks, histograms or a ledger. No limits are asserted: they
//! would test the machine.
//!
//! `cargo bench -p analyze --bench driver`

use std::{fs, net::SocketAddr, sync::mpsc, thread, time::Duration};

use analyze::{
    load::{Case, Driver, Live, LoadSpec, Window},
    scenario::{Framework, Protocol, Scenario},
    stats,
};
use bytes::Bytes;
use debug_pprof::{CountingAlloc, Jemalloc};
use tokio::{net::TcpListener, runtime, task::JoinSet, time::Instant};

#[global_allocator]
static ALLOCATOR: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

const ROUNDS: usize = 5;
const WINDOW: Duration = Duration::from_secs(1);
const SCENARIOS: [&str; 4] = ["128B-1", "128B-50", "16KiB-50", "1MiB-100"];

/// What is measured: a loop over h2 against Triple, or the driver.
#[derive(Clone, Copy, PartialEq)]
enum Generator {
    Bare,
    Driver(Framework),
}

/// One round: calls a second, CPU and allocations of the client a call.
struct Cost {
    qps: f64,
    cpu_us: f64,
    allocs: f64,
}

fn main() {
    let triple = serve(Framework::Triple);
    let generators = [
        ("bare h2", Generator::Bare, triple),
        ("triple", Generator::Driver(Framework::Triple), triple),
        ("grpc", Generator::Driver(Framework::Grpc), serve(Framework::Grpc)),
        ("raw", Generator::Driver(Framework::Raw), serve(Framework::Raw)),
    ];
    let client = current_thread();
    println!(
        "{:10} {:8} {:>9} {:>10} {:>7} {:>10} {:>9}",
        "scenario", "driver", "calls/s", "CPU us/op", "spread", "allocs/op", "of bare"
    );
    for name in SCENARIOS {
        let scenario: Scenario = name.parse().expect("a scenario");
        let mut costs: Vec<Vec<Cost>> = generators.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for ((_, generator, addr), costs) in generators.iter().zip(&mut costs) {
                costs.push(client.block_on(round(*generator, *addr, scenario)));
            }
        }
        let bare = median(&costs[0], |c| c.cpu_us);
        for ((driver, _, _), costs) in generators.iter().zip(&costs) {
            let cpu_us = median(costs, |c| c.cpu_us);
            println!(
                "{name:10} {driver:8} {:9.0} {cpu_us:10.2} {:6.1}% {:10.2} {:9.3}",
                median(costs, |c| c.qps),
                100.0 * stats::spread(&costs.iter().map(|c| c.cpu_us).collect::<Vec<_>>()).unwrap_or(f64::NAN),
                median(costs, |c| c.allocs),
                cpu_us / bare,
            );
        }
    }
}

fn median(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    stats::median(&costs.iter().map(figure).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

/// Starts a server on a thread of its own, whose allocations do not count, until the process ends.
fn serve(framework: Framework) -> SocketAddr {
    let (ready, addr) = mpsc::channel();
    thread::spawn(move || {
        debug_pprof::exclude_current_thread();
        current_thread().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            ready.send(listener.local_addr().expect("its address")).expect("the main thread waits");
            let forever = std::future::pending();
            match framework.protocol() {
                Protocol::Triple => echo_server::triple::run(listener, Default::default(), forever).await,
                Protocol::Grpc => echo_server::grpc::run(listener, Default::default(), forever).await,
                Protocol::Raw => echo_server::raw::run(listener, Default::default(), forever).await,
                _ => unreachable!("none of ours speaks it"),
            }
            .expect("the server serves");
        });
    });
    addr.recv().expect("the server starts")
}

async fn round(generator: Generator, addr: SocketAddr, scenario: Scenario) -> Cost {
    match generator {
        Generator::Bare => bare_round(addr, scenario).await,
        Generator::Driver(framework) => driver_round(framework, addr, scenario).await,
    }
}

async fn driver_round(framework: Framework, addr: SocketAddr, scenario: Scenario) -> Cost {
    let mut driver =
        Driver::connect(LoadSpec::new(framework, addr, Case::new(scenario, WINDOW))).await.expect("a connection");
    driver.preflight().await.expect("an echo");
    let (before, begun) = (Usage::now(), Instant::now());
    let sample = driver.run(&Window::lasting(WINDOW), &Live::default()).await;
    assert_eq!(sample.ok, sample.started, "{:?}", sample.errors);
    before.cost_of(sample.ok, begun.elapsed())
}

async fn bare_round(addr: SocketAddr, scenario: Scenario) -> Cost {
    let socket = tokio::net::TcpStream::connect(addr).await.expect("a connection");
    socket.set_nodelay(true).expect("TCP_NODELAY");
    let spec = LoadSpec::new(Framework::Triple, addr, Case::new(scenario, WINDOW));
    let (handle, connection) = h2::client::Builder::new()
        .initial_window_size(spec.stream_window)
        .initial_connection_window_size(spec.connection_window)
        .max_frame_size(spec.max_frame)
        .handshake::<_, Bytes>(socket)
        .await
        .expect("HTTP/2");
    tokio::spawn(connection);
    let message = message(scenario.payload.largest() as usize);
    let (before, begun) = (Usage::now(), Instant::now());
    let mut tasks = JoinSet::new();
    for _ in 0..scenario.concurrency {
        let (mut handle, message) = (handle.clone(), message.clone());
        tasks.spawn(async move {
            let mut calls = 0;
            while begun.elapsed() < WINDOW {
                bare_call(&mut handle, addr, message.clone()).await.expect("an answer");
                calls += 1;
            }
            calls
        });
    }
    let calls = tasks.join_all().await.into_iter().sum();
    before.cost_of(calls, begun.elapsed())
}

async fn bare_call(
    handle: &mut h2::client::SendRequest<Bytes>,
    addr: SocketAddr,
    message: Bytes,
) -> Result<(), h2::Error> {
    let request = http::Request::post(format!("http://{addr}{}", echo_proto::UNARY_PATH))
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .header("user-agent", "bare")
        .body(())
        .expect("a request");
    let (response, mut body) = handle.send_request(request, false)?;
    body.send_data(message, true)?;
    let mut reply = response.await?.into_body();
    while let Some(piece) = reply.data().await {
        let len = piece?.len();
        reply.flow_control().release_capacity(len)?;
    }
    reply.trailers().await.map(drop)
}

fn message(payload: usize) -> Bytes {
    use prost::Message;
    let request = echo_proto::benchmark::BenchmarkRequest { payload: vec![0xa5; payload].into() };
    let mut framed = vec![0];
    framed.extend((request.encoded_len() as u32).to_be_bytes());
    request.encode(&mut framed).expect("a vector grows");
    framed.into()
}

fn current_thread() -> runtime::Runtime {
    runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// What this thread has used so far.
struct Usage {
    cpu_ns: u64,
    allocs: u64,
}

impl Usage {
    fn now() -> Self {
        let schedstat = fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
        let cpu_ns = schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds first");
        let counts = debug_pprof::serving_counts().expect("the counting allocator is the allocator");
        Self { cpu_ns, allocs: counts.allocs + counts.zeroed_allocs + counts.reallocs }
    }

    fn cost_of(&self, calls: u64, elapsed: Duration) -> Cost {
        let now = Self::now();
        Cost {
            qps: calls as f64 / elapsed.as_secs_f64(),
            cpu_us: (now.cpu_ns - self.cpu_ns) as f64 / 1e3 / calls as f64,
            allocs: (now.allocs - self.allocs) as f64 / calls as f64,
        }
    }
}
