//! Where the bytes of a file are on its disk: extents by FIEMAP, holes by SEEK_HOLE.
//! mkfs un-writes a loop image (it asks for zeroes or discards, and the loop driver turns that
//! into unwritten extents or holes); the first sync into such a range then pays for the
//! conversion. So an image is mended after each mkfs and looked at before and after each trial.
#![allow(unsafe_code)]

pub use crate::extent_repair::{Rewritten, reopen_direct, rewrite_unwritten};
use crate::ioctl;
use crate::refused::{Refused, cannot};
use rustix::fs::{IFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

const FS_IOC_FIEMAP: u64 = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const BATCH: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtentFlags(pub u32);

impl ExtentFlags {
    pub fn is_last(self) -> bool {
        self.0 & 0x1 != 0
    }
    /// Reserved and never written: reads as zeros.
    pub fn is_unwritten(self) -> bool {
        self.0 & 0x800 != 0
    }
    /// Shared with another file (reflink, snapshot): a write goes elsewhere.
    pub fn is_shared(self) -> bool {
        self.0 & 0x2000 != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub logical_bytes: u64,
    /// May reach past the end of the file.
    pub length_bytes: u64,
    pub flags: ExtentFlags,
}

/// A part of a file: `start_bytes` up to, not including, `end_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub start_bytes: u64,
    pub end_bytes: u64,
}

impl ByteRange {
    pub fn length_bytes(self) -> u64 {
        self.end_bytes - self.start_bytes
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentSummary {
    pub extent_count: usize,
    pub unwritten_bytes: u64,
    pub missing_bytes: u64,
}

impl ExtentSummary {
    pub fn holes_bytes(&self) -> u64 {
        self.unwritten_bytes + self.missing_bytes
    }
}

/// In order of their place in the file. Delayed data is written first.
pub fn fiemap(file: &File) -> Result<Vec<Extent>, Refused> {
    let mut extents = Vec::new();
    let mut start_bytes = 0;
    loop {
        let batch = fiemap_batch(file, start_bytes)?;
        let Some(last) = batch.last().copied() else { return Ok(extents) };
        extents.extend(batch);
        let next_bytes = last.logical_bytes.saturating_add(last.length_bytes);
        if last.flags.is_last() || next_bytes <= start_bytes {
            return Ok(extents);
        }
        start_bytes = next_bytes;
    }
}

fn fiemap_batch(file: &File, start_bytes: u64) -> Result<Vec<Extent>, Refused> {
    let mut map = Box::new(Fiemap {
        start: start_bytes,
        length: u64::MAX - start_bytes,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: BATCH as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); BATCH],
    });
    // SAFETY: the kernel fills at most `extent_count` entries behind the header, and that many are
    // there.
    unsafe { ioctl::with_pointer(file.as_fd(), FS_IOC_FIEMAP, map.as_mut()) }
        .map_err(failed("read the extents"))?;
    let found = (map.mapped_extents as usize).min(BATCH);
    let typed = |extent: &FiemapExtent| Extent {
        logical_bytes: extent.logical,
        length_bytes: extent.length,
        flags: ExtentFlags(extent.flags),
    };
    Ok(map.extents[..found].iter().map(typed).collect())
}

/// tmpfs, most FUSE; use [`seek_ranges`].
pub(crate) fn is_no_fiemap(error: &Refused) -> bool {
    error.is(Errno::OPNOTSUPP) || error.is(Errno::NOTTY)
}

pub(crate) fn failed<E: Into<io::Error>>(request: &str) -> impl FnOnce(E) -> Refused {
    cannot(format!("{request} of the file"), "write access to the file")
}

/// Works on every file system; one that does not know its holes calls the whole file data. The
/// file position is moved and put back.
pub fn seek_ranges(file: &File) -> Result<Vec<ByteRange>, Refused> {
    let find = || failed("find the holes");
    let before = rustix::fs::seek(file, SeekFrom::Current(0)).map_err(find())?;
    let ranges = walk_data(file).map_err(find());
    rustix::fs::seek(file, SeekFrom::Start(before)).map_err(find())?;
    ranges
}

fn walk_data(file: &File) -> rustix::io::Result<Vec<ByteRange>> {
    let mut ranges = Vec::new();
    let mut position = 0;
    loop {
        let start_bytes = match rustix::fs::seek(file, SeekFrom::Data(position)) {
            Ok(start_bytes) => start_bytes,
            Err(rustix::io::Errno::NXIO) => return Ok(ranges),
            Err(error) => return Err(error),
        };
        let end_bytes = rustix::fs::seek(file, SeekFrom::Hole(start_bytes))?;
        ranges.push(ByteRange { start_bytes, end_bytes });
        position = end_bytes;
    }
}

/// By FIEMAP, or by SEEK_HOLE where there is none.
pub fn summary(file: &File) -> Result<ExtentSummary, Refused> {
    let size_bytes = size_of_file(file)?;
    match fiemap(file) {
        Ok(extents) => Ok(summarise(&extents, size_bytes)),
        Err(error) if is_no_fiemap(&error) => Ok(summarise_data(&seek_ranges(file)?, size_bytes)),
        Err(error) => Err(error),
    }
}

pub(crate) fn size_of_file(file: &File) -> Result<u64, Refused> {
    Ok(file.metadata().map_err(failed("read the size"))?.len())
}

fn summarise(extents: &[Extent], size_bytes: u64) -> ExtentSummary {
    let unwritten = |e: &Extent| e.flags.is_unwritten();
    let total = |wanted: &dyn Fn(&Extent) -> bool| -> u64 {
        extents.iter().filter(|e| wanted(e)).map(|e| clipped(e, size_bytes).length_bytes()).sum()
    };
    let unwritten_bytes = total(&unwritten);
    let written_bytes = total(&|e| !unwritten(e));
    ExtentSummary {
        extent_count: extents.len(),
        unwritten_bytes,
        missing_bytes: size_bytes.saturating_sub(written_bytes + unwritten_bytes),
    }
}

fn summarise_data(data: &[ByteRange], size_bytes: u64) -> ExtentSummary {
    let written_bytes = data.iter().map(|range| range.length_bytes()).sum();
    ExtentSummary {
        extent_count: data.len(),
        unwritten_bytes: 0,
        missing_bytes: size_bytes.saturating_sub(written_bytes),
    }
}

pub(crate) fn clipped(extent: &Extent, size_bytes: u64) -> ByteRange {
    let end = extent.logical_bytes.saturating_add(extent.length_bytes).min(size_bytes);
    ByteRange { start_bytes: extent.logical_bytes.min(end), end_bytes: end }
}

/// btrfs and bcachefs; others say no.
pub fn is_no_copy_on_write(file: &File) -> Result<bool, Refused> {
    Ok(attributes(file)?.contains(IFlags::NOCOW))
}

/// btrfs takes it only while the file is empty.
pub fn set_no_copy_on_write(file: &File, on: bool) -> Result<(), Refused> {
    let mut flags = attributes(file)?;
    flags.set(IFlags::NOCOW, on);
    rustix::fs::ioctl_setflags(file, flags).map_err(failed("set the no-copy-on-write attribute"))
}

fn attributes(file: &File) -> Result<IFlags, Refused> {
    rustix::fs::ioctl_getflags(file).map_err(failed("read the attributes"))
}

/// `struct fiemap` with room for one batch of extents behind it.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; BATCH],
}

/// `struct fiemap_extent`: 56 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical_bytes: u64, length_bytes: u64, flags: u32) -> Extent {
        let flags = ExtentFlags(flags);
        Extent { logical_bytes, length_bytes, flags }
    }

    #[test]
    fn structures_have_the_sizes_of_the_kernel_header() {
        assert_eq!(size_of::<FiemapExtent>(), 56);
        assert_eq!(size_of::<Fiemap>(), 32 + 56 * BATCH);
    }

    #[test]
    fn what_is_unwritten_and_what_is_missing_is_counted() {
        let extents = [extent(0, 4096, 0), extent(8192, 4096, 0x800), extent(12288, 8192, 0x2001)];
        let s = summarise(&extents, 18000);
        assert_eq!((s.unwritten_bytes, s.missing_bytes), (4096, 4096));
        assert_eq!(s.extent_count, 3);
    }

    #[test]
    fn an_extent_past_the_end_of_the_file_counts_nothing() {
        let s = summarise(&[extent(0, 4096, 0), extent(8192, 4096, 0x801)], 4096);
        assert_eq!((s.unwritten_bytes, s.missing_bytes), (0, 0));
    }
}
