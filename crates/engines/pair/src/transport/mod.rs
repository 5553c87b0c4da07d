//! What carries bytes between two nodes: TCP, or Aeron where it was built in.
//!
//! A transport is two things: a [`Connection`], over which bytes arrive in order or not at all, and a [`Door`], where
//! connections come in. What the bytes mean is [`crate::wire`]'s; nothing above this module knows what carries them.

#[cfg(feature = "aeron")]
mod aeron;
mod tcp;

use std::{
    any::Any,
    fmt,
    io::{self, Read, Write},
    net::SocketAddr,
    os::fd::BorrowedFd,
    time::Duration,
};

use crate::error::{Error, Result};

/// How long a thread sleeps that waits for a connection of which poll(2) knows nothing.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_micros(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum Transport {
    /// TCP with TCP_NODELAY, buffers of the kernel's choice, one connection for each secondary.
    #[default]
    Tcp,
    /// Aeron over UDP, two streams for each secondary, through a media driver. Needs the feature `aeron`.
    Aeron,
}

impl Transport {
    pub const ALL: [Transport; 2] = [Transport::Tcp, Transport::Aeron];

    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Aeron => "aeron",
        }
    }

    pub fn of_name(name: &str) -> Option<Transport> {
        Transport::ALL.into_iter().find(|transport| transport.name() == name)
    }

    pub fn is_built(self) -> bool {
        self == Transport::Tcp || cfg!(feature = "aeron")
    }

    /// What a build lacks that does not have it, and the way out.
    pub const MISSING: &'static str =
        "this build has no Aeron; build it with scripts/aeron, or take transport tcp";

    pub(crate) fn check(self) -> Result<()> {
        if self.is_built() { Ok(()) } else { Err(Error::NotBuilt) }
    }

    /// Begins what its connections share; it lasts until the last of them and what is given here are gone.
    pub(crate) fn begin(self) -> Result<Box<dyn Any + Send>> {
        match self {
            Transport::Tcp => Ok(Box::new(())),
            #[cfg(feature = "aeron")]
            Transport::Aeron => match aeron::media() {
                Ok(media) => Ok(Box::new(media)),
                Err(error) => Err(Error::io("start", "Aeron")(error)),
            },
            #[cfg(not(feature = "aeron"))]
            Transport::Aeron => Err(Error::NotBuilt),
        }
    }

    pub(crate) fn listen(self, address: SocketAddr) -> Result<Box<dyn Door>> {
        let failed = Error::io("listen on", address);
        match self {
            Transport::Tcp => tcp::listen(address).map_err(failed),
            #[cfg(feature = "aeron")]
            Transport::Aeron => aeron::listen(address).map_err(failed),
            #[cfg(not(feature = "aeron"))]
            Transport::Aeron => Err(Error::NotBuilt),
        }
    }

    /// Connects to a door, within this time; calls wait as long at most, until something else is set.
    pub(crate) fn connect(
        self,
        address: SocketAddr,
        limit: Duration,
    ) -> Result<Box<dyn Connection>> {
        let failed = Error::io("connect to", address);
        match self {
            Transport::Tcp => tcp::connect(address, limit).map_err(failed),
            #[cfg(feature = "aeron")]
            Transport::Aeron => aeron::connect(address, limit).map_err(failed),
            #[cfg(not(feature = "aeron"))]
            Transport::Aeron => Err(Error::NotBuilt),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes to and from one other node.
///
/// A read of no bytes says that the other side has closed. A call that finds nothing to do fails with `WouldBlock`,
/// at once or, where it may wait, after that time (then perhaps with `TimedOut`).
pub(crate) trait Connection: Read + Write + Send {
    /// How long a call may wait from now on; `None`: not at all.
    fn wait_at_most(&mut self, limit: Option<Duration>) -> io::Result<()>;

    /// What poll(2) can wait for; `None` where only looking again tells.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
}

pub(crate) trait Door: Send {
    fn address(&self) -> SocketAddr;

    /// From where, too; its calls do not wait. `None` when nobody knocks.
    fn accept(&mut self) -> Option<(Box<dyn Connection>, SocketAddr)>;

    /// As [`Connection::fd`].
    fn fd(&self) -> Option<BorrowedFd<'_>>;
}
