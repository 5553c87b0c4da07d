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

/// That so many bytes can be made dirty before a writer is slowed.
pub(super) fn dirty_doubt(pages: &WritebackPages, bytes: u64) -> Option<String> {
    let middle = (pages.background_threshold_pages + pages.dirty_threshold_pages) / 2;
    let page_bytes = rustix::param::page_size() as u64;
    let free_bytes = (middle * page_bytes).saturating_sub(pages.waiting_bytes());
    let (written, free) = (bytes_text(bytes), bytes_text(free_bytes));
    (bytes <= free_bytes).then(|| {
        format!(
            "{written} of all lanes fit into the {free} that may be dirty before writers are slowed: \
             the rate is that of memory unless the file system flushes by itself"
        )
    })
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
        let page = rustix::param::page_size() as u64;
        let pages = WritebackPages {
            background_threshold_pages: 100,
            dirty_threshold_pages: 300,
            dirty_pages: 30,
            writeback_pages: 20,
        };
        assert!(dirty_doubt(&pages, 150 * page).unwrap().contains("may be dirty before"));
        assert!(dirty_doubt(&pages, 151 * page).is_none());
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
