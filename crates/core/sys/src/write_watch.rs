//! Files that were written on other mounts than the one that counts: each is told once it is
//! closed.
//! A mark is on that mount of one mount namespace: in a private one only processes of that
//! namespace are seen, and the mount that counts is not marked, so that nothing is added there.
#![allow(unsafe_code)]

use std::{
    ffi::CString,
    io::{self, Read},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use crate::mount_table::{self, MountEntry};

#[derive(Debug)]
pub struct WriteWatch {
    group: std::fs::File,
}

/// Closed after it had been open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub path: PathBuf,
    /// Who closed it.
    pub process_id: u32,
}

/// Kinds of mounts that hold no files of anybody.
const NO_FILES: &str = "proc sysfs devtmpfs devpts cgroup cgroup2 debugfs tracefs securityfs bpf pstore mqueue \
    configfs autofs efivarfs binfmt_misc fusectl nsfs";

impl WriteWatch {
    /// Every mount of this namespace but the one at `mount` and those below it. Fails without
    /// root, or where the kernel has no fanotify.
    pub fn beside(mount: &Path) -> io::Result<WriteWatch> {
        let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        let open_flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_LARGEFILE) as libc::c_uint;
        // SAFETY: a system call with numbers.
        let group = unsafe { libc::fanotify_init(flags, open_flags) };
        if group < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
        let group = unsafe { OwnedFd::from_raw_fd(group) };
        let table = std::fs::read("/proc/self/mountinfo")?;
        let mounts = mount_table::parse(&table).unwrap_or_default();
        let is_beside = |entry: &&MountEntry| {
            !entry.mount_point.starts_with(mount)
                && !NO_FILES.split(' ').any(|kind| kind == entry.fs_type)
        };
        for entry in mounts.iter().filter(is_beside) {
            // One that is hidden below another cannot be named, and nobody writes there either.
            let _ = mark(&group, &entry.mount_point);
        }
        Ok(WriteWatch { group: group.into() })
    }

    /// Since the last look.
    pub fn take(&self) -> Vec<Written> {
        let mut found = Vec::new();
        let mut bytes = [0u8; 16 << 10];
        while let Ok(read @ 1..) = (&self.group).read(&mut bytes) {
            let mut rest = &bytes[..read];
            while let Some((event, after)) = next(rest) {
                rest = after;
                found.extend(written(&event));
            }
        }
        found
    }
}

fn mark(group: &OwnedFd, mount: &Path) -> io::Result<()> {
    let path = CString::new(mount.as_os_str().as_bytes())?;
    // SAFETY: the path ends in 0 and outlives the call.
    let done = unsafe {
        libc::fanotify_mark(
            group.as_raw_fd(),
            libc::FAN_MARK_ADD | libc::FAN_MARK_MOUNT,
            libc::FAN_CLOSE_WRITE,
            libc::AT_FDCWD,
            path.as_ptr(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn next(bytes: &[u8]) -> Option<(libc::fanotify_event_metadata, &[u8])> {
    if bytes.len() < size_of::<libc::fanotify_event_metadata>() {
        return None;
    }
    // SAFETY: there are enough bytes for the plain numbers of an event; they need not be aligned.
    let event: libc::fanotify_event_metadata =
        unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
    let rest = bytes.get(event.event_len as usize..).filter(|_| event.event_len > 0)?;
    Some((event, rest))
}

/// The event's descriptor is closed here.
fn written(event: &libc::fanotify_event_metadata) -> Option<Written> {
    if event.fd < 0 {
        return None;
    }
    // SAFETY: the kernel opened this descriptor for us with the event, and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(event.fd) };
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    Some(Written { path, process_id: u32::try_from(event.pid).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_or_empty_record_is_no_event() {
        assert!(next(&[]).is_none());
        assert!(next(&[0; 23]).is_none());
        assert!(next(&[0; 24]).is_none(), "a length of 0 would never end");
    }

    #[test]
    fn a_file_beside_the_mount_is_told_once_it_is_closed() {
        let Ok(watch) = WriteWatch::beside(Path::new("/no/such/mount")) else { return };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("beside");
        std::fs::write(&path, "x").unwrap();
        let own = |written: &Written| written.process_id == std::process::id();
        let found: Vec<PathBuf> =
            watch.take().into_iter().filter(own).map(|written| written.path).collect();
        assert!(found.contains(&path), "{found:?}");
    }
}
