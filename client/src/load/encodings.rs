//! How replies came.

use std::sync::Arc;

use super::meter::Meter;

/// Counts a task's replies that came plain and compressed, and tells the meter in the end.
#[derive(Debug)]
pub(super) struct Encodings {
    replies: [u64; 2],
    meter: Arc<Meter>,
}

impl Encodings {
    /// Of a task on the connection with this meter.
    pub(super) fn new(meter: Arc<Meter>) -> Self {
        Self { replies: [0; 2], meter }
    }

    pub(super) fn count(&mut self, compressed: bool) {
        self.replies[usize::from(compressed)] += 1;
    }
}

impl Drop for Encodings {
    fn drop(&mut self) {
        self.meter.add_encodings(self.replies);
    }
}
