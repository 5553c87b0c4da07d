use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::store::StoreOptions;
use crate::transport::Transport;

/// When a message is safe, so that business logic may see it and its sender may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum Degree {
    /// At once. It is written and sent soon after; a crash of the process loses what was not yet.
    None,
    /// When it is in the local store. It outlives what that store outlives, on this host.
    Local,
    /// When it is in the local store and enough secondaries have received it. It outlives one host.
    Received,
    /// When it is in the local store and enough secondaries have it in theirs and have synced. It outlives all
    /// hosts losing power at once, if the local store syncs too, or as many secondaries as were waited for.
    Durable,
}

impl Degree {
    pub const ALL: [Degree; 4] = [Degree::None, Degree::Local, Degree::Received, Degree::Durable];

    pub fn name(self) -> &'static str {
        match self {
            Degree::None => "none",
            Degree::Local => "local",
            Degree::Received => "received",
            Degree::Durable => "durable",
        }
    }

    pub fn needs_secondaries(self) -> bool {
        self >= Degree::Received
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum OnLoss {
    /// It takes no more messages, and what is not safe stays so until they are back.
    Stop,
    /// It goes on with the local store alone, says so in its events, and comes back to the degree when they have
    /// caught up. A message that was safe in between is lost with this host.
    Degrade,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum Waiting {
    Spin,
    /// It sleeps in poll(2) until something comes.
    Block,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrimaryOptions {
    pub dir: PathBuf,
    /// 1 to 255; no other node of the pair has it.
    pub node: u8,
    pub store: StoreOptions,
    /// At most 16.
    pub secondaries: Vec<SocketAddr>,
    /// They must listen with the same.
    pub transport: Transport,
    /// Of a new pair; 0 to choose one. Secondaries that were told the same follow no other.
    pub identity: u64,
    pub degree: Degree,
    /// How many secondaries must have a message.
    pub copies: usize,
    pub on_loss: OnLoss,
    /// A secondary that says nothing for this long is lost. Beats are sent four times as often.
    pub timeout: Duration,
    /// Of frames that are kept for secondaries that are slow.
    pub buffer_bytes: usize,
    pub waiting: Waiting,
}

impl PrimaryOptions {
    /// Node 1 with these secondaries, one of which must have received a message; it stops when there is none.
    pub fn new(dir: impl Into<PathBuf>, secondaries: Vec<SocketAddr>) -> Self {
        PrimaryOptions {
            dir: dir.into(),
            node: 1,
            store: StoreOptions::default(),
            secondaries,
            transport: Transport::default(),
            identity: 0,
            degree: Degree::Received,
            copies: 1,
            on_loss: OnLoss::Stop,
            timeout: Duration::from_secs(1),
            buffer_bytes: 4 << 20,
            waiting: Waiting::Block,
        }
    }

    pub const SECONDARIES_MAX: usize = 16;

    pub fn validate(&self) -> Result<()> {
        self.transport.check()?;
        let count = self.secondaries.len();
        if count > Self::SECONDARIES_MAX {
            let allowed = "at most 16";
            return Err(Error::Option { option: "secondaries", value: count as u64, allowed });
        }
        if self.degree.needs_secondaries() && !(1..=count).contains(&self.copies) {
            let allowed = "1 to the number of secondaries, or a degree that needs none";
            return Err(Error::Option { option: "copies", value: self.copies as u64, allowed });
        }
        if self.timeout < Duration::from_millis(10) {
            let value = self.timeout.as_millis() as u64;
            return Err(Error::Option { option: "timeout in ms", value, allowed: "10 or more" });
        }
        if self.buffer_bytes < 64 << 10 {
            let value = self.buffer_bytes as u64;
            return Err(Error::Option { option: "buffer_bytes", value, allowed: "65536 or more" });
        }
        Ok(())
    }
}

/// Messages that its primary never had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "programs", derive(clap::ValueEnum))]
pub enum OnDiverged {
    /// It ends with [`Error::Refused`].
    Refuse,
    /// It renames its store, begins an empty one, and catches up. Nothing is deleted.
    SetAside,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondaryOptions {
    pub dir: PathBuf,
    /// 1 to 255; no other node of the pair has it.
    pub node: u8,
    /// For a primary that waits for durable messages it must sync.
    pub store: StoreOptions,
    /// Whoever reaches this address can send it messages, where no `identity` was agreed on: keep it off other networks.
    pub listen: SocketAddr,
    /// Of the pair that a new node follows; 0 for that of the first primary that comes.
    pub identity: u64,
    pub transport: Transport,
    pub on_diverged: OnDiverged,
    /// A primary that says nothing for this long is lost.
    pub timeout: Duration,
    pub waiting: Waiting,
}

impl SecondaryOptions {
    /// Node 2.
    pub fn new(dir: impl Into<PathBuf>, listen: SocketAddr) -> Self {
        SecondaryOptions {
            dir: dir.into(),
            node: 2,
            store: StoreOptions::default(),
            listen,
            identity: 0,
            transport: Transport::default(),
            on_diverged: OnDiverged::Refuse,
            timeout: Duration::from_secs(1),
            waiting: Waiting::Block,
        }
    }
}
