//! Elements added to the end of a column: by opening the file each time, or through a handle that
//! stays open.
//!
//! ```text
//! open append   open(O_CREAT) fstat pread(header) lseek(end) write(elements) pwrite(count) close
//!               the first one: open fstat writev(header, elements) close
//! handle        open(O_APPEND) once; write(elements) each time
//! ```
//!
//! The handle does not keep the header's count: readers of such a file go by its length.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use pickfs_sys::files::{Access, Create, OpenHow};

use super::{
    layout::{Attribute, Header, Layout},
    set::{file_fault, write_both},
};
use crate::fault::Fault;

/// `count` is how many elements `data` holds, of which one write call takes at most `chunk_bytes`.
pub fn open_append(
    path: &Path,
    layout: Layout,
    data: &[u8],
    count: u64,
    chunk_bytes: usize,
) -> Result<(), Fault> {
    let how = OpenHow { create: Create::IfMissing, ..OpenHow::new(Access::ReadWrite) };
    let mut file = how.open(path).map_err(file_fault)?;
    let length = file.metadata().map_err(Fault::io("fstat", path))?.len();
    if length == 0 {
        let header = layout.header(Header { attribute: Attribute::None, count });
        let (first, rest) = data.split_at(data.len().min(chunk_bytes));
        write_both(&mut file, &header, first).map_err(Fault::io("write", path))?;
        return write_chunks(&mut file, path, rest, chunk_bytes);
    }
    let known = layout.read(&file, path)?;
    file.seek(SeekFrom::End(0)).map_err(Fault::io("lseek", path))?;
    write_chunks(&mut file, path, data, chunk_bytes)?;
    let field = layout.count_field();
    let sum = (known.count + count).to_le_bytes();
    file.write_all_at(&sum[..field.len()], field.start as u64)
        .map_err(Fault::io("write the count of", path))
}

fn write_chunks(
    file: &mut File,
    path: &Path,
    data: &[u8],
    chunk_bytes: usize,
) -> Result<(), Fault> {
    let mut chunks = data.chunks(chunk_bytes);
    chunks.try_for_each(|chunk| file.write_all(chunk).map_err(Fault::io("append to", path)))
}

#[derive(Debug)]
pub struct Handle {
    file: File,
    path: PathBuf,
}

impl Handle {
    pub fn create(path: &Path, layout: Layout) -> Result<Handle, Fault> {
        let header = layout.header(Header { attribute: Attribute::None, count: 0 });
        let new = OpenHow { create: Create::New, ..OpenHow::new(Access::Write) };
        let mut empty = new.open(path).map_err(file_fault)?;
        empty.write_all(&header).map_err(Fault::io("write", path))?;
        drop(empty);
        let how = OpenHow { append: true, ..OpenHow::new(Access::Write) };
        Ok(Handle { file: how.open(path).map_err(file_fault)?, path: path.to_owned() })
    }

    pub fn append(&mut self, data: &[u8]) -> Result<(), Fault> {
        self.file.write_all(data).map_err(Fault::io("append to", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::layout::ElementType, *};

    const LONGS: Layout = Layout::Elements(ElementType::Long);

    #[test]
    fn the_first_append_makes_the_file_and_the_next_ones_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        for _ in 0..3 {
            open_append(&path, LONGS, &[7; 24], 3, 16).unwrap();
        }
        let bytes = fs::read(&path).unwrap();
        assert_eq!(LONGS.parse(&bytes).unwrap().count, 9);
        assert_eq!(bytes[16..], [7; 72]);
    }

    #[test]
    fn plain_symbols_count_in_their_own_field() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        for _ in 0..2 {
            open_append(&path, Layout::PlainSymbols, b"abcd\0", 1, 4096).unwrap();
        }
        let bytes = fs::read(&path).unwrap();
        assert_eq!(Layout::PlainSymbols.parse(&bytes).unwrap().count, 2);
        assert_eq!(&bytes[8..], b"abcd\0abcd\0");
    }

    #[test]
    fn a_damaged_header_is_found_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        fs::write(&path, [9; 32]).unwrap();
        let fault = open_append(&path, LONGS, &[7; 8], 1, 4096).unwrap_err();
        assert!(matches!(fault, Fault::Wrong { .. }), "{fault}");
        assert_eq!(fs::read(&path).unwrap(), [9; 32]);
    }

    #[test]
    fn a_handle_leaves_the_count_at_zero() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        let mut handle = Handle::create(&path, LONGS).unwrap();
        handle.append(&[1; 8]).unwrap();
        handle.append(&[2; 8]).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(LONGS.parse(&bytes).unwrap().count, 0);
        assert_eq!(bytes[16..], [[1; 8], [2; 8]].concat());
    }
}
