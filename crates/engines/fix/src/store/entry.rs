//! One record of a store: a message with what is needed to go on behind it.
//!
//! ```text
//!  0      4          8           16         24          32
//! ┌──────┬──────────┬───────────┬──────────┬───────────┬─────────────
//! │ kind │ session  │ sequence  │ next     │ time_ns   │ message ...     all numbers little-endian
//! └──────┴──────────┴───────────┴──────────┴───────────┴─────────────
//! ```

use super::SessionNumber;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A session was seen for the first time: the message is its name.
    Session,
    In,
    /// Of the session itself: never sent again.
    OutAdministrative,
    OutBusiness,
    /// Both sequence numbers begin again at 1.
    Reset,
    /// An order that came in, in its turn, and that the risk check did not allow.
    Refused,
}

const KINDS: [EntryKind; 6] = [
    EntryKind::Session,
    EntryKind::In,
    EntryKind::OutAdministrative,
    EntryKind::OutBusiness,
    EntryKind::Reset,
    EntryKind::Refused,
];

pub(super) const HEAD_BYTES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    pub kind: EntryKind,
    pub session: SessionNumber,
    pub sequence: u64,
    /// The number that is expected, or given, next in this direction.
    pub next: u64,
    /// When the message was read or sent, since 1970.
    pub time_ns: u64,
    pub message: &'a [u8],
}

impl<'a> Entry<'a> {
    #[inline]
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or(0) as u32;
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&self.session.to_le_bytes());
        for word in [self.sequence, self.next, self.time_ns] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(self.message);
    }

    /// `None` where it is no record.
    pub fn decode(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let word = |at: usize| {
            let eight = bytes.get(at..at + 8)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*eight))
        };
        let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..at + 4)?.first_chunk()?));
        Some(Entry {
            kind: *KINDS.get(half(0)? as usize)?,
            session: half(4)?,
            sequence: word(8)?,
            next: word(16)?,
            time_ns: word(24)?,
            message: bytes.get(HEAD_BYTES..)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_was_written_and_less_is_none() {
        let mut bytes = Vec::new();
        for kind in KINDS {
            let entry =
                Entry { kind, session: 3, sequence: 7, next: 8, time_ns: 9, message: b"8=FIX" };
            entry.encode(&mut bytes);
            assert_eq!(Entry::decode(&bytes), Some(entry));
        }
        assert_eq!(Entry::decode(&bytes[..31]), None);
        bytes[0] = 99;
        assert_eq!(Entry::decode(&bytes), None);
    }
}
