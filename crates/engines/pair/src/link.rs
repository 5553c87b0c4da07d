//! A secondary that follows: frames go out, acknowledgements come in, and nothing ever waits.

use std::{
    io::{self, ErrorKind},
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use crate::epoch::Epoch;
use crate::gate::Seen;
use crate::inbox::Inbox;
use crate::outbox::{Outbox, Place};
use crate::transport::Connection;
use crate::wire::{Frame, SHORT_FRAME_BYTES_MAX};

/// A connection over which both sides have agreed, and what is known of the other.
pub(crate) struct Joined {
    pub(crate) stream: Box<dyn Connection>,
    pub(crate) inbox: Inbox,
    pub(crate) next: u64,
    pub(crate) received: u64,
    pub(crate) durable: u64,
}

pub(crate) struct Link {
    stream: Box<dyn Connection>,
    inbox: Inbox,
    epoch: Epoch,
    place: Place,
    beat: Vec<u8>,
    received: u64,
    durable: u64,
    heard: Instant,
    spoken: Instant,
}

impl Link {
    pub(crate) fn new(mut joined: Joined, epoch: Epoch, place: Place) -> io::Result<Link> {
        joined.stream.wait_at_most(None)?;
        let now = Instant::now();
        Ok(Link {
            stream: joined.stream,
            inbox: joined.inbox,
            epoch,
            place,
            beat: Vec::with_capacity(SHORT_FRAME_BYTES_MAX),
            received: joined.received,
            durable: joined.durable,
            heard: now,
            spoken: now,
        })
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen { is_live: true, received: self.received, durable: self.durable }
    }

    /// For poll(2), if there is such a thing.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.stream.fd()
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
            match self.stream.write_vectored(&outbox.from(self.place)) {
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
            match self.stream.write(&self.beat) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.beat.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// `true` if there were any.
    #[inline]
    pub(crate) fn hear(&mut self) -> io::Result<bool> {
        match self.inbox.fill(&mut self.stream) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => self.take_acks(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn take_acks(&mut self) -> io::Result<bool> {
        while let Some(frame) = self.inbox.next().map_err(io::Error::other)? {
            match frame {
                Frame::Ack { epoch, received, durable } if epoch == self.epoch => {
                    self.received = self.received.max(received);
                    self.durable = self.durable.max(durable);
                }
                other => return Err(io::Error::other(format!("{other:?} where an ack was due"))),
            }
        }
        self.heard = Instant::now();
        Ok(true)
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
