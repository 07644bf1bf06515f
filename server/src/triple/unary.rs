//! The unary echo, in either framing.

use http::{Request, Response, request::Parts};
use hyper::body::Incoming;

use super::{
    Connection, body::ReplyBody, content_type::ContentType, deadline, echo::echo, message::Message,
    receive::only_message, reply::ReplyTo, status::Fault, terms::Terms,
};

pub(crate) async fn answer(
    request: Request<Incoming>,
    content_type: ContentType,
    connection: &Connection,
) -> Response<ReplyBody> {
    let op = connection.unary.start();
    let (Parts { headers, version, .. }, body) = request.into_parts();
    let terms = Terms::of(&headers, content_type, &connection.options);
    let gzip = terms.as_ref().is_ok_and(|terms| terms.answer.gzip);
    let outcome = match terms {
        Ok(terms) => call(body, content_type, terms).await,
        Err(fault) => Err(fault),
    };
    if outcome.is_ok() {
        op.ok();
    }
    ReplyTo { headers, version, framing: content_type.framing }.unary(gzip, outcome)
}

async fn call(mut body: Incoming, content_type: ContentType, terms: Terms) -> Result<Message, Fault> {
    let Terms { request_encoding, deadline, answer } = terms;
    let request = only_message(&mut body, content_type.framing, request_encoding, answer.limit);
    echo(deadline::until(deadline, request).await?, answer)
}
