//! Large buffers in huge pages, where the kernel gives them to who asks: a fault for each 2 MiB
//! instead of each 4 KiB. Nothing is told when there are none.
#![allow(unsafe_code)]

use rustix::mm::{Advice, madvise};

const BUFFER_BYTES_MIN: usize = 4 << 20;

/// Best before the buffer is touched.
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
