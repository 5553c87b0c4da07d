//! Some elements of a column changed in place.
//!
//! ```text
//! open(O_RDWR) pread(header) fstat mmap(MAP_SHARED) one store of eight bytes for each index close munmap
//! ```
//!
//! No msync and no fsync: what it costs is a fault, and making the page writable, for each page that is
//! met.

use std::path::Path;

use pickfs_sys::{
    files::{Access, OpenHow},
    mapped_elements::StoreMap,
};

use super::{get::map_fault, layout::Layout, set::file_fault};
use crate::fault::Fault;

pub fn replace(path: &Path, layout: Layout, indexes: &[u64], value: u64) -> Result<(), Fault> {
    let file = OpenHow::new(Access::ReadWrite).open(path).map_err(file_fault)?;
    layout.read(&file, path)?;
    let mut map = StoreMap::map(&file, path, layout.header_bytes(), None).map_err(map_fault)?;
    map.store(indexes, value).map_err(map_fault)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::layout::{Attribute, ElementType, Header},
        *,
    };

    const LONGS: Layout = Layout::Elements(ElementType::Long);

    #[test]
    fn only_the_elements_with_these_indexes_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        let mut bytes = LONGS.header(Header { attribute: Attribute::None, count: 1000 });
        bytes.resize(16 + 8000, 0);
        fs::write(&path, &bytes).unwrap();
        replace(&path, LONGS, &[999, 0, 511], 42).unwrap();
        for index in [999, 0, 511] {
            bytes[16 + 8 * index] = 42;
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert!(replace(&path, LONGS, &[1000], 42).is_err());
    }

    #[test]
    fn a_damaged_header_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        fs::write(&path, [0; 64]).unwrap();
        let fault = replace(&path, LONGS, &[0], 42).unwrap_err();
        assert!(matches!(fault, Fault::Wrong { .. }), "{fault}");
        fs::write(&path, [0xfe; 3]).unwrap();
        assert!(replace(&path, LONGS, &[0], 42).is_err());
    }
}
