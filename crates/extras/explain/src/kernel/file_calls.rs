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

macro_rules! calls {
    ($($number:ident $name:ident $gives:ident $offset:expr;)*) => {
        &[$(FileCall {
            number: libc::$number,
            name: stringify!($name),
            gives: Gives::$gives,
            offset_at: $offset,
        }),*]
    };
}

const COMMON: &[FileCall] = calls! {
    SYS_read read BytesRead None;
    SYS_pread64 pread64 BytesRead Some(3);
    SYS_readv readv BytesRead None;
    SYS_preadv preadv BytesRead Some(3);
    SYS_preadv2 preadv2 BytesRead Some(3);
    SYS_write write BytesWritten None;
    SYS_pwrite64 pwrite64 BytesWritten Some(3);
    SYS_writev writev BytesWritten None;
    SYS_pwritev pwritev BytesWritten Some(3);
    SYS_pwritev2 pwritev2 BytesWritten Some(3);
    SYS_copy_file_range copy_file_range BytesWritten None;
    SYS_sendfile sendfile BytesWritten None;
    SYS_splice splice BytesWritten None;
    SYS_openat openat Other None;
    SYS_openat2 openat2 Other None;
    SYS_close close Other None;
    SYS_close_range close_range Other None;
    SYS_lseek lseek Other Some(1);
    SYS_fsync fsync Other None;
    SYS_fdatasync fdatasync Other None;
    SYS_sync_file_range sync_file_range Other Some(1);
    SYS_syncfs syncfs Other None;
    SYS_sync sync Other None;
    SYS_msync msync Other None;
    SYS_mmap mmap Other Some(5);
    SYS_munmap munmap Other None;
    SYS_fadvise64 fadvise64 Other Some(1);
    SYS_readahead readahead Other Some(1);
    SYS_renameat2 renameat2 Other None;
    SYS_unlinkat unlinkat Other None;
    SYS_mkdirat mkdirat Other None;
    SYS_mknodat mknodat Other None;
    SYS_linkat linkat Other None;
    SYS_symlinkat symlinkat Other None;
    SYS_readlinkat readlinkat Other None;
    SYS_newfstatat newfstatat Other None;
    SYS_fstat fstat Other None;
    SYS_statx statx Other None;
    SYS_statfs statfs Other None;
    SYS_fstatfs fstatfs Other None;
    SYS_faccessat faccessat Other None;
    SYS_faccessat2 faccessat2 Other None;
    SYS_getdents64 getdents64 Other None;
    SYS_truncate truncate Other Some(1);
    SYS_ftruncate ftruncate Other Some(1);
    SYS_fallocate fallocate Other Some(2);
    SYS_flock flock Other None;
    SYS_fcntl fcntl Other None;
    SYS_fchmod fchmod Other None;
    SYS_fchmodat fchmodat Other None;
    SYS_fchown fchown Other None;
    SYS_fchownat fchownat Other None;
    SYS_utimensat utimensat Other None;
    SYS_getxattr getxattr Other None;
    SYS_lgetxattr lgetxattr Other None;
    SYS_fgetxattr fgetxattr Other None;
    SYS_setxattr setxattr Other None;
    SYS_lsetxattr lsetxattr Other None;
    SYS_fsetxattr fsetxattr Other None;
    SYS_listxattr listxattr Other None;
    SYS_llistxattr llistxattr Other None;
    SYS_flistxattr flistxattr Other None;
    SYS_io_submit io_submit Other None;
    SYS_io_getevents io_getevents Other None;
    SYS_io_uring_enter io_uring_enter Other None;
};

/// Calls that only older processors have: later ones have only those with `at`.
#[cfg(target_arch = "x86_64")]
const OLDER: &[FileCall] = calls! {
    SYS_open open Other None;
    SYS_creat creat Other None;
    SYS_rename rename Other None;
    SYS_renameat renameat Other None;
    SYS_unlink unlink Other None;
    SYS_mkdir mkdir Other None;
    SYS_rmdir rmdir Other None;
    SYS_mknod mknod Other None;
    SYS_link link Other None;
    SYS_symlink symlink Other None;
    SYS_readlink readlink Other None;
    SYS_stat stat Other None;
    SYS_lstat lstat Other None;
    SYS_access access Other None;
    SYS_getdents getdents Other None;
    SYS_chmod chmod Other None;
    SYS_chown chown Other None;
    SYS_lchown lchown Other None;
    SYS_utime utime Other None;
    SYS_utimes utimes Other None;
    SYS_futimesat futimesat Other None;
};
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[FileCall] = &[];

impl FileCall {
    pub fn all() -> Vec<FileCall> {
        let mut all = [COMMON, OLDER].concat();
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
