//! Which events belong to which request.

use std::ops::Range;

use super::{
    TraceError,
    follow::{Event, What},
};

/// The events of each request that ended, in order: together all events up to the end of the last one.
///
/// What a request costs begins before its handler does, with the decoding of its headers, and ends after it, with the sending of
/// the reply. Where a handler's end and the next one's start lie apart, the longest time without an event between the two is the
/// pause in which nothing was sent: it parts the requests. A thread that is held up for longer than that pause while it still has
/// something to give back moves the border; what the server allocates by itself in the pause belongs to either side.
///
/// # Errors
/// [`TraceError::NoRequests`], [`TraceError::AtOnce`].
pub(super) fn requests(events: &[Event]) -> Result<Vec<Range<usize>>, TraceError> {
    let marks = events.iter().enumerate().filter_map(|(at, event)| match event.what {
        What::Start => Some((at, true)),
        What::End { .. } => Some((at, false)),
        _ => None,
    });
    let mut handlers: Vec<(usize, usize)> = Vec::new();
    let mut started: Option<usize> = None;
    for (at, is_start) in marks {
        match (is_start, started) {
            (true, None) => started = Some(at),
            (false, Some(start)) => {
                handlers.push((start, at));
                started = None;
            }
            (true, Some(_)) => return Err(TraceError::AtOnce),
            // One that began before the log did.
            (false, None) => {}
        }
    }
    if handlers.is_empty() {
        return Err(TraceError::NoRequests(events.len()));
    }
    let mut borders = vec![0];
    borders.extend(handlers.windows(2).map(|pair| border(events, pair[0].1, pair[1].0)));
    borders.push(match started {
        // The log ended within a request, which is none of these.
        Some(start) => border(events, handlers[handlers.len() - 1].1, start),
        None => events.len(),
    });
    Ok(borders.windows(2).map(|pair| pair[0]..pair[1]).collect())
}

/// The first event after the longest time without one, from the event at `end` to the one at `start`.
fn border(events: &[Event], end: usize, start: usize) -> usize {
    let gap = |at: &usize| events[*at].at_ns - events[*at - 1].at_ns;
    (end + 1..=start).max_by_key(gap).unwrap_or(start)
}
