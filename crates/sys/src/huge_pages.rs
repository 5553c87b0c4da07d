//! Large buffers in huge pages, where the kernel gives them to who asks: a fault for each 2 MiB instead of
//! each 4 KiB. A wish, not a promise: nothing is told when there are none.
//!
//! ```
//! let mut buffer = vec![0u8; 8 << 20];
//! pickfs_sys::huge_pages::ask_for(&mut buffer);
//! assert!(buffer.iter().all(|byte| *byte == 0));
//! ```
//!
//! Source: madvise(2), `MADV_HUGEPAGE`; `Documentation/admin-guide/mm/transhuge.rst`.
#![allow(unsafe_code)]

use rustix::mm::{Advice, madvise};

/// Smaller buffers are left alone.
const BUFFER_BYTES_MIN: usize = 4 << 20;

/// Asks for huge pages below the whole pages of a buffer. Best before it is touched.
pub fn ask_for<T>(buffer: &mut [T]) {
    let page = rustix::param::page_size();
    let start = buffer.as_mut_ptr() as usize;
    let (from, to) = (start.next_multiple_of(page), start + size_of_val(buffer));
    let length = to.saturating_sub(from) / page * page;
    if length < BUFFER_BYTES_MIN {
        return;
    }
    // SAFETY: whole pages inside the buffer, which is borrowed alone; the advice changes how memory
    // is mapped, never what it holds.
    let _ = unsafe { madvise(from as *mut _, length, Advice::LinuxHugepage) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_and_neighbours_stay_as_they_were() {
        let mut buffer: Vec<u64> = (0..2 << 20).collect();
        ask_for(&mut buffer[3..]);
        assert!(buffer.iter().copied().eq(0..2 << 20));
        ask_for(&mut buffer[..0]);
        ask_for(&mut [0u8; 10]);
    }
}
