//! Where the bytes of a file are on its disk: extents by FIEMAP, holes by SEEK_HOLE. It also mends
//! a file: ranges that were reserved and never written, or not reserved, are written with zeros.
//! Not a defragmenter: extents are not moved or merged.
//!
//! mkfs un-writes a loop image (it asks for zeroes or discards, and the loop driver turns that into
//! unwritten extents or holes); the first sync into such a range then pays for the conversion. So
//! an image is mended after each mkfs and looked at before and after each trial.
//!
//! ```no_run
//! use pickfs_sys::extents;
//! let image = std::fs::File::options().read(true).write(true).open("image")?;
//! let rewritten = extents::rewrite_unwritten(&image)?;
//! println!("{} bytes rewritten", rewritten.total_bytes());
//! assert!(extents::summary(&image)?.is_fully_written());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: `Documentation/filesystems/fiemap.rst`; `include/uapi/linux/fiemap.h`; lseek(2);
//! ioctl_iflags(2).
#![allow(unsafe_code)]

use crate::aligned_buffer::AlignedBuffer;
use crate::{ioctl, privilege::remedy};
use rustix::fs::{IFlags, SeekFrom};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

const FS_IOC_FIEMAP: u64 = 0xC020_660B;
const FIEMAP_FLAG_SYNC: u32 = 1;
const BATCH: usize = 256;
/// Zeros are written in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;
const DIRECT_ALIGNMENT_BYTES: u64 = 4096;

/// What went wrong while looking at or mending a file.
#[derive(Debug, thiserror::Error)]
pub enum ExtentError {
    /// The file system does not answer FIEMAP (tmpfs, most FUSE); use [`seek_ranges`].
    #[error("this file system has no FIEMAP: {cause}; its holes can still be found by SEEK_HOLE")]
    NoFiemap {
        /// What the kernel said: `EOPNOTSUPP` or `ENOTTY`.
        cause: io::Error,
    },
    /// A request failed.
    #[error("cannot {request} of the file: {cause}{}", remedy(.cause, "write access to the file"))]
    Request {
        /// What was asked.
        request: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
    /// Writing zeros failed.
    #[error("cannot write zeros at offset {offset_bytes}: {cause}")]
    Rewrite {
        /// Where in the file.
        offset_bytes: u64,
        /// What the kernel said.
        cause: io::Error,
    },
}

/// The flags that FIEMAP gives an extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtentFlags(pub u32);

impl ExtentFlags {
    /// The last extent of the file.
    pub fn is_last(self) -> bool {
        self.0 & 0x1 != 0
    }
    /// The place on disk is not known (yet).
    pub fn is_unknown(self) -> bool {
        self.0 & 0x2 != 0
    }
    /// In the page cache only; a place on disk is given at write-back.
    pub fn is_delayed(self) -> bool {
        self.0 & 0x4 != 0
    }
    /// Compressed or encrypted: cannot be read from the disk as it stands.
    pub fn is_encoded(self) -> bool {
        self.0 & 0x8 != 0
    }
    /// Not aligned to blocks: packed with metadata or other tails.
    pub fn is_packed(self) -> bool {
        self.0 & 0x700 != 0
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

/// One piece of a file that lies together on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins in the file.
    pub logical_bytes: u64,
    /// Where it begins on the device; meaningless when unknown or delayed.
    pub physical_bytes: u64,
    /// How long it is; may reach past the end of the file.
    pub length_bytes: u64,
    /// What the file system says about it.
    pub flags: ExtentFlags,
}

/// A part of a file: `start_bytes` up to, not including, `end_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub start_bytes: u64,
    /// One past the last byte.
    pub end_bytes: u64,
}

impl ByteRange {
    /// Bytes in the range.
    pub fn length_bytes(self) -> u64 {
        self.end_bytes - self.start_bytes
    }
}

/// How the facts were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentSource {
    /// FIEMAP: knows unwritten from written.
    Fiemap,
    /// SEEK_HOLE and SEEK_DATA: ranges are either data or missing.
    SeekHole,
}

/// A file's extents in a few numbers. Written, unwritten and missing add up to the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentSummary {
    /// How it was found.
    pub source: ExtentSource,
    /// Number of extents, or of data ranges.
    pub extent_count: usize,
    /// Size of the file.
    pub size_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Bytes that are reserved and never written.
    pub unwritten_bytes: u64,
    /// Bytes without any extent.
    pub missing_bytes: u64,
    /// Bytes that are shared with another file.
    pub shared_bytes: u64,
}

impl ExtentSummary {
    /// Every byte of the file has been written.
    pub fn is_fully_written(&self) -> bool {
        self.unwritten_bytes == 0 && self.missing_bytes == 0
    }
}

/// What [`rewrite_unwritten`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Bytes that were reserved and not written.
    pub unwritten_bytes: u64,
    /// Bytes that had no extent.
    pub missing_bytes: u64,
    /// How many of them went by direct I/O; the rest went through the page cache.
    pub direct_bytes: u64,
}

impl Rewritten {
    /// All bytes written.
    pub fn total_bytes(&self) -> u64 {
        self.unwritten_bytes + self.missing_bytes
    }
}

/// All extents of a file, in order of their place in the file. Delayed data is written first.
pub fn fiemap(file: &File) -> Result<Vec<Extent>, ExtentError> {
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

fn fiemap_batch(file: &File, start_bytes: u64) -> Result<Vec<Extent>, ExtentError> {
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
    unsafe { ioctl::with_pointer(file.as_fd(), FS_IOC_FIEMAP, map.as_mut()) }.map_err(refused)?;
    let found = (map.mapped_extents as usize).min(BATCH);
    Ok(map.extents[..found].iter().map(FiemapExtent::typed).collect())
}

fn refused(cause: io::Error) -> ExtentError {
    match cause.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => ExtentError::NoFiemap { cause },
        _ => ExtentError::Request { request: "read the extents", cause },
    }
}

/// The data ranges of a file by SEEK_DATA and SEEK_HOLE. Works on every file system; one that does
/// not know its holes calls the whole file data. The file position is moved and put back.
pub fn seek_ranges(file: &File) -> Result<Vec<ByteRange>, ExtentError> {
    let failed = |cause: rustix::io::Errno| ExtentError::Request {
        request: "find the holes",
        cause: cause.into(),
    };
    let before = rustix::fs::seek(file, SeekFrom::Current(0)).map_err(failed)?;
    let ranges = walk_data(file).map_err(failed);
    rustix::fs::seek(file, SeekFrom::Start(before)).map_err(failed)?;
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

/// A file's extents in numbers: by FIEMAP, or by SEEK_HOLE where there is none.
pub fn summary(file: &File) -> Result<ExtentSummary, ExtentError> {
    let size_bytes = size_of_file(file)?;
    match fiemap(file) {
        Ok(extents) => Ok(summarise(&extents, size_bytes)),
        Err(ExtentError::NoFiemap { .. }) => summarise_data(&seek_ranges(file)?, size_bytes),
        Err(error) => Err(error),
    }
}

fn size_of_file(file: &File) -> Result<u64, ExtentError> {
    let metadata = file.metadata();
    let metadata =
        metadata.map_err(|cause| ExtentError::Request { request: "read the size", cause })?;
    Ok(metadata.len())
}

fn summarise(extents: &[Extent], size_bytes: u64) -> ExtentSummary {
    let unwritten = |e: &Extent| e.flags.is_unwritten();
    let total = |wanted: &dyn Fn(&Extent) -> bool| -> u64 {
        extents.iter().filter(|e| wanted(e)).map(|e| clipped(e, size_bytes).length_bytes()).sum()
    };
    let unwritten_bytes = total(&unwritten);
    let written_bytes = total(&|e| !unwritten(e));
    ExtentSummary {
        source: ExtentSource::Fiemap,
        extent_count: extents.len(),
        size_bytes,
        written_bytes,
        unwritten_bytes,
        missing_bytes: size_bytes.saturating_sub(written_bytes + unwritten_bytes),
        shared_bytes: total(&|e| e.flags.is_shared()),
    }
}

fn summarise_data(data: &[ByteRange], size_bytes: u64) -> Result<ExtentSummary, ExtentError> {
    let written_bytes = data.iter().map(|range| range.length_bytes()).sum();
    Ok(ExtentSummary {
        source: ExtentSource::SeekHole,
        extent_count: data.len(),
        size_bytes,
        written_bytes,
        unwritten_bytes: 0,
        missing_bytes: size_bytes.saturating_sub(written_bytes),
        shared_bytes: 0,
    })
}

fn clipped(extent: &Extent, size_bytes: u64) -> ByteRange {
    let end = extent.logical_bytes.saturating_add(extent.length_bytes).min(size_bytes);
    ByteRange { start_bytes: extent.logical_bytes.min(end), end_bytes: end }
}

/// Writes zeros over every range that is unwritten or missing, in place, and makes them durable.
/// Nothing changes for a reader: such ranges read as zeros already.
///
/// The file must be at rest: **nobody may write to it meanwhile**, neither a program nor a loop
/// device above it. After mkfs, sync the device first; mount only afterwards.
pub fn rewrite_unwritten(file: &File) -> Result<Rewritten, ExtentError> {
    let size_bytes = size_of_file(file)?;
    let (unwritten, missing) = match fiemap(file) {
        Ok(extents) => unwritten_and_missing(&extents, size_bytes),
        Err(ExtentError::NoFiemap { .. }) => (vec![], gaps(&seek_ranges(file)?, size_bytes)),
        Err(error) => return Err(error),
    };
    let direct = reopen_direct(file);
    let zeros = AlignedBuffer::zeroed(PIECE_BYTES);
    let mut done = Rewritten::default();
    for range in unwritten {
        done.direct_bytes += write_zeros(file, direct.as_ref(), &zeros, range)?;
        done.unwritten_bytes += range.length_bytes();
    }
    for range in missing {
        done.direct_bytes += write_zeros(file, direct.as_ref(), &zeros, range)?;
        done.missing_bytes += range.length_bytes();
    }
    let synced = file.sync_data();
    synced.map_err(|cause| ExtentError::Request { request: "sync the zeros", cause })?;
    Ok(done)
}

fn unwritten_and_missing(extents: &[Extent], size_bytes: u64) -> (Vec<ByteRange>, Vec<ByteRange>) {
    let all: Vec<_> = extents.iter().map(|e| clipped(e, size_bytes)).collect();
    let unwritten = extents
        .iter()
        .filter(|e| e.flags.is_unwritten())
        .map(|e| clipped(e, size_bytes))
        .filter(|range| range.length_bytes() > 0);
    (unwritten.collect(), gaps(&all, size_bytes))
}

/// What lies between ranges that are in order, up to the size.
fn gaps(ranges: &[ByteRange], size_bytes: u64) -> Vec<ByteRange> {
    let mut found = Vec::new();
    let mut reached_bytes = 0;
    for range in ranges {
        if range.start_bytes > reached_bytes {
            found.push(ByteRange { start_bytes: reached_bytes, end_bytes: range.start_bytes });
        }
        reached_bytes = reached_bytes.max(range.end_bytes);
    }
    if reached_bytes < size_bytes {
        found.push(ByteRange { start_bytes: reached_bytes, end_bytes: size_bytes });
    }
    found
}

/// The same file, open for direct writes; works for an unlinked one. `None` where the file system
/// has no direct I/O or /proc is not there.
fn reopen_direct(file: &File) -> Option<File> {
    File::options()
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .ok()
}

/// Writes zeros over one range; gives back how many bytes went by direct I/O.
fn write_zeros(
    file: &File,
    direct: Option<&File>,
    zeros: &[u8],
    range: ByteRange,
) -> Result<u64, ExtentError> {
    let mut direct_bytes = 0;
    let mut offset_bytes = range.start_bytes;
    while offset_bytes < range.end_bytes {
        let piece_bytes = (range.end_bytes - offset_bytes).min(zeros.len() as u64);
        let piece = &zeros[..piece_bytes as usize];
        if write_direct(direct, piece, offset_bytes) {
            direct_bytes += piece_bytes;
        } else {
            file.write_all_at(piece, offset_bytes)
                .map_err(|cause| ExtentError::Rewrite { offset_bytes, cause })?;
        }
        offset_bytes += piece_bytes;
    }
    Ok(direct_bytes)
}

/// True when the whole piece was written directly; a refusal is left to the buffered way.
fn write_direct(direct: Option<&File>, piece: &[u8], offset_bytes: u64) -> bool {
    let aligned = offset_bytes.is_multiple_of(DIRECT_ALIGNMENT_BYTES)
        && (piece.len() as u64).is_multiple_of(DIRECT_ALIGNMENT_BYTES);
    aligned && direct.is_some_and(|file| file.write_all_at(piece, offset_bytes).is_ok())
}

/// The file has the no-copy-on-write attribute (btrfs, bcachefs; others say no).
pub fn is_no_copy_on_write(file: &File) -> Result<bool, ExtentError> {
    Ok(attributes(file)?.contains(IFlags::NOCOW))
}

/// Sets or clears the no-copy-on-write attribute. btrfs takes it only while the file is empty.
pub fn set_no_copy_on_write(file: &File, on: bool) -> Result<(), ExtentError> {
    let mut flags = attributes(file)?;
    flags.set(IFlags::NOCOW, on);
    rustix::fs::ioctl_setflags(file, flags).map_err(|cause| ExtentError::Request {
        request: "set the no-copy-on-write attribute",
        cause: cause.into(),
    })
}

fn attributes(file: &File) -> Result<IFlags, ExtentError> {
    rustix::fs::ioctl_getflags(file).map_err(|cause| ExtentError::Request {
        request: "read the attributes",
        cause: cause.into(),
    })
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

impl FiemapExtent {
    fn typed(&self) -> Extent {
        Extent {
            logical_bytes: self.logical,
            physical_bytes: self.physical,
            length_bytes: self.length,
            flags: ExtentFlags(self.flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn extent(logical_bytes: u64, length_bytes: u64, flags: u32) -> Extent {
        let flags = ExtentFlags(flags);
        Extent { logical_bytes, physical_bytes: 0, length_bytes, flags }
    }

    #[test]
    fn structures_have_the_sizes_of_the_kernel_header() {
        assert_eq!(size_of::<FiemapExtent>(), 56);
        assert_eq!(size_of::<Fiemap>(), 32 + 56 * BATCH);
    }

    #[test]
    fn written_unwritten_and_missing_add_up_to_the_size() {
        let extents = [extent(0, 4096, 0), extent(8192, 4096, 0x800), extent(12288, 8192, 0x2001)];
        let s = summarise(&extents, 18000);
        assert_eq!((s.written_bytes, s.unwritten_bytes, s.missing_bytes), (9808, 4096, 4096));
        assert_eq!((s.shared_bytes, s.extent_count), (5712, 3));
        assert!(!s.is_fully_written());
    }

    #[test]
    fn an_extent_past_the_end_of_the_file_counts_nothing() {
        let s = summarise(&[extent(0, 4096, 0), extent(8192, 4096, 0x801)], 4096);
        assert_eq!((s.written_bytes, s.unwritten_bytes, s.missing_bytes), (4096, 0, 0));
        let (unwritten, missing) = unwritten_and_missing(&[extent(8192, 4096, 0x801)], 4096);
        assert!(unwritten.is_empty());
        assert_eq!(missing, [ByteRange { start_bytes: 0, end_bytes: 4096 }]);
    }

    #[test]
    fn gaps_are_found_before_between_and_after() {
        let range = |start_bytes, end_bytes| ByteRange { start_bytes, end_bytes };
        let found = gaps(&[range(10, 20), range(20, 30), range(40, 50)], 60);
        assert_eq!(found, [range(0, 10), range(30, 40), range(50, 60)]);
    }

    #[test]
    fn a_sparse_file_is_mended_and_keeps_its_data() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"kept", 100_000).unwrap();
        file.set_len(300_001).unwrap();
        (&file).flush().unwrap();
        assert!(summary(&file).unwrap().missing_bytes > 0);
        let rewritten = rewrite_unwritten(&file).unwrap();
        assert!(rewritten.total_bytes() > 200_000, "{rewritten:?}");
        let after = summary(&file).unwrap();
        assert!(after.is_fully_written(), "{after:?}");
        assert_eq!(after.size_bytes, 300_001);
        let mut kept = [0; 4];
        file.read_exact_at(&mut kept, 100_000).unwrap();
        assert_eq!(&kept, b"kept");
        assert_eq!(rewrite_unwritten(&file).unwrap(), Rewritten::default());
    }
}
