use super::core::ConnectionNumber;
use crate::codec::{Header, Version};
use crate::session::{End, Names, Role, Session, Timing};
use crate::store::SessionNumber;

const READ_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Inbox {
    pub(super) fn new(message_bytes_max: usize) -> Inbox {
        Inbox { bytes: vec![0; message_bytes_max + READ_BYTES], from: 0, to: 0 }
    }

    /// Where the next bytes go: never empty, for whole messages are taken out and longer ones refused.
    pub fn room(&mut self) -> &mut [u8] {
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        } else if self.bytes.len() - self.to < READ_BYTES {
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        &mut self.bytes[self.to..]
    }

    pub fn add(&mut self, bytes: usize) {
        self.to = (self.to + bytes).min(self.bytes.len());
    }

    pub(super) fn waiting(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    pub(super) fn pass(&mut self, bytes: usize) {
        self.from += bytes;
    }
}

#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    from: usize,
}

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox { bytes: Vec::with_capacity(256 << 10), from: 0 }
    }

    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    pub fn pass(&mut self, bytes: usize) {
        self.from += bytes;
        if self.from >= self.bytes.len() {
            self.bytes.clear();
            self.from = 0;
        }
    }

    pub(super) fn add(&mut self, message: &[u8]) {
        self.bytes.extend_from_slice(message);
    }
}

pub(super) struct Connection {
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
    pub(super) member: Option<SessionNumber>,
    /// The next number to be sent again: until all is, new messages wait in the store.
    pub(super) resending: Option<u64>,
    pub(super) ending: Option<End>,
    pub(super) opened_ns: u64,
}

pub(super) struct Member {
    pub(super) session: Session,
    pub(super) version: Version,
    pub(super) peer: Vec<u8>,
    pub(super) connection: Option<ConnectionNumber>,
}

impl Member {
    pub(super) fn new(version: Version, peer: &[u8], timing: Timing) -> Member {
        let session = Session::new(Role::Acceptor, timing);
        Member { session, version, peer: peer.to_vec(), connection: None }
    }

    #[inline]
    pub(super) fn names<'a>(&'a self, comp_id: &'a str) -> Names<'a> {
        Names { version: self.version, us: comp_id.as_bytes(), peer: &self.peer }
    }

    /// `FIX.4.4-PEER`
    pub(super) fn name(&self) -> Vec<u8> {
        [self.version.text().as_bytes(), b"-", &self.peer].concat()
    }

    pub(super) fn named(name: &[u8], timing: Timing) -> Option<Member> {
        let dash = name.iter().position(|byte| *byte == b'-')?;
        let version = Version::of(&name[..dash])?;
        Some(Member::new(version, &name[dash + 1..], timing))
    }

    #[inline]
    pub(super) fn is_of(&self, header: &Header<'_>) -> bool {
        header.version == Some(self.version) && header.sender == self.peer
    }
}
