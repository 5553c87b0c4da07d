//! Mending a file whose ranges were reserved and never written, or not reserved: they are written
//! with zeros, in place.

use crate::aligned_buffer::AlignedBuffer;
use crate::extents::{
    ByteRange, Extent, clipped, failed, fiemap, is_no_fiemap, seek_ranges, size_of_file,
};
use crate::refused::{Refused, cannot};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

const PIECE_BYTES: usize = 1 << 20;
const DIRECT_ALIGNMENT_BYTES: u64 = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    pub unwritten_bytes: u64,
    /// Bytes that had no extent.
    pub missing_bytes: u64,
    /// The rest went through the page cache.
    pub direct_bytes: u64,
}

impl Rewritten {
    pub fn total_bytes(&self) -> u64 {
        self.unwritten_bytes + self.missing_bytes
    }
}

/// Writes zeros over every range that is unwritten or missing, in place, and makes them durable.
/// Nothing changes for a reader: such ranges read as zeros already.
///
/// The file must be at rest: **nobody may write to it meanwhile**, neither a program nor a loop
/// device above it. After mkfs, sync the device first; mount only afterwards.
pub fn rewrite_unwritten(file: &File) -> Result<Rewritten, Refused> {
    let size_bytes = size_of_file(file)?;
    let (unwritten, missing) = match fiemap(file) {
        Ok(extents) => unwritten_and_missing(&extents, size_bytes),
        Err(error) if is_no_fiemap(&error) => (vec![], gaps(&seek_ranges(file)?, size_bytes)),
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
    file.sync_data().map_err(failed("sync the zeros"))?;
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
pub fn reopen_direct(file: &File) -> Option<File> {
    File::options()
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .ok()
}

fn write_zeros(
    file: &File,
    direct: Option<&File>,
    zeros: &[u8],
    range: ByteRange,
) -> Result<u64, Refused> {
    let mut direct_bytes = 0;
    let mut offset_bytes = range.start_bytes;
    while offset_bytes < range.end_bytes {
        let piece_bytes = (range.end_bytes - offset_bytes).min(zeros.len() as u64);
        let piece = &zeros[..piece_bytes as usize];
        if write_direct(direct, piece, offset_bytes) {
            direct_bytes += piece_bytes;
        } else {
            file.write_all_at(piece, offset_bytes)
                .map_err(cannot(format!("write zeros at offset {offset_bytes}"), "write access"))?;
        }
        offset_bytes += piece_bytes;
    }
    Ok(direct_bytes)
}

/// True when the whole piece was written directly; a refusal is left to the buffered way.
fn write_direct(direct: Option<&File>, piece: &[u8], offset_bytes: u64) -> bool {
    let aligned = offset_bytes % DIRECT_ALIGNMENT_BYTES == 0
        && (piece.len() as u64) % DIRECT_ALIGNMENT_BYTES == 0;
    aligned && direct.is_some_and(|file| file.write_all_at(piece, offset_bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::{ExtentFlags, summary};
    use std::io::Write;

    #[test]
    fn what_lies_past_the_end_of_the_file_is_not_mended() {
        let flags = ExtentFlags(0x801);
        let past = Extent { logical_bytes: 8192, length_bytes: 4096, flags };
        let (unwritten, missing) = unwritten_and_missing(&[past], 4096);
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
        assert_eq!(after.holes_bytes(), 0, "{after:?}");
        assert_eq!(file.metadata().unwrap().len(), 300_001);
        let mut kept = [0; 4];
        file.read_exact_at(&mut kept, 100_000).unwrap();
        assert_eq!(&kept, b"kept");
        assert_eq!(rewrite_unwritten(&file).unwrap(), Rewritten::default());
    }
}
