//! The buffer where records are encoded before the timed write: allocated and touched once, aligned to
//! a block, never moved. For direct writes it starts with what the file's last block holds already.

use crate::aligned::Aligned;
use crate::axes::Framing;
use crate::layout::{BLOCK_BYTES, RECORD_HEADER_BYTES, RecordHeader};

/// Records that one batch can hold: as many as writev(2) takes elements (UIO_MAXIOV).
const RECORDS_MAX: usize = 1024;

#[derive(Debug)]
pub struct EncodeBuffer {
    memory: Aligned,
    framing: Framing,
    whole_blocks: bool,
    tail: usize,
    end: usize,
    written: bool,
    starts: Vec<u32>,
}

impl EncodeBuffer {
    /// `capacity_bytes` is a multiple of 4096. `whole_blocks` for direct writes.
    pub(crate) fn new(capacity_bytes: usize, framing: Framing, whole_blocks: bool) -> Self {
        Self {
            memory: Aligned::zeroed(capacity_bytes),
            framing,
            whole_blocks,
            tail: 0,
            end: 0,
            written: false,
            starts: Vec::with_capacity(RECORDS_MAX),
        }
    }

    #[inline]
    pub fn region(&self) -> &[u8] {
        self.memory.bytes()
    }

    #[inline]
    pub(crate) fn pending_bytes(&self) -> usize {
        if self.written { 0 } else { self.end - self.tail }
    }

    #[inline]
    pub(crate) fn pending_records(&self) -> u32 {
        if self.written { 0 } else { self.starts.len() as u32 }
    }

    pub(crate) fn writes_whole_blocks(&self) -> bool {
        self.whole_blocks
    }

    /// Those at the start of [`Self::bytes`] that the file has already.
    #[inline]
    pub(crate) fn tail_bytes(&self) -> usize {
        self.tail
    }

    /// The waiting bytes, or the whole blocks around them.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let end = if self.whole_blocks { self.end.next_multiple_of(BLOCK_BYTES) } else { self.end };
        &self.region()[..end]
    }

    /// The waiting records one by one, for a vectored write. Covers [`Self::bytes`] without gaps.
    pub fn pieces(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let bytes = self.bytes();
        (0..self.starts.len()).map(move |at| {
            let end = self.starts.get(at + 1).map_or(bytes.len(), |start| *start as usize);
            &bytes[self.starts[at] as usize..end]
        })
    }

    #[inline]
    pub(crate) fn has_room(&self, record_bytes: usize) -> bool {
        let (start, records) = match self.written {
            true => (self.kept_bytes(), 0),
            false => (self.end, self.starts.len()),
        };
        let end = start + record_bytes;
        end.next_multiple_of(BLOCK_BYTES) <= self.region().len() && records < RECORDS_MAX
    }

    /// The caller has asked [`Self::has_room`].
    #[inline]
    pub(crate) fn push(&mut self, payload: &[u8], header: RecordHeader, salt: u32) {
        self.settle();
        let start = self.end;
        self.starts.push(start as u32);
        let end = match self.framing {
            Framing::Raw => self.put(start, payload),
            Framing::Record => self.put_record(start, payload, header, salt),
        };
        if self.whole_blocks {
            let padded = end.next_multiple_of(BLOCK_BYTES);
            self.region_mut()[end..padded].fill(0);
        }
        self.end = end;
    }

    /// Notes that the waiting bytes are in the file. Moving the last block to the front is left for the
    /// next [`Self::push`], outside the timed write.
    pub(crate) fn mark_written(&mut self) {
        self.written = true;
    }

    /// Seals the waiting records again for another file, which starts on a block border.
    pub(crate) fn move_to_new_file(&mut self, salt: u32) {
        if self.written {
            self.end = 0;
            self.tail = 0;
            self.starts.clear();
            self.written = false;
            return;
        }
        let (tail, end) = (self.tail, self.end);
        self.region_mut().copy_within(tail..end, 0);
        let padded = (end - tail).next_multiple_of(BLOCK_BYTES);
        self.region_mut()[end - tail..padded].fill(0);
        for start in &mut self.starts {
            *start -= tail as u32;
        }
        self.end -= tail;
        self.tail = 0;
        if self.framing == Framing::Record {
            self.seal_all(salt);
        }
    }

    fn seal_all(&mut self, salt: u32) {
        for at in 0..self.starts.len() {
            let start = self.starts[at] as usize;
            let end = self.end;
            let record = &mut self.region_mut()[start..end];
            let header = RecordHeader::peek(record).expect("push wrote a whole header here");
            header.seal(record, salt);
        }
    }

    fn kept_bytes(&self) -> usize {
        if self.whole_blocks { self.end % BLOCK_BYTES } else { 0 }
    }

    #[inline]
    fn settle(&mut self) {
        if !self.written {
            return;
        }
        let kept = self.kept_bytes();
        let from = self.end - kept;
        self.region_mut().copy_within(from..from + kept, 0);
        self.tail = kept;
        self.end = kept;
        self.starts.clear();
        self.written = false;
    }

    #[inline]
    fn put(&mut self, start: usize, payload: &[u8]) -> usize {
        let end = start + payload.len();
        self.region_mut()[start..end].copy_from_slice(payload);
        end
    }

    fn put_record(
        &mut self,
        start: usize,
        payload: &[u8],
        header: RecordHeader,
        salt: u32,
    ) -> usize {
        let end = start + header.record_bytes() as usize;
        let record = &mut self.region_mut()[start..end];
        let payload_end = RECORD_HEADER_BYTES + payload.len();
        record[RECORD_HEADER_BYTES..payload_end].copy_from_slice(payload);
        record[payload_end..].fill(0);
        header.seal(record, salt);
        end
    }

    fn region_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(buffer: &mut EncodeBuffer, payload: &[u8]) {
        buffer.push(payload, RecordHeader { payload_bytes: 0, sequence: 1, durable_through: 0 }, 0);
    }

    #[test]
    fn direct_writes_start_again_with_the_last_block() {
        let mut buffer = EncodeBuffer::new(16384, Framing::Raw, true);
        push(&mut buffer, &[7; 5000]);
        assert_eq!((buffer.bytes().len(), buffer.tail_bytes()), (8192, 0));
        assert!(buffer.bytes()[5000..].iter().all(|byte| *byte == 0));
        buffer.mark_written();
        push(&mut buffer, &[8; 100]);
        assert_eq!((buffer.bytes().len(), buffer.tail_bytes()), (4096, 904));
        assert_eq!(buffer.bytes()[903..905], [7, 8]);
        assert_eq!(buffer.pending_bytes(), 100);
        assert_eq!(buffer.region().as_ptr().align_offset(4096), 0);
    }

    #[test]
    fn the_pieces_of_a_batch_cover_its_bytes() {
        let mut buffer = EncodeBuffer::new(8192, Framing::Raw, false);
        for length in [1, 300, 7] {
            push(&mut buffer, &vec![length as u8; length]);
        }
        let lengths: Vec<_> = buffer.pieces().map(<[u8]>::len).collect();
        assert_eq!(lengths, [1, 300, 7]);
        assert!(!buffer.has_room(8192 - 307));
        buffer.mark_written();
        assert!(buffer.has_room(8192));
    }
}
