use std::{
    io::{self, ErrorKind, Read, Write},
    os::fd::BorrowedFd,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rusteron_client::{AeronExclusivePublication, AeronOfferError, AeronSubscription};

use super::{
    super::{Connection, LOOK_AGAIN},
    driver::Media,
};

/// Fragments that are taken at a time, about an MTU each.
const FRAGMENTS: usize = 64;

pub(super) struct Stream {
    voice: AeronExclusivePublication,
    ears: AeronSubscription,
    message_bytes_max: usize,
    /// What was taken and did not fit where it was read to; the first `given` bytes are gone.
    rest: Vec<u8>,
    given: usize,
    has_heard: bool,
    limit: Option<Duration>,
    _media: Arc<Media>,
}

impl Stream {
    pub(super) fn new(
        media: Arc<Media>,
        voice: AeronExclusivePublication,
        ears: AeronSubscription,
    ) -> Stream {
        let constants = voice.get_constants();
        // What fits into one fragment goes in any case.
        let message_bytes_max = constants.map_or(1024, |known| known.max_message_length());
        Stream {
            voice,
            ears,
            message_bytes_max,
            rest: Vec::new(),
            given: 0,
            has_heard: false,
            limit: None,
            _media: media,
        }
    }

    /// Tries until it is not for want of room or of news that it fails, or the time is over.
    fn patiently<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Stream) -> io::Result<T>,
    ) -> io::Result<T> {
        let until = self.limit.map(|limit| Instant::now() + limit);
        loop {
            let done = attempt(self);
            let is_nothing =
                done.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
            if !is_nothing || until.is_none_or(|until| Instant::now() >= until) {
                return done;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    #[inline]
    fn take(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let (mut count, rest) = (0, &mut self.rest);
        let taken = self.ears.poll_fn(
            |fragment, _| {
                let fits = fragment.len().min(bytes.len() - count);
                bytes[count..count + fits].copy_from_slice(&fragment[..fits]);
                rest.extend_from_slice(&fragment[fits..]);
                count += fits;
            },
            FRAGMENTS,
        );
        taken.map_err(io::Error::other)?;
        match count {
            0 => self.silence(),
            count => {
                self.has_heard = true;
                Ok(count)
            }
        }
    }

    /// Nothing came: not yet, or never again.
    fn silence(&mut self) -> io::Result<usize> {
        match self.ears.is_connected() {
            false if self.has_heard => return Ok(0),
            is_connected => self.has_heard |= is_connected,
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Connection for Stream {
    fn wait_at_most(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.limit = limit;
        Ok(())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.given < self.rest.len() {
            let count = bytes.len().min(self.rest.len() - self.given);
            bytes[..count].copy_from_slice(&self.rest[self.given..self.given + count]);
            self.given += count;
            return Ok(count);
        }
        self.rest.clear();
        self.given = 0;
        self.patiently(|stream| stream.take(bytes))
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = &bytes[..bytes.len().min(self.message_bytes_max)];
        if part.is_empty() {
            return Ok(0);
        }
        self.patiently(|stream| match stream.voice.offer(part) {
            Ok(_) => Ok(part.len()),
            Err(AeronOfferError::BackPressured | AeronOfferError::AdminAction) => {
                Err(ErrorKind::WouldBlock.into())
            }
            // It was connected when it was made.
            Err(AeronOfferError::NotConnected) => Err(ErrorKind::ConnectionReset.into()),
            Err(error) => Err(io::Error::other(error.to_string())),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
