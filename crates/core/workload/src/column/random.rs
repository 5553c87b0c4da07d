//! Blocks read at random places of mapped columns, in four ways.
//!
//! ```text
//! mapped           the files are mapped before; the block is gathered by a list of indexes
//! mapped per read  open pread(header) fstat mmap close, gather, munmap: for each block
//! advised          as mapped, after madvise(MADV_RANDOM): no read-ahead
//! pread            one pread of the block; the files were opened before
//! ```
//!
//! A place is a page of the file plus its header: a block of 4,000 bytes touches one page, of 64,000 bytes
//! sixteen, of 1,000,000 bytes 245. No place comes twice in a file, and the files' places are shuffled
//! together. First and last element of each block are folded into a sum, so that what came from
//! the device is checked.

use std::{fs::File, io, path::PathBuf};

use pickfs_record::{Clock, MonotonicClock};
use pickfs_sys::{
    elements::{ELEMENT_BYTES, bytes_of_mut},
    mapped_elements::{MapAdvice, ReadMap},
};
use rustix::io::{Errno, pread};

use super::{
    get::{get, map_fault},
    layout::Layout,
    shuffle::Shuffle,
    sizes::STEP_ELEMENTS,
};
use crate::fault::Fault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBy {
    Mapped,
    /// From a mapping that is made and taken away for each block.
    MappedPerRead,
    /// From mappings that were told to expect random reads.
    Advised,
    Pread,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) first: u64,
    pub(super) elements: u32,
}

#[derive(Debug)]
pub struct Blocks {
    files: Vec<PathBuf>,
    layout: Layout,
    places: Vec<Place>,
}

const LAYOUT: Layout = Layout::Longs;

impl Blocks {
    /// `reads` places in each file, out of `positions` that are a step apart and of which there are
    /// no more.
    pub fn new(
        files: Vec<PathBuf>,
        block_elements: usize,
        (reads, positions): (u64, u64),
        seed: u64,
    ) -> Blocks {
        let reads = reads.min(positions);
        let count = reads * files.len() as u64;
        let order = Shuffle::new(count.max(1), seed);
        let pages: Vec<Shuffle> = (1..=files.len() as u64)
            .map(|file| Shuffle::new(positions, seed ^ file << 32))
            .collect();
        let place = |number: u64| {
            let (file, read) = (number / reads, number % reads);
            let page = pages[file as usize].at(read);
            let (file, first) = (file as u32, page * STEP_ELEMENTS);
            Place { file, first, elements: block_elements as u32 }
        };
        let places = (0..count).map(|at| place(order.at(at))).collect();
        Blocks::of_places(files, LAYOUT, places)
    }

    /// In their order; each has an element.
    pub(super) fn of_places(files: Vec<PathBuf>, layout: Layout, places: Vec<Place>) -> Blocks {
        Blocks { files, layout, places }
    }

    pub(super) fn count(&self) -> u64 {
        self.places.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        let elements = self.places.iter().map(|place| u64::from(place.elements));
        elements.sum::<u64>() * ELEMENT_BYTES as u64
    }

    /// Opens or maps what the way needs before the clock starts, and touches the memory that blocks are read into.
    pub fn open(&self, by: ReadBy) -> Result<OpenFiles, Fault> {
        let longest = self.places.iter().map(|place| place.elements as usize).max().unwrap_or(0);
        let mut files = OpenFiles { block: vec![1; longest], ..OpenFiles::default() };
        files.indexes.clone_from(&files.block);
        for path in &self.files {
            match by {
                ReadBy::MappedPerRead => {}
                ReadBy::Pread => {
                    files.opened.push(File::open(path).map_err(Fault::io("open", path))?);
                }
                ReadBy::Mapped | ReadBy::Advised => files.mapped.push(get(path, self.layout)?),
            }
            if let (ReadBy::Advised, Some(map)) = (by, files.mapped.last()) {
                map.advise(MapAdvice::Random, path).map_err(map_fault)?;
            }
        }
        Ok(files)
    }

    /// Gives the sum of what was read; each block is an operation (begin, end, offset).
    pub fn read(
        &self,
        files: &mut OpenFiles,
        operation: &mut impl FnMut(u64, u64, u64),
    ) -> Result<u64, Fault> {
        let mut sum = 0;
        for place in &self.places {
            let (from, length) = (self.layout.file_bytes(place.first), place.elements as usize);
            let OpenFiles { mapped, opened, block, indexes } = files;
            let (block, indexes) = (&mut block[..length], &mut indexes[..length]);
            let start_ns = MonotonicClock.now_ns();
            self.one((mapped, opened), place, indexes, block)?;
            operation(start_ns, MonotonicClock.now_ns(), from);
            sum = folded(sum, block);
        }
        Ok(sum)
    }

    /// In the loop itself: to return right behind a system call makes the next one slower (`BENCHMARKS.md`).
    #[inline(always)]
    fn one(
        &self,
        (mapped, opened): (&[ReadMap], &[File]),
        place: &Place,
        indexes: &mut [u64],
        block: &mut [u64],
    ) -> Result<(), Fault> {
        let file = place.file as usize;
        if let Some(map) = mapped.get(file) {
            return gather(map, place.first, indexes, block);
        }
        let path = &self.files[file];
        if let Some(open) = opened.get(file) {
            let read = pread_exact(open, bytes_of_mut(block), self.layout.file_bytes(place.first));
            return read.map_err(Fault::io("pread", path));
        }
        gather(&get(path, self.layout)?, place.first, indexes, block)
    }

    /// The sum that [`Blocks::read`] must give, where `element` tells what stands in a file at an
    /// index.
    pub fn expected(&self, element: impl Fn(u32, u64) -> u64) -> u64 {
        let ends = |place: &Place| {
            let last = u64::from(place.elements) - 1;
            [element(place.file, place.first), element(place.file, place.first + last)]
        };
        self.places.iter().fold(0, |sum, place| folded(sum, &ends(place)))
    }
}

/// Files as the way needs them, none where each block is mapped anew, and memory for the longest block.
#[derive(Debug, Default)]
pub struct OpenFiles {
    mapped: Vec<ReadMap>,
    opened: Vec<File>,
    block: Vec<u64>,
    indexes: Vec<u64>,
}

#[inline(always)]
fn pread_exact(file: &File, mut bytes: &mut [u8], mut offset_bytes: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match pread(file, &mut *bytes, offset_bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (bytes, offset_bytes) = (&mut bytes[read..], offset_bytes + read as u64),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A list of indexes is made and followed, as a query over rows does.
#[inline]
fn gather(map: &ReadMap, first: u64, indexes: &mut [u64], block: &mut [u64]) -> Result<(), Fault> {
    for (index, place) in (first..).zip(indexes.iter_mut()) {
        *place = index;
    }
    map.gather(indexes.iter().copied(), block).map_err(map_fault)
}

/// A sum over first and last elements that depends on their order.
fn folded(sum: u64, block: &[u64]) -> u64 {
    let ends = [block.first(), block.last()].into_iter().flatten();
    ends.fold(sum, |sum, element| sum.rotate_left(7) ^ element)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{
        super::{layout::Attribute, set::unkept},
        *,
    };

    fn files(folder: &std::path::Path, count: u64) -> Vec<PathBuf> {
        let write = |number: u64| {
            let path = folder.join(format!("randomread{number}"));
            let mut bytes = LAYOUT.header(Attribute::None, count);
            (0..count).for_each(|element| bytes.extend((element * 3).to_le_bytes()));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        (0..3).map(write).collect()
    }

    #[test]
    fn all_four_ways_read_the_same_and_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let blocks = Blocks::new(files(folder.path(), 20_000), 500, (7, 38), 5);
        let expected = blocks.expected(|_, element| element * 3);
        for by in [ReadBy::Mapped, ReadBy::MappedPerRead, ReadBy::Advised, ReadBy::Pread] {
            let sum = blocks.read(&mut blocks.open(by).unwrap(), &mut unkept).unwrap();
            assert_eq!(sum, expected, "{by:?}");
        }
        assert_ne!(expected, blocks.expected(|_, element| element * 3 + 1));
        assert_eq!(blocks.bytes(), 21 * 4000);
    }

    #[test]
    fn places_are_different_pages_the_files_are_mixed_and_there_are_no_more_than_positions() {
        let names = vec![PathBuf::from("a"), PathBuf::from("b")];
        let places = Blocks::new(names, 500, (1000, 4000), 9).places;
        let different: HashSet<(u32, u64)> =
            places.iter().map(|place| (place.file, place.first)).collect();
        assert_eq!(different.len(), 2000);
        assert!(places.iter().all(|place| place.first % 512 == 0));
        let changes = places.windows(2).filter(|pair| pair[0].file != pair[1].file).count();
        assert!(changes > 800, "{changes} changes of file in 2000 reads");
        assert_eq!(Blocks::new(vec!["a".into()], 500, (1000, 10), 9).places.len(), 10);
    }
}
