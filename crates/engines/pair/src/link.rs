//! A secondary that follows: frames go out, acknowledgements come in, and nothing ever waits.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use crate::epoch::Epoch;
use crate::gate::Seen;
use crate::outbox::{Outbox, Place};
use crate::transport::Connection;
use crate::wire::{Frame, Inbox, SHORT_FRAME_BYTES_MAX, flawed};

/// A connection over which both sides have agreed, and what is known of the other.
pub(crate) struct Joined {
    pub(crate) stream: Box<dyn Connection>,
    pub(crate) inbox: Inbox,
    pub(crate) next: u64,
    pub(crate) received: u64,
    pub(crate) durable: u64,
}

impl Joined {
    /// Takes acknowledgements; `false` where nothing came.
    #[inline]
    pub(crate) fn hear(&mut self, ours: Epoch) -> io::Result<bool> {
        match self.inbox.fill(&mut self.stream) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if is_nothing(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        while let Some(frame) = self.inbox.next().map_err(flawed)? {
            match frame {
                Frame::Ack { epoch, received, durable } if epoch == ours => {
                    self.received = self.received.max(received);
                    self.durable = self.durable.max(durable);
                }
                other => return Err(flawed(format!("{other:?} where an ack was due"))),
            }
        }
        Ok(true)
    }
}

pub(crate) fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

pub(crate) struct Link {
    joined: Joined,
    epoch: Epoch,
    place: Place,
    beat: Vec<u8>,
    heard: Instant,
    spoken: Instant,
}

impl Link {
    pub(crate) fn new(mut joined: Joined, epoch: Epoch, place: Place) -> io::Result<Link> {
        joined.stream.wait_at_most(None)?;
        let (beat, heard) = (Vec::with_capacity(SHORT_FRAME_BYTES_MAX), Instant::now());
        Ok(Link { joined, epoch, place, beat, heard, spoken: heard })
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen { is_live: true, received: self.joined.received, durable: self.joined.durable }
    }

    /// For poll(2), if there is such a thing.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.joined.stream.fd()
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// `true` when that was all.
    #[inline]
    pub(crate) fn send(&mut self, outbox: &Outbox) -> io::Result<bool> {
        if !self.beat.is_empty() && !self.send_beat()? {
            return Ok(false);
        }
        while self.place < outbox.end() {
            match self.joined.stream.write_vectored(&outbox.from(self.place)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.place += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn send_beat(&mut self) -> io::Result<bool> {
        while !self.beat.is_empty() {
            match self.joined.stream.write(&self.beat) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.beat.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    #[inline]
    pub(crate) fn hear(&mut self) -> io::Result<()> {
        if self.joined.hear(self.epoch)? {
            self.heard = Instant::now();
        }
        Ok(())
    }

    /// Says that we live, if nothing else was said for a quarter of the time-out; finds the other one dead where
    /// it was silent for all of it.
    pub(crate) fn keep_alive(
        &mut self,
        now: Instant,
        timeout: Duration,
        outbox: &Outbox,
        last_sequence: u64,
    ) -> io::Result<()> {
        if now.saturating_duration_since(self.heard) > timeout {
            let silent = format!("silent for {} ms", timeout.as_millis());
            return Err(io::Error::new(ErrorKind::TimedOut, silent));
        }
        let is_between_frames = self.place == outbox.end() && self.beat.is_empty();
        if is_between_frames && now.saturating_duration_since(self.spoken) >= timeout / 4 {
            self.spoken = now;
            Frame::Beat { epoch: self.epoch, last_sequence }.encode(&mut self.beat);
            self.send_beat()?;
        }
        Ok(())
    }
}
