use crate::session::End;
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
