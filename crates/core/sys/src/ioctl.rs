//! The one door to `ioctl(2)` for requests that rustix does not carry.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// # Safety
/// `request` must be one for which the kernel reads and writes no more than `T` behind the pointer.
pub(crate) unsafe fn with_pointer<T: ?Sized>(
    fd: BorrowedFd<'_>,
    request: u64,
    argument: &mut T,
) -> io::Result<i32> {
    let pointer = std::ptr::from_mut(argument).cast::<libc::c_void>();
    // SAFETY: the pointer is valid for T for the length of the call; the caller vouches that the
    // kernel stays within T.
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), request as libc::Ioctl, pointer) };
    checked(answer)
}

/// # Safety
/// `request` must be one for which the kernel takes its argument by value, not as a pointer.
pub(crate) unsafe fn with_value(
    fd: BorrowedFd<'_>,
    request: u64,
    value: libc::c_ulong,
) -> io::Result<i32> {
    // SAFETY: the caller vouches that the kernel does not follow the value as a pointer.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), request as libc::Ioctl, value) })
}

fn checked(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
