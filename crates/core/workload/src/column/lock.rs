//! Symbols entered into a domain file under a lock, as writers of a shared database do.
//!
//! ```text
//! open(O_RDWR|O_CREAT) fcntl(F_SETLKW, whole file) fstat read(all) [write(new symbols) pwrite(count)] close
//! ```
//!
//! Closing gives the lock back.

use std::{
    fs::File,
    io::{Read, Write},
    os::unix::fs::FileExt,
    path::Path,
};

use pickfs_sys::files::{Access, Create, OpenHow};
use rustix::fs::{FlockOperation, fcntl_lock};

use super::{
    layout::{Attribute, Layout, wrong},
    set::file_fault,
};
use crate::fault::Fault;

const LAYOUT: Layout = Layout::PlainSymbols;

pub fn enter(path: &Path, symbols: &[&str]) -> Result<u64, Fault> {
    let how = OpenHow { create: Create::IfMissing, ..OpenHow::new(Access::ReadWrite) };
    let mut file = how.open(path).map_err(file_fault)?;
    fcntl_lock(&file, FlockOperation::LockExclusive)
        .map_err(|error| Fault::io("lock", path)(error.into()))?;
    let length = file.metadata().map_err(Fault::io("fstat", path))?.len();
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes).map_err(Fault::io("read", path))?;
    let known = known(path, &bytes)?;
    let new: Vec<&&str> =
        symbols.iter().filter(|symbol| !known.contains(&symbol.as_bytes())).collect();
    if !new.is_empty() {
        add(&mut file, path, length == 0, &new, known.len() as u64)?;
    }
    Ok(new.len() as u64)
}

fn known<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>, Fault> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    LAYOUT.parse(bytes).map_err(|error| wrong(path, error))?;
    let texts = &bytes[LAYOUT.header_bytes()..];
    let texts = texts.strip_suffix(b"\0").unwrap_or(texts);
    Ok(texts.split(|byte| *byte == 0).filter(|text| !text.is_empty()).collect())
}

fn add(
    file: &mut File,
    path: &Path,
    is_empty: bool,
    new: &[&&str],
    known_count: u64,
) -> Result<(), Fault> {
    let count = known_count + new.len() as u64;
    let header = LAYOUT.header(Attribute::None, count);
    let mut bytes = if is_empty { header.clone() } else { Vec::new() };
    new.iter().for_each(|symbol| bytes.extend([symbol.as_bytes(), b"\0"].concat()));
    file.write_all(&bytes).map_err(Fault::io("write", path))?;
    let field = LAYOUT.count_field();
    let offset_bytes = field.start as u64;
    file.write_all_at(&header[field], offset_bytes).map_err(Fault::io("write the count of", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_entered_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locktest");
        assert_eq!(enter(&path, &["a", "bb"]).unwrap(), 2);
        assert_eq!(enter(&path, &["bb", "ccc", "a"]).unwrap(), 1);
        assert_eq!(enter(&path, &["bb", "ccc", "a"]).unwrap(), 0);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes, [&[0xff, 1, 0x0b, 0, 3, 0, 0, 0][..], b"a\0bb\0ccc\0"].concat());
    }

    #[test]
    fn a_damaged_domain_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locktest");
        std::fs::write(&path, b"not symbols").unwrap();
        assert!(matches!(enter(&path, &["a"]).unwrap_err(), Fault::Wrong { .. }));
    }
}
