//! What stands at a place of a segment, checked: a message that comes out of here is whole.

use std::os::unix::fs::FileExt;

use super::error::{DamageKind, Error, Result};
use super::layout::{ALIGN_BYTES, MESSAGE_HEADER_BYTES, message_checksum, slot_bytes};
use super::segment::{IndexEntry, Segment};
use super::word::{Holder, Slot};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// By copies out of a mapping: no system call, page faults.
    Mapping,
    /// By pread(2): two system calls a message, and on some file systems the lock of the file.
    Calls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Empty,
    /// A claim that is not committed.
    Claimed {
        payload_bytes: usize,
        holder: Holder,
    },
    /// The payload is in the buffer's first bytes.
    Message {
        payload_bytes: usize,
        time_ns: u64,
    },
    Void {
        payload_bytes: usize,
    },
    End,
}

impl Segment {
    #[inline]
    pub(crate) fn read(
        &self,
        by: ReadBy,
        offset_bytes: u64,
        sequence: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Found> {
        let Some(word) = self.read_word(by, offset_bytes)? else { return Ok(Found::Empty) };
        let slot = Slot::decode(word);
        match slot {
            Slot::Empty => return Ok(Found::Empty),
            Slot::End => return Ok(Found::End),
            Slot::Unknown(word) => {
                return Err(Error::damage(&self.path, offset_bytes, DamageKind::Word(word)));
            }
            Slot::Claimed { .. } | Slot::Message { .. } | Slot::Void { .. } => {}
        }
        self.check_end(offset_bytes, slot)?;
        match slot {
            Slot::Claimed { payload_bytes, holder } => Ok(Found::Claimed { payload_bytes, holder }),
            Slot::Message { payload_bytes, checksum } => {
                let place = (offset_bytes, sequence);
                let time_ns = self.read_message(by, place, payload_bytes, checksum, buffer)?;
                Ok(Found::Message { payload_bytes, time_ns })
            }
            Slot::Void { payload_bytes } => Ok(Found::Void { payload_bytes }),
            Slot::Empty | Slot::End | Slot::Unknown(_) => Ok(Found::Empty),
        }
    }

    /// `None` where the file has not grown to it.
    #[inline]
    fn read_word(&self, by: ReadBy, offset_bytes: u64) -> Result<Option<u64>> {
        if by == ReadBy::Calls {
            let mut word = [0; 8];
            let read = self
                .file
                .read_at(&mut word, offset_bytes)
                .map_err(Error::io("read", &self.path))?;
            return Ok((read == word.len()).then(|| u64::from_le_bytes(word)));
        }
        Ok(self.reaches(offset_bytes + ALIGN_BYTES)?.then(|| self.map.look(offset_bytes)))
    }

    /// A slot lies in the segment, with room for the next word, and the file reaches to its end.
    #[inline]
    pub(crate) fn check_end(&self, offset_bytes: u64, slot: Slot) -> Result<u64> {
        let end = offset_bytes + slot.bytes().unwrap_or(0);
        if end + ALIGN_BYTES > self.segment_bytes {
            let length = slot.bytes().unwrap_or(0).saturating_sub(MESSAGE_HEADER_BYTES) as usize;
            return Err(Error::damage(&self.path, offset_bytes, DamageKind::Length(length)));
        }
        if !self.reaches(end)? {
            let length_bytes = self.known_bytes();
            return Err(Error::damage(&self.path, length_bytes, DamageKind::Cut { length_bytes }));
        }
        Ok(end)
    }

    #[inline]
    fn read_message(
        &self,
        by: ReadBy,
        (offset_bytes, sequence): (u64, u64),
        payload_bytes: usize,
        checksum: u32,
        buffer: &mut Vec<u8>,
    ) -> Result<u64> {
        if buffer.len() < payload_bytes {
            buffer.resize(payload_bytes, 0);
        }
        let payload = &mut buffer[..payload_bytes];
        let time_ns = match by {
            ReadBy::Mapping => {
                self.map.copy_out(offset_bytes + MESSAGE_HEADER_BYTES, payload);
                self.map.look(offset_bytes + 8)
            }
            ReadBy::Calls => {
                let mut time = [0; 8];
                let read = self.file.read_exact_at(&mut time, offset_bytes + 8).and_then(|()| {
                    self.file.read_exact_at(payload, offset_bytes + MESSAGE_HEADER_BYTES)
                });
                read.map_err(Error::io("read", &self.path))?;
                u64::from_le_bytes(time)
            }
        };
        if message_checksum(self.salt, sequence, time_ns, payload) != checksum {
            return Err(Error::damage(&self.path, offset_bytes, DamageKind::Checksum(sequence)));
        }
        Ok(time_ns)
    }

    /// The last index entry before which (by `is_before`) the wanted message cannot stand, if a whole message
    /// stands where it points. The index is a hint: what does not check out is left out.
    pub(crate) fn landing(
        &self,
        first_sequence: u64,
        is_before: impl Fn(&IndexEntry) -> bool,
        buffer: &mut Vec<u8>,
    ) -> Option<IndexEntry> {
        let mut block = self.last_block(&is_before)?;
        loop {
            if let Some(entry) = self.entry(block).filter(&is_before) {
                let sequence = first_sequence.saturating_add(entry.ordinal);
                let found = self.read(ReadBy::Mapping, entry.offset_bytes, sequence, buffer);
                if matches!(found, Ok(Found::Message { .. })) {
                    return Some(entry);
                }
            }
            block = block.checked_sub(1)?;
        }
    }

    /// Bisects: an entry that is missing counts as too late, so that a hole makes a search longer, not wrong.
    fn last_block(&self, is_before: impl Fn(&IndexEntry) -> bool) -> Option<u64> {
        let (mut low, mut high) = (0, self.index_len());
        while low < high {
            let middle = low + (high - low) / 2;
            let is_early = self.entry(middle).is_some_and(|entry| is_before(&entry));
            if is_early { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset_bytes: u64,
    pub(crate) sequence: u64,
    /// Where the slot before stood; the same as `offset_bytes` at the start.
    pub(crate) before_bytes: u64,
}

impl Place {
    pub(crate) fn start(segment: &Segment, first_sequence: u64) -> Self {
        let offset_bytes = segment.data_start;
        Self { offset_bytes, sequence: first_sequence, before_bytes: 0 }
    }

    /// Behind an index entry's predecessor: at its message.
    pub(crate) fn at(entry: IndexEntry, first_sequence: u64) -> Self {
        Self {
            offset_bytes: entry.offset_bytes,
            sequence: first_sequence + entry.ordinal,
            before_bytes: entry.offset_bytes,
        }
    }

    /// Behind a slot with this payload.
    #[inline]
    pub(crate) fn pass(&mut self, payload_bytes: usize) {
        self.before_bytes = self.offset_bytes;
        self.offset_bytes += slot_bytes(payload_bytes);
        self.sequence += 1;
    }
}
