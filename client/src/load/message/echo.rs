//! A raw reply: a payload and nothing else.

use crate::load::CallError;

/// Compares a reply that comes in pieces with what was expected.
#[derive(Debug)]
pub(in crate::load) struct EchoCheck<'a> {
    expected: &'a [u8],
    received: usize,
    verify: bool,
}

impl<'a> EchoCheck<'a> {
    /// Compares the length, and every byte where `verify` says so.
    pub(in crate::load) fn new(expected: &'a [u8], verify: bool) -> Self {
        Self { expected, received: 0, verify }
    }

    /// Takes the next piece. It fails at the first byte beyond what was expected, so that an endless reply is not read.
    pub(in crate::load) fn accept(&mut self, piece: &[u8]) -> Result<(), CallError> {
        let end = self.received + piece.len();
        let expected = self
            .expected
            .get(self.received..end)
            .ok_or(CallError::Length { got: end, expected: self.expected.len() })?;
        if self.verify && piece != expected {
            let offset = piece.iter().zip(expected).take_while(|(a, b)| a == b).count();
            return Err(CallError::Mismatch(self.received + offset));
        }
        self.received = end;
        Ok(())
    }

    /// The verdict once the reply has ended.
    pub(in crate::load) fn finish(self) -> Result<(), CallError> {
        if self.received == self.expected.len() {
            Ok(())
        } else {
            Err(CallError::Length { got: self.received, expected: self.expected.len() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::payload::payload, *};
    use crate::scenario::PayloadPattern;

    #[test]
    fn an_echo_in_any_pieces_is_right() {
        let sent = payload(PayloadPattern::Random, 1000);
        for piece in [1, 3, 999, 1000] {
            let mut check = EchoCheck::new(&sent, true);
            sent.chunks(piece).for_each(|piece| check.accept(piece).unwrap());
            assert_eq!(check.finish(), Ok(()));
        }
    }

    #[test]
    fn what_is_no_echo_is_told_apart() {
        let mut short = EchoCheck::new(b"hello", false);
        short.accept(b"hell").unwrap();
        assert_eq!(short.finish(), Err(CallError::Length { got: 4, expected: 5 }));

        let mut long = EchoCheck::new(b"hello", false);
        long.accept(b"hello").unwrap();
        assert_eq!(long.accept(b"!"), Err(CallError::Length { got: 6, expected: 5 }));

        let mut unlike = EchoCheck::new(b"hello", true);
        unlike.accept(b"he").unwrap();
        assert_eq!(unlike.accept(b"lp!"), Err(CallError::Mismatch(3)));

        let mut unverified = EchoCheck::new(b"hello", false);
        unverified.accept(b"jello").unwrap();
        assert_eq!(unverified.finish(), Ok(()), "without verification only the length counts");
    }
}
