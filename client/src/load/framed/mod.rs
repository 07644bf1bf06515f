//! Calls in frames over TCP, each with a number: framed Thrift, Kitex Protobuf and Dubbo's own protocol.
//!
//! Calls of a connection are pipelined, and their replies may come in any order. The reply to a call that was given up is read and
//! thrown away when it comes.
//!
//! - `drive`: a connection's task; `template`: what is sent.

mod drive;
mod template;

use std::sync::Arc;

use tokio::{net::TcpStream, sync::mpsc};

pub(super) use self::template::Template;
use self::{
    drive::drive,
    template::{Outgoing, wire_name},
};
use super::{
    CallError, Wire,
    engine::Transport,
    message::Picker,
    meter::Meter,
    preflight::{FailedCall, Preflight},
    tickets::{Ended, Tickets},
};

/// One TCP connection. Its own task runs it until the last handle is gone.
#[derive(Debug)]
pub(super) struct Connection {
    tickets: Tickets<Outgoing>,
    meter: Arc<Meter>,
}

impl Connection {
    pub(super) fn open(socket: TcpStream, template: &Arc<Template>) -> Self {
        let (calls, queue) = mpsc::unbounded_channel();
        let (meter, ended) = (Arc::<Meter>::default(), Ended::default());
        let answers = calls.downgrade();
        tokio::spawn(drive(socket, meter.clone(), template.clone(), queue, answers, ended.clone()));
        Self { tickets: Tickets::new(calls, ended), meter }
    }

    /// What its socket has seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of the `task`th task.
    pub(super) fn transport(&self, template: &Template, task: usize) -> FramedTransport {
        FramedTransport {
            tickets: self.tickets.clone(),
            picker: Picker::new(template.payload, task, self.meter.clone()),
        }
    }
}

/// Calls of one task, one after another.
#[derive(Debug)]
pub(super) struct FramedTransport {
    tickets: Tickets<Outgoing>,
    picker: Picker,
}

impl Transport for FramedTransport {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        let share = self.picker.next();
        self.tickets.exchange(share, verify).await
    }
}

/// Calls once on every connection for each size of the payload, then once more on the first for the largest: its bytes are what is
/// reported.
pub(super) async fn preflight(
    connections: &[Connection],
    template: &Template,
    preflight: &Preflight,
) -> Result<Wire, FailedCall> {
    for (index, connection) in connections.iter().enumerate() {
        for share in 0..template.messages.len() {
            preflight.call(index, share, connection.tickets.exchange(share, true)).await?;
        }
    }
    let first = &connections[0];
    let (written, read) = (first.meter.written(), first.meter.read());
    let largest = template.largest();
    preflight.call(0, largest, first.tickets.exchange(largest, true)).await?;
    let bytes = [first.meter.written() - written, first.meter.read() - read];
    Ok(Wire::in_frames(wire_name(template.framing), connections.len(), bytes))
}
