//! Symbols entered into a domain file under a lock, as writers of a shared database do.
//!
//! ```text
//! open(O_RDWR|O_CREAT) fcntl(F_SETLKW, whole file) fstat read(all) [write(new symbols) pwrite(count)] close
//! ```
//!
//! Closing gives the lock back.

use std::{
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

/// Gives how many of them were new.
pub fn enter(path: &Path, symbols: &[&str]) -> Result<u64, Fault> {
    let how = OpenHow { create: Create::IfMissing, ..OpenHow::new(Access::ReadWrite) };
    let mut file = how.open(path).map_err(file_fault)?;
    fcntl_lock(&file, FlockOperation::LockExclusive)
        .map_err(|error| Fault::io("lock", path)(error.into()))?;
    let length = file.metadata().map_err(Fault::io("fstat", path))?.len();
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes).map_err(Fault::io("read", path))?;
    let mut known: Vec<&[u8]> = Vec::new();
    if !bytes.is_empty() {
        LAYOUT.parse(&bytes).map_err(|error| wrong(path, error))?;
        let texts = bytes[LAYOUT.header_bytes()..].split(|byte| *byte == 0);
        known.extend(texts.filter(|text| !text.is_empty()));
    }
    let new = symbols.iter().filter(|symbol| !known.contains(&symbol.as_bytes()));
    let new: Vec<Vec<u8>> = new.map(|symbol| [symbol.as_bytes(), b"\0"].concat()).collect();
    if !new.is_empty() {
        let header = LAYOUT.header(Attribute::None, (known.len() + new.len()) as u64);
        let head = if length == 0 { &header[..] } else { &[] };
        file.write_all(&[head, &new.concat()].concat()).map_err(Fault::io("write", path))?;
        let field = LAYOUT.count_field();
        let offset_bytes = field.start as u64;
        file.write_all_at(&header[field], offset_bytes)
            .map_err(Fault::io("write the count of", path))?;
    }
    Ok(new.len() as u64)
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
