//! What an echo in an envelope allocates: the answer, and a list of slices where the payload came in more than two.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use bytes::{Bytes, BytesMut};
use echo_proto::envelope::{Serialization, decode_request, encode_request};
use support::{
    cut,
    memory::{Counting, allocations},
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SERIALIZATIONS: [Serialization; 2] = [Serialization::Hessian2, Serialization::Msgpack];

/// As it comes from a transport: slices of a buffer that others may hold too.
fn received(message: &Bytes, piece: usize) -> Vec<Bytes> {
    cut(&BytesMut::from(&message[..]).split().freeze(), piece)
}

#[test]
fn a_request_is_one_allocation() {
    for serialization in SERIALIZATIONS {
        for len in [0, 1, 128, 8189, 1 << 20] {
            let payload = vec![7; len];
            let (_, count) = allocations(|| encode_request(serialization, &payload[..]));
            assert_eq!(count, 1, "{serialization:?}, {len} bytes");
        }
    }
}

#[test]
fn an_echo_allocates_the_answer_and_no_more() {
    for serialization in SERIALIZATIONS {
        for (len, piece) in
            [(0, usize::MAX), (128, usize::MAX), (8189, usize::MAX), (1 << 20, usize::MAX), (1 << 20, 16_384)]
        {
            let message = received(&encode_request(serialization, &vec![7; len][..]), piece);
            let whole = message.concat();
            let (slices, count) = allocations(|| {
                let request = decode_request(&message).unwrap();
                assert!(request.encode_echo().unwrap() == whole);
                request.payload().len()
            });
            let list = u64::from(slices > 2);
            assert_eq!(count, 1 + list, "{serialization:?}, {len} bytes in {} pieces, {slices} slices", message.len());
        }
    }
}
