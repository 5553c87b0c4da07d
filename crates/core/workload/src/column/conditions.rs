//! What decides whether a row shows the device or memory: the limits of write-back, and read-ahead. Read
//! beside the rows, and kept with them.
//!
//! ```text
//! dirty pages   0 ........ background ........ (background + limit) / 2 ........ limit
//!                          write-back begins   writers begin to be slowed
//! ```
//!
//! Source: mm/page-writeback.c (`dirty_freerun_ceiling`), `Documentation/admin-guide/sysctl/vm.rst`.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use pickfs_record::quantity::bytes_text;
use pickfs_sys::{residency::cache_statistics, vm_state::WritebackPages};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DirtyLimits {
    pub(super) background_bytes: u64,
    pub(super) limit_bytes: u64,
    /// Waits to be written, or is being written.
    pub(super) waiting_bytes: u64,
}

impl DirtyLimits {
    pub(super) fn now() -> DirtyLimits {
        let page_bytes = rustix::param::page_size() as u64;
        let pages = WritebackPages::now().unwrap_or_default();
        DirtyLimits {
            background_bytes: pages.background_threshold_pages * page_bytes,
            limit_bytes: pages.dirty_threshold_pages * page_bytes,
            waiting_bytes: pages.waiting_bytes(),
        }
    }

    /// Up to this much more can be made dirty before a writer is slowed.
    fn free_bytes(&self) -> u64 {
        ((self.background_bytes + self.limit_bytes) / 2).saturating_sub(self.waiting_bytes)
    }

    pub(super) fn doubt(&self, bytes: u64) -> Option<String> {
        let (written, free) = (bytes_text(bytes), bytes_text(self.free_bytes()));
        (bytes <= self.free_bytes()).then(|| {
            format!(
                "{written} of all lanes fit into the {free} that may be dirty before writers are slowed: \
                 the rate is that of memory unless the file system flushes by itself"
            )
        })
    }
}

/// Read-ahead of the file system that holds a directory, in KiB; `None` where it has none of its own.
pub(super) fn read_ahead_kb(directory: &Path) -> Option<f64> {
    let device = fs::metadata(directory).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let path = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Bytes of these files that wait to be written; `None` where the kernel does not count them.
pub(super) fn dirty_bytes(paths: &[&Path]) -> Option<u64> {
    let dirty = |path: &&Path| {
        let pages = cache_statistics(&fs::File::open(path).ok()?)?;
        Some((pages.dirty_pages + pages.writeback_pages) * rustix::param::page_size() as u64)
    };
    paths.iter().map(dirty).sum()
}

/// Bytes that these files take on their device, as they say themselves.
pub(super) fn disk_bytes(paths: &[&Path]) -> Option<u64> {
    let taken = |path: &&Path| Some(fs::metadata(path).ok()?.blocks() * 512);
    paths.iter().map(taken).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_below_the_middle_of_both_limits_is_in_doubt() {
        let limits = DirtyLimits { background_bytes: 100, limit_bytes: 300, waiting_bytes: 50 };
        assert!(limits.doubt(150).is_some());
        assert!(limits.doubt(151).is_none());
        assert!(limits.doubt(10).unwrap().starts_with("10 B of all lanes fit into the 150 B"));
    }

    #[test]
    fn what_was_written_waits() {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        fs::write(file.path(), vec![1; 1 << 16]).unwrap();
        assert!(dirty_bytes(&[file.path()]).is_none_or(|bytes| bytes <= 1 << 16));
        assert_eq!(dirty_bytes(&[Path::new("/missing")]), None);
        assert!(disk_bytes(&[file.path()]).is_some());
    }
}
