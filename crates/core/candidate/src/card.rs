//! The set-up card: bare figures of the backing, without a file system, so
//! that a reader knows what hardware a verdict was made on.
//!
//! | key | meaning |
//! | --- | --- |
//! | card.sequential_write_mb_s | direct writes of 1 MiB, one after the other, in 10^6 bytes/s |
//! | card.sequential_read_mb_s | the same, reading |
//! | card.random_read_4k_per_s | direct reads of 4 KiB at random places, one at a time |
//! | card.random_read_4k_p50_ns | median time of one of them |
//! | card.flush_p50_ns | median time of a flush behind a 4 KiB write |
//! | card.flush_doubt | why that flush is not believed; absent where it is |
//! | card.log_... | each of these for the log device, where there is one |

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use pickfs_record::{BackingKind, Environment};
use pickfs_sys::aligned_buffer::AlignedBuffer;

use crate::error::TargetError;
use crate::incompressible::{Incompressible, PIECE_BYTES};
use crate::raw_probe::{self, rank};

const SMALL_BYTES: u64 = 4096;
/// A device with a volatile cache has to move the data to flash (a page program takes 100 us and
/// more) or to a platter (milliseconds) before it may answer a flush; even a command that does
/// nothing needs some 5 to 10 us to an NVMe drive and back. Under this, nothing was written.
const FLUSH_PLAUSIBLE_NS: u64 = 10_000;

/// A quarter of `length` for each figure. What was there is lost.
pub(crate) fn measure(
    path: &Path,
    size_bytes: u64,
    length: Duration,
    facts: &mut Environment,
) -> Result<u64, TargetError> {
    let file = raw_probe::open(path)?;
    let probe = Probe { file: &file, path, size_bytes, length: length / 4 };
    let write = probe.sequential(true)?;
    let read = probe.sequential(false)?;
    let (per_s, p50_ns) = probe.random_reads()?;
    let flush_ns = probe.flushes()?;
    facts.put("card.sequential_write_mb_s", format!("{write:.1}"));
    facts.put("card.sequential_read_mb_s", format!("{read:.1}"));
    facts.put("card.random_read_4k_per_s", format!("{per_s:.0}"));
    facts.put("card.random_read_4k_p50_ns", p50_ns);
    facts.put("card.flush_p50_ns", flush_ns);
    Ok(flush_ns)
}

pub(crate) fn flush_doubt(flush_ns: u64, cache: Option<&str>, kind: BackingKind) -> Option<String> {
    if kind == BackingKind::RamImage || cache != Some("write back") {
        return None;
    }
    (flush_ns < FLUSH_PLAUSIBLE_NS).then(|| {
        format!(
            "the device says that it has a volatile write cache, and a flush took {flush_ns} ns: \
             too fast for data to reach flash or a platter; do not trust it with a power loss"
        )
    })
}

struct Probe<'a> {
    file: &'a File,
    path: &'a Path,
    size_bytes: u64,
    length: Duration,
}

impl Probe<'_> {
    /// In 10^6 bytes per second, in pieces of 1 MiB, from the beginning, round and round.
    fn sequential(&self, write: bool) -> Result<f64, TargetError> {
        let mut noise = Incompressible::new();
        let mut buffer = AlignedBuffer::zeroed(PIECE_BYTES);
        let pieces = (self.size_bytes / PIECE_BYTES as u64).max(1);
        let mut count = 0;
        let began = Instant::now();
        while began.elapsed() < self.length {
            let offset_bytes = (count % pieces) * PIECE_BYTES as u64;
            if write {
                let written = self.file.write_all_at(noise.next_piece(), offset_bytes);
                written.map_err(TargetError::io("write", self.path))?;
            } else {
                let read = self.file.read_exact_at(&mut buffer, offset_bytes);
                read.map_err(TargetError::io("read", self.path))?;
            }
            count += 1;
        }
        Ok((count * PIECE_BYTES as u64) as f64 / 1e6 / began.elapsed().as_secs_f64())
    }

    /// Per second, and the median time of one.
    fn random_reads(&self) -> Result<(f64, u64), TargetError> {
        let mut buffer = AlignedBuffer::zeroed(SMALL_BYTES as usize);
        let began = Instant::now();
        let operations_ns = self.operations(|offset_bytes| {
            let start = Instant::now();
            self.file.read_exact_at(&mut buffer, offset_bytes)?;
            Ok(start.elapsed())
        })?;
        Ok((operations_ns.len() as f64 / began.elapsed().as_secs_f64(), rank(&operations_ns, 0.5)))
    }

    /// Median; the write before it is not in it.
    fn flushes(&self) -> Result<u64, TargetError> {
        let mut noise = Incompressible::new();
        let block = &noise.next_piece()[..SMALL_BYTES as usize];
        let operations_ns = self.operations(|offset_bytes| {
            self.file.write_all_at(block, offset_bytes)?;
            let start = Instant::now();
            self.file.sync_data()?;
            Ok(start.elapsed())
        })?;
        Ok(rank(&operations_ns, 0.5))
    }

    fn operations(
        &self,
        mut operation: impl FnMut(u64) -> std::io::Result<Duration>,
    ) -> Result<Vec<u64>, TargetError> {
        let mut places = fastrand::Rng::new();
        let mut operations_ns = Vec::with_capacity(1 << 16);
        let began = Instant::now();
        while began.elapsed() < self.length {
            let offset_bytes = places.u64(..(self.size_bytes / SMALL_BYTES).max(1)) * SMALL_BYTES;
            let took = operation(offset_bytes).map_err(TargetError::io("probe", self.path))?;
            operations_ns.push(took.as_nanos() as u64);
        }
        operations_ns.sort_unstable();
        Ok(operations_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_that_cannot_have_written_is_doubted_only_where_one_was_promised() {
        let doubt = |ns, cache, kind| flush_doubt(ns, cache, kind).is_some();
        let back = Some("write back");
        assert!(doubt(900, back, BackingKind::Disk));
        assert!(!doubt(50_000, back, BackingKind::Disk));
        assert!(!doubt(900, Some("write through"), BackingKind::Disk));
        assert!(!doubt(900, back, BackingKind::RamImage));
        assert!(!doubt(900, None, BackingKind::Directory));
    }

    #[test]
    fn every_figure_is_on_the_card() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(2 << 20).unwrap();
        let mut facts = Environment::default();
        measure(file.path(), 2 << 20, Duration::from_millis(40), &mut facts).unwrap();
        assert_eq!(facts.0.len(), 5);
        assert!(facts.0.keys().all(|key| key.starts_with("card.")));
    }
}
