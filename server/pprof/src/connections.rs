//! How many connections the host program has accepted: whether its clients, or a gateway before it, keep theirs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ACCEPTED: AtomicU64 = AtomicU64::new(0);

/// Counts a connection that was accepted.
pub fn count() {
    ACCEPTED.fetch_add(1, Relaxed);
}

/// Connections accepted so far. `None` before the first: a program that doesn't count has none either.
pub fn accepted() -> Option<u64> {
    Some(ACCEPTED.load(Relaxed)).filter(|&accepted| accepted > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_before_the_first() {
        assert_eq!(accepted(), None);
        count();
        count();
        assert_eq!(accepted(), Some(2));
    }
}
