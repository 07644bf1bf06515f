//! Reads the begin of something whose end may not have come yet.

/// Why reading ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// More is needed than has come.
    Short,
    /// It can't be what it should be, in words.
    Wrong(String),
}

/// What has come of a body.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(super) fn peek(&self) -> Result<u8, Stop> {
        self.bytes.get(self.at).copied().ok_or(Stop::Short)
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let taken = self.at.checked_add(count).and_then(|end| self.bytes.get(self.at..end)).ok_or(Stop::Short)?;
        self.at += count;
        Ok(taken)
    }

    /// As much of the next `count` bytes as has come.
    pub(super) fn take_some(&mut self, count: usize) -> &'a [u8] {
        let left = &self.bytes[self.at..];
        let taken = &left[..left.len().min(count)];
        self.at += taken.len();
        taken
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Stop::Short)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Stop> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn i16(&mut self) -> Result<i16, Stop> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_be_bytes)
    }
}
