//! The raw probe: 4 KiB direct writes, each followed by a flush, at random
//! places of the backing itself. No file system is between, so what moves here
//! is the device or the machine, not a candidate.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use pickfs_record::record::RawProbe;
use rustix::fs::OFlags;

use crate::error::TargetError;
use crate::incompressible::Incompressible;

const BLOCK_BYTES: u64 = 4096;

/// What was there is lost.
pub(crate) fn probe(
    path: &Path,
    size_bytes: u64,
    length: Duration,
) -> Result<RawProbe, TargetError> {
    let file = open(path)?;
    let mut bytes = Incompressible::new();
    let mut places = fastrand::Rng::new();
    let mut operations_ns = Vec::with_capacity(1 << 16);
    let block = &bytes.next_piece()[..BLOCK_BYTES as usize];
    let began = Instant::now();
    while began.elapsed() < length {
        let offset_bytes = places.u64(..(size_bytes / BLOCK_BYTES).max(1)) * BLOCK_BYTES;
        let start = Instant::now();
        file.write_all_at(block, offset_bytes).map_err(TargetError::io("probe", path))?;
        file.sync_data().map_err(TargetError::io("flush", path))?;
        operations_ns.push(start.elapsed().as_nanos() as u64);
    }
    Ok(summary(operations_ns, began.elapsed()))
}

/// Direct where the file system can, else through the page cache. A block device is opened
/// exclusively (a plain file ignores that), so that nothing mounted is ever written to.
pub(crate) fn open(path: &Path) -> Result<File, TargetError> {
    let with = |flags: OFlags| {
        File::options().read(true).write(true).custom_flags(flags.bits() as i32).open(path)
    };
    with(OFlags::EXCL | OFlags::DIRECT)
        .or_else(|_| with(OFlags::EXCL))
        .map_err(TargetError::io("open", path))
}

fn summary(mut operations_ns: Vec<u64>, elapsed: Duration) -> RawProbe {
    operations_ns.sort_unstable();
    RawProbe {
        count: operations_ns.len() as u64,
        p50_ns: rank(&operations_ns, 0.5),
        p99_ns: rank(&operations_ns, 0.99),
        max_ns: operations_ns.last().copied().unwrap_or(0),
        elapsed_s: elapsed.as_secs_f64(),
    }
}

/// The smallest value with at least the share `q` at or below it; 0 of nothing.
pub(crate) fn rank(sorted: &[u64], q: f64) -> u64 {
    let index = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(index.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_values_that_were_seen() {
        let sorted: Vec<u64> = (1..=100).collect();
        assert_eq!((rank(&sorted, 0.5), rank(&sorted, 0.99), rank(&sorted, 1.0)), (50, 99, 100));
        assert_eq!(rank(&[], 0.5), 0);
    }

    #[test]
    fn a_probe_stays_within_its_file_and_counts_its_operations() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8 * BLOCK_BYTES).unwrap();
        let probe = probe(file.path(), 8 * BLOCK_BYTES, Duration::from_millis(20)).unwrap();
        assert!(probe.count > 0 && probe.p50_ns <= probe.p99_ns && probe.p99_ns <= probe.max_ns);
        assert_eq!(file.as_file().metadata().unwrap().len(), 8 * BLOCK_BYTES);
    }
}
