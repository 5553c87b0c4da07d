//! The kernel's own library in every process (vdso(7)), where it is barer than libraries expect: user-mode Linux from
//! 7.x on has no `__vdso_getcpu` in it, and a crate that we call (rustix 1.1) ends the process when it looks for that.
//! Such a library is made to look like none, and calls are made the ordinary way; there they cost the same.
//!
//! ```no_run
//! assert!(!pickfs_sys::vdso::hide_if_bare(), "an ordinary kernel's is whole");
//! ```
#![allow(unsafe_code)]

use std::fs;

/// What a whole one offers on x86-64; other processors have other names and are left alone.
const EXPECTED: &[u8] = b"__vdso_getcpu";

/// Hides the library if it is a bare one; gives whether it was. Call it while there is one thread, before anything
/// asks for the time through rustix. The C library has found what it needs by then and keeps it.
pub fn hide_if_bare() -> bool {
    let Some((start, length)) = mapped() else { return false };
    if !cfg!(target_arch = "x86_64") || length < EXPECTED.len() {
        return false;
    }
    // SAFETY: the kernel says that these bytes are mapped readable; it never takes them away.
    let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
    let is_whole = bytes.windows(EXPECTED.len()).any(|name| name == EXPECTED);
    !is_whole && spoil(start, length)
}

/// `7ffd1c5f9000-7ffd1c5fb000 r-xp 00000000 00:00 0    [vdso]`: proc_pid_maps(5).
fn mapped() -> Option<(usize, usize)> {
    let text = fs::read_to_string("/proc/self/maps").ok()?;
    range_of(text.lines().find(|line| line.ends_with("[vdso]"))?)
}

fn range_of(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    Some((start, end.checked_sub(start)?))
}

/// Writes over the first byte of the ELF magic: who looks for names there finds no library (elf(5)).
fn spoil(start: usize, length: usize) -> bool {
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let at = start as *mut libc::c_void;
    // SAFETY: the range is one whole mapping of this process, private to it; a write makes a copy of its
    // page. Its code stays as it is and executable, so that who calls into it goes on.
    unsafe {
        if libc::mprotect(at, length, all) != 0 {
            return false;
        }
        at.cast::<u8>().write_volatile(0);
        libc::mprotect(at, length, libc::PROT_READ | libc::PROT_EXEC) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_kernel_is_read() {
        let line = "7ffd1c5f9000-7ffd1c5fb000 r-xp 00000000 00:00 0    [vdso]";
        assert_eq!(range_of(line), Some((0x7ffd_1c5f_9000, 0x2000)));
        assert_eq!(range_of("no range"), None);
    }

    #[test]
    fn a_whole_one_is_left_as_it_is() {
        let magic = |start: usize| {
            // SAFETY: as in `hide_if_bare`.
            unsafe { std::slice::from_raw_parts(start as *const u8, 4) }.to_vec()
        };
        if let Some((start, _)) = mapped() {
            assert!(!hide_if_bare());
            assert_eq!(magic(start), b"\x7fELF");
        }
    }
}
