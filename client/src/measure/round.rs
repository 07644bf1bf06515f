//! One timed round: warm up, quiesce, read, load, quiesce, read. No profiler runs in it.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::{
    DebugClient, ProcessWatch,
    gateway::GatewayWatch,
    looking_at,
    own::own_reading,
    result::{Interval, RunSample, ServerReading},
};
use crate::load::{Driver, Live, Window};

/// A server under load, and how to read it.
#[derive(Debug)]
pub struct Target {
    /// Its connections.
    pub driver: Driver,
    /// Its debug endpoints; `None` when it has none.
    pub debug: Option<DebugClient>,
    /// Its process, where it is one of this machine and known.
    pub pid: Option<u32>,
    /// Where the gateway listens that the calls go through, if they go through one.
    pub gateway: Option<SocketAddr>,
}

/// Measures one round after a warm-up of the same load; `live` counts the replies of its warm-up too. The driver's windows
/// end with the last reply, so nothing is in flight when counters are read.
///
/// A reading that fails leaves the sample without the server's counters; what the load generator saw is always in it.
pub async fn measure_round(
    target: &mut Target,
    round: u32,
    (warmup, window): (Duration, &Window),
    live: &Live,
) -> RunSample {
    if !warmup.is_zero() {
        target.driver.run(&window.with_length(warmup), live).await;
    }
    // Finding its processes takes a while: before anything is read.
    let gateway = target.gateway.map(GatewayWatch::of);
    let before = server_reading(target.debug.as_ref()).await;
    // Within the server's readings, so that answering these is not in what the processes used.
    let mut server = target.pid.and_then(ProcessWatch::begin);
    let mut client = ProcessWatch::begin_own();
    let mut gateway = gateway.map(GatewayWatch::begin);
    let gateways = gateway.iter_mut().flat_map(GatewayWatch::watches);
    let watches = &mut server.iter_mut().chain(&mut client).chain(gateways).collect::<Vec<_>>();
    let load = target.driver.run(window, live);
    // Innermost: neither the watches nor what the load is recorded in is a cost of the calls.
    let began = Instant::now();
    let client_before = own_reading();
    let load = looking_at(watches, load).await;
    let client_after = own_reading();
    let elapsed = began.elapsed();
    let (server_process, client_process) = (server.map(ProcessWatch::end), client.map(ProcessWatch::end));
    // Their CPU time is read before it is looked for others.
    let gateway_processes = gateway.and_then(GatewayWatch::end);
    let after = server_reading(target.debug.as_ref()).await;
    RunSample {
        round,
        load,
        elapsed,
        server: before.zip(after).map(|(before, after)| Interval { before, after }),
        client: Interval { before: client_before, after: client_after },
        server_process,
        client_process,
        gateway_processes,
    }
}

async fn server_reading(debug: Option<&DebugClient>) -> Option<ServerReading> {
    debug?.reading().await.ok()
}
