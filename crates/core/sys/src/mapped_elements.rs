//! A file of 64-bit elements seen as memory, as a column store sees it. Every access is checked
//! against the bounds. No slice is handed out: another program may change the file meanwhile, and
//! then a value may be old or new, and nothing else happens. Every mapping is known to `sigbus`.
#![allow(unsafe_code)]

use crate::elements::ELEMENT_BYTES;
use crate::mapped_file::{MapAdvice, MapError, Mapping};
use rustix::mm::{MapFlags, ProtFlags, madvise};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

#[derive(Debug)]
struct Elements {
    mapping: Mapping,
    first_offset_bytes: usize,
    count: usize,
}

impl Elements {
    fn new(
        file: &File,
        path: &Path,
        first_offset_bytes: usize,
        count: Option<usize>,
        how: (ProtFlags, MapFlags),
    ) -> Result<Self, MapError> {
        assert!(first_offset_bytes % ELEMENT_BYTES == 0, "elements are aligned");
        let bytes = |count: usize| {
            let elements = count.checked_mul(ELEMENT_BYTES);
            elements.and_then(|n| n.checked_add(first_offset_bytes)).unwrap_or(usize::MAX)
        };
        let all = |size: u64| (size as usize).saturating_sub(first_offset_bytes) / ELEMENT_BYTES;
        let whole = |size| bytes(count.unwrap_or_else(|| all(size)));
        let mapping = Mapping::of(file, path, whole, how)?;
        let count = count.unwrap_or((mapping.length_bytes - first_offset_bytes) / ELEMENT_BYTES);
        Ok(Self { mapping, first_offset_bytes, count })
    }

    /// The first element; as aligned as the mapping, which begins at a page.
    fn first(&self) -> *mut u64 {
        // SAFETY: the offset of the first element is at most the length of the mapping.
        unsafe { self.mapping.address.as_ptr().add(self.first_offset_bytes).cast() }
    }

    fn check(&self, range: Range<usize>) -> Result<(), MapError> {
        if range.start <= range.end && range.end <= self.count {
            return Ok(());
        }
        Err(self.outside(range))
    }

    #[cold]
    fn outside(&self, range: Range<usize>) -> MapError {
        let byte = |index: usize| {
            index.saturating_mul(ELEMENT_BYTES).saturating_add(self.first_offset_bytes)
        };
        let range = byte(range.start)..byte(range.end);
        MapError::OutOfBounds { range, length_bytes: self.mapping.length_bytes }
    }
}

#[derive(Debug)]
pub struct ReadMap(Elements);

// SAFETY: the mapping belongs to this value alone and is never written through.
unsafe impl Send for ReadMap {}
// SAFETY: as above; several threads only read.
unsafe impl Sync for ReadMap {}

impl ReadMap {
    /// `count` elements, or all that it has. The path is for messages only. Panics when the offset
    /// is not a multiple of eight.
    pub fn map(
        file: &File,
        path: &Path,
        first_offset_bytes: usize,
        count: Option<usize>,
    ) -> Result<Self, MapError> {
        let how = (ProtFlags::READ, MapFlags::PRIVATE);
        Elements::new(file, path, first_offset_bytes, count, how).map(Self)
    }

    pub fn count(&self) -> usize {
        self.0.count
    }

    pub fn length_bytes(&self) -> usize {
        self.0.mapping.length_bytes
    }

    /// The lists have equal lengths.
    pub fn gather(&self, indexes: &[u64], into: &mut [u64]) -> Result<(), MapError> {
        assert_eq!(indexes.len(), into.len(), "one place for each index");
        let first = self.0.first();
        for (index, place) in indexes.iter().zip(into) {
            let index = *index as usize;
            if index >= self.0.count {
                return Err(self.0.outside(index..index.saturating_add(1)));
            }
            // SAFETY: inside the mapping, by the comparison above.
            *place = unsafe { first.add(index).read() };
        }
        Ok(())
    }

    pub fn gather_narrow(&self, indexes: &[u32], into: &mut [u64]) -> Result<(), MapError> {
        assert_eq!(indexes.len(), into.len(), "one place for each index");
        let first = self.0.first();
        for (index, place) in indexes.iter().zip(into) {
            let index = *index as usize;
            if index >= self.0.count {
                return Err(self.0.outside(index..index + 1));
            }
            // SAFETY: inside the mapping, by the comparison above.
            *place = unsafe { first.add(index).read() };
        }
        Ok(())
    }

    pub fn copy(&self, from: usize, into: &mut [u64]) -> Result<(), MapError> {
        self.0.check(from..from.saturating_add(into.len()))?;
        // SAFETY: the range is inside the mapping by the check, and `into` is other memory, as no
        // slice of the mapping is ever handed out.
        unsafe {
            std::ptr::copy_nonoverlapping(self.0.first().add(from), into.as_mut_ptr(), into.len());
        }
        Ok(())
    }

    /// Elements are taken as signed; `None` for an empty range.
    pub fn max_signed(&self, range: Range<usize>) -> Result<Option<i64>, MapError> {
        self.0.check(range.clone())?;
        let first = self.0.first();
        // SAFETY: the range is inside the mapping by the check above.
        Ok(range.map(|index| unsafe { first.add(index).read() } as i64).max())
    }

    /// Reads one byte each `stride_bytes` (at least 1), front to back; gives their sum.
    pub fn touch(&self, stride_bytes: usize) -> u64 {
        let start = self.0.mapping.address.as_ptr();
        let places = (0..self.0.mapping.length_bytes).step_by(stride_bytes.max(1));
        // SAFETY: each place is inside the mapping. Volatile, so that no read is left out.
        places.map(|place| u64::from(unsafe { start.add(place).read_volatile() })).sum()
    }

    /// For the whole mapping. `EINVAL` for advice that is for shared mappings only.
    pub fn advise(&self, advice: MapAdvice, path: &Path) -> Result<(), MapError> {
        let start = self.0.mapping.address.as_ptr().cast();
        // SAFETY: the whole mapping, and the advice changes no byte.
        let answer = unsafe { madvise(start, self.0.mapping.length_bytes, advice.into()) };
        answer.map_err(|error| MapError::Request {
            request: "advise on the mapping of",
            path: path.to_owned(),
            cause: error.into(),
        })
    }
}

#[derive(Debug)]
pub struct StoreMap(Elements);

impl StoreMap {
    /// The file is open for reading and writing; else as [`ReadMap::map`].
    pub fn map(
        file: &File,
        path: &Path,
        first_offset_bytes: usize,
        count: Option<usize>,
    ) -> Result<Self, MapError> {
        let how = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        Elements::new(file, path, first_offset_bytes, count, how).map(Self)
    }

    /// One store of eight bytes after the other.
    pub fn store(&mut self, indexes: &[u64], value: u64) -> Result<(), MapError> {
        let first = self.0.first();
        for index in indexes {
            let index = *index as usize;
            if index >= self.0.count {
                return Err(self.0.outside(index..index.saturating_add(1)));
            }
            // SAFETY: inside the mapping, by the comparison above. Volatile, so that stores are
            // neither joined nor left out.
            unsafe { first.add(index).write_volatile(value) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::bytes_of;
    use std::os::unix::fs::FileExt;

    fn column(values: &[u64]) -> File {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.write_all_at(&[0xfe; 16], 0).unwrap();
        file.write_all_at(bytes_of(values), 16).unwrap();
        file
    }

    #[test]
    fn stores_reach_the_file_and_nothing_else_changes() {
        let file = column(&[1, 2, 3, 4]);
        let mut map = StoreMap::map(&file, "column".as_ref(), 16, Some(4)).unwrap();
        map.store(&[3, 0], 42).unwrap();
        drop(map);
        let mut read = [0; 48];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(read[..16], [0xfe; 16]);
        assert_eq!(&read[16..], bytes_of(&[42, 2, 3, 42]));
    }

    #[test]
    fn what_is_gathered_copied_and_compared_is_what_stands_there() {
        let file = column(&[5, u64::MAX, 7, 8]);
        let map = ReadMap::map(&file, "column".as_ref(), 16, Some(4)).unwrap();
        let mut found = [0; 3];
        map.gather(&[3, 3, 0], &mut found).unwrap();
        assert_eq!(found, [8, 8, 5]);
        map.gather_narrow(&[1, 2, 0], &mut found).unwrap();
        assert_eq!(found, [u64::MAX, 7, 5]);
        map.copy(1, &mut found).unwrap();
        assert_eq!(found, [u64::MAX, 7, 8]);
        assert_eq!(map.max_signed(0..4).unwrap(), Some(8));
        assert_eq!(map.max_signed(1..2).unwrap(), Some(-1));
        assert_eq!(map.max_signed(2..2).unwrap(), None);
    }

    #[test]
    fn nothing_outside_is_touched() {
        let file = column(&[1, 2]);
        let map = ReadMap::map(&file, "column".as_ref(), 16, Some(2)).unwrap();
        let error = map.gather(&[2], &mut [0]).unwrap_err().to_string();
        assert_eq!(error, "bytes 32..40 are outside a mapping of 32 bytes");
        assert!(map.gather(&[u64::MAX], &mut [0]).is_err());
        assert!(map.copy(1, &mut [0; 2]).is_err());
        assert!(map.copy(usize::MAX, &mut [0; 2]).is_err());
        assert!(map.max_signed(1..3).is_err());
        let mut map = StoreMap::map(&file, "column".as_ref(), 16, Some(2)).unwrap();
        assert!(map.store(&[0, 2], 1).is_err());
        let error = ReadMap::map(&file, "column".as_ref(), 16, Some(3)).unwrap_err().to_string();
        assert_eq!(error, "column has 32 bytes, too few to map 40");
        assert!(ReadMap::map(&file, "column".as_ref(), 16, Some(usize::MAX / 4)).is_err());
    }

    #[test]
    fn a_touch_reads_each_stride_and_advice_loses_nothing() {
        let file = column(&vec![0x0101_0101_0101_0101; 2046]);
        let map = ReadMap::map(&file, "column".as_ref(), 16, None).unwrap();
        for advice in [MapAdvice::WillNeed, MapAdvice::Random, MapAdvice::Sequential] {
            map.advise(advice, "column".as_ref()).unwrap();
        }
        assert_eq!(map.touch(4096), 0xfe + 3);
        assert_eq!(map.touch(8), 0xfe * 2 + 2046);
        assert_eq!((map.count(), map.length_bytes()), (2046, 4 * 4096));
    }
}
