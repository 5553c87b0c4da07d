//! A file of 64-bit elements seen as memory, as a column store sees it. Every access is checked
//! against the bounds. No slice is handed out: another program may change the file meanwhile, and
//! then a value may be old or new, and nothing else happens. Every mapping is known to `sigbus`.
#![allow(unsafe_code)]

use crate::elements::ELEMENT_BYTES;
use crate::mapped_file::{MapError, Mapping};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapAdvice {
    Sequential,
    Random,
    WillNeed,
}

#[derive(Debug)]
pub struct ReadMap {
    mapping: Mapping,
    first_offset_bytes: usize,
    count: usize,
}

// SAFETY: the mapping belongs to this value alone and is never written through.
unsafe impl Send for ReadMap {}
// SAFETY: as above; several threads only read.
unsafe impl Sync for ReadMap {}

impl ReadMap {
    /// All elements that the file has from an offset on. The path is for messages only. Panics when the offset is not a
    /// multiple of eight.
    pub fn map(file: &File, path: &Path, first_offset_bytes: usize) -> Result<Self, MapError> {
        Self::new(file, path, first_offset_bytes, (ProtFlags::READ, MapFlags::PRIVATE))
    }

    fn new(
        file: &File,
        path: &Path,
        first_offset_bytes: usize,
        how: (ProtFlags, MapFlags),
    ) -> Result<Self, MapError> {
        assert!(first_offset_bytes % ELEMENT_BYTES == 0, "elements are aligned");
        let count = |size: u64| (size as usize).saturating_sub(first_offset_bytes) / ELEMENT_BYTES;
        let whole = |size| first_offset_bytes + count(size) * ELEMENT_BYTES;
        let mapping = Mapping::of(file, path, whole, how)?;
        let count = count(mapping.length_bytes as u64);
        Ok(Self { mapping, first_offset_bytes, count })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The first element; as aligned as the mapping, which begins at a page.
    fn first(&self) -> *mut u64 {
        // SAFETY: the offset of the first element is at most the length of the mapping.
        unsafe { self.mapping.address.as_ptr().add(self.first_offset_bytes).cast() }
    }

    #[cold]
    fn outside(&self, range: Range<usize>) -> MapError {
        let byte = |index: usize| {
            index.saturating_mul(ELEMENT_BYTES).saturating_add(self.first_offset_bytes)
        };
        let range = byte(range.start)..byte(range.end);
        MapError::OutOfBounds { range, length_bytes: self.mapping.length_bytes }
    }

    /// One index for each place.
    #[inline]
    pub fn gather(
        &self,
        indexes: impl IntoIterator<Item = impl Into<u64>>,
        into: &mut [u64],
    ) -> Result<(), MapError> {
        let first = self.first();
        for (place, index) in into.iter_mut().zip(indexes) {
            let index = index.into() as usize;
            if index >= self.count {
                return Err(self.outside(index..index.saturating_add(1)));
            }
            // SAFETY: inside the mapping, by the comparison above.
            *place = unsafe { first.add(index).read() };
        }
        Ok(())
    }

    /// Elements are taken as signed; `None` for an empty range.
    pub fn max_signed(&self, range: Range<usize>) -> Result<Option<i64>, MapError> {
        if range.start > range.end || range.end > self.count {
            return Err(self.outside(range));
        }
        let first = self.first();
        // SAFETY: the range is inside the mapping by the check above.
        Ok(range.map(|index| unsafe { first.add(index).read() } as i64).max())
    }

    /// Reads one byte each `stride_bytes` (at least 1), front to back; gives their sum.
    pub fn touch(&self, stride_bytes: usize) -> u64 {
        let start = self.mapping.address.as_ptr();
        let places = (0..self.mapping.length_bytes).step_by(stride_bytes.max(1));
        // SAFETY: each place is inside the mapping. Volatile, so that no read is left out.
        places.map(|place| u64::from(unsafe { start.add(place).read_volatile() })).sum()
    }

    /// For the whole mapping.
    pub fn advise(&self, advice: MapAdvice, path: &Path) -> Result<(), MapError> {
        let advice = match advice {
            MapAdvice::Sequential => Advice::Sequential,
            MapAdvice::Random => Advice::Random,
            MapAdvice::WillNeed => Advice::WillNeed,
        };
        let start = self.mapping.address.as_ptr().cast();
        // SAFETY: the whole mapping, and the advice changes no byte.
        let answer = unsafe { madvise(start, self.mapping.length_bytes, advice) };
        answer.map_err(|error| MapError::Request {
            request: "advise on the mapping of",
            path: path.to_owned(),
            cause: error.into(),
        })
    }
}

#[derive(Debug)]
pub struct StoreMap(ReadMap);

impl StoreMap {
    /// The file is open for reading and writing; else as [`ReadMap::map`].
    pub fn map(file: &File, path: &Path, first_offset_bytes: usize) -> Result<Self, MapError> {
        let how = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        ReadMap::new(file, path, first_offset_bytes, how).map(Self)
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
        let mut map = StoreMap::map(&file, "column".as_ref(), 16).unwrap();
        map.store(&[3, 0], 42).unwrap();
        assert!(map.store(&[1, 4], 2).is_err());
        drop(map);
        let mut read = [0; 48];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(read[..16], [0xfe; 16]);
        assert_eq!(&read[16..], bytes_of(&[42, 2, 3, 42]));
    }

    #[test]
    fn what_is_gathered_and_compared_is_what_stands_there_and_nothing_outside() {
        let file = column(&[5, u64::MAX, 7, 8]);
        let map = ReadMap::map(&file, "column".as_ref(), 16).unwrap();
        let mut found = [0; 3];
        map.gather([3u64, 3, 0], &mut found).unwrap();
        assert_eq!(found, [8, 8, 5]);
        map.gather([1u32, 2, 0], &mut found).unwrap();
        assert_eq!(found, [u64::MAX, 7, 5]);
        let error = map.gather([4u64], &mut found).unwrap_err().to_string();
        assert_eq!(error, "bytes 48..56 are outside a mapping of 48 bytes");
        assert!(map.gather([u64::MAX], &mut found).is_err());
        assert_eq!(map.max_signed(0..4).unwrap(), Some(8));
        assert_eq!(map.max_signed(1..2).unwrap(), Some(-1));
        assert_eq!(map.max_signed(2..2).unwrap(), None);
        assert!(map.max_signed(1..5).is_err());
        let short = ReadMap::map(&tempfile::tempfile().unwrap(), "column".as_ref(), 16);
        assert_eq!(short.unwrap_err().to_string(), "column has 0 bytes, too few to map 16");
    }

    #[test]
    fn a_touch_reads_each_stride_and_advice_loses_nothing() {
        let file = column(&vec![0x0101_0101_0101_0101; 2046]);
        let map = ReadMap::map(&file, "column".as_ref(), 16).unwrap();
        for advice in [MapAdvice::WillNeed, MapAdvice::Random, MapAdvice::Sequential] {
            map.advise(advice, "column".as_ref()).unwrap();
        }
        assert_eq!(map.touch(4096), 0xfe + 3);
        assert_eq!(map.touch(8), 0xfe * 2 + 2046);
        assert_eq!(map.count(), 2046);
    }
}
