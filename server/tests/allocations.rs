//! What a Triple call may cost, counted exactly. A program of its own: the counters are the process's.
//!
//! With a release build it was 5.06 allocations of 1,750 bytes in all at 128B-50, and 8.2 of 1.009 times the payload at
//! 1MiB-100, from a client that sends three headers. A debug build's futures are larger.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use std::{
    net::SocketAddr,
    sync::{Mutex, PoisonError},
    thread,
};

use bytes::Bytes;
use debug_pprof::{CountingAlloc, Counts, Jemalloc, exclude_current_thread, serving_counts};
use echo_proto::envelope::{Serialization, encode_request};
use echo_server::triple;
use h2::client;
use support::{Server, UNARY, benchmark, framed, http2::Client};
use tokio::{runtime, task::JoinSet};

#[global_allocator]
static ALLOC: CountingAlloc<Jemalloc> = CountingAlloc::jemalloc();

#[derive(Debug)]
struct PerOp {
    allocations: f64,
    requested_bytes: f64,
}

/// The cost of a unary gRPC call with that message on a warm connection.
fn unary_cost(message: &[u8], concurrency: usize, rounds: usize) -> PerOp {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let server = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let triple = server.block_on(async { Server::start(triple::Options::default()).await });
    let (before, after) = drive(triple.addr, framed(0, message).into(), concurrency, rounds);
    let cost = after.since(&before);
    let ops = (rounds * concurrency) as f64;
    PerOp { allocations: cost.allocations() as f64 / ops, requested_bytes: cost.requested_bytes as f64 / ops }
}

/// Calls from a thread whose allocations are not counted; counts before and after, with no call in flight.
fn drive(addr: SocketAddr, message: Bytes, concurrency: usize, rounds: usize) -> (Counts, Counts) {
    thread::spawn(move || {
        exclude_current_thread();
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut settings = client::Builder::new();
            settings.max_frame_size(1 << 20).initial_window_size(4 << 20).initial_connection_window_size(16 << 20);
            let client = Client::with(addr, &mut settings).await;
            // Enough to have buffers and stream tables at their final size.
            call_all(&client, &message, concurrency, rounds.div_ceil(2)).await;
            let before = serving_counts().unwrap();
            call_all(&client, &message, concurrency, rounds).await;
            (before, serving_counts().unwrap())
        })
    })
    .join()
    .unwrap()
}

async fn call_all(client: &Client, message: &Bytes, concurrency: usize, rounds: usize) {
    let mut callers = JoinSet::new();
    for _ in 0..concurrency {
        let (client, message) = (client.clone(), message.clone());
        callers.spawn(async move {
            for _ in 0..rounds {
                let headers =
                    [("content-type", "application/grpc+proto"), ("te", "trailers"), ("user-agent", "allocations")];
                let mut call = client.open(UNARY, &headers).await;
                call.request.send_data(message.clone(), true).unwrap();
                let reply = call.reply().await;
                assert_eq!(reply.grpc_status(), Some(0));
                assert_eq!(reply.body, message);
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
}

/// Counts are the process's, so one measurement at a time.
static MEASURING: Mutex<()> = Mutex::new(());

#[test]
fn a_small_unary_call_allocates_at_most_six_times() {
    let cost = unary_cost(&benchmark(&[7; 128]), 50, 100);
    println!("128B-50: {cost:?}");
    assert!(cost.allocations <= 6.0, "{cost:?}");
    assert!(cost.requested_bytes <= 2_500.0, "{cost:?}");
}

#[test]
fn a_large_payload_is_received_once_and_never_copied() {
    let payload = 1 << 20;
    let cost = unary_cost(&benchmark(&vec![7; payload]), 100, 5);
    println!("1MiB-100: {cost:?}");
    assert!(cost.allocations <= 12.0, "{cost:?}");
    assert!(cost.requested_bytes <= 1.05 * payload as f64, "{cost:?}");
}

/// One allocation more than protobuf: the buffer of the answer, which the payload is encoded into.
#[test]
fn a_small_argument_in_hessian_or_msgpack_costs_one_allocation_more() {
    for serialization in [Serialization::Hessian2, Serialization::Msgpack] {
        let cost = unary_cost(&encode_request(serialization, &[7; 128][..]), 50, 100);
        println!("128B-50 {serialization:?}: {cost:?}");
        assert!(cost.allocations <= 7.0, "{serialization:?}: {cost:?}");
        assert!(cost.requested_bytes <= 2_700.0, "{serialization:?}: {cost:?}");
    }
}

/// Received once and encoded once. Hessian's chunks of 8,189 bytes make a list of slices.
#[test]
fn a_large_argument_in_hessian_or_msgpack_is_copied_once() {
    let payload = 1 << 20;
    for serialization in [Serialization::Hessian2, Serialization::Msgpack] {
        let cost = unary_cost(&encode_request(serialization, &vec![7; payload][..]), 50, 4);
        println!("1MiB-100 {serialization:?}: {cost:?}");
        assert!(cost.allocations <= 14.0, "{serialization:?}: {cost:?}");
        assert!(cost.requested_bytes <= 2.05 * payload as f64, "{serialization:?}: {cost:?}");
    }
}
