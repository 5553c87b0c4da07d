//! The engine behind a TCP port, on one thread without locks: reads, processes, sends, over and over.
//!
//! It never waits for one client while another has sent something, and it never sends before the store has said that
//! what it sends is safe.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::engine::{Engine, EngineError, Now, Observer, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum Wait {
    Spin,
    /// It sleeps until something comes, a few milliseconds at most.
    Sleep,
}

const TICK_NS: u64 = 20_000_000;
/// Rounds without anything between two looks for new connections, when spinning.
const ROUNDS: u32 = 64;

pub struct Acceptor<O = ()> {
    engine: Engine<O>,
    listener: TcpListener,
    streams: Vec<Option<TcpStream>>,
    wait: Wait,
    quiet_rounds: u32,
    ticked_ns: u64,
}

/// By both clocks.
pub fn now() -> Now {
    let ns = |time: Timespec| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    Now { ns: ns(clock_gettime(ClockId::Monotonic)), utc_ns: ns(clock_gettime(ClockId::Realtime)) }
}

fn failed(verb: &'static str) -> impl FnOnce(std::io::Error) -> EngineError {
    move |source| EngineError::Io { verb, source }
}

impl<O: Observer> Acceptor<O> {
    /// Listens on an address: a loopback one, unless the caller means otherwise. Port 0 takes a free one.
    pub fn listen(engine: Engine<O>, address: SocketAddr, wait: Wait) -> Result<Self> {
        let listener = TcpListener::bind(address).map_err(failed("listen"))?;
        listener.set_nonblocking(true).map_err(failed("listen"))?;
        let room = engine.settings().connections_max;
        let streams = Vec::with_capacity(room);
        Ok(Acceptor { engine, listener, streams, wait, quiet_rounds: 0, ticked_ns: 0 })
    }

    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(failed("listen"))
    }

    pub fn engine(&mut self) -> &mut Engine<O> {
        &mut self.engine
    }

    /// Over all connections; `true` when something came.
    pub fn round(&mut self) -> Result<bool> {
        let mut is_busy = false;
        for number in 0..self.streams.len() {
            is_busy |= self.read(number)?;
        }
        if is_busy {
            self.quiet_rounds = 0;
            self.engine.seal()?;
            self.send_all()?;
            return Ok(true);
        }
        self.quiet_rounds += 1;
        self.between()?;
        Ok(false)
    }

    #[inline]
    fn read(&mut self, number: usize) -> Result<bool> {
        let Some(stream) = self.streams[number].as_mut() else { return Ok(false) };
        let Some(inbox) = self.engine.inbox(number) else { return Ok(false) };
        match stream.read(inbox.room()) {
            Ok(0) => self.close(number),
            Ok(bytes) => {
                inbox.add(bytes);
                self.engine.observer().read(number);
                self.engine.process(number, now())?;
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(false);
            }
            Err(_) => self.close(number),
        }
        Ok(true)
    }

    fn between(&mut self) -> Result {
        let now = now();
        self.engine.idle(now)?;
        if now.ns - self.ticked_ns > TICK_NS {
            self.ticked_ns = now.ns;
            self.engine.tick(now)?;
        }
        self.send_all()?;
        if self.wait == Wait::Sleep {
            self.sleep();
            self.accept(now)?;
        } else if self.quiet_rounds % ROUNDS == 0 {
            self.accept(now)?;
        }
        Ok(())
    }

    fn sleep(&mut self) {
        let mut sockets = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let streams = self.streams.iter().flatten();
        sockets.extend(streams.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let limit = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        // An error is met again where it belongs, at the next read.
        let _ = poll(&mut sockets, Some(&limit));
    }

    fn accept(&mut self, now: Now) -> Result {
        let (stream, _) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // A client that was gone again, or too many descriptors: others are not to suffer.
            Err(_) => return Ok(()),
        };
        let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        // Over the limit the stream is dropped: the client sees its connection closed.
        if let (Ok(()), Ok(number)) = (prepared, self.engine.connect(now)) {
            if number == self.streams.len() {
                self.streams.push(None);
            }
            self.streams[number] = Some(stream);
        }
        Ok(())
    }

    #[inline]
    fn send_all(&mut self) -> Result {
        for number in 0..self.streams.len() {
            let Some(stream) = self.streams[number].as_mut() else { continue };
            let is_ending = self.engine.ending(number).is_some();
            let Some(outbox) = self.engine.outbox(number) else { continue };
            if outbox.waiting().is_empty() {
                if is_ending {
                    self.close(number);
                }
                continue;
            }
            // The borrow of the outbox must end before the observer hears of it.
            self.engine.observer().sending(number);
            let Some(outbox) = self.engine.outbox(number) else { continue };
            let sent = stream.write(outbox.waiting());
            if let Ok(bytes) = sent {
                outbox.pass(bytes);
            }
            self.engine.observer().sent(number);
            match sent {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !is_ending => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Also one that is to end and does not read.
                Err(_) => self.close(number),
            }
        }
        Ok(())
    }

    /// Ends all connections and lets go of the store: others may open it.
    pub fn end(&mut self) {
        for number in 0..self.streams.len() {
            self.close(number);
        }
        self.engine.close();
    }

    fn close(&mut self, number: usize) {
        self.streams[number] = None;
        self.engine.disconnect(number);
    }
}
