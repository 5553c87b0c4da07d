//! Columns read: mapped and made resident, or read whole into memory; and some elements changed in place.
//!
//! ```text
//! get        open pread(header) fstat mmap(MAP_PRIVATE) close
//! resident   madvise(WILLNEED), then one byte of each 4 KiB touched, front to back, by one thread
//! read1      open fstat one read of the whole file into fresh memory, close
//! replace    open(O_RDWR) pread(header) fstat mmap(MAP_SHARED), one store of eight bytes for each index, close munmap
//! ```
//!
//! Replacing calls no msync and no fsync: it costs a fault, and making the page writable, for each page that is met.

use std::{fs::File, io::Read, path::Path};

use pickfs_sys::{
    files::{Access, OpenHow},
    huge_pages,
    mapped_elements::{MapAdvice, ReadMap, StoreMap},
    mapped_file::MapError,
};

use super::{layout::Layout, set::file_fault};
use crate::fault::Fault;

/// It has at least one element.
#[inline(always)]
pub fn get(path: &Path, layout: Layout) -> Result<ReadMap, Fault> {
    let file = File::open(path).map_err(Fault::io("open", path))?;
    layout.read(&file, path)?;
    ReadMap::map(&file, path, layout.header_bytes()).map_err(map_fault)
}

#[derive(Debug, Clone, Copy)]
pub struct Touch {
    /// Told to the kernel for the whole mapping, first.
    pub hint: Option<MapAdvice>,
    /// From one touched byte to the next.
    pub stride_bytes: usize,
}

impl Touch {
    pub fn resident(&self, column: &ReadMap, path: &Path) -> Result<(), Fault> {
        if let Some(hint) = self.hint {
            column.advise(hint, path).map_err(map_fault)?;
        }
        std::hint::black_box(column.touch(self.stride_bytes));
        Ok(())
    }
}

pub fn read1(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut file = File::open(path).map_err(Fault::io("open", path))?;
    let length = file.metadata().map_err(Fault::io("fstat", path))?.len();
    let mut bytes = vec![0; length as usize];
    huge_pages::ask_for(&mut bytes);
    file.read_exact(&mut bytes).map_err(Fault::io("read", path))?;
    Ok(bytes)
}

/// In the loop of its caller, as [`super::random`] says of a read.
#[inline(always)]
pub fn replace(path: &Path, layout: Layout, indexes: &[u64], value: u64) -> Result<(), Fault> {
    let file = OpenHow::new(Access::ReadWrite).open(path).map_err(file_fault)?;
    layout.read(&file, path)?;
    let mut map = StoreMap::map(&file, path, layout.header_bytes()).map_err(map_fault)?;
    map.store(indexes, value).map_err(map_fault)
}

pub(super) fn map_fault(error: MapError) -> Fault {
    match error {
        MapError::Request { request, path, cause } => {
            Fault::Io { verb: request, path, source: cause }
        }
        short @ MapError::FileTooShort { .. } => Fault::Wrong { what: short.to_string() },
        other => Fault::Failed { reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::append::open_append, *};

    #[test]
    fn damaged_and_missing_files_are_told_apart_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        for damaged in [&[0; 64][..], &[0xfe; 3]] {
            fs::write(&path, damaged).unwrap();
            let faults = [
                get(&path, Layout::Longs).unwrap_err(),
                replace(&path, Layout::Longs, &[0], 42).unwrap_err(),
                open_append(&path, Layout::Longs, &[7; 8], 1, 4096).unwrap_err(),
            ];
            for fault in faults {
                let is_short = damaged.len() < 16;
                assert_eq!(is_short, matches!(fault, Fault::Io { .. }), "{fault}");
                assert_eq!(!is_short, matches!(fault, Fault::Wrong { .. }), "{fault}");
            }
            assert_eq!(fs::read(&path).unwrap(), damaged);
        }
        let missing = folder.path().join("missing");
        assert!(matches!(
            get(&missing, Layout::Longs).unwrap_err(),
            Fault::Io { verb: "open", .. }
        ));
    }
}
