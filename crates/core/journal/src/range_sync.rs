//! sync_file_range(2), which rustix does not have.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Starts write-back of the pages from `start_bytes` to `end_bytes` and waits for it. Neither metadata
/// nor the cache of the device is flushed (sync_file_range(2), "Warning").
pub(crate) fn sync_file_range(
    file: BorrowedFd<'_>,
    start_bytes: u64,
    end_bytes: u64,
) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let start = start_bytes as libc::off64_t;
    let length = end_bytes.saturating_sub(start_bytes) as libc::off64_t;
    // SAFETY: the call takes numbers and an open file only; it reads and writes no memory of ours.
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
