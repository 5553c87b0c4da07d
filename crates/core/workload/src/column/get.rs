//! Columns read: mapped and made resident, or read whole into memory.
//!
//! ```text
//! get        open pread(header) fstat mmap(MAP_PRIVATE) close
//! resident   madvise(WILLNEED), then one byte of each 4 KiB touched, front to back, by one thread
//! read1      open fstat one read of the whole file into fresh memory, close
//! ```

use std::{fs::File, io::Read, path::Path};

use pickfs_sys::{
    huge_pages,
    mapped_elements::ReadMap,
    mapped_file::{MapAdvice, MapError},
};

use super::layout::{Header, Layout};
use crate::fault::Fault;

#[derive(Debug)]
pub struct Mapped {
    pub header: Header,
    pub elements: ReadMap,
}

/// It has at least one element.
pub fn get(path: &Path, layout: Layout) -> Result<Mapped, Fault> {
    let file = File::open(path).map_err(Fault::io("open", path))?;
    let header = layout.read(&file, path)?;
    let elements = ReadMap::map(&file, path, layout.header_bytes(), None).map_err(map_fault)?;
    Ok(Mapped { header, elements })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    use super::{
        super::layout::{Attribute, ElementType},
        *,
    };

    const LONGS: Layout = Layout::Elements(ElementType::Long);

    fn column(folder: &Path, count: u64) -> std::path::PathBuf {
        let path = folder.join("column");
        let mut bytes = LONGS.header(Header { attribute: Attribute::Sorted, count });
        (0..count).for_each(|element| bytes.extend(element.to_le_bytes()));
        fs::write(&path, &bytes).unwrap();
        path
    }

    #[test]
    fn a_column_is_mapped_from_its_first_element() {
        let folder = tempfile::tempdir().unwrap();
        let path = column(folder.path(), 3000);
        let found = get(&path, LONGS).unwrap();
        assert_eq!(found.header, Header { attribute: Attribute::Sorted, count: 3000 });
        assert_eq!(found.elements.count(), 3000);
        for hint in [None, Some(MapAdvice::WillNeed)] {
            Touch { hint, stride_bytes: 4096 }.resident(&found.elements, &path).unwrap();
        }
        let mut out = [0; 2];
        found.elements.gather(&[2999, 0], &mut out).unwrap();
        assert_eq!(out, [2999, 0]);
        assert_eq!(read1(&path).unwrap(), fs::read(&path).unwrap());
    }

    #[test]
    fn damaged_and_missing_files_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = column(folder.path(), 3);
        let mut bytes = fs::read(&path).unwrap();
        bytes[1] = 0;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(get(&path, LONGS).unwrap_err(), Fault::Wrong { .. }));
        fs::write(&path, &bytes[..10]).unwrap();
        assert!(matches!(get(&path, LONGS).unwrap_err(), Fault::Io { .. }));
        let missing = folder.path().join("missing");
        assert!(matches!(get(&missing, LONGS).unwrap_err(), Fault::Io { verb: "open", .. }));
    }
}
