//! Where a file system goes: the first bytes of a file or a block device. Clears the ends,
//! writes the draft, syncs. Whether something is there has been asked before.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use crate::draft::Draft;
use crate::error::MakeError;

/// So much of the beginning is looked at and cleared: the farthest signature that blkid looks for
/// at a head is that of btrfs, in the sector at 64 KiB.
const HEAD_BYTES: u64 = 128 << 10;
/// So much of the end: ZFS and RAID keep theirs there.
const TAIL_BYTES: u64 = 128 << 10;
/// Zeros are written by so much at once.
const CHUNK_BYTES: u64 = 1 << 20;

pub(crate) struct Place<'a> {
    file: &'a File,
    size_bytes: u64,
}

impl<'a> Place<'a> {
    /// Makes sure that it is large enough: a file grows, a device cannot.
    pub(crate) fn new(file: &'a File, size_bytes: u64) -> Result<Self, MakeError> {
        let is_file = file.metadata().map_err(MakeError::io("look at the file"))?.is_file();
        let mut handle = file;
        let there = handle.seek(SeekFrom::End(0)).map_err(MakeError::io("ask for the size"))?;
        if there >= size_bytes {
            return Ok(Self { file, size_bytes });
        }
        if !is_file {
            return Err(MakeError::DeviceTooSmall { device_bytes: there, size_bytes });
        }
        file.set_len(size_bytes).map_err(MakeError::io("make the file longer"))?;
        Ok(Self { file, size_bytes })
    }

    /// Zeros at both ends where the draft has nothing.
    pub(crate) fn take(&self, draft: &Draft) -> Result<(), MakeError> {
        for (at, length) in self.ends() {
            self.write(at, &draft.read(at, length as usize))?;
        }
        draft.zeros().try_for_each(|(at, length)| self.write_zeros(at, length))?;
        draft.pieces().try_for_each(|(at, bytes)| self.write(at, bytes))?;
        self.file.sync_all().map_err(MakeError::io("sync the file system"))
    }

    /// Offset and length; of a small place they meet.
    fn ends(&self) -> [(u64, u64); 2] {
        let head = HEAD_BYTES.min(self.size_bytes);
        let tail = TAIL_BYTES.min(self.size_bytes - head);
        [(0, head), (self.size_bytes - tail, tail)]
    }

    fn write_zeros(&self, at: u64, length: u64) -> Result<(), MakeError> {
        let zeros = vec![0; CHUNK_BYTES.min(length) as usize];
        let mut written = 0;
        while written < length {
            let chunk = CHUNK_BYTES.min(length - written);
            self.write(at + written, &zeros[..chunk as usize])?;
            written += chunk;
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), MakeError> {
        self.file.write_all_at(bytes, at).map_err(MakeError::io("write the file system"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn some_file() -> File {
        tempfile::tempfile().unwrap()
    }

    #[test]
    fn a_file_grows_and_holds_the_draft() {
        let file = some_file();
        let size_bytes = 4 << 20;
        let summary = Kind::Hpfs.format(&file, size_bytes).unwrap();
        assert_eq!(file.metadata().unwrap().len(), size_bytes);
        let draft = Kind::Hpfs.draft(size_bytes).unwrap();
        assert_eq!(summary, draft.summary());
        let mut found = vec![0; size_bytes as usize];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == draft.read(0, size_bytes as usize));
    }

    #[test]
    fn what_was_at_the_ends_is_gone() {
        let file = some_file();
        file.set_len(4 << 20).unwrap();
        file.write_all_at(&[0x53, 0xef], 1080).unwrap();
        file.write_all_at(b"old", (4 << 20) - 100).unwrap();
        Kind::Hpfs.format(&file, 4 << 20).unwrap();
        let mut found = [1; 3];
        file.read_exact_at(&mut found[..2], 1080).unwrap();
        assert_eq!(found[..2], [0, 0]);
        file.read_exact_at(&mut found, (4 << 20) - 100).unwrap();
        assert_eq!(found, [0; 3]);
    }

    #[test]
    fn no_byte_changes_when_the_size_is_refused() {
        let file = some_file();
        let error = Kind::Hpfs.format(&file, 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1000 bytes are no whole number of sectors of 512 bytes; hpfs can have 512"
        );
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}
