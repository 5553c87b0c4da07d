//! Locks that belong to an open file, not to a process: `F_OFD_SETLK` of fcntl(2).
//! Two opens of one file in one program exclude each other, as two programs do.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Does not wait; false where another open holds one. It goes with the last descriptor of this
/// open.
pub fn try_exclusive(file: &File) -> io::Result<bool> {
    let lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: F_OFD_SETLK reads one flock behind the pointer, which lives through the call.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
    if answer == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_opens_of_one_program_exclude_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let (first, second) = (open(), open());
        assert!(try_exclusive(&first).unwrap() && !try_exclusive(&second).unwrap());
    }
}
