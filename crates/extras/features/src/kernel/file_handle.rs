//! A handle of a file that outlives its path: name_to_handle_at(2), as NFS servers and backup
//! programs use it.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longest handle: `MAX_HANDLE_SZ` of fcntl.h.
const HANDLE_BYTES_MAX: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHandle {
    /// The file system's own kind of handle (`FILEID_*`).
    pub kind: i32,
    pub length_bytes: u32,
}

/// `struct file_handle` with room for the longest.
#[repr(C)]
struct Room {
    length_bytes: u32,
    kind: i32,
    bytes: [u8; HANDLE_BYTES_MAX],
}

/// A symbolic link is not followed. `EOPNOTSUPP` where the file system has no handles.
pub fn handle_of(path: &Path) -> io::Result<FileHandle> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let length_bytes = HANDLE_BYTES_MAX as u32;
    let mut room = Room { length_bytes, kind: 0, bytes: [0; HANDLE_BYTES_MAX] };
    let mut mount_id: libc::c_int = 0;
    // SAFETY: `room` begins as the kernel's file_handle does and has the bytes that it names;
    // path and mount_id live through the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw mut room,
            &raw mut mount_id,
            0,
        )
    };
    match answer {
        0 => Ok(FileHandle { kind: room.kind, length_bytes: room.length_bytes }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_has_no_handles_or_says_so_and_a_missing_file_is_an_error() {
        let error = handle_of("/no/such/file".as_ref()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
