//! What every connection sends, built once.

use std::sync::Arc;

use bytes::Bytes;
use echo_proto::framed::{Framing, Request, Transport};

use crate::{
    load::{LoadSpec, Sharing, message::Payloads, tickets::Ticket},
    scenario::{Payload, Protocol},
};

/// What a connection sends.
#[derive(Debug)]
pub(super) enum Outgoing {
    Call(Ticket),
    /// To what the server asked.
    Answer(Bytes),
}

impl From<Ticket> for Outgoing {
    fn from(ticket: Ticket) -> Self {
        Self::Call(ticket)
    }
}

/// What the connections of a driver have in common.
#[derive(Debug)]
pub(in crate::load) struct Template {
    pub(super) framing: Framing,
    pub(super) payload: Payload,
    /// One for each share of the payload.
    pub(super) messages: Vec<Message>,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) request: Request,
    /// The payload of the right reply.
    pub(super) reply: Bytes,
}

impl Template {
    pub(in crate::load) fn new(spec: &LoadSpec) -> Arc<Self> {
        let framing = framing(spec);
        let message = |Payloads { request, reply }| Message { request: framing.request(&request), reply };
        let messages = Payloads::of(&spec.case).into_iter().map(message).collect();
        Arc::new(Self { framing, payload: spec.case.scenario.payload, messages })
    }

    /// The share with the longest request.
    pub(super) fn largest(&self) -> usize {
        let lens = self.messages.iter().map(|message| message.request.frame_len()).enumerate();
        lens.max_by_key(|&(_, len)| len).map_or(0, |(share, _)| share)
    }
}

/// How calls are framed. Several of a connection at a time are sent as kitex's own clients send them: its servers take them in
/// TTHeader alone.
fn framing(spec: &LoadSpec) -> Framing {
    let transport = match spec.case.sharing {
        Sharing::Pool => Transport::Framed,
        Sharing::Mux => Transport::TtHeader,
    };
    match spec.framework.protocol() {
        Protocol::KitexProtobuf => Framing::KitexProtobuf(transport),
        Protocol::Dubbo => Framing::Dubbo,
        _ => Framing::Thrift(transport),
    }
}

/// What results call it.
pub(super) fn wire_name(framing: Framing) -> &'static str {
    match framing {
        Framing::Thrift(Transport::Framed) => "Thrift framed",
        Framing::Thrift(Transport::TtHeader) => "Thrift framed in TTHeader",
        Framing::KitexProtobuf(Transport::Framed) => "Kitex Protobuf",
        Framing::KitexProtobuf(Transport::TtHeader) => "Kitex Protobuf in TTHeader",
        Framing::Dubbo => "Dubbo",
    }
}
