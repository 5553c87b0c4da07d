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

use std::{fs::File, os::unix::fs::FileExt, path::PathBuf};

use pickfs_sys::{
    elements::{ELEMENT_BYTES, bytes_of_mut},
    mapped_elements::ReadMap,
    mapped_file::MapAdvice,
};

use super::{
    get::{get, map_fault},
    layout::{ElementType, Layout},
    shuffle::Shuffle,
    sizes::STEP_ELEMENTS,
    watch::Watch,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub file: u32,
    pub first: u64,
}

#[derive(Debug)]
pub struct Blocks {
    files: Vec<PathBuf>,
    places: Vec<Place>,
    block_elements: usize,
}

const LAYOUT: Layout = Layout::Elements(ElementType::Long);

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
            Place { file: file as u32, first: page * STEP_ELEMENTS }
        };
        let places = (0..count).map(|at| place(order.at(at))).collect();
        Blocks { files, places, block_elements }
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    pub fn bytes(&self) -> u64 {
        (self.places.len() * self.block_elements * ELEMENT_BYTES) as u64
    }

    /// Opens or maps what the way needs before the clock starts.
    pub fn open(&self, by: ReadBy) -> Result<OpenFiles, Fault> {
        let paths = self.files.iter();
        match by {
            ReadBy::MappedPerRead => Ok(OpenFiles::None),
            ReadBy::Mapped => {
                let maps = paths.map(|path| Ok(get(path, LAYOUT)?.elements));
                maps.collect::<Result<_, Fault>>().map(OpenFiles::Mapped)
            }
            ReadBy::Advised => {
                let advised = |path: &PathBuf| {
                    let map = get(path, LAYOUT)?.elements;
                    map.advise(MapAdvice::Random, path).map_err(map_fault)?;
                    Ok(map)
                };
                paths.map(advised).collect::<Result<_, Fault>>().map(OpenFiles::Mapped)
            }
            ReadBy::Pread => {
                let open = |path: &PathBuf| File::open(path).map_err(Fault::io("open", path));
                paths.map(open).collect::<Result<_, Fault>>().map(OpenFiles::Opened)
            }
        }
    }

    /// Gives the sum of what was read.
    pub fn read(&self, files: &OpenFiles, watch: &mut impl Watch) -> Result<u64, Fault> {
        let mut block = vec![0u64; self.block_elements];
        let mut indexes = vec![0u64; self.block_elements];
        let mut sum = 0;
        for place in &self.places {
            let start_ns = watch.now_ns();
            self.one(files, place, &mut indexes, &mut block)?;
            watch.lap(start_ns, watch.now_ns(), LAYOUT.header_bytes() as u64 + place.first * 8);
            sum = folded(sum, &block);
        }
        Ok(sum)
    }

    #[inline]
    fn one(
        &self,
        files: &OpenFiles,
        place: &Place,
        indexes: &mut [u64],
        block: &mut [u64],
    ) -> Result<(), Fault> {
        let file = place.file as usize;
        match files {
            OpenFiles::Mapped(maps) => gather(&maps[file], place.first, indexes, block),
            OpenFiles::None => {
                let column = get(&self.files[file], LAYOUT)?;
                gather(&column.elements, place.first, indexes, block)
            }
            OpenFiles::Opened(open) => {
                let offset_bytes =
                    LAYOUT.header_bytes() as u64 + place.first * ELEMENT_BYTES as u64;
                open[file]
                    .read_exact_at(bytes_of_mut(block), offset_bytes)
                    .map_err(Fault::io("pread", &self.files[file]))
            }
        }
    }

    /// The sum that [`Blocks::read`] must give, where `element` tells what stands in a file at an
    /// index.
    pub fn expected(&self, element: impl Fn(u32, u64) -> u64) -> u64 {
        let last = self.block_elements as u64 - 1;
        let ends = |place: &Place| {
            [element(place.file, place.first), element(place.file, place.first + last)]
        };
        self.places.iter().fold(0, |sum, place| folded(sum, &ends(place)))
    }
}

#[derive(Debug)]
pub enum OpenFiles {
    None,
    Mapped(Vec<ReadMap>),
    Opened(Vec<File>),
}

/// A list of indexes is made and followed, as a query over rows does.
#[inline]
fn gather(map: &ReadMap, first: u64, indexes: &mut [u64], block: &mut [u64]) -> Result<(), Fault> {
    for (index, place) in (first..).zip(indexes.iter_mut()) {
        *place = index;
    }
    map.gather(indexes, block).map_err(map_fault)
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
        super::{
            layout::{Attribute, Header},
            watch::Tally,
        },
        *,
    };

    fn files(folder: &std::path::Path, count: u64) -> Vec<PathBuf> {
        let write = |number: u64| {
            let path = folder.join(format!("randomread{number}"));
            let mut bytes = LAYOUT.header(Header { attribute: Attribute::None, count });
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
        for by in [ReadBy::Mapped, ReadBy::MappedPerRead, ReadBy::Advised, ReadBy::Pread] {
            let mut tally = Tally::default();
            let sum = blocks.read(&blocks.open(by).unwrap(), &mut tally).unwrap();
            assert_eq!(
                (sum, tally.count),
                (blocks.expected(|_, element| element * 3), 21),
                "{by:?}"
            );
        }
        assert_ne!(
            blocks.expected(|_, element| element * 3),
            blocks.expected(|_, element| element * 3 + 1)
        );
        assert_eq!(blocks.bytes(), 21 * 4000);
    }

    #[test]
    fn there_are_no_more_reads_than_positions() {
        let blocks = Blocks::new(vec!["a".into()], 500, (1000, 10), 9);
        assert_eq!(blocks.places().len(), 10);
    }

    #[test]
    fn places_are_different_pages_and_the_files_are_mixed() {
        let names = vec![PathBuf::from("a"), PathBuf::from("b")];
        let blocks = Blocks::new(names, 500, (1000, 4000), 9);
        let different: HashSet<(u32, u64)> =
            blocks.places().iter().map(|place| (place.file, place.first)).collect();
        assert_eq!(different.len(), 2000);
        assert!(blocks.places().iter().all(|place| place.first % 512 == 0));
        let changes =
            blocks.places().windows(2).filter(|pair| pair[0].file != pair[1].file).count();
        assert!(changes > 800, "{changes} changes of file in 2000 reads");
    }
}
