//! What of a file is in the page cache, and how to change that. In a virtual machine the host may
//! still have in memory what this kernel has not.
#![allow(unsafe_code)]

use crate::refused::{Refused, cannot};
use rustix::fs::Advice;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;

fn failed<E: Into<io::Error>>(request: &'static str) -> impl FnOnce(E) -> Refused {
    cannot(request, "access to the file")
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidentPages {
    pub resident_count: usize,
    pub page_count: usize,
}

impl ResidentPages {
    pub fn share(&self) -> f64 {
        self.resident_count as f64 / self.page_count.max(1) as f64
    }

    /// A share that rounding and the head of a file may leave: one part in a hundred. Where there was
    /// nothing to look at, nobody knows.
    pub fn is_cold(&self) -> bool {
        self.page_count > 0 && self.share() <= 0.01
    }

    /// At least ninety-nine parts in a hundred are there.
    pub fn is_hot(&self) -> bool {
        self.page_count == 0 || self.share() >= 0.99
    }
}

impl std::ops::AddAssign for ResidentPages {
    fn add_assign(&mut self, other: ResidentPages) {
        self.resident_count += other.resident_count;
        self.page_count += other.page_count;
    }
}

/// Counts by mincore(2). The kernel answers truly only to who may write to the file or owns it; to
/// others every page seems resident.
pub fn resident_pages(file: &File) -> Result<ResidentPages, Refused> {
    let size_bytes = file.metadata().map_err(failed("read the size of a file"))?.len();
    let length_bytes = usize::try_from(size_bytes)
        .map_err(|_| failed("map a file")(io::Error::from_raw_os_error(libc::EFBIG)))?;
    resident_in(file, 0, length_bytes)
}

/// Of the pages that a range touches, which must lie within the file.
pub fn resident_pages_in(
    file: &File,
    offset_bytes: u64,
    length_bytes: usize,
) -> Result<ResidentPages, Refused> {
    let into_page = offset_bytes as usize % rustix::param::page_size();
    resident_in(file, offset_bytes - into_page as u64, length_bytes + into_page)
}

/// The offset is a multiple of a page.
fn resident_in(
    file: &File,
    offset_bytes: u64,
    length_bytes: usize,
) -> Result<ResidentPages, Refused> {
    if length_bytes == 0 {
        return Ok(ResidentPages::default());
    }
    let mut pages = vec![0u8; length_bytes.div_ceil(rustix::param::page_size())];
    let (place, access, sharing) = (std::ptr::null_mut(), ProtFlags::READ, MapFlags::SHARED);
    // SAFETY: a fresh mapping at a place of the kernel's choice; it is not read through, and is
    // taken away below.
    let address = unsafe { mmap(place, length_bytes, access, sharing, file, offset_bytes) }
        .map_err(failed("map a file"))?;
    // SAFETY: the range is the mapping, and `pages` has a byte for each of its pages.
    let answer = unsafe { libc::mincore(address, length_bytes, pages.as_mut_ptr()) };
    let cause = io::Error::last_os_error();
    // SAFETY: the mapping made above, which nobody else knows.
    unsafe { munmap(address, length_bytes) }.map_err(failed("unmap a file"))?;
    if answer != 0 {
        return Err(failed("count resident pages")(cause));
    }
    let resident_count = pages.iter().filter(|&&page| page & 1 != 0).count();
    Ok(ResidentPages { resident_count, page_count: pages.len() })
}

/// `struct cachestat` of cachestat(2).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    pub cached_pages: u64,
    pub dirty_pages: u64,
    pub writeback_pages: u64,
    /// The kernel fills them too: pages evicted, of those lately.
    _evicted_pages: [u64; 2],
}

const SYS_CACHESTAT: libc::c_long = 451;

/// `None` where the kernel does not have it (Linux 6.5) or refuses this file.
pub fn cache_statistics(file: &File) -> Option<CacheStatistics> {
    let mut whole_file = [0u64; 2];
    let mut found = CacheStatistics::default();
    // SAFETY: the range is two 64-bit numbers (offset 0, length 0: all), the answer is five.
    let answer = unsafe {
        let (range, answer) = (whole_file.as_mut_ptr(), &raw mut found);
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range, answer, 0)
    };
    (answer == 0).then_some(found)
}

/// Dirty pages stay: sync first.
pub fn forget(file: &File) -> Result<(), Refused> {
    advise(file, Advice::DontNeed, "drop a file from the page cache")
}

pub fn will_read_at_random(file: &File) -> Result<(), Refused> {
    advise(file, Advice::Random, "announce random reads")
}

fn advise(file: &File, advice: Advice, request: &'static str) -> Result<(), Refused> {
    rustix::fs::fadvise(file, 0, None::<NonZeroU64>, advice).map_err(failed(request))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    Pages = 1,
    Both = 3,
}

/// Drops clean caches of the **whole machine**; needs root, and the consent of whoever else uses it.
pub fn drop_caches(caches: Caches) -> Result<(), Refused> {
    let (path, value) = ("/proc/sys/vm/drop_caches", (caches as u8).to_string());
    std::fs::write(path, &value).map_err(cannot(format!("write `{value}` to {path}"), "root"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TMPFS_MAGIC: u64 = 0x0102_1994;

    #[test]
    fn a_written_file_is_resident_and_a_forgotten_one_is_not() {
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        if rustix::fs::fstatfs(&file).unwrap().f_type as u64 == TMPFS_MAGIC {
            println!("SKIPPED: /var/tmp is in memory, and nothing there is ever forgotten");
            return;
        }
        file.write_all(&vec![7; 64 * 4096]).unwrap();
        file.sync_all().unwrap();
        let hot = resident_pages(&file).unwrap();
        assert!(hot.resident_count > hot.page_count / 2, "{hot:?}");
        if let Some(found) = cache_statistics(&file) {
            assert!(found.cached_pages > 0 && found.dirty_pages == 0, "{found:?}");
        }
        forget(&file).unwrap();
        let cold = resident_pages(&file).unwrap();
        assert_eq!((cold.resident_count, cold.page_count), (0, hot.page_count));
        let part = resident_pages_in(&file, 4096 + 100, 4096).unwrap();
        assert_eq!((part.resident_count, part.page_count), (0, 2));
    }

    #[test]
    fn an_empty_file_has_no_pages_and_is_not_known_to_be_cold() {
        let file = tempfile::tempfile().unwrap();
        let nothing = resident_pages(&file).unwrap();
        assert!(nothing == ResidentPages::default() && !nothing.is_cold());
        assert!(ResidentPages { resident_count: 0, page_count: 1 }.is_cold());
        assert!(!ResidentPages { resident_count: 1, page_count: 2 }.is_cold());
    }
}
