//! Whether a file system keeps quotas: quotactl_fd(2), which needs no device path.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The number of quotactl_fd on every architecture but MIPS (Linux 5.14).
const QUOTACTL_FD: libc::c_long = 443;
/// `Q_GETFMT` of linux/quota.h.
const GET_FORMAT: u32 = 0x80_0004;
/// `Q_XGETQSTAT` of linux/dqblk_xfs.h.
const GET_STATE: u32 = (b'X' as u32) << 8 | 5;
/// `USRQUOTA` of linux/quota.h.
const USER: u32 = 0;
/// No answer of these two commands is longer.
const ANSWER_BYTES: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Kept, in this format (`QFMT_*`).
    On(u32),
    /// The driver can; this mount does not.
    Off,
    /// The driver has none that quotactl reaches.
    None,
}

/// `EPERM` without root on some; `ENOSYS` is [`Quota::None`].
pub fn of(file: &File) -> io::Result<Quota> {
    let mut answer = [0; ANSWER_BYTES];
    match ask(file, GET_FORMAT, &mut answer) {
        Ok(()) => {
            let [a, b, c, d, ..] = answer;
            Ok(Quota::On(u32::from_ne_bytes([a, b, c, d])))
        }
        Err(error) => match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(Quota::Off),
            Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP) => state_of(file),
            _ => Err(error),
        },
    }
}

/// XFS answers its own command only: flags of what is counted and enforced.
///
/// ```text
/// fs_quota_stat   0: version (i8)   2: flags (u16)
/// ```
fn state_of(file: &File) -> io::Result<Quota> {
    let mut answer = [0; ANSWER_BYTES];
    match ask(file, GET_STATE, &mut answer) {
        Ok(()) if answer[2] == 0 && answer[3] == 0 => Ok(Quota::Off),
        Ok(()) => Ok(Quota::On(0)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP) => Ok(Quota::None),
            Some(libc::ESRCH) => Ok(Quota::Off),
            _ => Err(error),
        },
    }
}

fn ask(file: &File, command: u32, answer: &mut [u8; ANSWER_BYTES]) -> io::Result<()> {
    // QCMD of linux/quota.h: the command above, the kind of quota in the low byte.
    let request = command << 8 | USER;
    // SAFETY: the kernel writes at most one fs_quota_stat (80 bytes) or a u32 behind the pointer.
    let done = unsafe {
        libc::syscall(
            QUOTACTL_FD,
            file.as_raw_fd(),
            request,
            0,
            answer.as_mut_ptr().cast::<libc::c_void>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_keeps_no_quota() {
        let folder = File::open("/proc").unwrap();
        match of(&folder) {
            Ok(quota) => assert_eq!(quota, Quota::None),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOSYS)),
        }
    }
}
