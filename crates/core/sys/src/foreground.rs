//! Staying in the foreground of a terminal with a program that we started: signals that ask to end
//! are its to answer. What the terminal sends it gets itself; what somebody sends to us is passed
//! on.
#![allow(unsafe_code)]

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use crate::signal_wait::{Received, SignalSet};

/// Signals wait from its making on, in the thread that made it and in those that are started then.
pub struct Foreground {
    signals: SignalSet,
    before: SignalSet,
}

impl Foreground {
    /// To be called before other threads are started: they must hold signals back too.
    pub fn begin() -> io::Result<Foreground> {
        let signals = SignalSet::forwarded_and_children();
        let before = signals.block()?;
        Ok(Foreground { signals, before })
    }

    /// Starts a program that does not hold signals back: a mask is inherited.
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        let before = self.before;
        let restored = move || {
            before.restore();
            Ok(())
        };
        // SAFETY: the closure makes two system calls, and allocates nothing.
        unsafe { command.pre_exec(restored) };
        command.spawn()
    }

    /// Waits until a child has ended, whatever asks us to end meanwhile.
    pub fn wait_for(&self, mut child: Child) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if let Received::Sent(signal) | Received::Relayed(signal) = self.signals.wait() {
                // SAFETY: a child that was not waited for yet: the number is its own.
                unsafe { libc::kill(child.id() as i32, signal) };
            }
        }
    }

    pub fn is_asked_within(&self, time: Duration) -> bool {
        !matches!(self.signals.wait_within(time), None | Some(Received::Child))
    }
}
