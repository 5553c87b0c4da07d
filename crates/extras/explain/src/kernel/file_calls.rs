//! The system calls that files are used with, by number. They serve pipes, terminals and sockets
//! too. What `io_uring` does is no system call but for its `io_uring_enter`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCall {
    pub number: i64,
    pub name: &'static str,
    pub gives: Gives,
    /// Which argument; `None` where none is.
    pub offset_at: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    BytesRead,
    BytesWritten,
    /// Anything else: a descriptor, an address, zero.
    Other,
}

/// What they give, which argument is an offset, and their numbers and names.
type Group = (Gives, Option<usize>, &'static [(i64, &'static str)]);

macro_rules! names {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

const COMMON: &[Group] = &[
    (Gives::BytesRead, None, names! { SYS_read SYS_readv }),
    (Gives::BytesRead, Some(3), names! { SYS_pread64 SYS_preadv SYS_preadv2 }),
    (
        Gives::BytesWritten,
        None,
        names! {
            SYS_write SYS_writev SYS_copy_file_range SYS_sendfile SYS_splice
        },
    ),
    (Gives::BytesWritten, Some(3), names! { SYS_pwrite64 SYS_pwritev SYS_pwritev2 }),
    (
        Gives::Other,
        None,
        names! {
            SYS_openat SYS_openat2 SYS_close SYS_close_range SYS_fsync SYS_fdatasync SYS_syncfs
            SYS_sync SYS_msync SYS_munmap SYS_renameat2 SYS_unlinkat SYS_mkdirat SYS_mknodat
            SYS_linkat SYS_symlinkat SYS_readlinkat SYS_newfstatat SYS_fstat SYS_statx SYS_statfs
            SYS_fstatfs SYS_faccessat SYS_faccessat2 SYS_getdents64 SYS_flock SYS_fcntl SYS_fchmod
            SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_getxattr SYS_lgetxattr
            SYS_fgetxattr SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_listxattr SYS_llistxattr
            SYS_flistxattr SYS_io_submit SYS_io_getevents SYS_io_uring_enter
        },
    ),
    (
        Gives::Other,
        Some(1),
        names! {
            SYS_lseek SYS_sync_file_range SYS_fadvise64 SYS_readahead SYS_truncate SYS_ftruncate
        },
    ),
    (Gives::Other, Some(5), names! { SYS_mmap }),
    (Gives::Other, Some(2), names! { SYS_fallocate }),
];

/// Calls that only older processors have: later ones have only those with `at`.
#[cfg(target_arch = "x86_64")]
const OLDER: &[Group] = &[(
    Gives::Other,
    None,
    names! {
        SYS_open SYS_creat SYS_rename SYS_renameat SYS_unlink SYS_mkdir SYS_rmdir SYS_mknod SYS_link
        SYS_symlink SYS_readlink SYS_stat SYS_lstat SYS_access SYS_getdents SYS_chmod SYS_chown
        SYS_lchown SYS_utime SYS_utimes SYS_futimesat
    },
)];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[Group] = &[];

impl FileCall {
    pub fn all() -> Vec<FileCall> {
        let groups = COMMON.iter().chain(OLDER);
        let calls = groups.flat_map(|(gives, offset_at, names)| {
            names.iter().map(|(number, name)| FileCall {
                number: *number,
                name: name.trim_start_matches("SYS_"),
                gives: *gives,
                offset_at: *offset_at,
            })
        });
        let mut all: Vec<FileCall> = calls.collect();
        all.sort_by_key(|call| call.number);
        all
    }

    /// Runs of numbers that follow each other: first and last.
    pub fn number_runs() -> Vec<(i64, i64)> {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for call in FileCall::all() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == call.number => *last = call.number,
                _ => runs.push((call.number, call.number)),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_stands_for_one_call_and_lies_in_one_run() {
        let all = FileCall::all();
        assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number));
        let runs = FileCall::number_runs();
        let inside: i64 = runs.iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!(inside as usize, all.len());
        assert!(runs.len() < all.len() / 2, "{runs:?}");
    }

    #[test]
    fn reads_and_writes_give_bytes_and_offsets_are_told() {
        let call = |name: &str| *FileCall::all().iter().find(|call| call.name == name).unwrap();
        assert_eq!((call("pread64").gives, call("pread64").offset_at), (Gives::BytesRead, Some(3)));
        assert_eq!(call("write").gives, Gives::BytesWritten);
        assert_eq!((call("openat").gives, call("openat").offset_at), (Gives::Other, None));
    }
}
