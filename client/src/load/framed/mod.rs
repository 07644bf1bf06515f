//! Calls in frames over TCP, each with a number: framed Thrift, Kitex Protobuf and Dubbo's own protocol.
//!
//! Calls of a connection are pipelined, and their replies may come in any order. The reply to a call that was given up is read and
//! thrown away when it comes.
//!
//! - `drive`: a connection's task; `template`: what is sent.

mod drive;
mod template;

use std::sync::Arc;

use tokio::{
    net::TcpStream,
    sync::{SetOnce, mpsc, oneshot},
};

pub(super) use self::template::Template;
use self::{
    drive::drive,
    template::{Outgoing, Ticket, wire_name},
};
use super::{
    CallError, IDENTITY, Wire,
    engine::Transport,
    message::Picker,
    meter::Meter,
    preflight::{FailedCall, Preflight},
};

/// One TCP connection. Its own task runs it until the last handle is gone.
#[derive(Debug)]
pub(super) struct Connection {
    handle: Handle,
    meter: Arc<Meter>,
}

impl Connection {
    pub(super) fn open(socket: TcpStream, template: &Arc<Template>) -> Self {
        let (calls, queue) = mpsc::unbounded_channel();
        let (meter, ended) = (Arc::<Meter>::default(), Arc::<SetOnce<String>>::default());
        let answers = calls.downgrade();
        tokio::spawn(drive(socket, meter.clone(), template.clone(), queue, answers, ended.clone()));
        Self { handle: Handle { calls, ended }, meter }
    }

    /// What its socket has seen.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The side of the `task`th task.
    pub(super) fn transport(&self, template: &Template, task: usize) -> FramedTransport {
        FramedTransport { handle: self.handle.clone(), picker: Picker::new(template.payload, task, self.meter.clone()) }
    }
}

/// A way to a connection's task.
#[derive(Debug, Clone)]
struct Handle {
    /// At most one ticket a task, and those of calls that were given up.
    calls: mpsc::UnboundedSender<Outgoing>,
    /// Why the connection ended, known soon after its tickets are gone.
    ended: Arc<SetOnce<String>>,
}

impl Handle {
    async fn exchange(&self, share: usize, verify: bool) -> Result<(), CallError> {
        let (done, reply) = oneshot::channel();
        // Tickets go only when the connection goes.
        if self.calls.send(Outgoing::Call(Ticket { share, verify, done })).is_ok()
            && let Ok(result) = reply.await
        {
            return result;
        }
        Err(CallError::ConnectionLost(self.ended.wait().await.clone()))
    }
}

/// Calls of one task, one after another.
#[derive(Debug)]
pub(super) struct FramedTransport {
    handle: Handle,
    picker: Picker,
}

impl Transport for FramedTransport {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        let share = self.picker.next();
        self.handle.exchange(share, verify).await
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
            preflight.call(index, share, connection.handle.exchange(share, true)).await?;
        }
    }
    let first = &connections[0];
    let (written, read) = (first.meter.written(), first.meter.read());
    let largest = template.largest();
    preflight.call(0, largest, first.handle.exchange(largest, true)).await?;
    Ok(Wire {
        http_version: wire_name(template.framing).to_owned(),
        tls: None,
        content_type: None,
        response_content_type: None,
        request_encoding: IDENTITY.to_owned(),
        response_encoding: IDENTITY.to_owned(),
        connections: connections.len(),
        client_settings: None,
        server_settings: None,
        request_header_names: Vec::new(),
        response_header_names: Vec::new(),
        request_bytes: first.meter.written() - written,
        response_bytes: first.meter.read() - read,
        opening_frames: None,
    })
}
