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
    layout::{Attribute, Layout},
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
        let header = layout.header(Attribute::None, count);
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
        let header = layout.header(Attribute::None, 0);
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
