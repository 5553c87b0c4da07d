//! A whole column written at once. A new file is written where it belongs; an existing one is replaced
//! by another file that is renamed over it, so that a reader never sees half a column.
//!
//! ```text
//! new        open(O_CREAT) writev(header, data) write(data) ... close
//! existing   stat open(O_CREAT, COLUMN#) writev write ... close rename
//! reserved   open fallocate(FALLOC_FL_KEEP_SIZE, all of it) writev ... close
//! ```
//!
//! No fsync: what syncs is a row of its own. Writes end at multiples of their length, so that the 16
//! bytes of the header do not split a page between two calls.

use std::{
    fs::{self, File},
    io::{self, IoSlice, Write},
    path::{Path, PathBuf},
};

use pickfs_record::{Clock, MonotonicClock};
use pickfs_sys::files::{Access, Create, FileError, OpenHow, reserve};

use crate::fault::Fault;

const NOT_SUPPORTED: i32 = rustix::io::Errno::OPNOTSUPP.raw_os_error();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetHow {
    pub chunk_bytes: usize,
    /// The space is reserved before the first write; not every file system can.
    pub is_reserved: bool,
}

impl SetHow {
    pub fn chunks(chunk_bytes: usize) -> SetHow {
        SetHow { chunk_bytes, is_reserved: false }
    }
}

#[derive(Debug)]
pub struct Setting {
    path: PathBuf,
    under: PathBuf,
    file: File,
    chunk_bytes: usize,
    written_bytes: u64,
}

impl Setting {
    pub fn begin(path: &Path, how: SetHow, length_bytes: u64) -> Result<Setting, Fault> {
        let is_there = path.try_exists().map_err(Fault::io("stat", path))?;
        let under = if is_there { beside(path) } else { path.to_owned() };
        let new = OpenHow { create: Create::New, ..OpenHow::new(Access::Write) };
        let file = new.open(&under).map_err(file_fault)?;
        if how.is_reserved {
            reserve(&file, length_bytes).map_err(unreserved)?;
        }
        let (path, chunk_bytes) = (path.to_owned(), how.chunk_bytes);
        Ok(Setting { path, under, file, chunk_bytes, written_bytes: 0 })
    }

    /// Writes header and first data with one call, then the rest: one operation (begin, end, offset) for each call.
    pub fn write(
        &mut self,
        header: &[u8],
        data: &[u8],
        operation: &mut impl FnMut(u64, u64, u64),
    ) -> Result<(), Fault> {
        let room = self.room().saturating_sub(header.len());
        let (first, mut rest) = data.split_at(room.min(data.len()));
        self.call(header, first, operation)?;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.room().min(rest.len()));
            self.call(&[], now, operation)?;
            rest = later;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<u64, Fault> {
        drop(self.file);
        if self.under != self.path {
            fs::rename(&self.under, &self.path).map_err(Fault::io("rename over", &self.path))?;
        }
        Ok(self.written_bytes)
    }

    fn room(&self) -> usize {
        self.chunk_bytes - (self.written_bytes % self.chunk_bytes as u64) as usize
    }

    fn call(
        &mut self,
        header: &[u8],
        data: &[u8],
        operation: &mut impl FnMut(u64, u64, u64),
    ) -> Result<(), Fault> {
        let start_ns = MonotonicClock.now_ns();
        write_both(&mut self.file, header, data).map_err(Fault::io("write", &self.under))?;
        operation(start_ns, MonotonicClock.now_ns(), self.written_bytes);
        self.written_bytes += (header.len() + data.len()) as u64;
        Ok(())
    }
}

pub fn set(
    path: &Path,
    header: &[u8],
    data: &[u8],
    how: SetHow,
    operation: &mut impl FnMut(u64, u64, u64),
) -> Result<u64, Fault> {
    let mut setting = Setting::begin(path, how, (header.len() + data.len()) as u64)?;
    setting.write(header, data, operation)?;
    setting.finish()
}

/// For operations that nobody keeps.
pub fn unkept(_start_ns: u64, _end_ns: u64, _offset_bytes: u64) {}

/// The name of a replacement until it is renamed.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("#");
    name.into()
}

/// One writev, or one write where there is no header; more only where the kernel took less.
pub(super) fn write_both(file: &mut File, header: &[u8], data: &[u8]) -> io::Result<()> {
    if header.is_empty() {
        return file.write_all(data);
    }
    let taken = file.write_vectored(&[IoSlice::new(header), IoSlice::new(data)])?;
    if taken < header.len() {
        file.write_all(&header[taken..])?;
    }
    file.write_all(&data[taken.saturating_sub(header.len())..])
}

fn unreserved(error: FileError) -> Fault {
    match error {
        FileError::Request { cause, .. } if cause.raw_os_error() == Some(NOT_SUPPORTED) => {
            let reason = "this file system refuses fallocate; use reserve = no".into();
            Fault::Skipped { reason }
        }
        other => Fault::Failed { reason: other.to_string() },
    }
}

pub(super) fn file_fault(error: FileError) -> Fault {
    match error {
        FileError::Open { path, cause, .. } => Fault::Io { verb: "open", path, source: cause },
        other => Fault::Failed { reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_column_is_written_in_calls_that_end_at_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        let data: Vec<u8> = (0..10_000u32).map(|byte| byte as u8).collect();
        let header = [1; 4096];
        for (header, calls) in [(&header[..8], 3), (&header, 4)] {
            let mut offsets = Vec::new();
            let _ = fs::remove_file(&path);
            let mut operation = |_, _, offset_bytes| offsets.push(offset_bytes);
            let bytes = set(&path, header, &data, SetHow::chunks(4096), &mut operation).unwrap();
            assert_eq!(
                (bytes, offsets),
                (10_000 + header.len() as u64, { (0..calls).map(|call| 4096 * call).collect() })
            );
            assert_eq!(fs::read(&path).unwrap(), [header, &data].concat());
        }
    }

    #[test]
    fn a_reserved_column_has_its_space_and_no_more_bytes() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("column");
        let how = SetHow { chunk_bytes: 4096, is_reserved: true };
        match set(&path, b"h", &[7; 9_999], how, &mut unkept) {
            Ok(bytes) => assert_eq!((bytes, fs::metadata(&path).unwrap().len()), (10_000, 10_000)),
            Err(fault) => assert!(fault.is_skip(), "{fault}"),
        }
    }

    #[test]
    fn an_existing_column_is_replaced_by_a_rename_and_a_leftover_is_not_written_into() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        fs::write(&path, b"old").unwrap();
        fs::write(beside(&path), b"left").unwrap();
        let replace = || set(&path, b"h", b"new", SetHow::chunks(4096), &mut unkept);
        let fault = replace().unwrap_err();
        assert!(fault.to_string().contains("column#"), "{fault}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        fs::remove_file(beside(&path)).unwrap();
        let open = File::open(&path).unwrap();
        replace().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hnew");
        let links = std::os::unix::fs::MetadataExt::nlink(&open.metadata().unwrap());
        assert_eq!((links, fs::read_dir(&folder).unwrap().count()), (0, 1));
    }
}
