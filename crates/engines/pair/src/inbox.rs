//! What has come from a socket and is not yet taken: whole frames are handed out where they stand.

use std::io::{self, Read};

use crate::wire::{Flaw, Frame, parse};

/// It grows up to the longest frame.
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    pub(crate) fn new(capacity_bytes: usize) -> Inbox {
        Inbox { bytes: vec![0; capacity_bytes], start: 0, end: 0 }
    }

    /// Once; gives the number of bytes, 0 at the end of the stream.
    pub(crate) fn fill(&mut self, source: &mut (impl Read + ?Sized)) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.bytes.len() {
            self.make_room();
        }
        let count = source.read(&mut self.bytes[self.end..])?;
        self.end += count;
        Ok(count)
    }

    #[cold]
    fn make_room(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }

    /// `None`: no whole frame has come.
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'_>>, Flaw> {
        let Some((frame, length)) = parse(&self.bytes[self.start..self.end])? else {
            return Ok(None);
        };
        self.start += length;
        Ok(Some(frame))
    }
}
