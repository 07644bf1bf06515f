//! Calls of one task, one after another.

use std::{future::poll_fn, sync::Arc, task::Poll};

use bytes::Bytes;
use h2::{
    RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::{HeaderMap, StatusCode};

use super::{check_status, template::Template};
use crate::load::{
    CallError, MessagesPerStream,
    encodings::Encodings,
    engine::Transport,
    message::{Picker, Reply},
    meter::Meter,
};

/// A task's side of a connection, and the stream it holds open between calls, if streams are long.
#[derive(Debug)]
pub(in crate::load) struct Http2Transport {
    handle: SendRequest<Bytes>,
    template: Arc<Template>,
    picker: Picker,
    meter: Arc<Meter>,
    /// The share of the last call.
    share: usize,
    reply: Reply,
    encodings: Encodings,
    /// Not there during a call, so that one that is given up or fails resets its stream.
    stream: Option<Stream>,
}

/// An open stream with no message in flight.
#[derive(Debug)]
struct Stream {
    requests: SendStream<Bytes>,
    replies: Replies,
    /// Messages sent.
    sent: u64,
}

#[derive(Debug)]
enum Replies {
    /// The server need not say anything before its first reply.
    Awaited(ResponseFuture),
    Open(OpenReplies),
}

#[derive(Debug)]
struct OpenReplies {
    head: HeaderMap,
    body: RecvStream,
    /// What is wrong with a compressed reply, if anything.
    decompress: Result<(), CallError>,
}

/// The header blocks of a good call.
#[derive(Debug)]
pub(super) struct ReplyHeaders {
    pub(super) head: HeaderMap,
    pub(super) trailers: HeaderMap,
    /// The message between them as people read it, where that was asked for and it isn't known beforehand.
    pub(super) text: Option<String>,
}

impl Transport for Http2Transport {
    async fn call(&mut self, verify: bool) -> Result<(), CallError> {
        let share = self.picker.next();
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.open().await?,
        };
        let ends = match self.template.stream_length {
            None => true,
            Some(MessagesPerStream::Count(count)) => stream.sent + 1 == count.get(),
            Some(MessagesPerStream::Unbounded) => false,
        };
        if ends {
            return self.last_message(stream, share, verify).await.map(drop);
        }
        self.message(&mut stream, share, verify).await?;
        self.stream = Some(stream);
        Ok(())
    }

    fn check(&mut self) -> Result<(), CallError> {
        self.reply.check((self.share, &self.template.messages[self.share]))
    }

    /// Ends the stream that is open, if one is, as a good client does, and reads to its end. Its messages were answered, so that
    /// what comes now changes nothing.
    async fn close(&mut self) {
        let Some(mut stream) = self.stream.take() else { return };
        if stream.requests.send_data(Bytes::new(), true).is_ok()
            && let Ok(replies) = stream.replies.open(&self.template).await
        {
            while let Some(Ok(piece)) = poll_fn(|cx| replies.body.poll_data(cx)).await {
                let _ = replies.body.flow_control().release_capacity(piece.len());
            }
            let _ = poll_fn(|cx| replies.body.poll_trailers(cx)).await;
        }
    }
}

impl Http2Transport {
    /// The `task`th task's.
    pub(super) fn new(handle: SendRequest<Bytes>, template: Arc<Template>, task: usize, meter: Arc<Meter>) -> Self {
        let encodings = Encodings::new(meter.clone());
        let picker = Picker::new(template.payload, task, meter.clone());
        Self { handle, template, picker, meter, share: 0, reply: Reply::default(), encodings, stream: None }
    }

    /// A stream of one message, verified, of the given share.
    pub(super) async fn exchange(&mut self, share: usize) -> Result<ReplyHeaders, CallError> {
        let stream = self.open().await?;
        let headers = self.last_message(stream, share, true).await?;
        let text = self.reply.text(&self.template.messages[share])?;
        self.check()?;
        Ok(ReplyHeaders { text, ..headers })
    }

    /// Whether the last reply was compressed.
    pub(super) fn was_compressed(&self) -> bool {
        self.reply.is_compressed()
    }

    async fn open(&mut self) -> Result<Stream, CallError> {
        poll_fn(|cx| self.handle.poll_ready(cx)).await?;
        let (response, requests) = self.handle.send_request(self.template.request(), false)?;
        Ok(Stream { requests, replies: Replies::Awaited(response), sent: 0 })
    }

    /// Sends the last message of a stream and reads to its end.
    async fn last_message(
        &mut self,
        mut stream: Stream,
        share: usize,
        verify: bool,
    ) -> Result<ReplyHeaders, CallError> {
        let request = self.begin(&mut stream, share, verify).await?;
        // The message is a handle to the same bytes in every call, so that queueing it whole costs no memory; h2 cuts it to
        // the server's frame size and windows as it writes. A stream that was reset meanwhile says why in the reply.
        let sent = match self.template.stream_length {
            None => stream.requests.send_data(request, true),
            Some(_) => {
                stream.requests.send_data(request, false).and_then(|()| stream.requests.send_data(Bytes::new(), true))
            }
        };
        let replies = stream.replies.open(&self.template).await?;
        while self.read(replies).await? {}
        let trailers = replies.end().await?;
        self.reply.finish(&self.template.messages[share])?;
        sent.map_err(|_| CallError::StreamEnded)?;
        self.encodings.count(self.reply.is_compressed());
        if self.template.has_streams_of_replies() {
            self.meter.add_replies(self.reply.count());
        }
        Ok(ReplyHeaders { head: std::mem::take(&mut replies.head), trailers, text: None })
    }

    /// Sends one message of a stream and reads its reply.
    async fn message(&mut self, stream: &mut Stream, share: usize, verify: bool) -> Result<(), CallError> {
        let request = self.begin(stream, share, verify).await?;
        let sent = stream.requests.send_data(request, false);
        stream.sent += 1;
        let replies = stream.replies.open(&self.template).await?;
        while !self.reply.is_whole() {
            if !self.read(replies).await? {
                replies.end().await?;
                return Err(CallError::StreamEnded);
            }
        }
        sent.map_err(|_| CallError::StreamEnded)?;
        self.encodings.count(self.reply.is_compressed());
        Ok(())
    }

    /// The next request; an error where something came that nobody asked for.
    async fn begin(&mut self, stream: &mut Stream, share: usize, verify: bool) -> Result<Bytes, CallError> {
        self.share = share;
        self.reply.begin(verify);
        if stream.sent > 0
            && let Replies::Open(replies) = &mut stream.replies
        {
            match poll_fn(|cx| Poll::Ready(replies.body.poll_data(cx))).await {
                Poll::Ready(Some(Ok(piece))) if !piece.is_empty() => return Err(CallError::Unasked),
                Poll::Ready(Some(Err(error))) => return Err(error.into()),
                // An end is told by the reply that doesn't come; empty frames are nothing.
                Poll::Ready(_) | Poll::Pending => {}
            }
        }
        Ok(self.template.messages[share].request.clone())
    }

    /// Reads the next piece of a reply; whether there was one.
    async fn read(&mut self, replies: &mut OpenReplies) -> Result<bool, CallError> {
        let Some(piece) = poll_fn(|cx| replies.body.poll_data(cx)).await else { return Ok(false) };
        let piece = piece?;
        let len = piece.len();
        self.reply.accept(piece, (self.share, &self.template.messages[self.share]), &replies.decompress)?;
        replies.body.flow_control().release_capacity(len)?;
        Ok(true)
    }
}

impl Replies {
    /// Waits for the header block that precedes the replies, and reads it.
    async fn open(&mut self, template: &Template) -> Result<&mut OpenReplies, CallError> {
        if let Self::Awaited(response) = self {
            let (head, body) = response.await?.into_parts();
            if head.status != StatusCode::OK {
                return Err(CallError::Http(head.status.as_u16()));
            }
            let decompress = template.decompress(&head.headers);
            *self = Self::Open(OpenReplies { head: head.headers, body, decompress });
        }
        match self {
            Self::Open(replies) => Ok(replies),
            Self::Awaited(_) => unreachable!("opened above"),
        }
    }
}

impl OpenReplies {
    /// Reads the trailers behind the last reply, and the status in them.
    async fn end(&mut self) -> Result<HeaderMap, CallError> {
        let trailers = poll_fn(|cx| self.body.poll_trailers(cx)).await?;
        // A reply that is an error from the start may have its status in the only header block there is.
        check_status(trailers.as_ref().unwrap_or(&self.head))?;
        Ok(trailers.unwrap_or_default())
    }
}
