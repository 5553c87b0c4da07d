use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Joined {
        peer: SocketAddr,
        /// The first message that it gets from memory.
        next: u64,
    },
    Lost {
        peer: SocketAddr,
        reason: String,
    },
    /// A secondary does not begin to follow; told once for each reason in a row.
    Absent {
        peer: SocketAddr,
        reason: String,
    },
    /// Messages of this node's own last reign, which it had lost, have come back.
    Inherited {
        peer: SocketAddr,
        from: u64,
        through: u64,
    },
    /// From the message behind this one on, safe means in the local store alone.
    Degraded {
        /// The last one that was safe at the degree.
        safe: u64,
    },
    /// Safe means again what the degree says; all up to here is so.
    Restored {
        safe: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Joined { peer, next } => write!(f, "{peer} follows from message {next} on"),
            Event::Lost { peer, reason } => write!(f, "{peer} is lost: {reason}"),
            Event::Absent { peer, reason } => write!(f, "{peer} does not follow: {reason}"),
            Event::Inherited { peer, from, through } => {
                write!(f, "messages {from} to {through} came back from {peer}")
            }
            Event::Degraded { safe } => {
                write!(f, "degraded: behind message {safe} only the local store has what is safe")
            }
            Event::Restored { safe } => write!(f, "restored: copies of all up to message {safe}"),
        }
    }
}

/// Kept until somebody asks; older ones are dropped.
pub(crate) struct Events<T>(VecDeque<T>);

const EVENTS_MAX: usize = 256;

impl<T> Events<T> {
    pub(crate) fn new() -> Events<T> {
        Events(VecDeque::with_capacity(EVENTS_MAX))
    }

    pub(crate) fn note(&mut self, event: T) {
        if self.0.len() == EVENTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(event);
    }

    pub(crate) fn next(&mut self) -> Option<T> {
        self.0.pop_front()
    }
}
