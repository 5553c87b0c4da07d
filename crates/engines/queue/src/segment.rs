//! One segment: a file, its mapping, and what stands in it. Who may claim, when to roll and what
//! to touch is decided elsewhere.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{FallocateFlags, IFlags, fallocate, ioctl_getflags, ioctl_setflags};

use super::control::{Control, full_or, read_up_to};
use super::error::{DamageKind, Error, Result};
use super::layout::{
    ALIGN_BYTES, BEGUN_OFFSET, FIRST_TIME_OFFSET, HEADER_USED_BYTES, INDEX_BLOCK_BYTES,
    INDEX_ENTRY_BYTES, MESSAGE_HEADER_BYTES, PAGE_BYTES, SegmentHeader, TIME_BYTES, begun_sequence,
    begun_word, data_start, get_u64, slot_bytes, stored_checksum,
};
use super::options::{Advice, Allocation};
use super::word::Slot;
use crate::map::{Access, Map};

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
    pub(crate) segment_bytes: u64,
    pub(crate) data_start: u64,
    pub(crate) salt: u32,
    pub(crate) file: File,
    pub(crate) map: Map,
    /// The file was at least this long when somebody looked.
    length_bytes: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) offset_bytes: u64,
    pub(crate) ordinal: u64,
    pub(crate) time_ns: u64,
}

impl Segment {
    /// Not begun. Under the lock of the directory; one that exists is kept.
    pub(crate) fn make(control: &Control, number: u64, allocation: Allocation) -> Result<()> {
        let path = control.segment_path(number);
        if path.exists() {
            return Ok(());
        }
        let new = control.new_segment_path(number);
        let made = write_new(&new, control, number, allocation);
        let made = made.and_then(|()| fs::rename(&new, &path).map_err(full_or("rename", &new)));
        if made.is_err() {
            let _ = fs::remove_file(&new);
        }
        made
    }

    /// `None` if it is not there.
    pub(crate) fn open(control: &Control, number: u64, access: Access) -> Result<Option<Self>> {
        let path = control.segment_path(number);
        let file = File::options().read(true).write(access == Access::Write).open(&path);
        let file = match file {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(Error::io("open", &path))?,
        };
        let header = read_header(&file, &path)?;
        let wanted = SegmentHeader {
            queue_id: control.header.queue_id,
            number,
            segment_bytes: control.header.segment_bytes,
        };
        if header != wanted {
            return Err(Error::Foreign { path, reason: difference(&header, &wanted) });
        }
        let data_start = data_start(header.segment_bytes);
        let length_bytes = file.metadata().map_err(Error::io("look at", &path))?.len();
        if length_bytes < data_start + 8 {
            return Err(Error::damage(path, length_bytes, DamageKind::Cut { length_bytes }));
        }
        let map = Map::new(file.as_fd(), header.segment_bytes, access);
        let map = map.map_err(Error::io("map", &path))?;
        Ok(Some(Self {
            path,
            number,
            segment_bytes: header.segment_bytes,
            data_start,
            salt: header.salt(),
            file,
            map,
            length_bytes: AtomicU64::new(length_bytes),
        }))
    }

    /// A kernel that does not listen is no error.
    pub(crate) fn advise(&self, advice: Advice) {
        let _ = self.map.advise(match advice {
            Advice::Normal => rustix::mm::Advice::Normal,
            Advice::Random => rustix::mm::Advice::Random,
        });
    }

    /// Its first sequence; `None` when it is not begun.
    pub(crate) fn begun(&self) -> Result<Option<u64>> {
        let word = self.map.look(BEGUN_OFFSET);
        if word == 0 {
            return Ok(None);
        }
        let first = begun_sequence(word, self.salt);
        let kind = DamageKind::Begin { expected: 0, found: 0 };
        first.map(Some).ok_or_else(|| Error::damage(&self.path, BEGUN_OFFSET, kind))
    }

    /// The time of its first message, which is the caller's, or else of its beginning.
    pub(crate) fn first_message_time_ns(&self) -> u64 {
        let first = self.entry(self.data_start / INDEX_BLOCK_BYTES);
        let first = first.filter(|entry| entry.offset_bytes == self.data_start);
        first.map_or_else(|| self.first_time_ns(), |entry| entry.time_ns)
    }

    /// 0 when it is not begun.
    pub(crate) fn first_time_ns(&self) -> u64 {
        self.map.look(FIRST_TIME_OFFSET)
    }

    /// Whoever is first does it; all others must mean the same.
    pub(crate) fn begin(&self, first_sequence: u64, time_ns: u64) -> Result<()> {
        use super::word::Word;
        let _ = self.map.word(FIRST_TIME_OFFSET).exchange(0, time_ns.max(1));
        let ours = begun_word(first_sequence, self.salt);
        match self.map.word(BEGUN_OFFSET).exchange(0, ours) {
            Ok(_) => Ok(()),
            Err(theirs) if theirs == ours => Ok(()),
            Err(theirs) => {
                let found = begun_sequence(theirs, self.salt).unwrap_or(0);
                let kind = DamageKind::Begin { expected: first_sequence, found };
                Err(Error::damage(&self.path, BEGUN_OFFSET, kind))
            }
        }
    }

    /// As far as this process has looked.
    #[inline]
    pub(crate) fn known_bytes(&self) -> u64 {
        self.length_bytes.load(Relaxed)
    }

    #[inline]
    pub(crate) fn reaches(&self, end_bytes: u64) -> Result<bool> {
        if end_bytes <= self.known_bytes() {
            return Ok(true);
        }
        Ok(end_bytes <= self.look_again()?)
    }

    #[cold]
    fn look_again(&self) -> Result<u64> {
        let length = self.file.metadata().map_err(Error::io("look at", &self.path))?.len();
        self.length_bytes.fetch_max(length, Relaxed);
        Ok(length)
    }

    /// Gives the file the chunk that `end_bytes` lies in. On a full disk nothing was stored.
    pub(crate) fn grow(
        &self,
        control: &Control,
        end_bytes: u64,
        allocation: Allocation,
    ) -> Result<()> {
        let _locked = control.lock()?;
        let length = self.look_again()?;
        if length >= end_bytes {
            return Ok(());
        }
        let chunk_bytes = control.header.chunk_bytes;
        let chunks = (end_bytes - self.data_start).div_ceil(chunk_bytes);
        let end = (self.data_start + chunks * chunk_bytes).min(self.segment_bytes);
        allocate(&self.file, &self.path, length, end, allocation)?;
        self.length_bytes.fetch_max(end, Relaxed);
        Ok(())
    }

    pub(crate) fn index_len(&self) -> u64 {
        self.segment_bytes.div_ceil(INDEX_BLOCK_BYTES)
    }

    pub(crate) fn note(&self, entry: IndexEntry) {
        let at = PAGE_BYTES + entry.offset_bytes / INDEX_BLOCK_BYTES * INDEX_ENTRY_BYTES;
        self.map.set_relaxed(at + 8, entry.time_ns);
        self.map.set(at, (entry.offset_bytes / 8) << 32 | entry.ordinal & 0xFFFF_FFFF);
    }

    /// Those of messages at an offset or behind it.
    pub(crate) fn forget_entries_from(&self, start_bytes: u64) -> Result<()> {
        for block in start_bytes / INDEX_BLOCK_BYTES..self.index_len() {
            if self.entry(block).is_none_or(|entry| entry.offset_bytes >= start_bytes) {
                let at = PAGE_BYTES + block * INDEX_ENTRY_BYTES;
                let blanked = self.file.write_all_at(&[0; INDEX_ENTRY_BYTES as usize], at);
                blanked.map_err(Error::io("write", &self.path))?;
            }
        }
        Ok(())
    }

    /// `None` where none was written, or none of a possible place.
    pub(crate) fn entry(&self, block: u64) -> Option<IndexEntry> {
        let at = PAGE_BYTES + block * INDEX_ENTRY_BYTES;
        let place = self.map.look(at);
        let offset_bytes = (place >> 32) * 8;
        let is_possible = place != 0
            && offset_bytes / INDEX_BLOCK_BYTES == block
            && (self.data_start..self.segment_bytes).contains(&offset_bytes);
        is_possible.then(|| IndexEntry {
            offset_bytes,
            ordinal: place & 0xFFFF_FFFF,
            time_ns: self.map.look(at + 8),
        })
    }
}

fn read_header(file: &File, path: &Path) -> Result<SegmentHeader> {
    let mut bytes = [0; HEADER_USED_BYTES];
    let read = read_up_to(file, &mut bytes).map_err(Error::io("read", path))?;
    SegmentHeader::decode(&bytes[..read]).map_err(Error::flaw(path))
}

fn difference(found: &SegmentHeader, wanted: &SegmentHeader) -> String {
    if found.queue_id != wanted.queue_id {
        "it belongs to another queue".into()
    } else if found.number != wanted.number {
        format!("its header says segment {}, its name {}", found.number, wanted.number)
    } else {
        format!("its segments have {} bytes, ours {}", found.segment_bytes, wanted.segment_bytes)
    }
}

fn write_new(new: &Path, control: &Control, number: u64, allocation: Allocation) -> Result<()> {
    let (segment_bytes, queue_id) = (control.header.segment_bytes, control.header.queue_id);
    let start = data_start(segment_bytes);
    let file = File::options().read(true).write(true).create(true).truncate(true).open(new);
    let file = file.map_err(full_or("create", new))?;
    do_not_copy_on_write(&file);
    let end = (start + control.header.chunk_bytes).min(segment_bytes);
    match allocation {
        Allocation::Sparse => file.set_len(segment_bytes).map_err(full_or("lengthen", new))?,
        _ => allocate(&file, new, 0, end, allocation)?,
    }
    let mut head = vec![0; start as usize];
    let header = SegmentHeader { queue_id, number, segment_bytes };
    head[..HEADER_USED_BYTES].copy_from_slice(&header.encode());
    file.write_all_at(&head, 0).map_err(full_or("write", new))
}

/// btrfs writes each page to a new place, which can fail with a signal when the disk is full; messages carry
/// checksums of their own. Other file systems do not know the flag.
pub(crate) fn do_not_copy_on_write(file: &File) {
    if let Ok(flags) = ioctl_getflags(file) {
        let _ = ioctl_setflags(file, flags | IFlags::NOCOW);
    }
}

fn allocate(file: &File, path: &Path, start: u64, end: u64, allocation: Allocation) -> Result<()> {
    let allocated = match allocation {
        Allocation::Sparse => file.set_len(end),
        Allocation::Fallocate | Allocation::Either => {
            fallocate(file, FallocateFlags::empty(), start, end - start).map_err(io::Error::from)
        }
        Allocation::ZeroFill => zero_fill(file, start, end),
    };
    allocated.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::Full { path: path.into(), needed_bytes: end - start }
        }
        io::ErrorKind::Unsupported => {
            Error::Refused { way: "fallocate", path: path.into(), source: error }
        }
        _ => Error::io("allocate", path)(error),
    })
}

fn zero_fill(file: &File, start: u64, end: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut at = start;
    while at < end {
        let length = (end - at).min(zeros.len() as u64) as usize;
        file.write_all_at(&zeros[..length], at)?;
        at += length as u64;
    }
    Ok(())
}

// What stands at a place of a segment, checked: a message that comes out of here is whole.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    /// By copies out of a mapping: no system call, page faults.
    Mapping,
    /// By pread(2): two system calls a message, and on some file systems the lock of the file.
    Calls,
}

impl Segment {
    /// What stands at a place, checked: a message is whole, its time is given with it, and its payload is in the buffer
    /// behind [`TIME_BYTES`].
    #[inline]
    pub(crate) fn read(
        &self,
        by: ReadBy,
        offset_bytes: u64,
        sequence: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<(Slot, u64)> {
        let Some(word) = self.read_word(by, offset_bytes)? else { return Ok((Slot::Empty, 0)) };
        let slot = Slot::decode(word);
        match slot {
            Slot::Empty | Slot::End => return Ok((slot, 0)),
            Slot::Unknown(word) => {
                return Err(Error::damage(&self.path, offset_bytes, DamageKind::Word(word)));
            }
            Slot::Claimed { .. } | Slot::Message { .. } | Slot::Void { .. } => {}
        }
        self.check_end(offset_bytes, slot)?;
        let Slot::Message { payload_bytes, checksum } = slot else { return Ok((slot, 0)) };
        let place = (offset_bytes, sequence);
        Ok((slot, self.read_message(by, place, payload_bytes, checksum, buffer)?))
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
        let stored_bytes = TIME_BYTES + payload_bytes;
        if buffer.len() < stored_bytes {
            buffer.resize(stored_bytes, 0);
        }
        let stored = &mut buffer[..stored_bytes];
        let start = offset_bytes + MESSAGE_HEADER_BYTES - TIME_BYTES as u64;
        match by {
            ReadBy::Mapping => self.map.copy_out(start, stored),
            ReadBy::Calls => {
                let read = self.file.read_exact_at(stored, start);
                read.map_err(Error::io("read", &self.path))?;
            }
        }
        if stored_checksum(self.salt, sequence, stored) != checksum {
            return Err(Error::damage(&self.path, offset_bytes, DamageKind::Checksum(sequence)));
        }
        Ok(get_u64(stored, 0))
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
                if matches!(found, Ok((Slot::Message { .. }, _))) {
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
