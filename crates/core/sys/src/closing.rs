//! Closing a file and hearing what the kernel says, which dropping it does not tell: a write-back
//! error of a network or FUSE file system, or an exceeded quota, may be told only here (close(2)).
//! Not a sync.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

/// An interrupted close has closed, and is no error; the descriptor is gone in any case.
#[inline]
pub fn close(file: impl Into<OwnedFd>) -> io::Result<()> {
    let number = file.into().into_raw_fd();
    // SAFETY: the number was owned by us, and nobody uses it after this.
    let answer = unsafe { libc::close(number) };
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EINTR) { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_closed_file_is_gone() {
        let file = tempfile::tempfile().unwrap();
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        let inode = std::fs::read_link(&link).unwrap();
        close(file).unwrap();
        // Another thread may have got the number by now, but not that file.
        assert_ne!(std::fs::read_link(&link).ok(), Some(inode));
    }
}
