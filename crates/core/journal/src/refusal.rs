use std::fmt;
use std::io;

use crate::axes::{Preallocation, Sync, WritePath};
use crate::options::Options;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    Fallocate,
    Ftruncate,
    Direct,
    Mmap,
    IoUring,
    /// The flag RWF_DSYNC of pwritev2(2).
    RwfDsync,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fallocate => "fallocate",
            Self::Ftruncate => "growth by ftruncate",
            Self::Direct => "O_DIRECT",
            Self::Mmap => "a shared mapping",
            Self::IoUring => "io_uring",
            Self::RwfDsync => "RWF_DSYNC",
        })
    }
}

impl Way {
    /// Not that this try failed (no space, I/O error).
    pub(crate) fn is_refused_by(self, error: &io::Error) -> bool {
        let Some(errno) = error.raw_os_error() else {
            return error.kind() == io::ErrorKind::Unsupported;
        };
        let refusals: &[i32] = match self {
            Self::Fallocate => &[libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL, libc::ENODEV],
            Self::Ftruncate => &[libc::EOPNOTSUPP, libc::EPERM, libc::EINVAL, libc::ENOSYS],
            Self::Direct => &[libc::EINVAL, libc::EOPNOTSUPP],
            Self::Mmap => &[libc::ENODEV, libc::EINVAL, libc::EOPNOTSUPP, libc::EACCES],
            Self::IoUring => {
                &[libc::ENOSYS, libc::EPERM, libc::EINVAL, libc::ENOMEM, libc::EOPNOTSUPP]
            }
            Self::RwfDsync => &[libc::EOPNOTSUPP, libc::EINVAL, libc::ENOSYS],
        };
        refusals.contains(&errno)
    }

    /// Says what was done.
    pub(crate) fn step_down(self, options: &mut Options) -> String {
        let instead = match self {
            Self::Fallocate | Self::Ftruncate => {
                options.preallocation = Preallocation::ZeroFilled;
                "zero-filled"
            }
            Self::Direct | Self::Mmap | Self::IoUring => {
                options.write_path = WritePath::Pwrite;
                if options.sync == Sync::Msync {
                    options.sync = Sync::Fdatasync;
                }
                "pwrite"
            }
            Self::RwfDsync => {
                options.sync = Sync::ODsync;
                "o-dsync"
            }
        };
        format!("{self} not supported on this file system: {instead} instead")
    }
}
