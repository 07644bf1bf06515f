//! `grpc.health.v1.Health`. dubbo-go clients hold a `Watch` open for each service they refer to; none of it is counted.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use echo_proto::health::{HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus};
use http::{Request, Response};
use http_body::Frame;
use hyper::body::Incoming;
use prost::Message as _;

use super::{
    Connection,
    body::ReplyBody,
    content_type::ContentType,
    message::{Enclosure, Message},
    receive::Receiver,
    reply::ReplyTo,
    segments::Segments,
    status::{Code, Fault, grpc_trailers},
    terms::Terms,
};

const SERVICES: [&str; 2] = ["benchmark.BenchmarkService", "grpc.health.v1.Health"];

/// `Check`: whether a service is served, now.
pub(crate) async fn check(
    request: Request<Incoming>,
    content_type: ContentType,
    connection: Arc<Connection>,
) -> Response<ReplyBody> {
    let (mut to, service) = receive(request, content_type, &connection).await;
    let outcome = service.and_then(|service| match serving_status(&service) {
        ServingStatus::Serving => Ok(status_message(ServingStatus::Serving)),
        _ => Err(Fault::new(Code::NotFound, format!("unknown service {service}"))),
    });
    to.unary(false, outcome)
}

/// `Watch`: the same at once and then, until the client leaves, whenever it changes: when the server drains.
pub(crate) async fn watch(
    request: Request<Incoming>,
    content_type: ContentType,
    connection: Arc<Connection>,
) -> Response<ReplyBody> {
    let (mut to, service) = receive(request, content_type, &connection).await;
    match service {
        Ok(service) => {
            let mut draining = connection.draining.clone();
            let watch = Watch {
                next: Some(serving_status(&service)),
                draining: Box::pin(async move { draining.begun().await }),
                drained: false,
                ended: false,
            };
            to.stream(false, ReplyBody::Watch(Box::new(watch)))
        }
        Err(fault) => to.unary(false, Err(fault)),
    }
}

async fn receive(
    request: Request<Incoming>,
    content_type: ContentType,
    connection: &Connection,
) -> (ReplyTo, Result<String, Fault>) {
    let (to, mut body) = ReplyTo::split(request, content_type.framing);
    let service = match Terms::of(&to.headers, content_type, &connection.options) {
        Ok(terms) => {
            let mut receiver = Receiver::new(content_type.framing, terms.request_encoding, terms.answer.limit);
            let mut deadline = terms.deadline;
            let message = poll_fn(|cx| match receiver.poll(&mut body, cx) {
                Poll::Ready(message) => Poll::Ready(message),
                Poll::Pending => deadline.poll_exceeded(cx).map(Err),
            });
            message.await.and_then(service_asked_for)
        }
        Err(fault) => Err(fault),
    };
    (to, service)
}

fn service_asked_for(request: Segments) -> Result<String, Fault> {
    HealthCheckRequest::decode(request)
        .map(|request| request.service)
        .map_err(|error| Fault::new(Code::InvalidArgument, format!("unmarshal into HealthCheckRequest: {error}")))
}

/// Dubbo asks for `group/interface:version`, gRPC for the interface or, meaning the whole server, for nothing.
fn serving_status(service: &str) -> ServingStatus {
    let interface = service.rsplit_once('/').map_or(service, |(_, rest)| rest);
    let interface = interface.split_once(':').map_or(interface, |(name, _)| name);
    if service.is_empty() || SERVICES.contains(&interface) {
        ServingStatus::Serving
    } else {
        ServingStatus::ServiceUnknown
    }
}

fn status_message(status: ServingStatus) -> Message {
    let response = HealthCheckResponse { status: status.into() };
    Message::encoded(response.encode_to_vec().into(), Enclosure::Prefixed { compressed: false })
}

/// The replies of a `Watch`.
pub(crate) struct Watch {
    next: Option<ServingStatus>,
    draining: Pin<Box<dyn Future<Output = ()> + Send>>,
    drained: bool,
    ended: bool,
}

impl Watch {
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<Message>>> {
        if let Some(status) = self.next.take() {
            return Poll::Ready(Some(Frame::data(status_message(status))));
        }
        if !self.drained {
            ready!(self.draining.as_mut().poll(cx));
            self.drained = true;
            return Poll::Ready(Some(Frame::data(status_message(ServingStatus::NotServing))));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.ended = true;
        Poll::Ready(Some(Frame::trailers(grpc_trailers(Ok(())))))
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("next", &self.next).field("drained", &self.drained).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_interface() {
        for service in
            ["", "benchmark.BenchmarkService", "g1/benchmark.BenchmarkService:1.0.0", "grpc.health.v1.Health"]
        {
            assert_eq!(serving_status(service), ServingStatus::Serving, "{service}");
        }
        assert_eq!(serving_status("other.Service"), ServingStatus::ServiceUnknown);
    }
}
