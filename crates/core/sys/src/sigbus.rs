//! A clean end when a mapped file cannot be read or written. The kernel reports a full disk, an I/O
//! error or a file cut short under a mapping by `SIGBUS`, at any access. It cannot be repaired from
//! there, so the program ends: with a line on standard error that names the file and the offset,
//! and with [`SIGBUS_EXIT_CODE`]. Nothing is unwound, nothing is flushed.
//!
//! A `SIGBUS` at any other address ends the program as it would have without this handler.
#![allow(unsafe_code)]

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

pub const SIGBUS_EXIT_CODE: i32 = 87;
pub const REGISTRATIONS_MAX: usize = 1024;
/// Of a longer path the end is kept.
const NAME_BYTES: usize = 160;
const LINE_BYTES: usize = 320;
const FREE: usize = 0;
const TAKEN: usize = 1;

#[derive(Debug, thiserror::Error)]
#[error("more than {REGISTRATIONS_MAX} files are mapped at once; unmap some")]
pub struct TooManyMappings;

/// One row of the table that the handler reads. `start` is written last and cleared first.
struct Row {
    start: AtomicUsize,
    length: AtomicUsize,
    name_length: AtomicUsize,
    name: [AtomicU8; NAME_BYTES],
}

static ROWS: [Row; REGISTRATIONS_MAX] = [const {
    Row {
        start: AtomicUsize::new(FREE),
        length: AtomicUsize::new(0),
        name_length: AtomicUsize::new(0),
        name: [const { AtomicU8::new(0) }; NAME_BYTES],
    }
}; REGISTRATIONS_MAX];
static INSTALL: Once = Once::new();

#[derive(Debug)]
pub struct Registration {
    row: usize,
}

impl Registration {
    /// The path is for the message. Installs the handler the first time.
    pub fn new(address: usize, length_bytes: usize, path: &Path) -> Result<Self, TooManyMappings> {
        INSTALL.call_once(install);
        let take = |row: &Row| {
            let (taken, failed) = (Ordering::Acquire, Ordering::Relaxed);
            row.start.compare_exchange(FREE, TAKEN, taken, failed).is_ok()
        };
        let row = ROWS.iter().position(take).ok_or(TooManyMappings)?;
        ROWS[row].fill(address, length_bytes, path.as_os_str().as_bytes());
        Ok(Self { row })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        ROWS[self.row].start.store(FREE, Ordering::Release);
    }
}

impl Row {
    fn fill(&self, address: usize, length_bytes: usize, path: &[u8]) {
        let kept = &path[path.len().saturating_sub(NAME_BYTES)..];
        for (cell, byte) in self.name.iter().zip(kept) {
            cell.store(*byte, Ordering::Relaxed);
        }
        self.name_length.store(kept.len(), Ordering::Relaxed);
        self.length.store(length_bytes, Ordering::Relaxed);
        self.start.store(address, Ordering::Release);
    }

    /// The line that names the file; gives its length. Nothing is allocated.
    fn told(&self, offset_bytes: usize, line: &mut [u8; LINE_BYTES]) -> usize {
        let mut name = [0; NAME_BYTES];
        let length = self.name_length.load(Ordering::Relaxed).min(NAME_BYTES);
        for (byte, cell) in name.iter_mut().zip(&self.name) {
            *byte = cell.load(Ordering::Relaxed);
        }
        let mut line = io::Cursor::new(&mut line[..]);
        let _ = line.write_all(b"pickfs: SIGBUS in mapped file ");
        let _ = line.write_all(&name[..length]);
        let _ = writeln!(line, " at byte {offset_bytes}: disk full, I/O error, or file cut short");
        line.position() as usize
    }

    fn offset_of(&self, address: usize) -> Option<usize> {
        let start = self.start.load(Ordering::Acquire);
        let offset = address.checked_sub(start).filter(|_| start > TAKEN)?;
        (offset < self.length.load(Ordering::Relaxed)).then_some(offset)
    }
}

fn install() {
    // SAFETY: sigaction is plain data for which zero is valid; the handler does only what
    // signal-safety(7) allows. SA_ONSTACK uses the stack that Rust sets aside for signals.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_sigbus as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_sigbus(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo_t, and for SIGBUS it holds the address.
    let address = unsafe { (*info).si_addr() } as usize;
    for row in &ROWS {
        if let Some(offset) = row.offset_of(address) {
            let mut line = [0; LINE_BYTES];
            let length = row.told(offset, &mut line);
            // SAFETY: the bytes are valid for the call; write may be called from a handler.
            let _ = unsafe { libc::write(2, line.as_ptr().cast(), length) };
            // SAFETY: _exit may be called from a handler.
            unsafe { libc::_exit(SIGBUS_EXIT_CODE) };
        }
    }
    // SAFETY: not ours: with the default action back, the same access ends the program.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_knows_the_addresses_inside_it_until_it_is_dropped() {
        let registration = Registration::new(0x10_0000, 0x1000, Path::new("x")).unwrap();
        let row = &ROWS[registration.row];
        assert_eq!(row.offset_of(0x10_0000), Some(0));
        assert_eq!(row.offset_of(0x10_0fff), Some(0xfff));
        assert_eq!((row.offset_of(0x10_1000), row.offset_of(0xf_ffff)), (None, None));
        let number = registration.row;
        drop(registration);
        assert_eq!(ROWS[number].offset_of(0x10_0000), None);
    }

    #[test]
    fn the_line_names_the_file_and_the_byte_and_keeps_the_end_of_a_long_path() {
        let path = format!("/{}/end", "d".repeat(400));
        let registration = Registration::new(0x20_0000, 0x1000, Path::new(&path)).unwrap();
        let mut line = [0; LINE_BYTES];
        let length = ROWS[registration.row].told(1024, &mut line);
        let text = String::from_utf8(line[..length].to_vec()).unwrap();
        assert!(text.contains("/end at byte 1024: disk full"), "{text}");
        assert!(text.ends_with('\n'));
    }
}
