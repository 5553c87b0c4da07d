//! Mounting and unmounting, and what is mounted where. No lazy unmount: when [`unmount`] returns,
//! the file system is gone from this place. Mounting goes through fsopen(2), because it tells why
//! a mount failed.
#![allow(unsafe_code)]

use crate::ioctl;
use crate::mount_table::{self, MountEntry};
pub use crate::mounts_everywhere::{
    MountsEverywhere, NamespacedMount, mounts_everywhere, mounts_of_device,
};
use crate::refused::{Refused, cannot, remedy};
use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

const FITHAW: u64 = 0xC004_5878;
const NEEDS: &str = "CAP_SYS_ADMIN (run as root)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountRequest {
    /// A device node, or any word for a file system without a device.
    pub source: PathBuf,
    pub target: PathBuf,
    pub fs_type: String,
    /// Options as after `mount -o`, separated by commas; may be empty.
    pub options: String,
}

impl MountRequest {
    pub fn new(
        source: impl Into<PathBuf>,
        target: impl Into<PathBuf>,
        fs_type: impl Into<String>,
    ) -> Self {
        let options = String::new();
        Self { source: source.into(), target: target.into(), fs_type: fs_type.into(), options }
    }

    pub fn options(mut self, options: impl Into<String>) -> Self {
        self.options = options.into();
        self
    }
}

/// After an error nothing is mounted.
pub fn mount(request: &MountRequest) -> Result<(), Refused> {
    let MountRequest { source, target, fs_type, .. } = request;
    let place = format!("mount {} as {fs_type} on {}", source.display(), target.display());
    let context = fsopen(fs_type.as_str(), FsOpenFlags::FSOPEN_CLOEXEC).map_err(|error| {
        if error != Errno::NODEV {
            return cannot(&place, NEEDS)(error);
        }
        let text = format!(
            "the kernel has no file system `{fs_type}`; load its module or leave it out: {error}"
        );
        Refused::new(text, Some(error.raw_os_error()))
    })?;
    set_option(request, &context, &format!("source={}", source.to_string_lossy()))?;
    let mut attributes = MountAttrFlags::empty();
    for option in request.options.split(',').filter(|option| !option.is_empty()) {
        match attribute(option) {
            Some(flag) => attributes |= flag,
            None => set_option(request, &context, option)?,
        }
        if option == "ro" {
            set_option(request, &context, option)?;
        }
    }
    let refused = |error: Errno| {
        let cause = io::Error::from(error);
        let (said, remedy) = (kernel_says(&context), remedy(&cause, NEEDS));
        Refused::new(format!("cannot {place}: {cause}{said}{remedy}"), cause.raw_os_error())
    };
    fsconfig_create(&context).map_err(refused)?;
    let detached = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(refused)?;
    move_mount(&detached, "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).map_err(refused)
}

/// Options that belong to the mount, not to the file system; see mount_setattr(2).
fn attribute(option: &str) -> Option<MountAttrFlags> {
    Some(match option {
        "defaults" | "rw" | "suid" | "dev" | "exec" | "atime" | "diratime" => {
            MountAttrFlags::empty()
        }
        "ro" => MountAttrFlags::MOUNT_ATTR_RDONLY,
        "nosuid" => MountAttrFlags::MOUNT_ATTR_NOSUID,
        "nodev" => MountAttrFlags::MOUNT_ATTR_NODEV,
        "noexec" => MountAttrFlags::MOUNT_ATTR_NOEXEC,
        "noatime" => MountAttrFlags::MOUNT_ATTR_NOATIME,
        "relatime" => MountAttrFlags::MOUNT_ATTR_RELATIME,
        "strictatime" => MountAttrFlags::MOUNT_ATTR_STRICTATIME,
        "nodiratime" => MountAttrFlags::MOUNT_ATTR_NODIRATIME,
        _ => return None,
    })
}

fn set_option(request: &MountRequest, context: &OwnedFd, option: &str) -> Result<(), Refused> {
    let answer = match option.split_once('=') {
        Some((key, value)) => fsconfig_set_string(context, key, value),
        None => fsconfig_set_flag(context, option),
    };
    answer.map_err(|error| {
        let (fs_type, cause) = (&request.fs_type, io::Error::from(error));
        let said = kernel_says(context);
        let text = format!("{fs_type} refuses the mount option `{option}`: {cause}{said}");
        Refused::new(text, cause.raw_os_error())
    })
}

/// Reads the messages that wait in the context: one a read, `e ` or `w ` or `i ` before the text.
fn kernel_says(context: &OwnedFd) -> String {
    let mut lines = Vec::new();
    let mut message = [0u8; 1024];
    while let Ok(count) = rustix::io::read(context, &mut message) {
        if count == 0 || lines.len() == 16 {
            break;
        }
        let line = String::from_utf8_lossy(&message[..count]);
        lines.push(line.get(2..).unwrap_or_default().trim().to_owned());
    }
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
}

/// Unmounts for real: not lazily, not by force. Symbolic links are not followed.
pub fn unmount(target: &Path) -> Result<(), Refused> {
    let path = target.display();
    rustix::mount::unmount(target, UnmountFlags::NOFOLLOW).map_err(|error| match error {
        Errno::BUSY => {
            let text =
                format!("{path} is busy; a program has a file or its working directory there");
            Refused::new(text, Some(error.raw_os_error()))
        }
        _ => cannot(format!("unmount {path}"), NEEDS)(error),
    })
}

/// The mounts inside of a mount point, the innermost first: in this order they can be unmounted.
pub fn mounts_inside(target: &Path) -> Result<Vec<MountEntry>, Refused> {
    let is_inside =
        |entry: &MountEntry| entry.mount_point != target && entry.mount_point.starts_with(target);
    Ok(mounts()?.into_iter().rev().filter(is_inside).collect())
}

/// Ends the freeze of a mounted file system; says whether there was one. A frozen one holds its device
/// after its unmount.
pub fn thaw(target: &Path) -> bool {
    let Ok(folder) = fs::File::open(target) else { return false };
    // SAFETY: FITHAW ignores its argument.
    unsafe { ioctl::with_value(folder.as_fd(), FITHAW, 0) }.is_ok()
}

/// Dropping it unmounts without a report; [`Mounted::unmount`] reports.
#[derive(Debug)]
pub struct Mounted {
    target: Option<PathBuf>,
}

impl Mounted {
    pub fn mount(request: &MountRequest) -> Result<Self, Refused> {
        mount(request)?;
        Ok(Self { target: Some(request.target.clone()) })
    }

    /// After an error the mount is still there, and is no longer guarded.
    pub fn unmount(mut self) -> Result<(), Refused> {
        let target = self.target.take().expect("a mount is unmounted once");
        unmount(&target)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(target) = self.target.take() {
            let _ = unmount(&target);
        }
    }
}

pub fn mounts() -> Result<Vec<MountEntry>, Refused> {
    read_table(Path::new("/proc/self/mountinfo"))
}

pub(crate) fn read_table(path: &Path) -> Result<Vec<MountEntry>, Refused> {
    let table = fs::read(path).map_err(cannot(format!("read {}", path.display()), "root"))?;
    mount_table::parse(&table)
}

pub fn mount_of(path: &Path) -> Result<MountEntry, Refused> {
    let statx = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID);
    let statx = statx.map_err(look_at(path))?;
    let found = mounts()?.into_iter().find(|entry| u64::from(entry.mount_id) == statx.stx_mnt_id);
    found.ok_or_else(|| {
        Refused::new(format!("no mount in the table holds {}", path.display()), None)
    })
}

pub(crate) fn look_at<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> Refused {
    cannot(format!("look at {}", path.display()), "root")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemUse {
    /// See statfs(2).
    pub type_number: u64,
    pub block_bytes: u64,
    pub total_bytes: u64,
    /// Those reserved for root included.
    pub free_bytes: u64,
    pub available_bytes: u64,
}

pub fn file_system_use(path: &Path) -> Result<FileSystemUse, Refused> {
    let statfs = rustix::fs::statfs(path).map_err(look_at(path))?;
    let block_bytes = statfs.f_bsize as u64;
    Ok(FileSystemUse {
        type_number: statfs.f_type as u64,
        block_bytes,
        total_bytes: statfs.f_blocks * block_bytes,
        free_bytes: statfs.f_bfree * block_bytes,
        available_bytes: statfs.f_bavail * block_bytes,
    })
}

/// A module that is not loaded is not among them.
pub fn known_types() -> Result<Vec<String>, Refused> {
    let path = "/proc/filesystems";
    let text = fs::read_to_string(path).map_err(cannot(format!("read {path}"), "root"))?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_proc_is_proc() {
        assert_eq!(mount_of(Path::new("/proc/self/status")).unwrap().fs_type, "proc");
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let error = mount_of(Path::new("/no/such/place")).unwrap_err().to_string();
        assert!(error.starts_with("cannot look at /no/such/place: "), "{error}");
    }

    #[test]
    fn an_unknown_type_or_a_missing_privilege_is_said() {
        let request = MountRequest::new("none", "/tmp", "nosuchfs");
        let text = mount(&request).unwrap_err().to_string();
        let expected = text.starts_with("the kernel has no file system `nosuchfs`")
            || text.ends_with("needs CAP_SYS_ADMIN (run as root)");
        assert!(expected, "{text}");
    }

    #[test]
    fn options_of_the_mount_are_told_from_options_of_the_file_system() {
        assert_eq!(attribute("noatime"), Some(MountAttrFlags::MOUNT_ATTR_NOATIME));
        assert_eq!(attribute("defaults"), Some(MountAttrFlags::empty()));
        assert_eq!(attribute("barrier=0"), None);
        assert_eq!(attribute("lazytime"), None);
    }

    #[test]
    fn free_space_is_not_more_than_all() {
        let filled = file_system_use(Path::new("/")).unwrap();
        assert!(filled.available_bytes <= filled.total_bytes && filled.block_bytes > 0);
    }
}
