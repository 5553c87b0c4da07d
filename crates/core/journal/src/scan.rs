use std::io;

use crate::error::DamageKind;
use crate::evidence::LaterRecords;
use crate::layout::{RECORD_ALIGN_BYTES, RECORD_HEADER_BYTES, RecordHeader};
use crate::storage::StorageFile;

const CHUNK_BYTES: usize = 1 << 20;
/// No journal gets this far ahead of a hole; random bytes nearly always do.
const SEQUENCES_AHEAD_MAX: u64 = 1 << 40;

pub(crate) struct Window<'a, F> {
    file: &'a F,
    length_bytes: u64,
    bytes: Vec<u8>,
    start_bytes: u64,
    filled: usize,
}

impl<'a, F: StorageFile> Window<'a, F> {
    /// `file` may still grow.
    pub(crate) fn new(file: &'a F) -> io::Result<Self> {
        let length_bytes = file.length_bytes()?;
        Ok(Self { file, length_bytes, bytes: Vec::new(), start_bytes: 0, filled: 0 })
    }

    /// When it was last asked.
    pub(crate) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Forgets what was read, so that the next look sees what a writer has done since.
    pub(crate) fn refresh(&mut self) -> io::Result<()> {
        self.filled = 0;
        self.length_bytes = self.file.length_bytes()?;
        Ok(())
    }

    /// Up to `count` bytes at `offset_bytes`; fewer only at the end of the file.
    pub(crate) fn get(&mut self, offset_bytes: u64, count: usize) -> io::Result<&[u8]> {
        let left = self.length_bytes.saturating_sub(offset_bytes);
        let count = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        let end_bytes = offset_bytes + count as u64;
        let held =
            offset_bytes >= self.start_bytes && end_bytes <= self.start_bytes + self.filled as u64;
        if !held {
            self.fill(offset_bytes, count)?;
        }
        let from = (offset_bytes - self.start_bytes) as usize;
        Ok(&self.bytes[from..self.filled.min(from + count)])
    }

    fn fill(&mut self, offset_bytes: u64, count: usize) -> io::Result<()> {
        let left = self.length_bytes.saturating_sub(offset_bytes);
        let chunk = left.min(CHUNK_BYTES as u64) as usize;
        self.bytes.resize(count.max(chunk), 0);
        self.start_bytes = offset_bytes;
        self.filled = 0;
        while self.filled < self.bytes.len() {
            let at = offset_bytes + self.filled as u64;
            match self.file.read_at(at, &mut self.bytes[self.filled..]) {
                Ok(0) => return Ok(()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Record(RecordHeader),
    End(DamageKind),
}

/// Sealed with `salt`.
pub(crate) fn step<F: StorageFile>(
    window: &mut Window<'_, F>,
    offset_bytes: u64,
    salt: u32,
    expected: u64,
) -> io::Result<Step> {
    let left = window.length_bytes().saturating_sub(offset_bytes);
    let head = window.get(offset_bytes, RECORD_HEADER_BYTES)?;
    let Some(header) = RecordHeader::peek(head) else {
        return Ok(Step::End(DamageKind::Missing));
    };
    if head.iter().all(|byte| *byte == 0) {
        return Ok(Step::End(DamageKind::Blank));
    }
    if RECORD_HEADER_BYTES as u64 + u64::from(header.payload_bytes) > left {
        // The right sequence says that the record was begun; the file ends before it does.
        return Ok(Step::End(match header.sequence == expected {
            true => DamageKind::Missing,
            false => DamageKind::Length(header.payload_bytes),
        }));
    }
    let record = window.get(offset_bytes, header.record_bytes() as usize)?;
    if !header.matches(record, salt) {
        return Ok(Step::End(DamageKind::Checksum));
    }
    if header.sequence != expected {
        return Ok(Step::End(DamageKind::Sequence(header.sequence)));
    }
    Ok(Step::Record(header))
}

/// Sealed with `salt` and numbered above `after`.
pub(crate) fn later_records<F: StorageFile>(
    window: &mut Window<'_, F>,
    offset_bytes: u64,
    salt: u32,
    after: u64,
) -> io::Result<LaterRecords> {
    let mut later = LaterRecords::default();
    let mut at = offset_bytes.next_multiple_of(RECORD_ALIGN_BYTES as u64);
    while at + (RECORD_HEADER_BYTES as u64) <= window.length_bytes() {
        match whole_record(window, at, salt, after)? {
            Some(header) => {
                later.count += 1;
                later.first_sequence.get_or_insert(header.sequence);
                later.durable_through = later.durable_through.max(header.durable_through);
                at += header.record_bytes();
            }
            None => at += RECORD_ALIGN_BYTES as u64,
        }
    }
    Ok(later)
}

fn whole_record<F: StorageFile>(
    window: &mut Window<'_, F>,
    offset_bytes: u64,
    salt: u32,
    after: u64,
) -> io::Result<Option<RecordHeader>> {
    let left = window.length_bytes() - offset_bytes;
    let Some(header) = RecordHeader::peek(window.get(offset_bytes, RECORD_HEADER_BYTES)?) else {
        return Ok(None);
    };
    let plausible = header.sequence > after
        && header.sequence - after < SEQUENCES_AHEAD_MAX
        && header.durable_through < header.sequence
        && RECORD_HEADER_BYTES as u64 + u64::from(header.payload_bytes) <= left;
    if !plausible {
        return Ok(None);
    }
    let record = window.get(offset_bytes, header.record_bytes() as usize)?;
    Ok(header.matches(record, salt).then_some(header))
}

/// Bytes from `offset_bytes` to the last one in the file that is not zero.
pub(crate) fn bytes_not_blank<F: StorageFile>(
    window: &mut Window<'_, F>,
    offset_bytes: u64,
) -> io::Result<u64> {
    let mut end_bytes = offset_bytes;
    let mut at = offset_bytes;
    while at < window.length_bytes() {
        let bytes = window.get(at, CHUNK_BYTES)?;
        if bytes.is_empty() {
            break;
        }
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            end_bytes = at + last as u64 + 1;
        }
        at += bytes.len() as u64;
    }
    Ok(end_bytes - offset_bytes)
}
