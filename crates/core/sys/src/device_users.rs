//! Which programs have a block device, or a file, open. `O_EXCL` does not tell (it succeeds beside
//! a program that has the device open read-write), so every descriptor of every process is looked
//! at.

use crate::proc_root::ProcRoot;
use crate::tunables::text_if_any;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUser {
    /// Of the /proc that was asked.
    pub process_id: u32,
    /// At most 15 bytes.
    pub name: String,
    /// Or may write, where that cannot be told any more.
    pub writes: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceUsers {
    pub users: Vec<DeviceUser>,
    /// If not 0 the answer may be incomplete.
    pub unreadable_process_count: usize,
}

pub fn users_of(device_number: (u32, u32), proc_root: &ProcRoot) -> io::Result<DeviceUsers> {
    users_where(proc_root, |facts| {
        FileType::from_raw_mode(facts.stx_mode.into()) == FileType::BlockDevice
            && (facts.stx_rdev_major, facts.stx_rdev_minor) == device_number
    })
}

pub fn users_of_file((device, inode): (u64, u64), proc_root: &ProcRoot) -> io::Result<DeviceUsers> {
    let number = (rustix::fs::major(device), rustix::fs::minor(device));
    users_where(proc_root, |facts| {
        facts.stx_ino == inode && (facts.stx_dev_major, facts.stx_dev_minor) == number
    })
}

fn users_where(proc_root: &ProcRoot, is_it: impl Fn(&Statx) -> bool) -> io::Result<DeviceUsers> {
    let mut found = DeviceUsers::default();
    for process_id in proc_root.process_ids()? {
        let process = proc_root.process(process_id);
        match has_open(&process, &is_it) {
            Ok(opened) if opened.is_empty() => {}
            Ok(opened) => {
                let name = text_if_any(process.join("comm")).unwrap_or_default();
                let writes = opened.contains(&true);
                found.users.push(DeviceUser { process_id, name, writes });
            }
            Err(_) if !process.exists() => {}
            Err(_) => found.unreadable_process_count += 1,
        }
    }
    Ok(found)
}

/// Of each descriptor that is meant, whether it writes: the link's own permission says so, see proc_pid_fd(5).
/// Does not ask a server: a dead network file system must not hang us.
fn has_open(process: &Path, is_it: impl Fn(&Statx) -> bool) -> io::Result<Vec<bool>> {
    let flags = StatxFlags::TYPE | StatxFlags::INO;
    let descriptors = fs::read_dir(process.join("fd"))?.flatten();
    let is_meant = |one: &fs::DirEntry| {
        statx(CWD, one.path(), AtFlags::STATX_DONT_SYNC, flags).is_ok_and(|facts| is_it(&facts))
    };
    let writes = |one: fs::DirEntry| one.metadata().map_or(true, |link| link.mode() & 0o200 != 0);
    Ok(descriptors.filter(is_meant).map(writes).collect())
}
