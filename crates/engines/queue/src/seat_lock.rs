//! Locks on single bytes of the control file, one for each seat: who holds one is alive.
//!
//! They are open-file-description locks (fcntl(2), F_OFD_SETLK), which the kernel takes away when the last
//! descriptor is closed, however its process ended. Unlike a process id they are never taken for those of a
//! later process, and they are right between containers with pid namespaces of their own.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{F_OFD_GETLK, F_OFD_SETLK, F_UNLCK, F_WRLCK, SEEK_SET, c_int, c_short};

fn request(kind: c_int, seat: u8) -> libc::flock {
    libc::flock {
        l_type: kind as c_short,
        l_whence: SEEK_SET as c_short,
        l_start: seat.into(),
        l_len: 1,
        l_pid: 0, // must be 0 for this kind of lock
    }
}

fn ask(file: BorrowedFd<'_>, verb: c_int, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open while it is borrowed, and the kernel reads and writes one `flock`,
    // which `lock` is.
    match unsafe { libc::fcntl(file.as_raw_fd(), verb, std::ptr::from_mut(lock)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// `false` if another open file has it.
pub(crate) fn take(file: BorrowedFd<'_>, seat: u8) -> io::Result<bool> {
    match ask(file, F_OFD_SETLK, &mut request(F_WRLCK, seat)) {
        Ok(()) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(false),
            _ => Err(error),
        },
    }
}

/// By another open file than this one.
pub(crate) fn is_taken(file: BorrowedFd<'_>, seat: u8) -> io::Result<bool> {
    let mut lock = request(F_WRLCK, seat);
    ask(file, F_OFD_GETLK, &mut lock)?;
    Ok(c_int::from(lock.l_type) != F_UNLCK)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_lock_is_seen_by_others_and_goes_with_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, other) = (file.reopen().unwrap(), file.reopen().unwrap());
        assert!(take(one.as_fd(), 7).unwrap());
        assert!(!take(other.as_fd(), 7).unwrap());
        assert!(take(other.as_fd(), 8).unwrap());
        assert!(is_taken(other.as_fd(), 7).unwrap());
        assert!(!is_taken(one.as_fd(), 7).unwrap(), "its own lock is none of another");
        drop(one);
        assert!(!is_taken(other.as_fd(), 7).unwrap());
    }
}
